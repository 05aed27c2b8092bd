"""How sure a score is: samples of clusters drawn with replacement, and Wilson's interval for judged samples.

Pairs of one cluster are not independent of each other: forty copies of one story are 780 pairs and one event.
So clusters are drawn, not pairs. A cluster that is drawn w times stands in the sample as w different clusters:

- a pair of documents of two clusters counts w₁ · w₂ times;
- a pair inside a cluster counts w times: copies of one cluster are not compared with each other, for that
  would make exact copies with different labels, which no collection has.

Where pairs were judged and there are no clusters, the documents that judged pairs connect are drawn together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from neardup.columns import Numbers
from neardup.errors import ParameterError
from neardup.evaluate.labels import Truth
from neardup.evaluate.scores import Counts, Floats, ScoredPairs, make_curve
from neardup.signatures.estimate import wilson_interval

SCORES = ("precision", "recall", "f1", "mcc", "best_f1", "average_precision")


@dataclass(frozen=True)
class Interval:
    """Where a score lies, with some confidence."""

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
    """Each score (see SCORES) in each of so many samples; equal seeds draw the same clusters for any method.

    Scores at the threshold are those of the pairs that were `found`, where not all that reach it were.
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
        counts = Counts(float(weight.sum()), float(true), positives, total)
        curve = make_curve(pairs, weigh(weights), total, positives)
        above = curve.f1[curve.thresholds > 0]  # to find everything is no choice
        best = float(above.max()) if len(above) else 0.0, curve.average_precision
        for name, value in zip(
            SCORES, (counts.precision, counts.recall, counts.f1, counts.mcc, *best), strict=True
        ):
            samples[name].append(value)
    return {name: np.array(values) for name, values in samples.items()}


def _weigher(units: Numbers, pairs: ScoredPairs) -> Callable[[Floats], Floats]:
    """How often each pair counts in a sample."""
    a, b = units[pairs.left], units[pairs.right]
    inside = a == b
    return lambda weights: weights[a] * np.where(inside, 1.0, weights[b])


def draw(truth: Truth, repeats: int, seed: int) -> Floats:
    """For each sample how often each cluster is in it, as many clusters as there are."""
    if repeats < 1:
        raise ParameterError("repeats", "resample", "a whole number of at least 1", repeats)
    units = int(truth.units.max(initial=-1)) + 1
    present = np.bincount(truth.units[truth.units >= 0], minlength=units) > 0
    chances = present / present.sum()
    return np.random.default_rng(seed).multinomial(int(present.sum()), chances, repeats).astype(np.float64)


def weighted_counts(truth: Truth, weights: Floats) -> tuple[float, float]:
    """The positive pairs and all pairs of a sample, known without listing them."""
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
    """The middle share of the samples' scores (percentile bootstrap)."""
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
    """Precision by a sample of found pairs that somebody has looked at."""

    precision: float
    interval: Interval
    judged: int
    unclear: int  # left out


def judged_precision(right: int, wrong: int, unclear: int = 0, confidence: float = 0.95) -> JudgedPrecision:
    """The precision of a method of whose found pairs so many were judged right and wrong, with Wilson's interval."""
    judged = right + wrong
    if judged < 1:
        raise ParameterError("right", "judged_precision", "one judged pair at least, with wrong", right)
    return JudgedPrecision(
        right / judged, Interval(*wilson_interval(right, judged, confidence)), judged, unclear
    )
