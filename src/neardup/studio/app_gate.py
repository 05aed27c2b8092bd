"""The gate that every request passes: Host and Origin, the session, the CSRF token; and the headers of every answer."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote_to_bytes

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from neardup.errors import NeardupError
from neardup.service.sockets import names_host
from neardup.studio.app_session import Session, Sessions

__all__ = ["AppGate", "Form", "Refusal"]

HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
LARGEST_BODY = 64 << 20  # bytes of a form or a file of labels
LARGEST_HEAD = 32 << 10
MOST_FIELDS = 100_000
LARGEST_NUMBER = (1 << 63) - 1  # that SQLite stores
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # no-referrer would make the Origin of our own forms null
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
OPEN = ("/static/",)  # files of this package, without a session
SHOW = "The address has no valid token: open the one that neardup studio printed."


class Refusal(Exception):
    """A request that is not answered, and why."""

    def __init__(self, status: int, sentence: str) -> None:
        self.status, self.sentence = status, sentence
        super().__init__(sentence)


@dataclass(frozen=True)
class Form:
    """The fields of a form or of a JSON object, and the bytes of the body."""

    fields: Mapping[str, list[Any]] = field(default_factory=dict)
    body: bytes = b""

    def one(self, name: str, default: str = "") -> str:
        """The first value of a field."""
        values = self.fields.get(name) or [default]
        return str(values[0])

    def all(self, name: str) -> list[str]:
        """All values of a field."""
        return [str(value) for value in self.fields.get(name, ())]

    def ids(self, name: str) -> list[str]:
        """The values of a field that app_page.exact made; a Refusal for others."""
        try:
            found = [str(json.loads(value)) for value in self.all(name)]
            "".join(found).encode()  # a lone surrogate is no part of an id
            return found
        except (ValueError, RecursionError):
            raise Refusal(422, f"The field {name} is damaged.") from None

    def id(self, name: str) -> str:
        """The first of these values; empty if the field is missing."""
        return next(iter(self.ids(name)), "")

    def number(self, name: str) -> int:
        """The value of a field as a whole number; a Refusal otherwise."""
        try:
            found = int(self.one(name))
        except ValueError:
            raise Refusal(422, f"The field {name} is no whole number.") from None
        if abs(found) > LARGEST_NUMBER:
            raise Refusal(422, f"The number in the field {name} is too large.")
        return found


class AppGate:
    """Middleware around all routes; `refused` makes the page about a refusal."""

    def __init__(
        self, app: ASGIApp, sessions: Sessions, refused: Callable[[Session | None, int, str], Response]
    ) -> None:
        self.app, self.sessions, self.refused = app, sessions, refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or say why not."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        state: dict[str, Any] = scope.setdefault("state", {})
        started = False

        async def headed(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        try:
            await self._admit(scope, receive, state)
            await self.app(scope, receive, headed)
        except Exception as error:
            if started:
                raise
            status, sentence = _about(error)
            response = self.refused(state.get("session"), status, sentence)
            await response(scope, receive, headed)
            if status == 500:
                raise

    async def _admit(self, scope: Scope, receive: Receive, state: dict[str, Any]) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        _check_head(scope, headers)
        state["form"] = Form()
        if scope["path"].startswith(OPEN):
            return
        cookies = headers.get("cookie", "")
        session = self.sessions.find(cookies)
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if session is None and scope["path"] == "/" and token:
            session = state["opened"] = self.sessions.opened(token, cookies)
        if session is None:
            raise Refusal(401, SHOW)
        state["session"] = session
        if scope["method"] == "POST":
            body = await _body(receive)
            state["form"] = _form(headers.get("content-type", ""), body)
            given = headers.get("x-csrf-token") or state["form"].one("csrf")
            if given != session.csrf:
                raise Refusal(403, "The page is from an earlier session: load it again.")


def _check_head(scope: Scope, headers: Mapping[str, str]) -> None:
    size = len(scope.get("raw_path") or b"") + len(scope.get("query_string") or b"")
    if size + sum(len(name) + len(value) for name, value in scope["headers"]) > LARGEST_HEAD:
        raise Refusal(431, "The address and headers of the request are too long.")
    if not names_host(scope["headers"], HOSTS):
        raise Refusal(421, "The Host header does not name this machine.")
    if scope["method"] not in ("GET", "HEAD", "POST"):
        raise Refusal(405, "Pages take GET and POST.")
    try:
        unquote_to_bytes(scope.get("raw_path") or b"").decode()
    except UnicodeDecodeError:
        raise Refusal(400, "The path of the address is not UTF-8.") from None
    site = headers.get("sec-fetch-site", "same-origin")
    ours = f"http://{headers.get('host', '')}"
    foreign = headers.get("origin", ours) != ours or site not in ("same-origin", "none")
    if foreign and scope["method"] == "POST":
        raise Refusal(403, "The request comes from a page of another site.")


async def _body(receive: Receive) -> bytes:
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refusal(400, "The request broke off.")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message.get("more_body", False)
        if size > LARGEST_BODY:
            raise Refusal(413, f"The request has more than {LARGEST_BODY >> 20} MB.")
    return b"".join(parts)


def _form(kind: str, body: bytes) -> Form:
    try:
        if kind.startswith("application/x-www-form-urlencoded"):
            found = parse_qs(
                body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict"
            )
            return Form(found, body)
        if kind.startswith("application/json"):
            value = json.loads(body)
            json.dumps(value, ensure_ascii=False).encode()  # lone surrogates are no text
            pairs = value.items() if isinstance(value, dict) else ()
            return Form({name: one if isinstance(one, list) else [one] for name, one in pairs}, body)
    except (ValueError, RecursionError):
        raise Refusal(400, "The form cannot be read.") from None
    return Form({}, body)


def _about(error: Exception) -> tuple[int, str]:
    """The status and the sentence about an error."""
    if isinstance(error, Refusal):
        return error.status, error.sentence
    if isinstance(error, NeardupError):
        return 422, str(error)
    if isinstance(error, OSError):
        return 507, f"A file cannot be read or written: {error.strerror or error}."
    if isinstance(error, sqlite3.Error):
        return 507, f"A file of the studio cannot be read or written ({error}): start the studio again."
    return 500, "This is an error inside neardup. The terminal has more about it: please report it."
