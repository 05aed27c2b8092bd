"""Bodies of requests, read within limits: in time, unpacked no further than the limit, JSON of a known form."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.types import Message

from neardup.service.problems import Problem
from neardup.service.settings import RequestLimits

JSON = "application/json"
NDJSON = ("application/x-ndjson", "application/ndjson", "application/jsonl")
PIECE = 1 << 16  # bytes that are decompressed at a time
SLOWEST = 1024  # bytes a second that a long body must bring
INLINE = 1 << 16  # bytes of JSON that are parsed on the event loop; larger ones in a thread
MOST_ERRORS = 20
Model = TypeVar("Model", bound=BaseModel)


class Buffered:
    """The bytes of all bodies in memory, which are limited together."""

    def __init__(self, most: int) -> None:
        self.most, self.used = most, 0

    @contextmanager
    def share(self) -> Iterator[Share]:
        """A part of the memory, given back at the end."""
        share = Share(self)
        try:
            yield share
        finally:
            self.used -= share.bytes


class Share:
    """The bytes of one body."""

    def __init__(self, whole: Buffered) -> None:
        self._whole, self.bytes = whole, 0

    def resize(self, size: int) -> None:
        """Take or give back so that the share has this size."""
        grown = self._whole.used + size - self.bytes
        if size > self.bytes and grown > self._whole.most:
            raise Problem("overloaded", "The bodies of all requests fill the memory. Try again later.")
        self._whole.used, self.bytes = grown, size


def media_type(request: Request) -> str:
    """The media type of the body, without parameters; a page of another site cannot send these unasked."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON and kind not in NDJSON:
        raise Problem("media-type-unknown", f"The Content-Type must be {JSON} or {NDJSON[0]}.")
    return kind


Receive = Callable[[], Awaitable[Message]]


async def unpacked(request: Request, receive: Receive, most: int) -> AsyncIterator[bytes]:
    """The body piece by piece, decompressed; stops where the limit is passed."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > most:
        raise _too_large(most)
    opened = _decompressor(request)
    total, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem("malformed-request", "The body ends too early.")
        more = message.get("more_body", False)
        for part in _unpacked(opened, message.get("body", b"")):
            total += len(part)
            if total > most:
                raise _too_large(most)
            yield part
            if opened is not None:  # a little data may unpack to much: others take their turns
                await asyncio.sleep(0)
    if opened is not None and not opened.eof:
        raise Problem("malformed-encoding", "The gzip data ends too early.")


class _Patience:
    """Receives a long body for as long as it arrives fast enough."""

    def __init__(self, request: Request, limits: RequestLimits) -> None:
        self._receive, self._seconds = request.receive, limits.seconds
        self.total, self._waited = 0, 0.0  # bytes and seconds so far

    async def receive(self) -> Message:
        """The next message."""
        clock = asyncio.get_running_loop().time
        begin = clock()
        try:
            async with asyncio.timeout(self._seconds + min(0, self.total / SLOWEST - self._waited)):
                return await self._receive()
        except TimeoutError:
            raise Problem("body-timeout", f"The body waited for {self._seconds:g} s and more.") from None
        finally:
            self._waited += clock() - begin


def _too_large(most: int) -> Problem:
    return Problem("body-too-large", f"A body may have {most:,} bytes.", limit=most)


def _decompressor(request: Request) -> Any:
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip"):
        raise Problem("encoding-unknown", "The Content-Encoding must be gzip, or left out.")
    return zlib.decompressobj(wbits=31) if encoding == "gzip" else None


def _unpacked(opened: Any, data: bytes) -> Iterator[bytes]:
    """The data, decompressed in small pieces: what a bomb unpacks to never exists as a whole."""
    if opened is None:
        if data:
            yield data
        return
    try:
        while data:
            if opened.eof:
                raise Problem("malformed-encoding", "Data follows the end of the gzip data.")
            yield opened.decompress(data, PIECE)
            data = opened.unconsumed_tail or opened.unused_data
    except zlib.error:
        raise Problem("malformed-encoding", "The body is not gzip data.") from None


async def whole(request: Request, limits: RequestLimits, share: Share) -> bytes:
    """A JSON body, all of which arrives in time: so its pieces need no clocks of their own."""
    parts, size = [], 0
    try:
        async with asyncio.timeout(limits.seconds):
            async for part in unpacked(request, request.receive, limits.body):
                size += len(part)
                share.resize(size)
                parts.append(part)
    except TimeoutError:
        raise Problem("body-timeout", f"The body did not arrive in {limits.seconds:g} s.") from None
    return b"".join(parts)


async def lines(request: Request, limits: RequestLimits, share: Share) -> AsyncIterator[bytes]:
    """The lines of an NDJSON body that are not blank."""
    waiting, patience = bytearray(), _Patience(request, limits)
    async for part in unpacked(request, patience.receive, limits.stream):
        patience.total += len(part)
        first, *others = part.split(b"\n")
        waiting += first
        for other in others:
            if waiting and not waiting.isspace():
                yield bytes(waiting)
            waiting = bytearray(other)
        if len(waiting) > limits.body:
            raise Problem("body-too-large", f"A line may have {limits.body:,} bytes.", limit=limits.body)
        share.resize(len(waiting))
    if waiting and not waiting.isspace():
        yield bytes(waiting)


def parsed(model: type[Model], data: bytes) -> Model:
    """The body as a model; what does not fit is named by its place, never repeated."""
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        raise invalid(error.errors(include_url=False, include_context=False, include_input=False)) from None


def invalid(errors: Sequence[Any]) -> Problem:
    """The problem of values that do not fit."""
    if errors and errors[0]["type"] == "json_invalid":
        return Problem("malformed-json", _ascii(errors[0]["msg"]) + ".")
    found = [
        {"place": _ascii(".".join(map(str, one["loc"]))), "message": _ascii(one["msg"])}
        for one in errors[:MOST_ERRORS]
    ]
    first = found[0] if found else {"place": "body", "message": "unknown"}
    return Problem("invalid-request", f"{first['place'] or 'body'}: {first['message']}.", errors=found)


def _ascii(text: str) -> str:
    return text[:200].encode("ascii", "backslashreplace").decode()


async def parse(model: type[Model], data: bytes) -> Model:
    """As `parsed`; a long body is parsed in a thread."""
    if len(data) <= INLINE:
        return parsed(model, data)
    return await asyncio.to_thread(parsed, model, data)
