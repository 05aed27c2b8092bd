"""Two documents beside each other in the terminal: what they share, and what only one of them has.

Readable without colours: every passage begins with a mark. Texts come from users, so they are shown as plain
text (no markup), and control characters, which a terminal would obey, as pictures.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from neardup.explain.excerpts import printable, shorten

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from neardup.explain.passages import Comparison, Passage, Side

__all__ = ["Row", "Show", "align", "passage_table", "plain", "printable"]

SAME, DIFFERENT, MOVED = "=", "≠", "↕"
LEGEND = f"{SAME} in both    {DIFFERENT} only here"
LEGEND_MOVED = f"    {MOVED}1 in both, but elsewhere: see {MOVED}1 opposite"
MOST_ROWS = 200  # without --full
LONG_DIFFERENCE = 60  # words at each end of a differing passage, which is what the reader came for


class Row(NamedTuple):
    """What stands on one line: a passage of each side, or of one."""

    left: Passage | None
    right: Passage | None


@dataclass(frozen=True)
class Show:
    """How much of the passages is shown."""

    context: int = 8  # words at each end of a long shared passage
    full: bool = False


def passage_table(comparison: Comparison, names: tuple[str, str], show: Show) -> tuple[Table, str]:
    """All passages in two columns, and what a reader needs to know about them."""
    from rich.table import Table

    table = Table(box=None, expand=True, padding=(0, 1, 0, 0), header_style="bold", show_edge=False)
    for name in names:
        table.add_column("", no_wrap=True)
        table.add_column(plain(name), ratio=1, overflow="fold")
    rows = align(comparison.left.passages, comparison.right.passages)
    shown = rows if show.full else rows[:MOST_ROWS]
    moved: dict[int, int] = {}  # numbers from 1 for the passages that stand alone
    for row in shown:
        beside = row.left is not None and row.right is not None
        for passage in row:
            if passage is not None and passage.shared and not beside:
                moved.setdefault(passage.number, len(moved) + 1)
        marks = {} if beside else moved
        left = _cells(comparison.left, row.left, marks, "red", show)
        table.add_row(*left, *_cells(comparison.right, row.right, marks, "green", show))
    hidden = f"… {len(rows) - len(shown):,} more rows: --full shows all\n" if len(shown) < len(rows) else ""
    return table, hidden + LEGEND + LEGEND_MOVED * bool(moved)


def _cells(
    side: Side, passage: Passage | None, moved: dict[int, int], colour: str, show: Show
) -> Iterator[Text]:
    """The mark of a passage and its text."""
    from rich.text import Text

    if passage is None:
        yield from (Text(), Text())
        return
    text = printable(side.text[passage.start : passage.end])
    if not passage.shared:
        yield Text(DIFFERENT, f"bold {colour}")
        yield Text(text if show.full else shorten(text, LONG_DIFFERENCE), colour)
    else:
        number = moved.get(passage.number)
        yield Text(f"{MOVED}{number}", "cyan") if number else Text(SAME, "dim")
        yield Text(text if show.full else shorten(text, show.context), "cyan" if number else "dim")


def align(left: list[Passage], right: list[Passage]) -> list[Row]:
    """Rows from top to bottom in the order of both texts; shared passages in another order stand alone."""
    rows: list[Row] = []
    i = j = 0
    for a, b in [*_anchors(left, right), (len(left), len(right))]:
        rows += _between(left[i:a], right[j:b])
        if a < len(left):
            rows.append(Row(left[a], right[b]))
        i, j = a + 1, b + 1
    return rows


def _between(left: list[Passage], right: list[Passage]) -> Iterator[Row]:
    """Rows of passages without a partner at this place: differing ones beside each other."""
    i = j = 0
    while i < len(left) or j < len(right):
        a = left[i] if i < len(left) else None
        b = right[j] if j < len(right) else None
        if a is not None and b is not None and (a.shared or b.shared):
            a, b = (a, None) if a.shared else (None, b)
        yield Row(a, b)
        i, j = i + (a is not None), j + (b is not None)


def _anchors(left: list[Passage], right: list[Passage]) -> list[tuple[int, int]]:
    """Places (left, right) of shared passages that follow each other in both texts, as many as possible."""
    places = {key: place for place, key in enumerate(_keys(right)) if key[0]}
    pairs = [(i, places[key]) for i, key in enumerate(_keys(left)) if key in places]
    # The longest increasing subsequence: for each length the pair that ends it soonest, and the way back.
    ends: list[int] = []
    tops: list[int] = []
    before: list[int] = []
    for k, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        before.append(tops[length - 1] if length else -1)
        ends[length : length + 1], tops[length : length + 1] = [place], [k]
    chain, k = [], tops[-1] if tops else -1
    while k >= 0:
        chain.append(pairs[k])
        k = before[k]
    return chain[::-1]


def _keys(passages: list[Passage]) -> list[tuple[int, int]]:
    """The number of each passage, and how many of this number came before."""
    counts: Counter[int] = Counter()
    keys = []
    for passage in passages:
        keys.append((passage.number, counts[passage.number]))
        counts[passage.number] += 1
    return keys


def plain(text: str) -> Text:
    """The same for rich, which takes no markup from it."""
    from rich.text import Text

    return Text(printable(text))
