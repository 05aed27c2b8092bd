"""The dashboard: progress, agreement, judges, honey pots, and the precision of the run."""

from __future__ import annotations

import math

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from neardup.labelling.answers import shown_answer
from neardup.labelling.quality import (
    JudgeAgreement,
    JudgeQuality,
    LabelProgress,
    agreement,
    judges,
    precision,
    progress,
)
from neardup.labelling.store import LabelStore
from neardup.labelling.tags import tagged_clusters
from neardup.pages.document import section
from neardup.pages.escaping import named, safe
from neardup.pages.parts import Cell, figure_text, note, table, tiles
from neardup.plurals import counted
from neardup.studio.app_page import link
from neardup.studio.label_judge import protocol_words
from neardup.studio.label_shared import interval_text, label_page, store_of

router = APIRouter()
PHASE = {"document": "Documents (phase 1)", "pair": "Pairs"}


def overview(request: Request) -> Response:
    """The dashboard."""
    store = store_of(request)
    kinds = ["document", "pair"] if store.settings.scheme == "two phases" else ["pair"]
    found = {kind: progress(store, kind) for kind in kinds}
    body = f'<h1>Labels</h1>\n<p class="note">{safe(protocol_words(store.settings).capitalize())}.</p>\n'
    body += _tiles(store, found) + _actions(found)
    body += "".join(_phase(request, store, one) for one in found.values() if one.items)
    return label_page(request, "Labels", body)


def _tiles(store: LabelStore, found: dict[str, LabelProgress]) -> str:
    shown = []
    for kind, one in found.items():
        open_ = one.items - one.labelled - one.by_state.get("excluded", 0)
        shown.append(
            (f"{kind.capitalize()}s labelled", f"{one.labelled:,}", f"of {one.items:,}; {open_:,} to go")
        )
        if one.judgements:
            spent = "–" if math.isnan(one.seconds) else f"{one.seconds:.1f} s"
            shown.append((f"Time a {kind}", spent, f"median of {counted(one.judgements, 'judgement')}"))
    disputed = sum(one.by_state.get("disputed", 0) for one in found.values())
    shown.append(("Disagreements", f"{disputed:,}", "to be settled"))
    if clusters := len(tagged_clusters(store)):
        shown.append(("Clusters tagged", f"{clusters:,}", "whole clusters"))
    if estimate := precision(store):
        low, high = estimate.interval.low, estimate.interval.high
        below = f"95 %: {low:.1%} to {high:.1%}, from {counted(estimate.judged, 'found pair')}"
        shown.append(("Precision of the run", f"{estimate.precision:.1%}", below))
    return tiles(shown)


def _actions(found: dict[str, LabelProgress]) -> str:
    links = []
    if "document" in found and found["document"].by_state.get("open"):
        links.append(link("/label/documents", "Judge documents", key="d", class_="button primary"))
    if found["pair"].by_state.get("open"):
        links.append(link("/label/pairs", "Judge pairs", key="p", class_="button primary"))
    if any(one.by_state.get("disputed") for one in found.values()):
        links.append(link("/label/disputed", "Settle disagreements", key="a", class_="button"))
    if not found["pair"].items:
        links.append(link("/label/sample", "Draw pairs to label", key="Enter", class_="button primary"))
    if found["pair"].labelled:
        links.append(link("/learn", "Learn from the labels", key="l", class_="button"))
    return f'<div class="row">{"".join(links)}</div>\n'


def _phase(request: Request, store: LabelStore, found: LabelProgress) -> str:
    """All tables of a phase."""
    kind, scheme = found.kind, store.settings.scheme
    states = [(state, count) for state, count in found.by_state.items()]
    answers = [(shown_answer(kind, scheme, name), count) for name, count in found.answers.items()]
    several = store.settings.needed(kind) > 1
    parts = [
        f'<div class="tables">{table("Items by state", ("state", "items"), states)}',
        f"{table('Answers', ('answer', 'judgements'), answers)}</div>",
    ]
    if several and found.judgements:
        parts.append(_agreement(agreement(store, kind)))
    if found.judgements:
        parts.append(_judges(store, judges(store, kind), several))
    heading = PHASE[kind] if scheme == "two phases" else "Pairs"
    return section(f"{kind}s", heading, "".join(parts))


def _agreement(found: JudgeAgreement) -> str:
    if not found.items:
        return note("Agreement is shown when two judges have judged the same item.")
    usual = counted(found.judges_of_an_item, "judgement")
    rows: list[tuple[Cell, ...]] = [
        ("Raw agreement", found.raw, f"{counted(found.items, 'item')} with two or more judgements"),
        ("Fleiss’ kappa", found.fleiss, f"{counted(found.fleiss_items, 'item')} with {usual} each"),
        ("Cohen’s kappa", found.cohen, "mean over pairs of judges, weighted by common items"),
    ]  # fmt: skip
    shown = table("Agreement", ("measure", "value", "of"), rows)
    two: list[tuple[Cell, ...]] = [
        (f"{named(a)} and {named(b)}", count, raw, kappa)
        for (a, b), (count, raw, kappa) in found.by_pair.items()
    ]
    if len(two) > 1:
        shown += "<details><summary>Pairs of judges</summary>"
        shown += (
            table(
                "Pairs of judges", ("judges", "items", "agreement", "Cohen’s kappa"), two[:200], markup=True
            )
            + "</details>"
        )
    return shown


def _seconds(value: float) -> str:
    """Seconds with one decimal."""
    return "–" if math.isnan(value) else f"{value:.1f}"


def _judges(store: LabelStore, found: list[JudgeQuality], several: bool) -> str:
    head = ["judge", "judged", "skipped", "median s"]
    head += ["agreement", "kappa"] if several else []
    pots = any(one.honey for one in found)
    head += ["honey pots", "right", "95 %"] if pots else []
    rows: list[list[Cell]] = []
    for one in found:
        flags = " (left out)" if one.left_out else " (below the bar)" if one.flagged else ""
        row: list[Cell] = [
            f"{named(one.judge)}{flags}",
            one.judged,
            one.skipped,
            _seconds(one.seconds),
        ]
        row += [one.raw, one.kappa] if several else []
        if pots:
            interval = one.honey_interval
            row += [
                one.honey,
                one.honey_share,
                interval_text(interval.low, interval.high) if interval else "–",
            ]
        rows.append(row)
    shown = table("Judges", head, rows, markup=True)
    flagged = [one.judge for one in found if one.flagged and not one.left_out]
    if flagged:
        names = ", ".join(named(name) for name in flagged)
        bar = figure_text(store.settings.honey_bar)
        shown += (
            f'<p class="message error" role="status">Below the bar of {bar} right honey pots: {names}. '
            '<a href="/label/protocol#judges">Leave judges out</a></p>'
        )
    return shown
