"""A client of `neardup serve`: the questions and changes of an index, from another process or machine.

    client = neardup.Client("http://127.0.0.1:8484", token="ndt_…")
    client.add([{"id": "a", "text": "…"}]); client.query("…"); client.add_if_new({"text": "…"})

Requests that can be repeated are: after a lost connection and when the server is overloaded. Every addition has an
idempotency key, so that a repeated one is answered like the first, and stores nothing twice.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any
from urllib.parse import quote

from neardup.errors import InputError, MissingExtra, ServiceError

try:
    import httpx
except ImportError:  # said when a client is made
    httpx = None  # type: ignore[assignment]

__all__ = ["AsyncClient", "Checked", "Client", "Match", "Stored"]

Id = str | int
Json = dict[str, Any]
BATCH = 500  # documents of a request …
BATCH_CHARACTERS = 2_000_000  # … and characters of their texts
AGAIN = (429, 502, 503, 504)
LONGEST_PAUSE = 10.0  # seconds between two attempts


@dataclass(frozen=True)
class Match:
    """An indexed document that a text is a near-duplicate of."""

    id: Id
    similarity: float | None
    containment: float | None
    relation: str | None
    probability: float | None = None
    passages: tuple[Json, ...] = ()

    @staticmethod
    def of(value: Json) -> Match:
        """A match of an answer; names that a newer server adds are left out."""
        known = {name: value.get(name) for name in ("similarity", "containment", "relation", "probability")}
        return Match(value["id"], **known, passages=tuple(value.get("passages") or ()))


@dataclass(frozen=True)
class Checked:
    """Whether a document is new to the index."""

    status: str  # new, copy or near-duplicate
    matches: tuple[Match, ...] = ()

    @property
    def duplicate_of(self) -> Id | None:
        """The id of the closest indexed document."""
        return self.matches[0].id if self.matches else None


@dataclass(frozen=True)
class Stored:
    """What became of a document: new, replaced, unchanged or duplicate."""

    id: Id
    status: str
    duplicate_of: Id | None = None
    relation: str | None = None
    similarity: float | None = None


@dataclass(frozen=True)
class _Call:
    """A request, and how its answer is read."""

    method: str
    path: str
    read: Callable[[Json], Any]
    body: Json | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    missing: bool = False  # whether 404 is an answer: None
    key: bool = False

    def arguments(self) -> Json:
        """The arguments of httpx; the same for every attempt."""
        headers = {"idempotency-key": uuid.uuid4().hex} if self.key else {}
        found: Json = {
            "method": self.method,
            "url": self.path,
            "params": dict(self.parameters),
            "headers": headers,
        }
        if self.body is not None:
            found["content"] = json.dumps(self.body, allow_nan=False).encode()
            headers["content-type"] = "application/json"
        return found


def _document(given: Any, id: Id | None = None) -> Json:
    if isinstance(given, str):
        given = {"text": given}
    if not isinstance(given, Mapping):
        raise InputError(f"A document is a text or a dict, not {type(given).__name__}.")
    return dict(given) if id is None else {**given, "id": id}


def _several(documents: Any) -> bool:
    return not isinstance(documents, (str, Mapping))


def _batches(documents: Iterable[Any]) -> Iterator[list[Json]]:
    """Documents in batches that are sent together."""
    batch: list[Json] = []
    size = 0
    for given in documents:
        batch.append(_document(given))
        size += len(batch[-1].get("text", ""))
        if len(batch) >= BATCH or size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _add(batch: Sequence[Json], if_new: bool) -> _Call:
    asked = {"if_new": "true"} if if_new else {}
    body = {"documents": list(batch)}
    return _Call("POST", "/v1/documents", _read_stored, body, asked, key=True)


def _read_stored(answer: Json) -> list[Stored]:
    names = Stored.__dataclass_fields__
    return [Stored(**{name: row[name] for name in names if name in row}) for row in answer["results"]]


def _ask(path: str, documents: Any, read: Callable[[Json], Any], options: Json) -> _Call:
    asked = [_document(one) for one in documents] if _several(documents) else [_document(documents)]
    body = {"documents": asked, **{name: value for name, value in options.items() if value is not None}}
    return _Call("POST", path, read if _several(documents) else lambda answer: read(answer)[0], body)


def _read_matches(answer: Json) -> list[list[Match]]:
    return [[Match.of(match) for match in row["matches"]] for row in answer["results"]]


def _read_checked(answer: Json) -> list[Checked]:
    return [Checked(row["status"], tuple(map(Match.of, row["matches"]))) for row in answer["results"]]


def _one(path: str, id: Id) -> str:
    name = quote(str(id), safe="")
    if name in (".", ".."):  # which a client would take for a folder
        name = name.replace(".", "%2E")
    return f"{path}/{name}"


def _page(id: Id, threshold: float | None, cursor: str | None) -> _Call:
    asked = {"threshold": threshold, "cursor": cursor, "limit": 1000}
    given = {name: value for name, value in asked.items() if value is not None}
    return _Call("GET", _one("/v1/clusters", id), lambda answer: answer, parameters=given)


class _Base:
    """What both clients share: settings, attempts, and errors."""

    def __init__(self, url: str, token: str | None, timeout: float, retries: int, settings: Json) -> None:
        if httpx is None:
            raise MissingExtra("httpx", "client", "neardup.Client")
        headers = {"user-agent": "neardup", **({"authorization": f"Bearer {token}"} if token else {})}
        self._retries = retries
        self._settings = {"base_url": url, "headers": headers, "timeout": timeout, **settings}

    def _pause(self, attempt: int, answer: httpx.Response | None) -> float:
        """Seconds before the next attempt: as the server says, or longer each time."""
        asked = answer.headers.get("retry-after", "") if answer is not None else ""
        wait = float(asked) if asked.isdigit() else 0.05 * 2**attempt
        return min(wait, LONGEST_PAUSE) * random.uniform(0.75, 1.25)

    def _again(self, attempt: int, answer: httpx.Response | None) -> bool:
        return attempt < self._retries and (answer is None or answer.status_code in AGAIN)

    def _value(self, call: _Call, answer: httpx.Response) -> Any:
        if answer.status_code == 404 and call.missing:
            return None
        if answer.is_success:
            return call.read(answer.json())
        raise _error(answer)


def _error(answer: httpx.Response) -> ServiceError:
    try:
        problem = answer.json()
        kind, detail = str(problem["type"]).rpartition(":")[2], str(problem["detail"])
        return ServiceError(answer.status_code, kind, detail, str(problem.get("request_id", "")))
    except (ValueError, KeyError, TypeError):
        return ServiceError(answer.status_code, "unknown", "The answer is not of neardup serve.")


class Client(_Base):
    """A client that waits for each answer; threads may share it."""

    def __init__(
        self, url: str, *, token: str | None = None, timeout: float = 35.0, retries: int = 4, **settings: Any
    ) -> None:
        """Connects to a server.

        Args:
            url: The address of the server, such as http://127.0.0.1:8484.
            token: A token of `neardup serve --new-token`.
            timeout: Seconds to wait for an answer.
            retries: How often a request is repeated.
            settings: Settings of httpx.Client, such as verify or cert for TLS.
        """
        super().__init__(url, token, timeout, retries, settings)
        self._http = httpx.Client(**self._settings)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all connections."""
        self._http.close()

    def _run(self, call: _Call) -> Any:
        arguments, attempt = call.arguments(), 0
        while True:
            answer, failure = None, None
            try:
                answer = self._http.request(**arguments)
            except httpx.TransportError as error:
                failure = error
            if not self._again(attempt, answer):
                break
            time.sleep(self._pause(attempt, answer))
            attempt += 1
        if answer is None:
            raise ServiceError(0, "unreachable", f"No answer ({type(failure).__name__}).") from failure
        return self._value(call, answer)

    def add(self, documents: Any) -> list[Stored]:
        """Add or replace a text, a document as a dict, or any number of them; they are durable afterwards."""
        given = documents if _several(documents) else [documents]
        return [one for batch in _batches(given) for one in self._run(_add(batch, False))]

    def add_if_new(self, document: Any, *, id: Id | None = None) -> Stored:
        """Add a document if it is no duplicate, in one step."""
        found: Stored = self._run(_add([_document(document, id)], True))[0]
        return found

    def query(
        self,
        documents: Any,
        *,
        threshold: float | None = None,
        limit: int | None = None,
        explain: bool = False,
    ) -> Any:
        """The matches of a text or document, best first; of several, a list of lists."""
        options = {"threshold": threshold, "limit": limit, "explain": explain or None}
        return self._run(_ask("/v1/query", documents, _read_matches, options))

    def check(self, documents: Any, *, threshold: float | None = None) -> Any:
        """Whether a document, or each of several, is new, a copy or a near-duplicate."""
        return self._run(_ask("/v1/check", documents, _read_checked, {"threshold": threshold}))

    def get(self, id: Id) -> Json | None:
        """A stored document; None if the index does not have it."""
        found: Json | None = self._run(_Call("GET", _one("/v1/documents", id), dict, missing=True))
        return found

    def delete(self, id: Id) -> bool:
        """Delete a document; whether the index had it."""
        return self._run(_Call("DELETE", _one("/v1/documents", id), dict, missing=True)) is not None

    def cluster(self, id: Id, *, threshold: float | None = None) -> Iterator[Match]:
        """The near-duplicates of an indexed document, best first, page by page."""
        cursor: str | None = None
        while True:
            page = self._run(_page(id, threshold, cursor))
            yield from map(Match.of, page["matches"])
            cursor = page["next"]
            if cursor is None:
                return

    def compare(self, left: str, right: str, *, explain: bool = False) -> Json:
        """How two texts relate, as the index measures it."""
        body = {"left": left, "right": right, "explain": explain}
        found: Json = self._run(_Call("POST", "/v1/compare", dict, body))
        return found

    def info(self) -> Json:
        """What the index is."""
        found: Json = self._run(_Call("GET", "/v1/info", dict))
        return found


class AsyncClient(_Base):
    """The same for asyncio."""

    def __init__(
        self, url: str, *, token: str | None = None, timeout: float = 35.0, retries: int = 4, **settings: Any
    ) -> None:
        """Connects to a server; the arguments are those of Client."""
        super().__init__(url, token, timeout, retries, settings)
        self._http = httpx.AsyncClient(**self._settings)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End all connections."""
        await self._http.aclose()

    async def _run(self, call: _Call) -> Any:
        arguments, attempt = call.arguments(), 0
        while True:
            answer, failure = None, None
            try:
                answer = await self._http.request(**arguments)
            except httpx.TransportError as error:
                failure = error
            if not self._again(attempt, answer):
                break
            await asyncio.sleep(self._pause(attempt, answer))
            attempt += 1
        if answer is None:
            raise ServiceError(0, "unreachable", f"No answer ({type(failure).__name__}).") from failure
        return self._value(call, answer)

    async def add(self, documents: Any) -> list[Stored]:
        """Add or replace a text, a document as a dict, or any number of them; they are durable afterwards."""
        given = documents if _several(documents) else [documents]
        found: list[Stored] = []
        for batch in _batches(given):
            found += await self._run(_add(batch, False))
        return found

    async def add_if_new(self, document: Any, *, id: Id | None = None) -> Stored:
        """Add a document if it is no duplicate, in one step."""
        found: Stored = (await self._run(_add([_document(document, id)], True)))[0]
        return found

    async def query(
        self,
        documents: Any,
        *,
        threshold: float | None = None,
        limit: int | None = None,
        explain: bool = False,
    ) -> Any:
        """The matches of a text or document, best first; of several, a list of lists."""
        options = {"threshold": threshold, "limit": limit, "explain": explain or None}
        return await self._run(_ask("/v1/query", documents, _read_matches, options))

    async def check(self, documents: Any, *, threshold: float | None = None) -> Any:
        """Whether a document, or each of several, is new, a copy or a near-duplicate."""
        return await self._run(_ask("/v1/check", documents, _read_checked, {"threshold": threshold}))

    async def get(self, id: Id) -> Json | None:
        """A stored document; None if the index does not have it."""
        found: Json | None = await self._run(_Call("GET", _one("/v1/documents", id), dict, missing=True))
        return found

    async def delete(self, id: Id) -> bool:
        """Delete a document; whether the index had it."""
        return await self._run(_Call("DELETE", _one("/v1/documents", id), dict, missing=True)) is not None

    async def cluster(self, id: Id, *, threshold: float | None = None) -> list[Match]:
        """The near-duplicates of an indexed document, best first."""
        found: list[Match] = []
        cursor: str | None = None
        while True:
            page = await self._run(_page(id, threshold, cursor))
            found += map(Match.of, page["matches"])
            cursor = page["next"]
            if cursor is None:
                return found

    async def compare(self, left: str, right: str, *, explain: bool = False) -> Json:
        """How two texts relate, as the index measures it."""
        body = {"left": left, "right": right, "explain": explain}
        found: Json = await self._run(_Call("POST", "/v1/compare", dict, body))
        return found

    async def info(self) -> Json:
        """What the index is."""
        found: Json = await self._run(_Call("GET", "/v1/info", dict))
        return found
