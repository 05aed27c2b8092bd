"""Requests of a client, the same for both kinds of clients: what is sent, and how the answer is read."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from neardup.client.answers import Id, Json, read_stored
from neardup.errors import InputError

BATCH = 500  # documents of a request …
BATCH_CHARACTERS = 2_000_000  # … and characters of their texts


@dataclass(frozen=True)
class Call:
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
            found["content"] = _encoded(self.body)
            headers["content-type"] = "application/json"
        return found


def _encoded(body: Json) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError) as error:  # a date, NaN, a circle
        raise InputError(f"A document has a value that JSON cannot have ({error}).") from None


def as_document(given: Any, id: Id | None = None) -> Json:
    """A text or a mapping as a document of a request."""
    if isinstance(given, str):
        given = {"text": given}
    if not isinstance(given, Mapping):
        raise InputError(f"A document is a text or a dict, not {type(given).__name__}.")
    return dict(given) if id is None else {**given, "id": id}


def are_several(documents: Any) -> bool:
    """Whether several documents are given, not a text or one document."""
    if isinstance(documents, (str, Mapping)):
        return False
    if isinstance(documents, (bytes, bytearray)) or not isinstance(documents, Iterable):
        raise InputError(f"A document is a text or a dict, not {type(documents).__name__}.")
    return True


def batches(documents: Iterable[Any]) -> Iterator[list[Json]]:
    """Documents in batches that are sent together."""
    batch: list[Json] = []
    size = 0
    for given in documents:
        batch.append(as_document(given))
        size += len(str(batch[-1].get("text", "")))
        if len(batch) >= BATCH or size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def addition(batch: Sequence[Json], if_new: bool) -> Call:
    """The request that adds a batch."""
    asked = {"if_new": "true"} if if_new else {}
    body = {"documents": list(batch)}
    return Call("POST", "/v1/documents", read_stored, body, asked, key=True)


def question(path: str, documents: Any, read: Callable[[Json], Any], options: Json) -> Call:
    """The request that asks about one document or several."""
    asked = [as_document(one) for one in documents] if are_several(documents) else [as_document(documents)]
    body = {"documents": asked, **{name: value for name, value in options.items() if value is not None}}
    return Call("POST", path, read if are_several(documents) else lambda answer: read(answer)[0], body)


def path_of(path: str, id: Id) -> str:
    """The path of a document; its id is data."""
    name = quote(str(id), safe="")
    if name in (".", ".."):  # which a client would take for a folder
        name = name.replace(".", "%2E")
    return f"{path}/{name}"


def cluster_page(id: Id, threshold: float | None, cursor: str | None) -> Call:
    """The request for a page of a cluster."""
    asked = {"threshold": threshold, "cursor": cursor, "limit": 1000}
    given = {name: value for name, value in asked.items() if value is not None}
    return Call("GET", path_of("/v1/clusters", id), lambda answer: answer, parameters=given)
