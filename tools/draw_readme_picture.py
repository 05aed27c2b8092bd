"""Draws docs/images/peers.svg, the picture of the README: speed, precision and recall beside other tools.

Run it after `make bench`:  .venv/bin/python tools/draw_readme_picture.py
All figures come from benchmarks/results/speed-20k.json, the corpus that every tool was run on.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "speed-20k.json"
PICTURE = ROOT / "docs" / "images" / "peers.svg"

OURS, PEER, TEXT = "#2f81f7", "#8b949e", "#768089"  # each readable on white and on a dark page
PRECISION, RECALL = "#2f81f7", "#d9822b"

# Of tools with several settings the fastest one. Ours splits words at blanks here, as the peers do.
SHOWN = {
    "neardup, pairs and clusters": "neardup, every pair and clusters written",
    "neardup, kept documents written": "neardup, kept documents written",
    "rensa": "rensa",
    "fastsketchlsh": "fastsketchlsh",
    "gaoya": "gaoya",
    "datasketch": "datasketch-xxh32",
    "datatrove *": "datatrove-split",
    "text-dedup *": "text-dedup-xxh3",
}


class Tool(NamedTuple):
    """One row of the picture."""

    name: str
    megabytes_per_second: float
    precision: float
    recall: float

    @property
    def ours(self) -> bool:
        return self.name.startswith("neardup")


def read_tools(path: Path = RESULTS) -> list[Tool]:
    """The rows from top to bottom: CPU time of one thread, clusters against the true clusters."""
    results = json.loads(path.read_text(encoding="utf-8"))
    records = {
        record["name"]: record
        for record in results["records"]
        if record["threads"] == 1 and record.get("tokens") != "words"
    }
    return [tool(name, records[record], results["megabytes"]) for name, record in SHOWN.items()]


def tool(name: str, record: dict[str, Any], megabytes: float) -> Tool:
    """A row from the record of a run."""
    quality = record["quality"]["closure"]
    return Tool(name, megabytes / record["cpu"], quality["precision"], quality["recall"])


def speed_label(tool: Tool) -> str:
    """The speed as the picture says it."""
    speed = tool.megabytes_per_second
    return f"{speed:.0f} MB/s" if speed >= 10 else f"{speed:.1f} MB/s"


def draw(tools: list[Tool], path: Path = PICTURE) -> None:
    """Two panels with a row for each tool."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": "neardup",
        "font.family": "sans-serif",
        "font.size": 11,
    }
    with plt.rc_context(settings):
        figure, (left, right) = plt.subplots(1, 2, figsize=(10.4, 3.9), sharey=True, width_ratios=[1, 1])
        draw_speed(left, tools)
        draw_quality(right, tools)
        figure.text(
            0.02, 0.03, "20,000 documents, 55 MB; Jaccard of word 5-grams ≥ 0.7; one core.   "
            "* writes kept documents, reports no pairs.", color=TEXT, fontsize=10.5,
        )  # fmt: skip
        figure.subplots_adjust(left=0.285, right=0.975, top=0.88, bottom=0.19, wspace=0.1)
        figure.savefig(path, transparent=True, metadata={"Date": None})
        plt.close(figure)


def draw_speed(axes: Any, tools: list[Tool]) -> None:
    """Bars: text a second of CPU time."""
    rows = range(len(tools))
    axes.barh(
        rows, [t.megabytes_per_second for t in tools], height=0.62,
        color=[OURS if t.ours else PEER for t in tools],
    )  # fmt: skip
    for row, each in zip(rows, tools, strict=True):
        axes.text(each.megabytes_per_second + 1.5, row, speed_label(each), va="center", color=TEXT)
    axes.set(yticks=rows, yticklabels=[t.name for t in tools], xlim=(0, 155), xticks=[])
    axes.invert_yaxis()
    axes.set_title("speed: text a second of CPU time", color=TEXT, fontsize=12, loc="left")
    tidy(axes)


def draw_quality(axes: Any, tools: list[Tool]) -> None:
    """Dots: precision and recall of the clusters."""
    for row, each in enumerate(tools):
        axes.plot([each.precision, each.recall], [row, row], color=PEER, linewidth=1.5, zorder=1)
    rows = range(len(tools))
    axes.scatter([t.precision for t in tools], rows, s=62, color=PRECISION, zorder=3)
    axes.scatter([t.recall for t in tools], rows, s=62, color=RECALL, marker="D", zorder=2)
    axes.set(xlim=(0.6, 1.02), xticks=[0.6, 0.7, 0.8, 0.9, 1.0])
    axes.grid(axis="x", color=PEER, alpha=0.3)
    axes.set_axisbelow(True)
    axes.text(0, 1.045, "● precision", color=PRECISION, fontsize=12, transform=axes.transAxes)
    axes.text(0.31, 1.045, "◆ recall", color=RECALL, fontsize=12, transform=axes.transAxes)
    axes.text(0.55, 1.045, "of the clusters", color=TEXT, fontsize=12, transform=axes.transAxes)
    tidy(axes)


def tidy(axes: Any) -> None:
    """No frame, and text in a colour that suits light and dark pages."""
    for side in axes.spines.values():
        side.set_visible(False)
    axes.tick_params(length=0, colors=TEXT)


if __name__ == "__main__":
    draw(read_tools())
