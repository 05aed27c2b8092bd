"""Pictures of an S-curve: in the terminal, and as a file for a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from neardup.candidates.curve import Bands
from neardup.errors import MissingExtra, OutputError
from neardup.output import whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.text import Text

__all__ = ["dotted_curve", "save_figure", "save_plot", "terminal_plot"]

Curve = Callable[[NDArray[np.float64]], NDArray[np.float64]]  # probabilities of similarities

COLUMNS, LINES = 61, 17  # so that fifths fall on whole columns, and quarters on whole lines
MARGIN = 7  # room for the labels of the vertical axis
FORMATS = (".png", ".svg", ".pdf")

# The bit of each dot of a braille cell, 4 high and 2 wide (Unicode block 2800).
BRAILLE = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]], dtype=np.int64)


def terminal_plot(bands: Bands, threshold: float) -> Text:
    """The curve of bands in braille dots, about 70 × 22 characters, with the threshold as a dotted line."""
    heading = "probability that a pair becomes a candidate"
    return dotted_curve(
        bands.probability, threshold, heading, "similarity (Jaccard)", _caption(bands, threshold)
    )


def dotted_curve(probability: Curve, threshold: float, heading: str, axis: str, caption: str) -> Text:
    """A curve over similarities from 0 to 1 in braille dots, with the threshold as a dotted line."""
    from rich.text import Text

    cells = _curve_cells(probability)
    mark = round(threshold * (COLUMNS - 1))
    plot = Text(f"{heading}\n", style="bold")
    for line in range(LINES):
        plot.append(_left_label(line), style="dim")
        for column, dots in enumerate(cells[line]):
            if dots:
                plot.append(chr(0x2800 + int(dots)), style="cyan")
            else:
                plot.append("┊" if column == mark else " ", style="yellow")
        plot.append("\n")
    plot.append(_bottom_axis(mark), style="dim")
    plot.append(f"{axis:>{MARGIN + COLUMNS}}\n", style="dim")
    plot.append(caption)
    return plot


def _curve_cells(probability: Curve) -> NDArray[np.int64]:
    """The braille bits of every cell, the curve drawn as an unbroken line of dots."""
    wide, high = 2 * COLUMNS, 4 * LINES
    found = probability(np.linspace(0.0, 1.0, wide))
    level = np.rint((1 - found) * (high - 1)).astype(np.int64)
    cells = np.zeros((LINES, COLUMNS), dtype=np.int64)
    before = level[0]
    for x, y in enumerate(level):
        # A steep piece falls on several dots of one column: from below its neighbour up to its own level.
        for dot in range(int(y), max(int(before), int(y) + 1)):
            cells[dot // 4, x // 2] |= BRAILLE[dot % 4, x % 2]
        before = y
    return cells


def _left_label(line: int) -> str:
    """The vertical axis at this line, numbered at the quarters."""
    quarter, rest = divmod(line * 4, LINES - 1)
    return f"{1 - quarter / 4:>{MARGIN - 2}.2f} ┤" if rest == 0 else f"{'│':>{MARGIN}}"


def _bottom_axis(mark: int) -> str:
    """The horizontal axis, numbered at the fifths, and the place of the threshold."""
    ticks = {round(fifth / 5 * (COLUMNS - 1)): f"{fifth / 5:.1f}" for fifth in range(6)}
    rule = "".join("┬" if x in ticks else "─" for x in range(COLUMNS))
    numbers = [" "] * (COLUMNS + 2)
    for x, label in ticks.items():
        numbers[max(0, x - 1) : max(0, x - 1) + 3] = label
    pointer = " " * mark + "▲ threshold" if mark < COLUMNS - 11 else " " * (mark - 10) + "threshold ▲"
    return f"{'└':>{MARGIN}}{rule}\n{' ' * MARGIN}{''.join(numbers).rstrip()}\n{' ' * MARGIN}{pointer}\n"


def _caption(bands: Bands, threshold: float) -> str:
    """The bands, and what they find, in one line."""
    return (
        f"{bands.bands} bands × {bands.rows} rows = {bands.slots} slots: "
        f"{bands.probability(threshold):.2%} found at {threshold:g}, half at {bands.midpoint:.2f}"
    )


def save_plot(
    path: str | Path,
    bands: Bands,
    threshold: float,
    measured: Sequence[tuple[float, float]] | None = None,
) -> None:
    """Write the curve to a .png, .svg or .pdf file, with `measured` (similarity, share found) as points."""
    save_figure(path, lambda axes: _draw(axes, bands, threshold, measured or ()))


def save_figure(path: str | Path, draw: Callable[[Axes], None]) -> None:
    """Write what `draw` puts on one pair of axes to a .png, .svg or .pdf file."""
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise OutputError(
            f"{path}: a plot is written as {', '.join(FORMATS)}, not {path.suffix or 'no ending'}"
        )
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("matplotlib", "plot", "A plot of the S-curve") from error
    figure = Figure(figsize=(7, 4.2), layout="constrained")  # no pyplot: no window, no global state
    draw(figure.add_subplot())
    stamp = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[path.suffix.lower()]
    try:
        with (
            rc_context({"svg.hashsalt": "neardup"}),
            whole_file(path) as aside,
        ):  # the same curve makes the same bytes
            figure.savefig(aside, dpi=150, metadata=stamp)
    except OSError as error:
        raise OutputError(f"{path}: cannot write the plot ({error.strerror or error})") from error


def _draw(axes: Axes, bands: Bands, threshold: float, measured: Sequence[tuple[float, float]]) -> None:
    """The curve, the threshold, and the two areas of error of the slide "Picking the S-curve"."""
    s = np.linspace(0.0, 1.0, 501)
    found = bands.probability(s)
    axes.fill_between(s, found, where=s <= threshold, color="#59a14f", alpha=0.25, linewidth=0,
                      label="compared, below the threshold")  # fmt: skip
    axes.fill_between(s, found, 1, where=s >= threshold, color="#4e79a7", alpha=0.35, linewidth=0,
                      label="missed")  # fmt: skip
    axes.plot(s, found, color="#1f3552", linewidth=2, label=f"{bands.bands} bands × {bands.rows} rows")
    axes.axvline(threshold, color="#b07d12", linestyle="--", linewidth=1.2, label=f"threshold {threshold:g}")
    if measured:
        axes.plot(*zip(*measured, strict=True), "o", color="#e15759", markersize=5, label="measured")
    axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="similarity (Jaccard)", ylabel="probability of being found")
    axes.set_title(_caption(bands, threshold), fontsize=10, loc="left")
    axes.grid(color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    # Where the curve is not.
    corner: Literal["upper left", "lower right"] = "upper left" if bands.midpoint > 0.4 else "lower right"
    axes.legend(loc=corner, frameon=False, fontsize=9)
