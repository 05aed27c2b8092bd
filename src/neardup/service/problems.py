"""Errors of requests as problem+json (RFC 9457): a type that programs compare, a sentence, and the request's id."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from typing import Any

from neardup.errors import IndexBusy, IndexDamaged, NeardupError, StorageError

MEDIA_TYPE = "application/problem+json"
PREFIX = "urn:neardup:problem:"
TITLES = {
    "malformed-request": (400, "The request is not HTTP as this server reads it"),
    "malformed-json": (400, "The body is not JSON"),
    "malformed-path": (400, "The path is not UTF-8"),
    "malformed-encoding": (400, "The body is not compressed as its header says"),
    "token-missing": (401, "The request needs a token"),
    "token-unknown": (401, "The token is not known"),
    "scope-missing": (403, "The token does not have the scope"),
    "origin-refused": (403, "Pages of this origin may not ask"),
    "id-outside-prefix": (403, "The token may not write this id"),
    "access-outside-groups": (403, "The token may not give access to this group"),
    "document-not-found": (404, "No document has this id"),
    "path-not-found": (404, "Nothing is at this path"),
    "method-not-allowed": (405, "The path does not take this method"),
    "body-timeout": (408, "The body did not arrive in time"),
    "statistics-missing": (409, "The index has no document frequencies yet"),
    "texts-not-stored": (409, "The index does not store texts"),
    "body-too-large": (413, "The body is larger than the limit"),
    "answer-too-large": (413, "The results are larger than the limit"),
    "text-too-long": (413, "A text is longer than the limit"),
    "batch-too-large": (413, "The batch has more documents than the limit"),
    "media-type-unknown": (415, "The body is neither JSON nor NDJSON"),
    "encoding-unknown": (415, "The body is compressed in an unknown way"),
    "host-refused": (421, "The Host header does not name this server"),
    "invalid-request": (422, "The request has values that cannot be used"),
    "key-reused": (422, "The idempotency key was used for another request"),
    "head-too-large": (431, "The path and headers are larger than the limit"),
    "internal-error": (500, "The server has a bug"),
    "overloaded": (503, "The server has more requests than it can take"),
    "stopping": (503, "The server is stopping"),
    "index-busy": (503, "Another process writes to the index"),
    "index-unavailable": (503, "The index cannot be used at the moment"),
    "timeout": (504, "The answer took longer than the limit"),
    "disk-full": (507, "The server has no room to store more"),
}
RETRY_AFTER = {"overloaded": "1", "stopping": "5", "index-busy": "2", "index-unavailable": "10"}


class Problem(Exception):
    """A request that is not answered, and why."""

    def __init__(self, kind: str, detail: str, **more: Any) -> None:
        self.kind, self.detail, self.more = kind, detail, more
        self.status, self.title = TITLES[kind]
        super().__init__(detail)

    def body(self, request_id: str) -> bytes:
        """The body of the answer."""
        value = {
            "type": PREFIX + self.kind,
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }
        return json.dumps({**value, "request_id": request_id, **self.more}).encode()

    @property
    def headers(self) -> dict[str, str]:
        """The headers that belong to the status."""
        found = {"content-type": MEDIA_TYPE, "cache-control": "no-store"}
        if self.status == 401:
            found["www-authenticate"] = "Bearer"
        if self.kind in RETRY_AFTER:
            found["retry-after"] = RETRY_AFTER[self.kind]
        return found


SQLITE_FULL = 13
POSTGRES_FULL = "53100"


def problem_of(error: Exception) -> Problem:
    """The problem of an error; sentences that name files of this machine stay in the log."""
    if isinstance(error, Problem):
        return error
    if any(map(_is_full, _causes(error))):
        return Problem("disk-full", "The disk is full. Questions are answered; make room to store more.")
    if not isinstance(error, NeardupError):
        return Problem("internal-error", "The log has the place under the request's id.")
    if isinstance(error, IndexBusy):
        return Problem("index-busy", "Another process writes to the index. Try again later.")
    if isinstance(error, IndexDamaged):
        return Problem("index-unavailable", "The index is damaged. Its log says more; verify the index.")
    if isinstance(error, StorageError):
        return Problem("index-unavailable", "The index cannot be read or written. The log says why.")
    return Problem("invalid-request", str(error))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _is_full(error: BaseException) -> bool:
    """Whether the system, SQLite or PostgreSQL says that nothing more can be stored."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    code = getattr(error, "sqlite_errorcode", None) or 0
    return code & 0xFF == SQLITE_FULL or getattr(error, "sqlstate", None) == POSTGRES_FULL
