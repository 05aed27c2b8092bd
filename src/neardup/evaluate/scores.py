"""Scores of pairs against the labels, at one threshold and at all.

Unlisted pairs have the score 0. They are counted, never listed: a corpus of n documents has n(n − 1)/2 pairs, nearly
all of which share nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Numbers
from neardup.errors import InputError
from neardup.evaluate.labels import Mask, Truth

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ScoredPairs:
    """Pairs with a score, and the number of all pairs: unlisted ones have the score 0."""

    left: Numbers
    right: Numbers
    score: Floats
    positive: Mask
    positives: int
    total: int

    def __len__(self) -> int:
        return len(self.score)

    def take(self, which: Mask | Numbers, truth: Truth) -> ScoredPairs:
        """Some of the pairs, with the counts of `truth`."""
        columns = (self.left[which], self.right[which], self.score[which], self.positive[which])
        return ScoredPairs(*columns, truth.positives, truth.total)


def score_pairs(truth: Truth, left: Numbers, right: Numbers, score: Floats) -> ScoredPairs:
    """The labelled pairs with a score above 0, highest score first."""
    if not np.isfinite(score).all() or (score < 0).any():
        worst = int(np.flatnonzero(~(np.isfinite(score) & (score >= 0)))[0])
        raise InputError(f"a score must be a number ≥ 0, not {score[worst]} (pair {worst + 1})")
    kept = np.flatnonzero((score > 0) & truth.labelled(left, right))
    kept = kept[np.argsort(-score[kept], kind="stable")]
    a, b = left[kept], right[kept]
    low, high = np.minimum(a, b), np.maximum(a, b)
    return ScoredPairs(low, high, score[kept], truth.positive(a, b), truth.positives, truth.total)


@dataclass(frozen=True)
class PairCounts:
    """Numbers of pairs: found, correctly found, near-duplicates, all."""

    found: float
    true: float
    positives: float
    total: float

    @property
    def precision(self) -> float:
        """The share of found pairs that are near-duplicates; NaN if nothing is found."""
        return self.true / self.found if self.found else math.nan

    @property
    def recall(self) -> float:
        """The share of near-duplicates that are found."""
        return self.true / self.positives if self.positives else math.nan

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        both = self.found + self.positives
        return 2 * self.true / both if both else math.nan

    @property
    def mcc(self) -> float:
        """Matthews' correlation coefficient; 0 if one side of the table is empty, as in scikit-learn."""
        found, true = np.array([self.found]), np.array([self.true])
        return float(matthews(found, true, np.float64(self.positives), np.float64(self.total))[0])

    @property
    def false_positives(self) -> float:
        """Found, but not near-duplicates."""
        return self.found - self.true

    @property
    def false_negatives(self) -> float:
        """Near-duplicates that are not found."""
        return self.positives - self.true

    @property
    def true_negatives(self) -> float:
        """Neither near-duplicates nor found."""
        return self.total - self.found - self.false_negatives

    def as_dict(self) -> dict[str, Any]:
        """Scores and counts, as plain values."""
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "mcc": self.mcc,
            "found": self.found,
            "true_positives": self.true,
            "false_positives": self.false_positives,
            "false_negatives": self.false_negatives,
            "true_negatives": self.true_negatives,
        }


def matthews(found: Floats, true: Floats, positives: Any, total: Any) -> Floats:
    """Covariance of found and right, over the root of both variances: in floats, to avoid overflow."""
    found, true = found.astype(np.float64), true.astype(np.float64)
    scale = np.sqrt(found * (total - found)) * np.sqrt(positives * (total - positives))
    return np.divide(true * total - found * positives, scale, out=np.zeros(found.shape), where=scale > 0)


@dataclass(frozen=True)
class Curve:
    """Counts at every distinct threshold, highest first.

    The last threshold is 0, where every pair is found.
    """

    thresholds: Floats
    found: Floats
    true: Floats
    positives: float
    total: float

    @property
    def precision(self) -> Floats:
        """At each threshold."""
        return self.true / self.found

    @property
    def recall(self) -> Floats:
        """At each threshold."""
        return self.true / self.positives if self.positives else np.full(len(self.true), np.nan)

    @property
    def f1(self) -> Floats:
        """At each threshold."""
        return 2 * self.true / (self.found + self.positives)

    @property
    def mcc(self) -> Floats:
        """At each threshold."""
        return matthews(self.found, self.true, np.float64(self.positives), np.float64(self.total))

    @property
    def average_precision(self) -> float:
        """Σ (gain in recall) × precision over all thresholds, as scikit-learn defines it: no interpolation."""
        gains = np.diff(self.true, prepend=0.0)
        return float((gains * self.precision).sum() / self.positives) if self.positives else math.nan

    def at(self, threshold: float) -> PairCounts:
        """The counts at a threshold: pairs with at least this score."""
        place = int(np.searchsorted(-self.thresholds, -threshold, "right")) - 1
        if place < 0:
            return PairCounts(0, 0, self.positives, self.total)
        return PairCounts(self.found[place], self.true[place], self.positives, self.total)


def make_curve(pairs: ScoredPairs, weights: Floats | None = None, total: float | None = None,
               positives: float | None = None) -> Curve:  # fmt: skip
    """The curve of all thresholds by one sort; with weights, each pair counts by its weight.

    `positives` and `total` are the weighted counts of all pairs, listed or not.
    """
    score = pairs.score
    listed = score > 0
    order = np.flatnonzero(listed)
    if (np.diff(score[order]) > 0).any():
        order = order[np.argsort(-score[order], kind="stable")]
    weight = np.ones(len(order)) if weights is None else weights[order]
    all_right = float(pairs.positives if positives is None else positives)
    everything = float(pairs.total if total is None else total)
    ends = np.flatnonzero(np.diff(score[order], append=-1.0))
    found = np.cumsum(weight)[ends]
    true = np.cumsum(weight * pairs.positive[order])[ends]
    some = found > 0  # a sample may have no pair of a score
    return Curve(
        np.append(score[order][ends][some], 0.0),
        np.append(found[some], everything),
        np.append(true[some], all_right),
        all_right,
        everything,
    )


def pearson(pairs: ScoredPairs) -> float:
    """The correlation of score and label over all pairs, from sums: unlisted pairs add zeros."""
    n, right = float(pairs.total), float(pairs.positives)
    sum_x, sum_xx = float(pairs.score.sum()), float((pairs.score**2).sum())
    sum_xy = float(pairs.score[pairs.positive].sum())
    scale = (n * sum_xx - sum_x**2) * (n * right - right**2)
    return (n * sum_xy - sum_x * right) / math.sqrt(scale) if scale > 0 else math.nan


@dataclass(frozen=True)
class ClusterScores:
    """Precision, recall and F1 of each labelled cluster of two or more documents."""

    cluster: Numbers
    documents: Numbers
    precision: Floats  # NaN if nothing is found
    recall: Floats
    f1: Floats

    @property
    def macro(self) -> dict[str, float]:
        """The means over clusters, whatever their size."""
        with_pairs = ~np.isnan(self.precision)
        precision = float(self.precision[with_pairs].mean()) if with_pairs.any() else math.nan
        return {"precision": precision, "recall": float(self.recall.mean()), "f1": float(self.f1.mean())}


def score_clusters(truth: Truth, pairs: ScoredPairs, threshold: float) -> ClusterScores:
    """Scores by cluster: recall over its inner pairs, precision over the found pairs with a member."""
    assert truth.clusters is not None
    found = pairs.score >= threshold
    a, b = truth.clusters[pairs.left[found]], truth.clusters[pairs.right[found]]
    count, inner = len(truth.sizes), a == b
    inside = np.bincount(a[inner], minlength=count).astype(np.float64)
    outside = np.bincount(a[~inner], minlength=count) + np.bincount(b[~inner], minlength=count)
    several = np.flatnonzero(truth.sizes > 1)
    sizes, right, wrong = truth.sizes[several], inside[several], outside[several]
    possible = sizes * (sizes - 1) / 2
    touching = right + wrong
    precision = np.divide(right, touching, out=np.full(len(several), np.nan), where=touching > 0)
    return ClusterScores(several, sizes, precision, right / possible, 2 * right / (touching + possible))
