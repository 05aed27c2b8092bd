"""An index in the studio: its documents by id, and the nearest neighbours of a document or of a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from neardup.errors import NeardupError
from neardup.explain.passages import shared_passages
from neardup.index.index import Index
from neardup.index.matches import Match
from neardup.pages.escaping import named, safe
from neardup.pages.parts import figure_text, note
from neardup.pages.removal_list import RELATIONS
from neardup.pages.side_by_side import LEGEND, Caption, one_text, side_by_side
from neardup.plans import comparison_plan
from neardup.plurals import counted
from neardup.studio.app_page import button, form, message, show
from neardup.studio.app_sections import Section

if TYPE_CHECKING:
    from neardup.studio.app import Studio

MOST = 50  # neighbours
NO_TEXT = "The index does not store this text."
router = APIRouter()


def index_of(request: Request) -> Index:
    """The index of the studio."""
    found: Index = request.app.state.studio.kept["index"]
    return found


@router.get("/index")
def look(request: Request) -> Response:
    """A document by its id beside its nearest neighbours; the forms to ask for one."""
    index, values = index_of(request), request.query_params
    asked, other = values.get("id", "").strip(), values.get("beside", "")
    head = _forms(request, index, asked)
    if not asked:
        return show(request, "Index", head)
    found = _stored(index, asked)
    if found is None:
        return show(
            request, "Index", head + message(f"The index has no document of the id {asked}.", "error")
        )
    text = getattr(found, "text", None)
    matches = [one for one in index.query({"text": text}, limit=MOST) if str(one.id) != asked] if text else []
    return show(request, f"Document {asked}", head + _neighbours(index, asked, text, matches, other))


@router.post("/index")
def ask(request: Request) -> Response:
    """The nearest neighbours of a text that was pasted."""
    index, text = index_of(request), request.state.form.one("text")
    head = _forms(request, index, "", text)
    if not text.strip():
        return show(request, "Index", head + message("Paste a text first.", "error"), status=422)
    try:
        matches = index.query({"text": text}, limit=MOST)
    except NeardupError as error:
        return show(request, "Index", head + message(str(error), "error"), status=422)
    return show(request, "Neighbours of a text", head + _neighbours(index, "", text, matches, ""))


def _stored(index: Index, asked: str) -> Any:
    """The document of an id, which may be a number."""
    found = index.get(asked)
    return index.get(int(asked)) if found is None and asked.isdecimal() and len(asked) < 19 else found


def _forms(request: Request, index: Index, asked: str, text: str = "") -> str:
    plan = index.plan
    words = f"{counted(len(index), 'document')}; {plan.method}, threshold {plan.threshold:g}."
    by_id = (
        '<form class="line" method="get" action="/index" role="search"><label for="id">Id of a document</label>'
        f'<input id="id" name="id" type="search" value="{safe(asked)}" data-key="/" data-help="Type an id">'
        f"{button('Show')}</form>"
    )
    field = (
        '<label for="text">Or a text, to see what the index has like it</label>'
        f'<textarea id="text" name="text" rows="4">{safe(text)}</textarea>'
    )
    by_text = form(request, "/index", field + button("Find near-duplicates"), class_="asked")
    return f"<h1>Documents of the index</h1>\n<p>{safe(words)}</p>{by_id}{by_text}"


def _neighbours(index: Index, asked: str, text: str | None, matches: list[Match], other: str) -> str:
    """The list of neighbours, and both texts of the one that is looked at."""
    if not matches:
        one = one_text(Caption(asked or "your text"), text, NO_TEXT)
        return f'{note("No near-duplicate is in the index.")}<div class="sides">{one}</div>'
    chosen = next((one for one in matches if str(one.id) == other), matches[0])
    rows = "".join(
        f'<tr{" class=selected" if one is chosen else ""}><th scope="row">{_link(asked, one)}</th>'
        f'<td class="n">{figure_text(one.similarity)}</td><td>{safe(RELATIONS.get(one.relation or "", "–"))}</td></tr>'
        for one in matches
    )
    head = (
        '<th scope="col">Neighbour</th><th scope="col" class="n">Similarity</th><th scope="col">Relation</th>'
    )
    table = f'<table class="documents"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
    stored = index.get(chosen.id)
    theirs = getattr(stored, "text", None)
    captions = Caption(asked or "your text"), Caption(str(chosen.id))
    if text is None or theirs is None:
        sides = one_text(captions[0], text, NO_TEXT) + one_text(captions[1], theirs, NO_TEXT)
        shown = f'<div class="sides">{sides}</div>'
    else:
        compared = shared_passages(comparison_plan(index.plan), text, theirs)
        shown = note(LEGEND) + side_by_side(compared, captions)
    return f'<div class="scroll">{table}</div><section class="texts" aria-label="Texts">{shown}</section>'


def _link(asked: str, one: Match) -> str:
    """To the pair with this neighbour; of a pasted text to the neighbour itself."""
    query = urlencode({"id": asked, "beside": str(one.id)} if asked else {"id": str(one.id)})
    return f'<a href="/index?{safe(query)}">{named(one.id)}</a>'


def routes(studio: Studio) -> APIRouter:
    """The pages; the index is open as long as the studio."""
    studio.kept["index"] = Index(studio.target.index or "")
    return router


def close(studio: Studio) -> None:
    """Closes the index."""
    studio.kept["index"].close()


SECTION = Section(
    "index",
    "Index",
    0,
    routes,
    serves=lambda target: target.index is not None,
    styles=("review.css", "workbench.css"),
    close=close,
)
