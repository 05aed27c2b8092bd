"""Held-out scores: a threshold chosen on one half of the clusters and applied to the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from neardup.errors import InputError
from neardup.evaluate.goals import Goal, find_best
from neardup.evaluate.labels import Mask, Truth
from neardup.evaluate.scores import Floats, ScoredPairs, make_curve
from neardup.evaluate.times import BLOCKS, can_hold_out, time_blocks

OFFSETS = (-0.1, -0.05, -0.01, 0.01, 0.05, 0.1)


@dataclass(frozen=True)
class SplitScores:
    """The scores of each held-out half, at the threshold chosen on the other half."""

    goal: Goal
    threshold: Floats  # NaN if the goal was not reached
    precision: Floats  # of the held-out half
    recall: Floats
    f1: Floats
    sensitivity: dict[float, Floats]  # F1 by offset of the threshold

    def as_dict(self) -> dict[str, Any]:
        """Means and standard deviations, as plain values."""
        known = ~np.isnan(self.threshold)
        names = ("threshold", "precision", "recall", "f1")
        summary = {name: _summary(getattr(self, name)[known]) for name in names}
        around = {f"{offset:+g}": _mean(values[known]) for offset, values in self.sensitivity.items()}
        halves = {"halves": len(known), "reached": int(known.sum())}
        return {"goal": str(self.goal), **halves, **summary, "f1_around_threshold": around}


def _summary(values: Floats) -> dict[str, float]:
    known = values[~np.isnan(values)]
    deviation = float(known.std(ddof=1)) if len(known) > 1 else float("nan")
    return {"mean": _mean(values), "standard_deviation": deviation}


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def halves(truth: Truth, repeats: int, seed: int) -> Iterator[tuple[Mask, Mask]]:
    """Random halves of the clusters, `repeats` times, as masks of documents.

    Clusters with near-duplicates and single documents are halved separately, so that both halves have some of each.
    """
    units = truth.units
    count = int(units.max(initial=-1)) + 1
    with_pairs = truth.units_with_pairs
    present = np.bincount(units[units >= 0], minlength=count) > 0
    if int((with_pairs & present).sum()) < 2:
        raise InputError("only one cluster has near-duplicates: the labels cannot be split into halves")
    rng = np.random.default_rng(seed)
    for _ in range(repeats):
        first = np.zeros(count, np.bool_)
        for group in (with_pairs, ~with_pairs):
            some = rng.permutation(np.flatnonzero(group & present))
            odd = int(rng.integers(2))  # which half has one more
            first[some[: (len(some) + odd) // 2]] = True
        yield (units >= 0) & first[units], (units >= 0) & ~first[units]


def later_blocks(truth: Truth, times: Floats) -> list[tuple[Mask, Mask]]:
    """The documents before each block of the later half, and those of the block; none if there are too few."""
    if not can_hold_out(truth, times):
        return []
    units, blocks = truth.units, time_blocks(truth, times)
    block = np.where(units >= 0, blocks[units], -1)
    parts = [((block >= 0) & (block < k), block == k) for k in range(BLOCKS // 2, BLOCKS)]
    return [part for part in parts if all(truth.only(some).positives for some in part)]


def score_splits(
    truth: Truth,
    pairs: ScoredPairs,
    goal: Goal,
    repeats: int,
    seed: int,
    least: float = 0.0,
    fixed: float | None = None,
    times: Floats | None = None,
) -> SplitScores:
    """The scores of held-out halves; of each two halves, either chooses the threshold for the other.

    With times, all earlier clusters choose it for each later block. A `fixed` threshold is applied to the same parts.
    """
    rows: list[list[float]] = []
    parts = [] if times is None else later_blocks(truth, times)
    for pair in parts or halves(truth, repeats, seed):
        curves = [
            make_curve(pairs.take(side[pairs.left] & side[pairs.right], truth.only(side))) for side in pair
        ]
        for sample, rest in (curves,) if parts else (curves, curves[::-1]):
            best = find_best(sample, goal, least) if fixed is None else None
            threshold = best.threshold if best is not None else fixed
            if threshold is None:
                rows.append([np.nan] * (4 + len(OFFSETS)))
                continue
            counts = rest.at(threshold)
            near = [rest.at(threshold + offset).f1 for offset in OFFSETS]
            rows.append([threshold, counts.precision, counts.recall, counts.f1, *near])
    columns = np.array(rows).T
    threshold, precision, recall, f1 = columns[:4]
    around = dict(zip(OFFSETS, columns[4:], strict=True))
    return SplitScores(goal, threshold, precision, recall, f1, around)
