"""Comparison of two methods on the same labels: correlation, distance, significance tests."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from neardup.errors import ParameterError
from neardup.evaluate.labels import Mask, pack_pairs
from neardup.evaluate.packages import load
from neardup.evaluate.scores import Floats, PairCounts, ScoredPairs

SAME = 1e-12  # smaller differences of scores are rounding
FEW = 25  # discordant pairs, below which McNemar's test is exact


@dataclass(frozen=True)
class SignificanceTest:
    """A test statistic and its p-value."""

    statistic: float
    p_value: float


@dataclass(frozen=True)
class Aligned:
    """The pairs that either method lists, with both scores; other pairs have the score 0 in both."""

    first: Floats
    second: Floats
    positive: Mask
    total: int


def align(a: ScoredPairs, b: ScoredPairs) -> Aligned:
    """Aligns the scores of two methods by pair."""
    if (a.total, a.positives) != (b.total, b.positives):
        raise ParameterError("b", "align", "scored on the same labels as the other", (b.total, b.positives))
    pairs_a, pairs_b = pack_pairs(a.left, a.right), pack_pairs(b.left, b.right)
    packed = np.union1d(pairs_a, pairs_b)
    first, second = np.zeros(len(packed)), np.zeros(len(packed))
    positive = np.zeros(len(packed), np.bool_)
    for mine, place, score in ((a, pairs_a, first), (b, pairs_b, second)):
        at = np.searchsorted(packed, place)
        score[at], positive[at] = mine.score, mine.positive
    return Aligned(first, second, positive, a.total)


def correlation(both: Aligned) -> float:
    """Pearson's r of two methods' scores over all pairs, from sums."""
    n, x, y = float(both.total), both.first, both.second
    scale = (n * (x**2).sum() - x.sum() ** 2) * (n * (y**2).sum() - y.sum() ** 2)
    return float((n * (x * y).sum() - x.sum() * y.sum()) / math.sqrt(scale)) if scale > 0 else math.nan


def mcnemar(both: Aligned, threshold_a: float, threshold_b: float) -> SignificanceTest:
    """McNemar's test over pairs that one method decides rightly and the other wrongly (Q. McNemar, 1947).

    The test assumes independent pairs, but pairs of one cluster are not: read it with the interval of the difference.
    """
    right_a = (both.first >= threshold_a) == both.positive
    right_b = (both.second >= threshold_b) == both.positive
    only_a, only_b = int((right_a & ~right_b).sum()), int((right_b & ~right_a).sum())
    same_right = int((right_a & right_b).sum())
    table = [[same_right, only_a], [only_b, len(right_a) - same_right - only_a - only_b]]
    if only_a + only_b == 0:
        return SignificanceTest(0.0, 1.0)
    found = load("statsmodels.stats.contingency_tables").mcnemar(table, exact=only_a + only_b < FEW)
    return SignificanceTest(float(found.statistic), float(found.pvalue))


def chi_square(a: PairCounts, b: PairCounts) -> SignificanceTest:
    """Pearson's chi-square of right and wrong among the pairs that each method finds: a test of their precisions."""
    table = np.array([[a.true, a.false_positives], [b.true, b.false_positives]])
    if (table.sum(axis=0) == 0).any() or (table.sum(axis=1) == 0).any():
        return SignificanceTest(0.0, 1.0)
    found = load("scipy.stats").chi2_contingency(table, correction=True)
    return SignificanceTest(float(found.statistic), float(found.pvalue))


def paired_t_test(first: Floats, second: Floats) -> SignificanceTest:
    """Student's paired t-test of two methods' scores on the same splits.

    Halves of different repeats overlap, so that this p-value is too small (see corrected_t_test).
    """
    x, y = _both_known(first, second)
    if len(x) < 2:
        return SignificanceTest(math.nan, math.nan)
    if np.ptp(x - y) < SAME:
        return (
            SignificanceTest(0.0, 1.0)
            if abs(x[0] - y[0]) < SAME
            else SignificanceTest(math.copysign(math.inf, x[0] - y[0]), 0.0)
        )
    found = load("scipy.stats").ttest_rel(x, y)
    return SignificanceTest(float(found.statistic), float(found.pvalue))


def corrected_t_test(first: Floats, second: Floats, test_by_training: float = 1.0) -> SignificanceTest:
    """The paired t-test for repeated splits (C. Nadeau and Y. Bengio, Machine Learning 52, 2003).

    The variance is increased by the ratio of test size to training size, 1 for halves.
    """
    x, y = _both_known(first, second)
    if len(x) < 2 or np.ptp(x - y) < SAME:
        return paired_t_test(first, second)
    difference = x - y
    scale = math.sqrt((1 / len(x) + test_by_training) * float(difference.var(ddof=1)))
    t = float(difference.mean()) / scale
    return SignificanceTest(t, float(2 * load("scipy.stats").t.sf(abs(t), len(x) - 1)))


def _both_known(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    if len(first) != len(second):
        raise ParameterError("second", "paired_t_test", "as long as the first", len(second))
    known = ~(np.isnan(first) | np.isnan(second))
    return first[known], second[known]


def earth_movers_distance(first: Floats, first_total: int, second: Floats, second_total: int) -> float:
    """The earth mover's distance between the score distributions of two samples.

    `first_total` and `second_total` count all pairs of each sample; unlisted pairs have the score 0.
    """
    if min(first_total, second_total) < 1:
        return math.nan
    sides = []
    for values, total in ((first, first_total), (second, second_total)):
        sides.append((np.append(values, 0.0), np.append(np.ones(len(values)), float(total - len(values)))))
    (u, u_weights), (v, v_weights) = sides
    return float(load("scipy.stats").wasserstein_distance(u, v, u_weights, v_weights))


def separation(pairs: ScoredPairs) -> float:
    """The earth mover's distance between the scores of near-duplicates and those of all other pairs."""
    right, wrong = pairs.score[pairs.positive], pairs.score[~pairs.positive]
    return earth_movers_distance(right, pairs.positives, wrong, pairs.total - pairs.positives)
