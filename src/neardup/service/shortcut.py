"""A short way to the paths that are asked most: without parameters, nothing has to be resolved but the path itself.

FastAPI's way through routes, parameters and dependencies takes longer than reading the request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

Handler = Callable[[Request], Awaitable[Response]]


class Path(NamedTuple):
    """A path, as metrics and logs name it."""

    path: str


class Shortcut:
    """Middleware before the router."""

    def __init__(self, app: ASGIApp, handlers: Mapping[str, Handler]) -> None:
        self.app = app
        self._known = {name: (Path(name), handler) for name, handler in handlers.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a POST to a known path without parameters; leave others to the router."""
        found = self._known.get(scope["path"]) if scope["type"] == "http" else None
        if found is None or scope["query_string"] or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        scope["route"], handler = found
        response = await handler(Request(scope, receive))
        await response(scope, receive, send)
