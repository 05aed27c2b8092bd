"""A client that waits for each answer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from neardup.client.answers import Id, Json, Match, Stored, read_checked, read_matches
from neardup.client.connection import Connection, httpx
from neardup.client.requests import (
    Call,
    addition,
    are_several,
    as_document,
    batches,
    cluster_page,
    path_of,
    question,
)
from neardup.errors import ServiceError


class Client(Connection):
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

    def _run(self, call: Call) -> Any:
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
        given = documents if are_several(documents) else [documents]
        return [one for batch in batches(given) for one in self._run(addition(batch, False))]

    def add_if_new(self, document: Any, *, id: Id | None = None) -> Stored:
        """Add a document if it is no duplicate, in one step."""
        found: Stored = self._run(addition([as_document(document, id)], True))[0]
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
        return self._run(question("/v1/query", documents, read_matches, options))

    def check(self, documents: Any, *, threshold: float | None = None) -> Any:
        """Whether a document, or each of several, is new, a copy or a near-duplicate."""
        return self._run(question("/v1/check", documents, read_checked, {"threshold": threshold}))

    def get(self, id: Id) -> Json | None:
        """A stored document; None if the index does not have it."""
        found: Json | None = self._run(Call("GET", path_of("/v1/documents", id), dict, missing=True))
        return found

    def delete(self, id: Id) -> bool:
        """Delete a document; whether the index had it."""
        return self._run(Call("DELETE", path_of("/v1/documents", id), dict, missing=True)) is not None

    def cluster(self, id: Id, *, threshold: float | None = None) -> Iterator[Match]:
        """The near-duplicates of an indexed document, best first, page by page."""
        cursor: str | None = None
        while True:
            page = self._run(cluster_page(id, threshold, cursor))
            yield from map(Match.of, page["matches"])
            cursor = page["next"]
            if cursor is None:
                return

    def compare(self, left: str, right: str, *, explain: bool = False) -> Json:
        """How two texts relate, as the index measures it."""
        body = {"left": left, "right": right, "explain": explain}
        found: Json = self._run(Call("POST", "/v1/compare", dict, body))
        return found

    def info(self) -> Json:
        """What the index is."""
        found: Json = self._run(Call("GET", "/v1/info", dict))
        return found
