"""The small parts of a page: tiles, tables, notes and figures in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from neardup.pages.escaping import safe, shortened_name

__all__ = ["Cell", "figure_text", "note", "share", "table", "tiles", "warning"]

Cell = str | int | float | None
N = ' class="n"'  # a figure
CELL = 1000  # characters of a cell that are shown
FIGURE = re.compile(r"–|[-+]?[\d.,]+(e-?\d+)?( to [-+]?[\d.,]+| ?(%|s|bytes|kB|MB|GB|TB))?")


def tiles(values: Iterable[tuple[str, str, str]]) -> str:
    """Large figures in a row: label, figure, and a few words below it."""
    one = '<div class="tile{0}"><dt>{1}</dt><dd>{2}<small>{3}</small></dd></div>'
    shown = (
        one.format(f" {label.split()[0].lower()}", safe(label), safe(value), safe(below))
        for label, value, below in values
    )
    return f'<dl class="tiles">{"".join(shown)}</dl>\n'


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Cell]], *, markup: bool = False) -> str:
    """A table whose first column names the rows; figures are right-aligned.

    With `markup` the first cell of each row is HTML already.
    """
    shown = list(rows)
    numeric = [bool(shown) and all(_is_figure(row[k]) for row in shown) for k in range(len(head))]
    names = "".join(
        f'<th scope="col"{N if k and right else ""}>{safe(name)}</th>'
        for k, (name, right) in enumerate(zip(head, numeric, strict=True))
    )
    body = "".join(_row(row, numeric, markup) for row in shown)
    return (
        f'<div class="scroll"><table><caption>{safe(caption)}</caption><thead><tr>{names}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>\n"
    )


def _row(row: Sequence[Cell], numeric: Sequence[bool], markup: bool) -> str:
    first = str(row[0]) if markup else safe(figure_text(row[0]))
    cells = (
        f"<td{N if right else ''}>{safe(figure_text(value))}</td>"
        for value, right in zip(row[1:], numeric[1:], strict=True)
    )
    return f'<tr><th scope="row">{first}</th>{"".join(cells)}</tr>'


def _is_figure(value: Cell) -> bool:
    """Whether a cell is a number, with or without a unit, or empty."""
    return not isinstance(value, str) or FIGURE.fullmatch(value) is not None


def figure_text(value: Cell) -> str:
    """A value as shown: numbers with separators, three decimals; a dash for None."""
    if value is None or value != value:
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else shortened_name(value, CELL)


def share(part: int, whole: int) -> str:
    """A percentage with one decimal."""
    return f"{part / whole:.1%}" if whole else "–"


def note(text: str) -> str:
    """A sentence in small print."""
    return f'<p class="note">{safe(text)}</p>\n'


def warning(text: str) -> str:
    """A sentence that must be read."""
    return f'<p class="warning"><strong>Warning</strong> {safe(text)}</p>\n'
