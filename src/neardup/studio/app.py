"""The application of a target: its sections behind the gate. It listens nowhere; app_server does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from neardup.pages.escaping import safe
from neardup.studio.app_gate import AppGate, Refusal
from neardup.studio.app_page import button, form, go, refusal, show, static_file
from neardup.studio.app_sections import Section, all_sections
from neardup.studio.app_session import LONGEST_NAME, Sessions, clean_name
from neardup.studio.app_target import Target

__all__ = ["Studio", "make_app"]


@dataclass
class Studio:
    """What all requests share; a section may keep things of its own in `kept`."""

    target: Target
    sessions: Sessions
    sections: tuple[Section, ...] = ()
    kept: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Takes the sections that have something to show of the target."""
        self.sections = self.sections or tuple(one for one in all_sections() if one.serves(self.target))


router = APIRouter()


def make_app(studio: Studio) -> FastAPI:
    """The application of a studio."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        for section in studio.sections:
            if section.close is not None:
                section.close(studio)

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.state.studio = studio
    app.include_router(router)
    for section in studio.sections:
        app.include_router(section.routes(studio))
    app.add_exception_handler(HTTPException, _no_route)
    app.add_middleware(
        AppGate,
        sessions=studio.sessions,
        refused=partial(refusal, studio.target.name, studio.sections),
    )
    return app


async def _no_route(request: Request, error: Any) -> Response:
    if error.status_code == 405:
        raise Refusal(405, "The page takes another method.")
    raise Refusal(404, "No page has this address.")


@router.get("/")
async def start(request: Request) -> Response:
    """To the first section; a browser that comes with the token gets its cookies."""
    studio: Studio = request.app.state.studio
    if not studio.sections:
        raise Refusal(404, "The studio has nothing to show of this target.")
    response = go(studio.sections[0].address)
    if session := getattr(request.state, "opened", None):
        for value in studio.sessions.cookies(session):
            response.headers.append("set-cookie", value)
    return response


@router.get("/static/{name}")
def static(name: str) -> Response:
    """A style or a script."""
    found = static_file(name)
    if found is None:
        raise Refusal(404, "No file has this name.")
    return found


@router.get("/you")
def you(request: Request) -> Response:
    """The form for the name under which decisions and labels are stored."""
    name = request.state.session.name
    words = "Decisions and labels are stored under your name, so that others see who made them."
    field = (
        f'<label for="name">Your name</label><input id="name" name="name" value="{safe(name)}" '
        f'maxlength="{LONGEST_NAME}" required autocomplete="name">'
    )
    body = f'<h1>Who you are</h1>\n<p class="note">{words}</p>\n'
    return show(
        request, "Who you are", body + form(request, "/you", field + button("Save"), class_="stacked")
    )


@router.post("/you")
def rename(request: Request) -> Response:
    """Takes another name."""
    studio: Studio = request.app.state.studio
    name = clean_name(request.state.form.one("name"))
    if not name:
        raise Refusal(422, "A name needs at least one letter that can be seen.")
    request.state.session.name = name
    response = go("/")
    for value in studio.sessions.cookies(request.state.session):
        response.headers.append("set-cookie", value)
    return response
