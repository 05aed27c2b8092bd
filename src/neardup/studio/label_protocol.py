"""The protocol: judges for an item, honey pots, guidelines, and who is left out."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from neardup.labelling.answers import answers_of
from neardup.labelling.quality import judges
from neardup.labelling.settings import SCHEMES, LabelSettings
from neardup.labelling.states import LABELLED
from neardup.pages.escaping import named, safe
from neardup.plurals import counted
from neardup.studio.app_page import button, form, go
from neardup.studio.label_shared import has_store, label_page, store_of

router = APIRouter()
NUMBERS = {
    "document_judges": ("Judges a document", 1, 20, 1),
    "pair_judges": ("Judges a pair", 1, 20, 1),
    "honey_share": ("Share of honey pots", 0, 0.5, 0.01),
    "honey_least": ("Honey pots before a judge is flagged", 1, 1000, 1),
    "honey_bar": ("Least share of right honey pots", 0, 1, 0.05),
    "lease_seconds": ("Seconds until an item without an answer goes to another judge", 10, 86400, 10),
}
TEXTS = {
    "question": ("Question about a document", 2),
    "about_documents": ("Guidelines for documents", 7),
    "about_pairs": ("Guidelines for pairs", 8),
}


@router.get("/label/protocol")
def protocol(request: Request) -> Response:
    """The form of the protocol."""
    if not has_store(request):
        return go("/label")
    store = store_of(request)
    settings = store.settings
    body = "<h1>Protocol</h1>\n" + form(request, "/label/protocol", _fields(settings), class_="protocol")
    body += _honey(request, settings) + _people(request)
    return label_page(request, "Protocol", body)


def _fields(settings: LabelSettings) -> str:
    parts = [
        _select("scheme", "Scheme", SCHEMES, settings.scheme),
        _select(
            "consensus",
            "An item is labelled if its judges are",
            ("unanimous", "majority"),
            settings.consensus,
        ),
    ]
    for name, (label, low, high, step) in NUMBERS.items():
        parts.append(
            f'<label>{label}<input type="number" name="{name}" value="{getattr(settings, name):g}" min="{low}" '
            f'max="{high}" step="{step}" required></label>'
        )
    for name, (label, rows) in TEXTS.items():
        area = f'<textarea name="{name}" rows="{rows}">{safe_lines(getattr(settings, name))}</textarea>'
        parts.append(f'<label class="wide">{label}{area}</label>')
    return "".join(parts) + button("Save", class_="primary")


def safe_lines(text: str) -> str:
    """A text for a textarea, its lines kept."""
    return "\n".join(safe(line) for line in text.split("\n"))


def _select(name: str, label: str, choices: tuple[str, ...], chosen: str) -> str:
    options = "".join(
        f"<option{' selected' if one == chosen else ''}>{safe(one)}</option>" for one in choices
    )
    return f'<label>{label}<select name="{name}">{options}</select></label>'


def _honey(request: Request, settings: LabelSettings) -> str:
    store = store_of(request)
    agreed = len(store.items("state IN ('agreed', 'adjudicated')"))
    pots = len(store.items("state = 'honey'"))
    field = '<label>How many<input type="number" name="count" value="10" min="1" max="1000"></label>'
    made = form(request, "/label/honey", field + button("Make honey pots"), class_="row")
    return (
        '<section aria-labelledby="honey-h"><h2 id="honey-h">Honey pots</h2><p>A honey pot is an item whose label is '
        "known. Judges get some among the others, and cannot tell them apart. Make some of labels that you trust, or "
        f"import a table with the labels as honey pots.</p><p>{counted(pots, 'honey pot')}; "
        f"{counted(agreed, 'labelled item')} to make some of.</p>"
        f"{made if agreed else ''}</section>"
    )


def _people(request: Request) -> str:
    store = store_of(request)
    out = store.left_out
    names = sorted({one.judge for kind in ("document", "pair") for one in judges(store, kind)} | out)
    if not names:
        return ""
    rows = []
    for name in names:
        label = "Take in again" if name in out else "Leave out"
        doer = form(
            request, "/label/judges", button(label, aria_label=f"{label}: {name}"),
            {"judge": name, "left_out": int(name not in out)},
        )  # fmt: skip
        rows.append(f"<li>{named(name)} {doer}</li>")
    return (
        '<section id="judges" aria-labelledby="judges-h"><h2 id="judges-h">Judges</h2><p>The answers of a judge who is '
        "left out do not count, and other judges get these items.</p>"
        f'<ul class="people">{"".join(rows)}</ul></section>'
    )


@router.post("/label/protocol")
def save(request: Request) -> Response:
    """Stores the protocol."""
    store, given = store_of(request), request.state.form
    values = {name: given.one(name).replace("\r\n", "\n") for name in given.fields if name != "csrf"}
    store.change_settings(store.settings.with_texts(values))
    return go("/label/protocol?said=saved")


@router.post("/label/honey")
def honey(request: Request) -> Response:
    """Makes honey pots of labelled items, of each answer in turn."""
    store, count = store_of(request), request.state.form.number("count")
    for kind in ("document", "pair"):
        items = [
            one for one in store.items("kind = ?", (kind,)) if one.state in LABELLED and one.gold is None
        ]
        by = [
            [one.item for one in items if one.answer == answer.name]
            for answer in answers_of(kind, store.settings.scheme)
        ]
        turns = [some[k] for k in range(max(map(len, by), default=0)) for some in by if k < len(some)]
        store.make_honey(turns[:count])
    return go("/label/protocol?said=saved")


@router.post("/label/judges")
def leave_out(request: Request) -> Response:
    """Leaves a judge out, or takes the judge in again."""
    given = request.state.form
    store_of(request).leave_out(
        given.one("judge"), bool(given.number("left_out")), request.state.session.name
    )
    return go("/label/protocol?said=saved#judges")
