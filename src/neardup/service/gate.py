"""The gate that every request passes: an id for it, the Host and Origin headers, the token, and a line in the log."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from random import getrandbits
from typing import Any
from urllib.parse import unquote_to_bytes

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from neardup.errors import NeardupError
from neardup.service.core import Service
from neardup.service.problems import Problem, problem_of
from neardup.service.settings import LARGEST_HEAD
from neardup.service.sockets import names_host
from neardup.service.tokens import Caller

OPEN = ("/healthz", "/readyz")  # answered without a token
REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
Headers = Iterable[tuple[bytes, bytes]]


class Gate:
    """Middleware around all routes."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app, self.service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or say why not."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        await _Visit(self.service, self.app, scope, receive, send).run()


class _Visit:
    """One request."""

    def __init__(self, service: Service, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        self.service, self.app, self.scope, self._receive, self._send = service, app, scope, receive, send
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        given = self.headers.get(b"x-request-id", b"")
        self.request_id = given.decode() if REQUEST_ID.fullmatch(given) else f"{getrandbits(128):032x}"
        self.status, self.started, self.complete = 500, False, False
        self.state: dict[str, Any] = scope.setdefault("state", {})
        self.state["request_id"] = self.request_id

    async def run(self) -> None:
        """Answer; whatever happens, the request is counted and logged."""
        begin = time.perf_counter()
        metrics = self.service.metrics
        metrics.under_way.inc()
        try:
            await self._answer()
        finally:
            metrics.under_way.dec()
            seconds = time.perf_counter() - begin
            method, route = _method(self.scope), self._route()
            metrics.answered(method, route, self.status, seconds)
            self._log(method, route, seconds)

    def _route(self) -> str:
        return getattr(self.scope.get("route"), "path", "none")

    def _log(self, method: str, route: str, seconds: float) -> None:
        client = self.scope.get("client") or ("",)
        self.service.log.line(
            "request",
            request_id=self.request_id,
            method=method,
            route=route,
            status=self.status,
            ms=round(1000 * seconds, 3),
            caller=self.state["caller"].name if "caller" in self.state else None,
            client=client[0],
            **{name: self.state[name] for name in ("documents", "problem") if name in self.state},
        )

    async def _answer(self) -> None:
        try:
            self.state["caller"] = self._admitted()
            await self.app(self.scope, self.receive, self.send)
        except Exception as error:
            problem = problem_of(error)
            self._report(error, problem)
            await self._refuse(problem)

    def _report(self, error: Exception, problem: Problem) -> None:
        """Log what the answer leaves out: the sentence of an error of the index, or the place of a bug."""
        cause = (isinstance(error, Problem) and error.__cause__) or error
        if problem.kind == "internal-error":
            self.service.log.error("bug", cause, request_id=self.request_id)
        elif isinstance(cause, (NeardupError, OSError)):
            self.service.log.line("refused", "warning", request_id=self.request_id, message=str(cause)[:500])

    async def _refuse(self, problem: Problem) -> None:
        self.state["problem"] = problem.kind
        if self.started:  # the status is sent: an answer that breaks off is all that can be said
            raise ConnectionError(problem.kind)
        body = problem.body(self.request_id)
        headers = {**problem.headers, "content-length": str(len(body))}
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        await self.send({"type": "http.response.start", "status": problem.status, "headers": encoded})
        await self.send({"type": "http.response.body", "body": body})

    async def receive(self) -> Message:
        """The next part of the body."""
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            self.complete = True
        return message

    async def send(self, message: Message) -> None:
        """Send a part of the answer, with the headers that every answer has."""
        if message["type"] == "http.response.start":
            self.started, self.status = True, message["status"]
            more = [(b"x-request-id", self.request_id.encode()), (b"x-content-type-options", b"nosniff")]
            unread = self.status >= 400 and not self.complete and self._has_body()
            if unread or self.state.get("problem") == "malformed-request":
                more.append(
                    (b"connection", b"close")
                )  # what follows is not read, and not taken for a request
            message = {**message, "headers": [*message.get("headers", []), *more]}
        await self._send(message)

    def _has_body(self) -> bool:
        return b"transfer-encoding" in self.headers or self.headers.get(b"content-length", b"0") != b"0"

    # who may ask ------------------------------------------------------------------------------------

    def _admitted(self) -> Caller:
        self._check_head()
        self._check_host()
        self._check_origin()
        self._check_path()
        if not self.service.tokens.required or self.scope["path"] in OPEN:
            return Caller()
        return self._token()

    def _check_head(self) -> None:
        size = len(self.scope.get("raw_path", b"")) + len(self.scope.get("query_string", b""))
        size += sum(len(name) + len(value) + 4 for name, value in self.scope["headers"])
        if size > LARGEST_HEAD:
            raise Problem("head-too-large", f"The path and headers may have {LARGEST_HEAD:,} bytes.")
        if self.scope["http_version"] not in ("1.0", "1.1"):
            raise Problem("malformed-request", "The server speaks HTTP/1.1.")
        chunked = b"transfer-encoding" in self.headers
        if chunked and (b"content-length" in self.headers or self.scope["http_version"] == "1.0"):
            # A proxy in front may believe the other header, and take the end of the body for another request.
            raise Problem(
                "malformed-request", "A body has a Content-Length, or a Transfer-Encoding in HTTP/1.1."
            )

    def _check_path(self) -> None:
        path = self.scope.get("raw_path", b"")
        try:
            if b"%" in path or not path.isascii():
                unquote_to_bytes(path).decode()
        except UnicodeDecodeError:
            raise Problem("malformed-path", "The path must be UTF-8, percent-encoded.") from None

    def _check_host(self) -> None:
        if not names_host(self.scope["headers"], self.service.settings.hosts):
            raise Problem("host-refused", "Give the Host header a name of --host or --allow-host.")

    def _check_origin(self) -> None:
        """Pages of other sites may not ask unless they are listed: a browser would send them on its user's behalf."""
        origin = self.headers.get(b"origin")
        if origin is not None and origin.decode("latin-1") not in self.service.settings.origins:
            raise Problem("origin-refused", "List the origin with --cors-origin to let its pages ask.")

    def _token(self) -> Caller:
        given = [value for name, value in self.scope["headers"] if name == b"authorization"]
        if not given:
            raise Problem("token-missing", "Send the header Authorization: Bearer TOKEN.")
        scheme, _, secret = given[0].decode("latin-1").partition(" ")
        caller = self.service.tokens.caller(secret.strip()) if scheme.lower() == "bearer" else None
        if caller is None or len(given) > 1:
            raise Problem("token-unknown", "Make a token with neardup serve INDEX --new-token NAME.")
        return caller


def _method(scope: Scope) -> str:
    known = ("GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH")
    return scope["method"] if scope["method"] in known else "OTHER"
