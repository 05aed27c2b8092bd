"""Judging: a document, a pair, or a disagreement, with the guidelines beside it; one key for each answer."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from neardup.errors import InputError
from neardup.labelling.answers import SKIP, answers_of, shown_answer
from neardup.labelling.assignment import next_disputed, next_item
from neardup.labelling.quality import progress
from neardup.labelling.settings import LabelSettings
from neardup.labelling.store import Item, LabelStore
from neardup.pages.escaping import named, safe
from neardup.pages.parts import table
from neardup.studio.app_page import button, form, go, link, message
from neardup.studio.label_shared import has_store, label_page, store_of
from neardup.studio.label_texts import item_text, view_links

router = APIRouter()
PHASES = {"documents": "document", "pairs": "pair"}


@router.get("/label/documents")
def documents(request: Request) -> Response:
    """The next document."""
    return _next(request, "document")


@router.get("/label/pairs")
def pairs(request: Request) -> Response:
    """The next pair."""
    return _next(request, "pair")


def _next(request: Request, kind: str) -> Response:
    if not has_store(request):
        return go("/label")
    store, judge = store_of(request), request.state.session.name
    item = next_item(store, judge, kind)
    if item is None:
        return label_page(request, "Nothing to judge", _nothing(request, store, judge, kind))
    settings = store.settings
    title = settings.question if kind == "document" else "How are A and B related?"
    return label_page(request, "Judge", _judging(request, store, item, title, "judge"))


def _judging(request: Request, store: LabelStore, item: Item, title: str, role: str, above: str = "") -> str:
    """The texts, the answers and the guidelines."""
    settings = store.settings
    hidden = {"item": item.item, "role": role}
    answers = "".join(
        button(one.shown, key=one.key, name="answer", value=one.name, class_="answer")
        for one in answers_of(item.kind, settings.scheme)
    )
    skip = (
        button("Skip", key="k", name="answer", value=SKIP, help="Skip: another judge gets it")
        if role == "judge"
        else ""
    )
    undo = form(
        request,
        "/label/undo",
        button("Undo", key="u", help="Withdraw your last answer"),
        {"role": role, "kind": item.kind},
    )
    given = form(request, "/label/judge", answers + skip, hidden, class_="grid")
    about = settings.about_documents if item.kind == "document" else settings.about_pairs
    return (
        f'<h1 class="question">{safe(title)}</h1>\n{above}'
        f'<div class="judging"><div class="answers">{given}'
        f"{undo}{_done(store, request.state.session.name, item.kind)}</div>\n"
        f'<div class="item">{view_links(request, store, item)}{item_text(request, store, item)}</div>\n'
        f'<aside aria-label="Guidelines"><h2>Guidelines</h2>{_guidelines(about)}'
        f'<p class="note"><button type="button" data-open-keys hidden>Keys</button></p></aside></div>'
    )


def _guidelines(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    shown = []
    for line in lines:
        head, colon, rest = line.partition(":")
        strong = colon and len(head) < 50
        shown.append(
            f"<p><strong>{safe(head)}:</strong>{safe(rest)}</p>" if strong else f"<p>{safe(line)}</p>"
        )
    return "".join(shown)


def _done(store: LabelStore, judge: str, kind: str) -> str:
    """How many this judge has judged, and how many are labelled."""
    (mine,) = store.rows(
        "SELECT count(*) FROM standing s JOIN items USING (item) WHERE judge = ? AND role = 'judge' AND kind = ? "
        "AND s.answer <> ?",
        (judge, kind, SKIP),
    )[0]
    states = dict(store.rows("SELECT state, count(*) FROM items WHERE kind = ? GROUP BY state", (kind,)))
    total = sum(states.values()) - states.get("excluded", 0)
    done = sum(states.get(state, 0) for state in ("agreed", "adjudicated", "honey", "disputed"))
    return f'<p class="note count">You: {mine:,}. Judged: {done:,} of {total:,}.</p>'


def _nothing(request: Request, store: LabelStore, judge: str, kind: str) -> str:
    """Why a judge gets nothing, and where to continue."""
    found = progress(store, kind)
    other = "pair" if kind == "document" else "document"
    parts = ["<h1>Nothing to judge</h1>\n"]
    if judge in store.left_out:
        parts.append(
            message("Your answers are left out, because too many honey pots were answered wrongly.", "error")
        )
    elif not found.items:
        parts.append(message("No sample yet: draw pairs to label first."))
        parts.append(f"<p>{link('/label/sample', 'Draw a sample', key='Enter', class_='button primary')}</p>")
    else:
        waiting = found.by_state.get("waiting", 0)
        rest = found.by_state.get("open", 0)
        begun = found.judgements or rest
        said = f"You have judged all {kind}s that need you." if begun else f"No {kind} is ready to be judged."
        said += f" {rest:,} need other judges." if rest else ""
        said += f" {waiting:,} wait for labels of their documents." if waiting else ""
        parts.append(message(said))
    links = (
        [link(f"/label/{other}s", f"To the {other}s", class_="button")]
        if store.settings.scheme == "two phases"
        else []
    )
    if found.by_state.get("disputed"):
        links.append(link("/label/disputed", "Settle disagreements", class_="button"))
    links.append(link("/label", "Overview", class_="button"))
    undo = form(
        request,
        "/label/undo",
        button("Undo", key="u", help="Withdraw your last answer"),
        {"role": "judge", "kind": kind},
    )
    return "".join(parts) + f'<div class="row">{"".join(links)}{undo}</div>'


@router.get("/label/disputed")
def disputed(request: Request) -> Response:
    """The next disagreement, with what each judge said."""
    if not has_store(request):
        return go("/label")
    store = store_of(request)
    item = next_disputed(store, request.state.session.name)
    if item is None:
        undo = form(request, "/label/undo", button("Undo", key="u"), {"role": "adjudicator", "kind": "pair"})
        body = f"<h1>No disagreement is open</h1>\n{message('Judges agree on all items that they have judged.')}{undo}"
        return label_page(request, "Disagreements", body)
    return label_page(
        request,
        "Disagreement",
        _judging(request, store, item, "Settle this disagreement", "adjudicator", _votes(store, item)),
    )


def _votes(store: LabelStore, item: Item) -> str:
    rows = store.rows(
        "SELECT judge, answer, seconds FROM standing WHERE item = ? AND role = 'judge' AND answer <> ? ORDER BY seq",
        (item.item, SKIP),
    )
    scheme, out = store.settings.scheme, store.left_out
    shown = [
        (
            named(judge),
            shown_answer(item.kind, scheme, answer),
            "–" if seconds is None else f"{seconds:.1f}",
        )
        for judge, answer, seconds in rows
        if judge not in out
    ]
    return table("What the judges said", ("judge", "answer", "seconds"), shown, markup=True)


@router.post("/label/judge")
def judge(request: Request) -> Response:
    """Stores an answer and shows the next item."""
    given, store = request.state.form, store_of(request)
    role = "adjudicator" if given.one("role") == "adjudicator" else "judge"
    item = store.item(given.number("item"))
    back = "/label/disputed" if role == "adjudicator" else f"/label/{item.kind}s"
    answer = given.one("answer")
    if answer not in {one.name for one in answers_of(item.kind, store.settings.scheme)} | {SKIP}:
        raise InputError(f"{answer!r} is no answer to this item.")
    try:
        store.judge(item.item, request.state.session.name, answer, role)
    except InputError:
        return go(f"{back}?said=late")
    return go(f"{back}?said={'skipped' if answer == SKIP else 'stored'}")


@router.post("/label/undo")
def undo(request: Request) -> Response:
    """Withdraws the last answer and shows its item again."""
    given, store = request.state.form, store_of(request)
    role = "adjudicator" if given.one("role") == "adjudicator" else "judge"
    found = store.undo(request.state.session.name, role)
    if role == "adjudicator":
        return go(f"/label/disputed?said={'nothing' if found is None else 'undone'}")
    if found is None:
        kind = given.one("kind")
        return go(f"/label/{kind if kind in PHASES.values() else 'pair'}s?said=nothing")
    return go(f"/label/{store.item(found).kind}s?said=undone")


def protocol_words(settings: LabelSettings) -> str:
    """The protocol in one sentence."""
    several = settings.pair_judges > 1 or settings.scheme == "two phases"
    consensus = f", {settings.consensus}" if several else ""
    judges = f"{settings.pair_judges} judges a pair" if settings.pair_judges > 1 else "one judge a pair"
    if settings.scheme == "two phases":
        judges = f"{settings.document_judges} judges a document, {judges}"
    honey = f", {settings.honey_share:.0%} honey pots" if settings.honey_share else ""
    return f"{settings.scheme}: {judges}{consensus}{honey}"
