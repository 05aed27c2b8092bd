"""Two methods: agreement of their scores, and tests, against the packages that have them and plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from drawn import LEVELS, Collection, collections
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar

import naive_scores as naive
from neardup.errors import ParameterError
from neardup.evaluate import comparison
from neardup.evaluate.agreement import agree, cohen_kappa, fleiss_kappa
from neardup.evaluate.scores import PairCounts


@st.composite
def two_methods(draw: st.DrawFn) -> tuple[Collection, Collection]:
    one = draw(collections())
    other = {pair: draw(st.sampled_from(LEVELS)) for pair in one.scores if draw(st.booleans())}
    return one, Collection(one.clusters, other, set())


@given(two_methods())
def test_the_correlation_counts_the_zeros(two: tuple[Collection, Collection]) -> None:
    first, second = (one.all.scores for one in two)
    found = comparison.correlation(comparison.align(two[0].scored, two[1].scored))
    if len({*first}) == 1 or len({*second}) == 1:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(naive.pearson(first, second))


@given(two_methods(), st.sampled_from([0.2, 0.5, 0.9]))
def test_mcnemar(two: tuple[Collection, Collection], threshold: float) -> None:
    first, second = (one.all for one in two)
    right = [
        [(s >= threshold) == label for s, label in zip(d.scores, d.labels, strict=True)]
        for d in (first, second)
    ]
    both = list(zip(*right, strict=True))
    table = [[both.count((a, b)) for b in (True, False)] for a in (True, False)]
    found = comparison.mcnemar(comparison.align(two[0].scored, two[1].scored), threshold, threshold)
    if table[0][1] + table[1][0] == 0:
        assert found.p_value == 1
    else:
        assert found.p_value == pytest.approx(
            reference_mcnemar(table, exact=table[0][1] + table[1][0] < 25).pvalue
        )


@given(st.tuples(*[st.integers(0, 30)] * 4))
def test_chi_square(cells: tuple[int, int, int, int]) -> None:
    a, b, c, d = cells
    found = comparison.chi_square(PairCounts(a + b, a, 99, 999), PairCounts(c + d, c, 99, 999))
    if 0 in (a + b, c + d, a + c, b + d):
        assert found.p_value == 1
    else:
        assert found.p_value == pytest.approx(stats.chi2_contingency([[a, b], [c, d]]).pvalue)


def test_the_paired_t_test_and_its_correction() -> None:
    first, second = np.array([0.8, 0.82, 0.79, 0.9]), np.array([0.81, 0.85, 0.8, 0.94])
    plain, corrected = comparison.paired_t_test(first, second), comparison.corrected_t_test(first, second)
    expected = stats.ttest_rel(first, second)
    assert (plain.statistic, plain.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    # Halves: the variance of the mean is (1/4 + 1) times that of a difference, not 1/4.
    assert corrected.statistic == pytest.approx(plain.statistic / math.sqrt(5))
    assert corrected.p_value > plain.p_value
    holes = comparison.paired_t_test(np.append(first, np.nan), np.append(second, 0.1))
    assert holes == plain
    assert comparison.paired_t_test(first, first) == comparison.SignificanceTest(0.0, 1.0)
    assert comparison.corrected_t_test(first, first) == comparison.SignificanceTest(0.0, 1.0)
    assert comparison.paired_t_test(first[:2] + 1, first[:2]).p_value == pytest.approx(0, abs=1e-9)
    assert math.isnan(comparison.paired_t_test(first[:1], second[:1]).p_value)
    with pytest.raises(ParameterError):
        comparison.paired_t_test(first, second[:2])


@given(*[st.lists(st.sampled_from(LEVELS), min_size=1, max_size=8)] * 2)
def test_the_earth_movers_distance_counts_the_zeros(x: list[float], y: list[float]) -> None:
    listed = [np.array([v for v in values if v > 0]) for values in (x, y)]
    found = comparison.earth_movers_distance(listed[0], len(x), listed[1], len(y))
    assert found == pytest.approx(naive.earth_movers(x, y), abs=1e-12)


@given(collections())
def test_separation(one: Collection) -> None:
    data = one.all
    sides = [
        [s for s, label in zip(data.scores, data.labels, strict=True) if label == kind]
        for kind in (True, False)
    ]
    assert comparison.separation(one.scored) == pytest.approx(naive.earth_movers(*sides), abs=1e-12)


def test_methods_on_other_labels_are_not_compared() -> None:
    one, other = Collection([0, 0, 1], {(0, 1): 1.0}, set()), Collection([0, 0, 1, 1], {(0, 1): 1.0}, set())
    with pytest.raises(ParameterError, match="same labels"):
        comparison.align(one.scored, other.scored)


@given(st.lists(st.tuples(st.sampled_from("ynu"), st.sampled_from("ynu")), min_size=1, max_size=20))
def test_cohens_kappa(pairs: list[tuple[str, str]]) -> None:
    first, second = zip(*pairs, strict=True)
    found = cohen_kappa(first, second)
    if len({*first, *second}) == 1:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(naive.cohen(first, second))


def test_fleiss_kappa() -> None:
    # The example of Fleiss (1971) as Wikipedia has it: 14 people, 10 things, 5 labels, kappa 0.210.
    table = [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]  # fmt: skip
    assert fleiss_kappa(table) == pytest.approx(0.210, abs=5e-4)
    assert fleiss_kappa(table) == pytest.approx(naive.fleiss(table))
    assert math.isnan(fleiss_kappa([[3, 0], [3, 0]]))
    for bad in ([], [[1, 2], [1, 1]], [1, 2]):
        with pytest.raises(ParameterError):
            fleiss_kappa(bad)
    with pytest.raises(ParameterError):
        cohen_kappa([1, 2], [1])


def test_agreement_of_several_people() -> None:
    judged = [
        {"ann": True, "bob": True, "eva": True},
        {"ann": False, "bob": True},
        {"ann": False, "bob": None, "eva": False},
    ]
    found = agree(judged)
    assert found["raters"] == ["ann", "bob", "eva"] and found["judged_by_all"] == 2
    assert found["by_pair"]["ann and bob"]["pairs"] == 3
    assert found["by_pair"]["ann and eva"]["cohen_kappa"] == 1
    assert found["fleiss_kappa"] == pytest.approx(naive.fleiss([[3, 0, 0], [0, 2, 1]]))
