"""Two methods on the same labels: do they agree, and is the difference more than chance?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from neardup.errors import ParameterError
from neardup.evaluate.labels import Mask, pair_codes
from neardup.evaluate.packages import load
from neardup.evaluate.scores import Counts, Floats, ScoredPairs

SAME = 1e-12  # differences of scores that are rounding
FEW = 25  # differing pairs below which McNemar's test is exact


@dataclass(frozen=True)
class Test:
    """A statistic, and how likely one as large is by chance."""

    statistic: float
    p_value: float
    __test__ = False  # for pytest, which would take the name for its own


@dataclass(frozen=True)
class Aligned:
    """The pairs that either of two methods lists, with both scores; all others have the score 0 in both."""

    first: Floats
    second: Floats
    positive: Mask
    total: int


def align(a: ScoredPairs, b: ScoredPairs) -> Aligned:
    """Both methods' scores side by side."""
    if (a.total, a.positives) != (b.total, b.positives):
        raise ParameterError("b", "align", "scored on the same labels as the other", (b.total, b.positives))
    codes_a, codes_b = pair_codes(a.left, a.right), pair_codes(b.left, b.right)
    codes = np.union1d(codes_a, codes_b)
    first, second = np.zeros(len(codes)), np.zeros(len(codes))
    positive = np.zeros(len(codes), np.bool_)
    for mine, place, score in ((a, codes_a, first), (b, codes_b, second)):
        at = np.searchsorted(codes, place)
        score[at], positive[at] = mine.score, mine.positive
    return Aligned(first, second, positive, a.total)


def correlation(both: Aligned) -> float:
    """Pearson's r of two methods' scores over all pairs, from sums."""
    n, x, y = float(both.total), both.first, both.second
    scale = (n * (x**2).sum() - x.sum() ** 2) * (n * (y**2).sum() - y.sum() ** 2)
    return float((n * (x * y).sum() - x.sum() * y.sum()) / math.sqrt(scale)) if scale > 0 else math.nan


def mcnemar(both: Aligned, threshold_a: float, threshold_b: float) -> Test:
    """McNemar's test over pairs of which one method is right and the other wrong (Q. McNemar, 1947).

    Pairs that neither lists are decided in the same way by both, and do not count. The test takes pairs for
    independent, which those of one cluster are not: read it with the interval of the difference.
    """
    right_a = (both.first >= threshold_a) == both.positive
    right_b = (both.second >= threshold_b) == both.positive
    only_a, only_b = int((right_a & ~right_b).sum()), int((right_b & ~right_a).sum())
    same_right = int((right_a & right_b).sum())
    table = [[same_right, only_a], [only_b, len(right_a) - same_right - only_a - only_b]]
    if only_a + only_b == 0:
        return Test(0.0, 1.0)
    found = load("statsmodels.stats.contingency_tables").mcnemar(table, exact=only_a + only_b < FEW)
    return Test(float(found.statistic), float(found.pvalue))


def chi_square(a: Counts, b: Counts) -> Test:
    """Pearson's chi-square of right and wrong among the pairs that each method finds: do precisions differ?"""
    table = np.array([[a.true, a.false_positives], [b.true, b.false_positives]])
    if (table.sum(axis=0) == 0).any() or (table.sum(axis=1) == 0).any():
        return Test(0.0, 1.0)
    found = load("scipy.stats").chi2_contingency(table, correction=True)
    return Test(float(found.statistic), float(found.pvalue))


def paired_t_test(first: Floats, second: Floats) -> Test:
    """Student's paired t-test of two methods' scores on the same splits.

    Halves of one collection overlap from repeat to repeat, so this p-value is too small (see corrected_t_test).
    """
    x, y = _both_known(first, second)
    if len(x) < 2:
        return Test(math.nan, math.nan)
    if np.ptp(x - y) < SAME:
        return Test(0.0, 1.0) if abs(x[0] - y[0]) < SAME else Test(math.copysign(math.inf, x[0] - y[0]), 0.0)
    found = load("scipy.stats").ttest_rel(x, y)
    return Test(float(found.statistic), float(found.pvalue))


def corrected_t_test(first: Floats, second: Floats, rest_by_sample: float = 1.0) -> Test:
    """The paired t-test for repeated splits (C. Nadeau and Y. Bengio, Machine Learning 52, 2003).

    The variance is widened by the size of the rest over that of the sample, 1 for halves.
    """
    x, y = _both_known(first, second)
    if len(x) < 2 or np.ptp(x - y) < SAME:
        return paired_t_test(first, second)
    difference = x - y
    scale = math.sqrt((1 / len(x) + rest_by_sample) * float(difference.var(ddof=1)))
    t = float(difference.mean()) / scale
    return Test(t, float(2 * load("scipy.stats").t.sf(abs(t), len(x) - 1)))


def _both_known(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    if len(first) != len(second):
        raise ParameterError("second", "paired_t_test", "as long as the first", len(second))
    known = ~(np.isnan(first) | np.isnan(second))
    return first[known], second[known]


def earth_movers_distance(first: Floats, first_total: int, second: Floats, second_total: int) -> float:
    """How far the scores of one sample must be moved to have the distribution of another's.

    `first_total` and `second_total` count all pairs of each sample: those without a score have 0.
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
