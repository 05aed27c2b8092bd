"""Labels: documents and pairs judged by people in the two phases of the rare-phrases paper, and their agreement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from neardup.labelling.settings import PRESETS
from neardup.pages.escaping import safe
from neardup.studio import label_clusters, label_judge, label_protocol, label_tables, sample_pairs
from neardup.studio.app_gate import Refusal
from neardup.studio.app_page import button, form, go, show
from neardup.studio.app_sections import Section
from neardup.studio.label_progress import overview
from neardup.studio.label_shared import close_store, has_store, job_page, store_of

if TYPE_CHECKING:
    from neardup.studio.app import Studio

router = APIRouter()
WORDS = {
    "one person": (
        "One person, pairs only",
        "You judge each pair once. The quickest way to a threshold, or to 200 pairs for an estimate of precision.",
    ),
    "crowd": (
        "Two phases, several judges",
        "First each document: is it one that you want to compare? Two judges. Then pairs of documents that are: three "
        "judges. Somebody settles disagreements; honey pots watch the judges.",
    ),
    "five labels": (
        "One phase, five labels",
        "Two judges give each pair one of: duplicate, containment, non-duplicate, and the irrelevant ones of these.",
    ),
}


@router.get("/label")
def start(request: Request) -> Response:
    """The dashboard, or the choice of a protocol where labelling has not begun."""
    if has_store(request):
        return overview(request)
    choices = "".join(_choice(request, name, *words) for name, words in WORDS.items())
    body = (
        "<h1>Label pairs of documents</h1>\n<p>Labels show how good a method is on your documents, find its threshold, "
        "and teach a better one. They are stored at once, in labels.db beside the result.</p>\n"
        f'<div class="choices">{choices}</div>'
    )
    return show(request, "Label", body)


def _choice(request: Request, name: str, title: str, about: str) -> str:
    begins = button("Begin", name="preset", value=name, aria_label=f"Begin: {title}")
    return (
        f'<section class="choice"><h2>{safe(title)}</h2><p>{safe(about)}</p>'
        f"{form(request, '/label/begin', begins)}</section>"
    )


@router.post("/label/begin")
def begin(request: Request) -> Response:
    """Makes the store, with one of the usual protocols."""
    name = request.state.form.one("preset")
    if name not in PRESETS:
        raise Refusal(422, "Choose one of the three protocols.")
    if not has_store(request):
        store_of(request).change_settings(PRESETS[name])
    return go("/label/sample")


router.add_api_route("/label/job", job_page)


def routes(studio: Studio) -> APIRouter:
    """The pages of this section."""
    every = APIRouter()
    for module in (label_judge, label_clusters, label_protocol, label_tables, sample_pairs):
        every.include_router(module.router)
    every.include_router(router)
    return every


SECTION = Section(
    "label", "Label", 20, routes, serves=lambda target: target.run is not None, styles=("label.css",),
    scripts=("label.js",), close=close_store,
)  # fmt: skip
