"""Confidence intervals of scores: bootstrap samples of clusters, and Wilson's interval for judged pairs.

Pairs of one cluster are not independent: 40 copies of one article are 780 pairs and one event. So clusters are
drawn, not pairs. A cluster that is drawn w times is w different clusters in the sample:

- a pair of documents of two clusters counts w₁ · w₂ times;
- a pair inside a cluster counts w times: copies of one cluster are not compared with each other, because that would
  give exact copies with different labels.

With judged pairs instead of clusters, documents that are connected by judged pairs are drawn together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from neardup.columns import Numbers
from neardup.errors import ParameterError
from neardup.evaluate.labels import Truth
from neardup.evaluate.scores import Floats, PairCounts, ScoredPairs, make_curve
from neardup.signatures.estimate import wilson_interval

SCORES = ("precision", "recall", "f1", "mcc", "best_f1", "average_precision")


@dataclass(frozen=True)
class Interval:
    """A confidence interval."""

    low: float
    high: float


def resample(
    truth: Truth,
    pairs: ScoredPairs,
    threshold: float,
    repeats: int,
    seed: int,
    found: ScoredPairs | None = None,
) -> dict[str, Floats]:
    """Each score (see SCORES) in each bootstrap sample; equal seeds draw the same clusters for any method.

    Scores at the threshold are those of the `found` pairs, if candidates miss some.
    """
    units = truth.units
    at_threshold = found if found is not None else pairs
    weigh, weigh_found = _weigher(units, pairs), _weigher(units, at_threshold)
    reach = at_threshold.score >= threshold
    samples: dict[str, list[float]] = {name: [] for name in SCORES}
    for weights in draw(truth, repeats, seed):
        positives, total = weighted_counts(truth, weights)
        if total == 0 or positives == 0:
            continue
        weight = weigh_found(weights)[reach]
        true = weight[at_threshold.positive[reach]].sum()
        counts = PairCounts(float(weight.sum()), float(true), positives, total)
        curve = make_curve(pairs, weigh(weights), total, positives)
        above = curve.f1[curve.thresholds > 0]  # 0 finds every pair
        best = float(above.max()) if len(above) else 0.0, curve.average_precision
        for name, value in zip(
            SCORES, (counts.precision, counts.recall, counts.f1, counts.mcc, *best), strict=True
        ):
            samples[name].append(value)
    return {name: np.array(values) for name, values in samples.items()}


def _weigher(units: Numbers, pairs: ScoredPairs) -> Callable[[Floats], Floats]:
    """A function from the weights of clusters to the weight of each pair."""
    a, b = units[pairs.left], units[pairs.right]
    inside = a == b
    return lambda weights: weights[a] * np.where(inside, 1.0, weights[b])


def draw(truth: Truth, repeats: int, seed: int) -> Floats:
    """For each sample the number of times each cluster is drawn."""
    if repeats < 1:
        raise ParameterError("repeats", "resample", "a whole number of at least 1", repeats)
    units = int(truth.units.max(initial=-1)) + 1
    present = np.bincount(truth.units[truth.units >= 0], minlength=units) > 0
    chances = present / present.sum()
    return np.random.default_rng(seed).multinomial(int(present.sum()), chances, repeats).astype(np.float64)


def weighted_counts(truth: Truth, weights: Floats) -> tuple[float, float]:
    """The positive pairs and all pairs of a sample, counted without listing them."""
    if truth.clusters is None:
        assert truth.left is not None and truth.judged is not None
        each = weights[truth.units[truth.left]]
        return float(each[truth.judged].sum()), float(each.sum())
    sizes = truth.sizes.astype(np.float64)
    positives = float((weights * sizes * (sizes - 1) / 2).sum())
    drawn = weights * sizes
    between = (drawn.sum() ** 2 - (drawn**2).sum()) / 2
    a, b = truth.undecided >> 32, truth.undecided & 0xFFFFFFFF
    return positives, positives + float(between - (drawn[a] * drawn[b]).sum())


def interval(values: Floats, confidence: float = 0.95) -> Interval:
    """The percentile bootstrap interval of the samples' scores."""
    known = values[~np.isnan(values)]
    if len(known) == 0:
        return Interval(float("nan"), float("nan"))
    low, high = np.quantile(known, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high))


def intervals(samples: Mapping[str, Floats], confidence: float = 0.95) -> dict[str, Interval]:
    """The interval of each score."""
    return {name: interval(values, confidence) for name, values in samples.items()}


@dataclass(frozen=True)
class JudgedPrecision:
    """Precision estimated from a judged sample of the found pairs."""

    precision: float
    interval: Interval
    judged: int
    unclear: int  # excluded


def judged_precision(right: int, wrong: int, unclear: int = 0, confidence: float = 0.95) -> JudgedPrecision:
    """Precision from the numbers of found pairs judged right and wrong, with Wilson's interval."""
    judged = right + wrong
    if judged < 1:
        raise ParameterError("right", "judged_precision", "at least one judged pair, right or wrong", right)
    return JudgedPrecision(
        right / judged, Interval(*wilson_interval(right, judged, confidence)), judged, unclear
    )
