"""Plots for a report: methods compared, scores by threshold, similarities by label, missed candidates.

Plain arrays and names go in, a .png, .svg or .pdf file comes out, and its path is returned. The colours are those of
Okabe and Ito, which colour-blind people can distinguish; dashes and markers repeat them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neardup.errors import MissingExtra, OutputError, ParameterError
from neardup.output import whole_file
from neardup.signatures.estimate import wilson_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Values = NDArray[np.float64]
FORMATS = (".png", ".svg", ".pdf")
BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK, OLIVE = (
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#000000", "#8a7f00",
)  # fmt: skip
COLOURS = (BLUE, RED, GREEN, ORANGE, PURPLE, BLACK, SKY, OLIVE)
DASHES = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (7, 2, 1.5, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
BINS = 50  # of similarity
GRID = 1000  # curves are drawn to a thousandth of the axes, whatever their number of points
LEVELS = (0.2, 0.4, 0.6, 0.8)  # of F1, drawn behind precision and recall


def plot_precision_recall(path: str | Path, curves: Mapping[str, tuple[ArrayLike, ArrayLike]]) -> Path:
    """Precision against recall of each method (recall, precision), its best F1 marked."""
    figure = new_figure((8.2, 5.2))
    axes = figure.add_subplot()
    for level in LEVELS:
        recall = np.linspace(level / (2 - level), 1, 100)
        axes.plot(recall, level * recall / (2 * recall - level), color="0.85", linewidth=0.8, zorder=0)
        axes.text(level, level, f"F1 {level:g}", fontsize=7, color="0.55", ha="center", va="center",
                  backgroundcolor="white", zorder=0.6)  # fmt: skip
    for number, (name, (given_recall, given_precision)) in enumerate(curves.items()):
        recall, precision = _columns(name, given_recall, given_precision)
        order = np.lexsort((-precision, recall))
        recall, precision = recall[order], precision[order]
        f1 = _harmonic(recall, precision)
        best = int(np.argmax(f1)) if len(f1) else 0
        label = f"{name}  (F1 {f1[best]:.3f})" if len(f1) else name
        _draw_curve(axes, number, label, recall, precision, best, drawstyle="steps-pre")
    axes.set(xlim=(0, 1.005), ylim=(0, 1.015), xlabel="recall", ylabel="precision")
    finish_figure(figure, [axes], "Precision and recall over all thresholds")
    return write_figure(figure, path)


def plot_thresholds(path: str | Path, curves: Mapping[str, tuple[ArrayLike, ArrayLike, ArrayLike]]) -> Path:
    """F1 and MCC of each method (thresholds, F1, MCC) against its threshold, the best ones marked."""
    figure = new_figure((10.5, 4.6))
    panels = figure.subplots(1, 2, sharey=True)
    lowest = 0.0
    for number, (name, (thresholds, *scores)) in enumerate(curves.items()):
        for axes, score in zip(panels, scores, strict=True):
            x, y = _columns(name, thresholds, score)
            order = np.argsort(x, kind="stable")
            x, y = x[order], y[order]
            best = int(np.argmax(y)) if len(y) else 0
            _draw_curve(axes, number, name, x, y, best)
            lowest = min(lowest, float(y.min(initial=0.0)))
    for axes, label in zip(panels, ("F1", "MCC"), strict=True):
        axes.set(xlim=(0, 1.005), ylim=(lowest * 1.05, 1.015), xlabel="threshold", ylabel=label)
        axes.tick_params(labelleft=True)
    finish_figure(figure, panels, "Scores by threshold")
    return write_figure(figure, path)


def plot_similarities(
    path: str | Path,
    similarity: ArrayLike,
    positive: ArrayLike,
    *,
    threshold: float | None = None,
    title: str = "",
) -> Path:
    """The histogram of similarities by label, on a logarithmic scale."""
    values = np.asarray(similarity, np.float64)
    same = np.asarray(positive, np.bool_)
    if values.shape != same.shape:
        raise ParameterError("positive", "plot_similarities", f"as long as {len(values)} scores", len(same))
    figure = new_figure((7.6, 4.4))
    axes = figure.add_subplot()
    edges = np.linspace(0, 1, BINS + 1)
    series = (("different", values[~same], RED, "\\\\\\"), ("same", values[same], BLUE, "///"))
    for name, chosen, colour, hatch in series:
        counts, _ = np.histogram(np.clip(chosen, 0, 1), edges)
        label = f"{name} ({len(chosen):,} pairs)"
        axes.stairs(counts, edges, fill=True, color=colour, alpha=0.22, linewidth=0)
        axes.stairs(counts, edges, color=colour, hatch=hatch, linewidth=1.6, label=label, baseline=0.5)
    if threshold is not None:
        axes.axvline(threshold, color=BLACK, linestyle="--", linewidth=1.2, label=f"threshold {threshold:g}")
    axes.set(xlim=(0, 1), yscale="log", xlabel="similarity", ylabel="pairs (logarithmic)")
    axes.set_ylim(bottom=0.5)
    finish_figure(figure, [axes], title or "Similarity of pairs by label")
    return write_figure(figure, path)


def plot_candidates(
    path: str | Path,
    curve: tuple[ArrayLike, ArrayLike],
    edges: ArrayLike,
    found: ArrayLike,
    total: ArrayLike,
    *,
    threshold: float | None = None,
    title: str = "",
) -> Path:
    """The expected probability of becoming a candidate (similarity, probability), and the measured share in each bin.

    `edges` bound the bins of similarity, `total` counts the pairs of each and `found` the candidates among
    them. Error bars are 95 % Wilson intervals; the lower panel shows the number of pairs in each bin.
    """
    bounds, hits, pairs = (np.asarray(array, np.float64) for array in (edges, found, total))
    if not len(bounds) - 1 == len(hits) == len(pairs):
        raise ParameterError("edges", "plot_candidates", f"one more than its {len(pairs)} bins", len(bounds))
    figure = new_figure((7.6, 5.2))
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    upper.plot(*_columns("curve", *curve), color=BLUE, linewidth=2, label="expected from the bands")
    some = pairs > 0
    middle, share = ((bounds[1:] + bounds[:-1]) / 2)[some], hits[some] / pairs[some]
    ends = [wilson_interval(int(k), int(n)) for k, n in zip(hits[some], pairs[some], strict=True)]
    error = np.abs(np.array(ends).reshape(-1, 2).T - share)
    upper.errorbar(middle, share, error, fmt="o", color=RED, markersize=5, capsize=2.5, linewidth=1,
                   label="measured, with 95 % interval")  # fmt: skip
    lower.stairs(pairs, bounds, fill=True, color="0.75")
    for axes in (upper, lower):
        if threshold is not None:
            label = f"threshold {threshold:g}" if axes is upper else None
            axes.axvline(threshold, color=BLACK, linestyle="--", linewidth=1.2, label=label)
    upper.set(xlim=(0, 1), ylim=(-0.02, 1.02), ylabel="share of pairs that become candidates")
    lower.set(yscale="log", ylabel="pairs", xlabel="similarity")
    lower.set_ylim(bottom=0.5)
    finish_figure(figure, [upper, lower], title or "Candidates: expected and measured")
    return write_figure(figure, path)


def _draw_curve(axes: Axes, number: int, label: str, x: Values, y: Values, best: int, **style: Any) -> None:
    """One method's line in its own colour and dashes, with a marker at its best point."""
    colour = COLOURS[number % len(COLOURS)]
    dashes: Any = DASHES[(number + number // len(COLOURS)) % len(DASHES)]
    marker = MARKERS[number % len(MARKERS)]
    kept = _thin(x, y, best)
    at = [int(np.searchsorted(kept, best))] if len(kept) else []
    axes.plot(x[kept], y[kept], color=colour, linestyle=dashes, linewidth=1.7, label=label, marker=marker,
              markevery=at, markersize=7, markeredgecolor="white", **style)  # fmt: skip


def _thin(x: Values, y: Values, best: int) -> NDArray[np.int64]:
    """The points that differ visibly from the previous one, with the first, the last and the best."""
    if len(x) == 0:
        return np.zeros(0, np.int64)
    cells = np.rint(np.stack([x, y]) * GRID)
    moved = np.append(True, (np.diff(cells, axis=1) != 0).any(axis=0))
    moved[[best, -1]] = True
    return np.flatnonzero(moved)


def _harmonic(recall: Values, precision: Values) -> Values:
    """F1."""
    both = recall + precision
    return np.divide(2 * recall * precision, both, out=np.zeros(len(both)), where=both > 0)


def _columns(name: str, x: ArrayLike, y: ArrayLike) -> tuple[Values, Values]:
    """Both as arrays of one length, without points that are not numbers (precision with nothing found)."""
    first, second = np.asarray(x, np.float64).ravel(), np.asarray(y, np.float64).ravel()
    if len(first) != len(second):
        raise ParameterError(name, "the plot", f"two columns of one length ({len(first)})", len(second))
    known = np.isfinite(first) & np.isfinite(second)
    return first[known], second[known]


def new_figure(
    size: tuple[float, float], extra: str = "evaluate", purpose: str = "A plot of the evaluation"
) -> Figure:
    """An empty figure without a window; `extra` brings matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("matplotlib", extra, purpose) from error
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def finish_figure(figure: Figure, panels: Sequence[Axes], title: str) -> None:
    """Adds grid, title, and one legend below the panels."""
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    for axes in panels:
        axes.grid(color="0.92", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    handles, labels = panels[0].get_legend_handles_labels()
    if not handles:
        return
    column = 60 + 5.4 * max(map(len, labels))  # width of the widest entry, in points
    most = int(figure.get_figwidth() * 72 // column)
    figure.legend(handles, labels, loc="outside lower center", ncols=max(1, min(len(labels), most, 4)),
                  frameon=False, fontsize=9, handlelength=3.2)  # fmt: skip


def plain_ticks(axis: Any) -> None:
    """Numbers at 1, 2 and 5 of each power of ten along a logarithmic axis, instead of powers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def write_figure(figure: Figure, path: str | Path) -> Path:
    """The path, after the figure was written to it; the same arrays make the same bytes."""
    from matplotlib import rc_context

    path = Path(path)
    kind = path.suffix.lower()
    if kind not in FORMATS:
        raise OutputError(f"{path}: the file name of a plot must end in {', '.join(FORMATS)}")
    stamp: dict[str, Any] = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[kind]
    try:
        with rc_context({"svg.hashsalt": "neardup"}), whole_file(path) as aside:
            figure.savefig(aside, dpi=150, metadata=stamp)
    except OSError as error:
        raise OutputError(f"{path}: cannot write the plot ({error.strerror or error})") from error
    return path
