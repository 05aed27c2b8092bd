"""The application: routes behind the gate. It opens nothing and listens nowhere; server.py does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

import neardup
from neardup.service import document_routes, question_routes, server_routes
from neardup.service.bodies import invalid
from neardup.service.core import Service
from neardup.service.described import describe
from neardup.service.gate import Gate
from neardup.service.handlers import json_response, visitor
from neardup.service.problems import Problem
from neardup.service.shortcut import Handler, Shortcut

OFTEN: dict[str, Handler] = {
    "/v1/query": question_routes.query,
    "/v1/check": question_routes.check,
    "/v1/documents": document_routes.add_documents,
}
DESCRIPTION = "Near-duplicates of documents in an index: found, checked, added and deleted."


class Application(FastAPI):
    """Routes behind the gate, which stands before everything that FastAPI does with a request."""

    front: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        scope["app"] = self
        await self.front(scope, receive, send)

    def stand_behind(self, service: Service, handlers: Mapping[str, Handler]) -> None:
        """Put the gate before the shortcut before the routes. Browsers ask what is allowed before they show a token."""
        front: ASGIApp = Gate(Shortcut(super().__call__, handlers), service)
        if service.settings.origins:
            front = CORSMiddleware(
                front,
                allow_origins=list(service.settings.origins),
                allow_methods=["GET", "POST", "DELETE"],
                allow_headers=["authorization", "content-type", "idempotency-key", "x-request-id"],
                expose_headers=["x-request-id", "retry-after"],
            )
        self.front = front


def make_app(service: Service) -> FastAPI:
    """The application of a service, which ends with it."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        await service.close()

    app = Application(
        title="neardup",
        version=neardup.__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    for routes in (question_routes, document_routes, server_routes):  # in the order of their use
        app.include_router(routes.router)
    app.add_api_route("/v1/openapi.json", openapi, include_in_schema=False)
    app.add_exception_handler(HTTPException, _no_route)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _left_to_the_gate)
    app.stand_behind(service, OFTEN)
    describe(app)
    return app


async def openapi(request: Request) -> Response:
    """The description of the service."""
    visitor(request, "read")
    return json_response(describe(request.app))


async def _left_to_the_gate(request: Request, error: Exception) -> Response:
    raise error


async def _no_route(request: Request, error: Any) -> Response:
    if error.status_code == 405:
        raise Problem("method-not-allowed", "The path takes other methods: see /v1/openapi.json.")
    raise Problem("path-not-found", "The paths are in /v1/openapi.json.")


async def _invalid(request: Request, error: Any) -> Response:
    raise invalid(error.errors())
