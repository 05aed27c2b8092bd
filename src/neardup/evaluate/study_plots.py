"""Figures of studies: the columns of a table as lines over its first column."""

from __future__ import annotations

from pathlib import Path

from neardup.evaluate.plots import (
    COLOURS,
    DASHES,
    MARKERS,
    finish_figure,
    new_figure,
    plain_ticks,
    write_figure,
)
from neardup.evaluate.studies.registry import StudyTable


def plot_table(path: str | Path, table: StudyTable) -> Path:
    """A line for each column, and a dashed level for each row with a name instead of a number."""
    figure = new_figure((7.2, 4.4))
    axes = figure.add_subplot()
    numbers = [row for row in table.rows if isinstance(row[0], (int, float))]
    named = [row for row in table.rows if isinstance(row[0], str)]
    for column, title in enumerate(table.columns[1:], 1):
        if title == "loss":  # the complement of another column
            continue
        points = [(row[0], row[column]) for row in numbers if isinstance(row[column], float)]
        style = {
            "color": COLOURS[(column - 1) % len(COLOURS)],
            "marker": MARKERS[(column - 1) % len(MARKERS)],
        }
        if points:
            style["linestyle"] = DASHES[(column - 1) // len(COLOURS) % len(DASHES)]  # type: ignore[assignment]
            axes.plot([x for x, _ in points], [y for _, y in points], label=title, **style)  # type: ignore[arg-type]
        for number, row in enumerate(named):
            level = row[column]
            if isinstance(level, float):
                axes.axhline(level, color=style["color"], linewidth=0.9, linestyle=DASHES[1 + number % 3],
                             label=f"{title}: {row[0]}")  # fmt: skip
    axes.set(xlabel=table.columns[0], ylabel=table.measure)
    if numbers and max(row[0] for row in numbers) >= 16 * min(row[0] for row in numbers):  # type: ignore[type-var, operator]
        axes.set_xscale("log")
        plain_ticks(axes.xaxis)
    finish_figure(figure, [axes], table.title)
    return write_figure(figure, path)
