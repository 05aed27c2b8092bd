"""Figures of the simhash thesis: weights by position, evenness of fingerprints, cluster sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.clusters.sizes import ClusterSizes, Evenness
from neardup.columns import Texts
from neardup.errors import OutputError
from neardup.evaluate.plots import (
    BLUE,
    COLOURS,
    DASHES,
    MARKERS,
    RED,
    finish_figure,
    new_figure,
    plain_ticks,
    write_figure,
)
from neardup.index.overview import Overview, weight_stages
from neardup.plan import Plan
from neardup.statistics import Statistics
from neardup.weights.position import as_bag, over_occurrences


def weights_by_position(
    plan: Plan, text: str, statistics: Statistics | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """The position of each feature's first occurrence in a document, ascending, and its weight."""
    tokens = plan.text(Texts.from_strings([text]))
    bag = as_bag(plan.view.represent(tokens, statistics))
    assert bag.weights is not None
    places = -over_occurrences(plan.view.features, bag, tokens)
    order = np.argsort(places, kind="stable")
    return places[order], bag.weights[order]


def plot_weights(
    path: Path, plan: Plan, text: str, statistics: Statistics | None = None, after: str = ""
) -> Path:
    """Figures 3-4 and 5-1 to 5-4: the weight of every feature in the order of the document."""
    places, weights = weights_by_position(plan, text, statistics)
    figure, axes = _axes("place of the feature's first occurrence, in words", "weight")
    axes.vlines(places, 0, weights, linewidth=1.0, color=BLUE)
    axes.set_ylim(bottom=0)
    stage = f" after {after}" if after else ""
    return _saved(figure, axes, path, f"Weights of a document's {len(places):,} features{stage}")


def draw_overview(folder: Path, plan: Plan, found: Overview, suffix: str = ".png") -> list[Path]:
    """All figures of a corpus: cluster sizes, evenness, and a document's weights after each weight stage."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder} cannot be used for plots: {error.strerror}") from None
    files = [
        plot_cluster_sizes(folder / f"cluster_sizes{suffix}", found.sizes),
        plot_evenness(folder / f"fingerprints{suffix}", found.even, "fingerprints"),
        plot_evenness(folder / f"features{suffix}", found.features, "hashes of features"),
    ]
    if found.text is not None:
        for number, (name, part) in enumerate(weight_stages(plan), 1):
            path = folder / f"weights_{number}_{name}{suffix}"
            files.append(plot_weights(path, part, found.text, found.statistics, name))
    return files


def plot_evenness(path: Path, bins: Evenness, what: str = "values") -> Path:
    """Figures 3-2 and 6-1: values in each of 256 bins, and the line of uniform values."""
    figure, axes = _axes("leading byte", what)
    axes.bar(np.arange(len(bins.counts)), bins.counts, width=1.0, color=BLUE)
    mean = bins.counts.mean()
    axes.axhline(mean, color=RED, linewidth=1.4, label=f"evenly: {mean:,.2f} each")
    axes.set(xlim=(-0.5, len(bins.counts) - 0.5), xticks=[*range(0, len(bins.counts), 32), 255])
    title = f"{bins.counts.sum():,} {what} by leading byte: chi-square {bins.chi_square:,.0f} (255 ± 23 if random)"
    return _saved(figure, axes, path, title)


def plot_cluster_sizes(path: Path, sizes: ClusterSizes) -> Path:
    """Figure 6-2: the number of clusters by size, for each distance."""
    figure, axes = _axes("documents in the cluster", "clusters")
    for distance in range(len(sizes.sizes)):
        style = {"color": COLOURS[distance % len(COLOURS)], "marker": MARKERS[distance % len(MARKERS)]}
        dashes: Any = DASHES[distance % len(DASHES)]
        axes.plot(*sizes.histogram(distance), label=f"distance ≤ {distance}", linestyle=dashes, **style)
    axes.set(xscale="log", yscale="log")
    for axis in (axes.xaxis, axes.yaxis):
        plain_ticks(axis)
    return _saved(figure, axes, path, "Clusters by size, one around each document")


def _axes(x: str, y: str) -> tuple[Any, Any]:
    figure = new_figure((7, 4), "plot", "Drawing")
    axes = figure.subplots()
    axes.set(xlabel=x, ylabel=y)
    return figure, axes


def _saved(figure: Any, axes: Any, path: Path, title: str) -> Path:
    finish_figure(figure, [axes], title)
    return write_figure(figure, path)
