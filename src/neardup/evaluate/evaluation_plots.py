"""The plots of an evaluation: precision and recall, thresholds, similarities, candidates."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from neardup.errors import OutputError
from neardup.evaluate.plots import plot_candidates, plot_precision_recall, plot_similarities, plot_thresholds
from neardup.evaluate.results import MethodResult

POINTS = 201  # of an expected curve


def draw_evaluation(
    results: Sequence[MethodResult], folder: str | os.PathLike[str], suffix: str = ".png"
) -> list[Path]:
    """The files: two plots of all methods, and up to two for each method."""
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{place} cannot be used for plots: {error.strerror}") from None
    curves = {result.name: (result.curve.recall, result.curve.precision) for result in results}
    scores = {result.name: (result.curve.thresholds, result.curve.f1, result.curve.mcc) for result in results}
    files = [
        plot_precision_recall(place / f"precision_recall{suffix}", curves),
        plot_thresholds(place / f"thresholds{suffix}", scores),
    ]
    for number, result in enumerate(results, 1):
        name = f"{number:02d}_{re.sub(r'[^A-Za-z0-9.=]+', '_', result.name)}"
        files.append(_draw_similarities(result, place / f"{name}_similarities{suffix}"))
        joined = result.plan is None or result.plan.joins  # exact: finds every pair
        if result.candidate_recall is not None and not joined:
            files.append(_draw_candidates(result, place / f"{name}_candidates{suffix}"))
    return files


def _draw_similarities(result: MethodResult, path: Path) -> Path:
    """The histogram of pairs with a score above 0; the others would dwarf it."""
    pairs = result.pairs
    return plot_similarities(
        path,
        pairs.score,
        pairs.positive,
        threshold=result.threshold,
        title=f"{result.name}: pairs with shared features, by label",
    )


def _draw_candidates(result: MethodResult, path: Path) -> Path:
    assert result.plan is not None and result.candidate_recall is not None
    at = np.linspace(0, 1, POINTS)
    expected = np.array([result.plan.candidates.probability(float(s)) for s in at])
    match = result.candidate_recall
    return plot_candidates(
        path, (at, expected), match.edges, match.found_in_bin, match.pairs_in_bin,
        threshold=result.threshold, title=f"{result.name}: candidates",
    )  # fmt: skip
