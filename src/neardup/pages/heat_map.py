"""A page with a heat map: who copies from whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neardup.pages.document import document
from neardup.pages.escaping import safe, shortened_name
from neardup.pages.parts import note, table

__all__ = ["HeatMap", "heat_map_page"]

CELL, LEFT, TOP, MOST = 30, 170, 145, 30  # pixels of a cell and of the names; sources that are shown
LEAN = 80  # pixels that the leaning name of the last column takes beside it


@dataclass(frozen=True)
class HeatMap:
    """Shares by row and column, with the count of each; rows are the ones that copy."""

    title: str
    sentence: str
    names: Sequence[str]
    counts: Mapping[tuple[str, str], int]
    shares: Mapping[tuple[str, str], float]
    rows: Sequence[Sequence[str | int]]  # of the table below it


def heat_map_page(shown: HeatMap) -> str:
    """The page as HTML."""
    names = shown.names[:MOST]
    rest = len(shown.names) - len(names)
    more = (
        note(
            f"The map shows the {MOST} sources that copy or are copied most; {rest:,} more are in the table."
        )
        if rest
        else ""
    )
    head = ("copies", "copied", "documents", "exact copies", "of its documents")
    return document(
        shown.title,
        "Sources",
        f"<p>{safe(shown.sentence)}</p>",
        [
            ("map", "Who copies from whom", _map(names, shown) + more),
            ("table", "All pairs of sources", table("Most documents first", head, shown.rows)),
        ],
    )


def _map(names: Sequence[str], shown: HeatMap) -> str:
    """Cells as dark as the share of the row's documents that repeat one of the column."""
    width, height = LEFT + CELL * len(names) + LEAN, TOP + CELL * len(names) + 10
    most = max(shown.shares.values(), default=0) or 1
    parts = []
    for k, name in enumerate(names):
        at, label = CELL * k + CELL / 2, safe(shortened_name(name, 22))
        parts.append(
            f'<text class="tick" x="{LEFT - 6}" y="{TOP + at + 4:.0f}" text-anchor="end">{label}</text>'
        )
        parts.append(
            f'<text class="tick" transform="translate({LEFT + at + 4:.0f} {TOP - 6}) rotate(-60)">{label}</text>'
        )
        for j, other in enumerate(names):
            count = shown.counts.get((name, other), 0)
            if not count:
                continue
            share = shown.shares[name, other]
            words = f"{count:,} of {name}, {share:.1%} of its documents, repeat {other}"
            parts.append(
                f'<rect class="bar" x="{LEFT + CELL * j}" y="{TOP + CELL * k}" width="{CELL - 1}" height="{CELL - 1}" '
                f'fill-opacity="{0.12 + 0.88 * share / most:.2f}"><title>{safe(words)}</title></rect>'
            )
    caption = "Rows copy from columns; a darker cell is a larger share of the row's documents."
    svg = (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="Heat map: who copies from whom">{"".join(parts)}</svg>'
    )
    return f'<figure class="scroll">{svg}<figcaption>{caption}</figcaption></figure>\n'
