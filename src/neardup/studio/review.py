"""Review: clusters in order of risk, decided by people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from neardup.studio.app_page import show
from neardup.studio.app_sections import Section

if TYPE_CHECKING:
    from neardup.studio.app import Studio

router = APIRouter()


@router.get("/review")
def first(request: Request) -> Response:
    """The first cluster."""
    return show(request, "Review", "<h1>Review</h1>")


def routes(studio: Studio) -> APIRouter:
    """The pages of the review."""
    return router


SECTION = Section("review", "Review", 0, routes, serves=lambda target: target.run is not None)
