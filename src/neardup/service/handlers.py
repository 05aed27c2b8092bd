"""What handlers share: who asks, the time that an answer may take, and its JSON."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response

from neardup.service.core import Service
from neardup.service.problems import Problem
from neardup.service.tokens import Caller

ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
INLINE = 64 << 10  # characters, about, that are written on the event loop


class IdConvertor(Convertor[str]):
    """Takes the rest of a path as an id, whatever it has: slashes, and line ends, which `path` does not take."""

    regex = "(?s:.+)"

    def convert(self, value: str) -> str:
        """The id itself."""
        return value

    def to_string(self, value: str) -> str:
        """The id itself."""
        return value


register_url_convertor("id", IdConvertor())


def json_response(value: Any, status: int = 200) -> Response:
    """JSON in ASCII, which has a spelling for every character of an id."""
    data = ENCODER.encode(value).encode()
    return Response(data, status, media_type="application/json", headers={"cache-control": "no-store"})


async def json_answer(value: Any, size: int) -> Response:
    """The same; an answer of many matches or long texts is written in a thread, and the event loop goes on."""
    return json_response(value) if size < INLINE else await asyncio.to_thread(json_response, value)


def visitor(request: Request, *scopes: str) -> tuple[Service, Caller]:
    """The service, and who asks; refused without the scopes."""
    caller: Caller = request.scope["state"]["caller"]
    for scope in scopes:
        if not caller.may(scope):
            raise Problem("scope-missing", f"The token {caller.name} does not have the scope {scope}.")
    service: Service = request.app.state.service
    return service, caller


async def in_time(service: Service, work: Any) -> Any:
    """The result of the work, unless it takes longer than the limit."""
    try:
        async with asyncio.timeout(service.settings.limits.seconds):
            return await work
    except TimeoutError:
        seconds = service.settings.limits.seconds
        raise Problem(
            "timeout", f"The answer took longer than {seconds:g} s. A change may still happen."
        ) from None
