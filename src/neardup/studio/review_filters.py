"""The form of filters beside the queue."""

from __future__ import annotations

from neardup.pages.escaping import safe, shortened_name
from neardup.studio.app_page import button, link
from neardup.studio.review_index import Filters, ReviewIndex

__all__ = ["filter_panel"]

STATUS = {"open": "Open", "decided": "Decided", "skipped": "Skipped", "all": "All"}
KINDS = {
    "": "All kinds",
    "chained": "Chained, or by the cluster",
    "numbers": "Different in numbers only",
    "direct": "Direct near-duplicates",
    "copies": "Exact copies",
}


def filter_panel(index: ReviewIndex, filters: Filters) -> str:
    """The form; more filters are behind a summary, open while one is set."""
    rows = [
        _range("Similarity", "low", "high", filters, "0.01"),
        _range("Documents", "least", "most", filters, "1"),
    ]
    if index.sources:
        rows.append(_sources(index, filters))
    if index.day:
        rows.append(_dates(filters))
    hidden = bool(filters.kind or filters.low or filters.high or filters.least or filters.most)
    is_open = hidden or bool(filters.source or filters.since or filters.until)
    clear = link("/review", "Clear", class_="button") if filters.active else ""
    warn = ""
    if filters.q and not index.is_complete(filters.q):
        warn = '<p class="note">The search ended early: more clusters may have these words.</p>'
    notes = "".join(f'<p class="note">{safe(note)}</p>' for note in index.notes)
    return (
        '<form class="filters" method="get" action="/review" role="search">'
        '<label for="q">Search ids and texts</label>'
        f'<input id="q" name="q" type="search" value="{safe(filters.q)}" data-key="/" data-help="Search">'
        f'<div class="pair"><span><label for="status">Status</label>{_select("status", STATUS, filters.status)}</span>'
        f'<span><label for="kind">Kind</label>{_select("kind", KINDS, filters.kind)}</span></div>'
        f"<details{' open' if is_open else ''}><summary>More filters</summary>{''.join(rows)}</details>"
        f'<p class="actions">{button("Filter")} {clear}</p>{warn}{notes}</form>'
    )


def _select(name: str, values: dict[str, str], chosen: str) -> str:
    options = "".join(
        f'<option value="{safe(value)}"{" selected" if value == chosen else ""}>{safe(label)}</option>'
        for value, label in values.items()
    )
    return f'<select id="{name}" name="{name}">{options}</select>'


def _range(label: str, low: str, high: str, filters: Filters, step: str) -> str:
    fields = "".join(
        f'<span><label for="{name}">{safe(label)} {words}</label><input id="{name}" name="{name}" type="number" '
        f'min="0" step="{step}" value="{safe(getattr(filters, name))}"></span>'
        for name, words in ((low, "from"), (high, "to"))
    )
    return f'<div class="pair">{fields}</div>'


def _sources(index: ReviewIndex, filters: Filters) -> str:
    values = {"": f"All ({shortened_name(index.source, 30)})"}
    values |= {name: f"{shortened_name(name, 40)} ({count:,})" for name, count in index.sources}
    if filters.source:
        values.setdefault(filters.source, shortened_name(filters.source, 40))
    return f'<label for="source">Source</label>{_select("source", values, filters.source)}'


def _dates(filters: Filters) -> str:
    fields = "".join(
        f'<span><label for="{name}">{label}</label><input id="{name}" name="{name}" type="date" '
        f'value="{safe(getattr(filters, name))}"></span>'
        for name, label in (("since", "Date from"), ("until", "Date to"))
    )
    return f'<div class="pair">{fields}</div>'
