"""The S-curve of signatures that decide: as a table, in the terminal, as a figure and as plain values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neardup.candidates.decided import Decided
from neardup.cli.support.curve_plot import dotted_curve, save_figure
from neardup.plurals import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.table import Table

    from neardup.plan import Plan

STEPS = tuple(round(0.05 * step, 2) for step in range(21))
REACH = 0.3  # similarities this far from the threshold are listed


def print_decided(plan: Plan, curve: Decided) -> None:
    """Print what a signature costs, what becomes of pairs by their similarity, and the curve."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    size = counted(curve.check.size, "sign bit" if curve.check.units == "bits" else "sample")
    console.print(f"{size}, {counted(curve.bytes, 'byte')} a document, decide", style="bold")
    console.print(
        f"Standard error at the threshold of {plan.threshold:g}: {curve.error(plan.threshold):.3f}, of the "
        f"{curve.check.kind}."
    )
    if curve.check.units == "slots":
        console.print(
            "Samples estimate Σ min / Σ max; the similarity is that of vectors with equal entries.",
            style="dim",
        )
    console.print()
    console.print(_table(plan, curve))
    console.print()
    heading = "probability that a pair is found, and passes by its signatures"
    console.print(
        dotted_curve(_probabilities(curve), plan.threshold, heading, curve.check.kind, _caption(plan, curve))
    )


def as_dict(plan: Plan, curve: Decided) -> dict[str, Any]:
    """The same as plain values."""
    return {
        "threshold": plan.threshold,
        "units": curve.check.units,
        "size": curve.check.size,
        "bytes": curve.bytes,
        "standard_error": curve.error(plan.threshold),
        "curve": curve.rows(sorted({*STEPS, plan.threshold})),
        "plan": plan.to_dict(),
    }


def save_decided(path: str | Path, plan: Plan, curve: Decided) -> None:
    """Write the curve to a .png, .svg or .pdf file."""
    save_figure(path, lambda axes: _draw(axes, plan, curve))


def _probabilities(curve: Decided) -> Any:
    return lambda similarities: np.array([curve.probability(float(one)) for one in similarities])


def _caption(plan: Plan, curve: Decided) -> str:
    limit = plan.threshold
    passing = f"{curve.probability(limit):.0%} of the pairs at {limit:g} are found and pass"
    return f"{curve.bytes} bytes a document: {passing}; standard error {curve.error(limit):.3f}"


def _table(plan: Plan, curve: Decided) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 3, 0, 0), show_edge=False)
    for heading in (curve.check.kind, "candidate", "and passes", "standard error"):
        table.add_column(heading, justify="right")
    near = [one for one in {*STEPS, plan.threshold} if abs(one - plan.threshold) <= REACH]
    for row in curve.rows(sorted(near)):
        here = row["similarity"] == plan.threshold
        cells = [f"{'▸ ' * here}{row['similarity']:g}", f"{row['candidate']:.2%}", f"{row['decided']:.2%}"]
        table.add_row(*cells, f"{row['standard_error']:.3f}", style="bold" if here else None)
    return table


def _draw(axes: Axes, plan: Plan, curve: Decided) -> None:
    """The curve, that of candidates alone, and the two areas of error."""
    s: NDArray[np.float64] = np.linspace(0.0, 1.0, 301)
    found = _probabilities(curve)(s)
    candidate = np.array([curve.candidate(float(one)) for one in s])
    limit = plan.threshold
    axes.fill_between(s, found, where=(s <= limit).tolist(), color="#e15759", alpha=0.3, linewidth=0,
                      label="passes, below the threshold")  # fmt: skip
    axes.fill_between(s, found, 1, where=(s >= limit).tolist(), color="#4e79a7", alpha=0.35, linewidth=0,
                      label="missed")  # fmt: skip
    axes.plot(s, candidate, color="#59a14f", linewidth=1.4, linestyle=":", label="is a candidate")
    axes.plot(s, found, color="#1f3552", linewidth=2, label="is a candidate, and passes")
    axes.axvline(limit, color="#b07d12", linestyle="--", linewidth=1.2, label=f"threshold {limit:g}")
    axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel=curve.check.kind, ylabel="probability")
    axes.set_title(_caption(plan, curve), fontsize=10, loc="left")
    axes.grid(color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", frameon=False, fontsize=9)
