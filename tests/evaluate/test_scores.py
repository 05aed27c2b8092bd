"""Scores of pairs: against plain Python over every pair, and against scikit-learn."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from drawn import LEVELS, Collection, collections
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

import naive_scores as naive
from neardup.errors import InputError, ParameterError
from neardup.evaluate.goals import Goal, find_best, parse_goal, short_number
from neardup.evaluate.labels import Truth
from neardup.evaluate.scores import PairCounts, make_curve, pearson, score_clusters, score_pairs

thresholds = st.one_of(st.sampled_from(LEVELS), st.floats(0.01, 1.2))


def same(found: float, expected: float) -> bool:
    return (math.isnan(found) and math.isnan(expected)) or found == pytest.approx(expected, abs=1e-12)


@given(collections(undecided=True))
def test_pairs_are_counted_without_listing_them(one: Collection) -> None:
    truth, data = one.truth, one.all
    assert (truth.total, truth.positives) == (len(data.pairs), sum(data.labels))
    left, right = np.triu_indices(len(one.clusters), 1)
    counted = truth.labelled(right, left)  # the order of the two is of no account
    assert {*zip(left[counted].tolist(), right[counted].tolist(), strict=True)} == {*data.pairs}
    assert truth.positive(left[counted], right[counted]).sum() == truth.positives


@given(collections(undecided=True), thresholds)
def test_counts_at_a_threshold(one: Collection, threshold: float) -> None:
    found = make_curve(one.scored).at(threshold)
    expected = naive.count(one.all, threshold) if threshold > 0 else naive.Table(0, 0, 0, 0)
    if threshold <= 0:
        assert (found.found, found.true) == (one.truth.total, one.truth.positives)
        return
    assert (found.true, found.false_positives, found.false_negatives, found.true_negatives) == expected
    for name in ("precision", "recall", "f1", "mcc"):
        assert same(getattr(found, name), getattr(naive, name)(expected)), name


@given(collections(undecided=True))
def test_the_curve_at_each_of_its_thresholds(one: Collection) -> None:
    curve, data = make_curve(one.scored), one.all
    assert sorted({*data.scores, 0.0}, reverse=True) == curve.thresholds.tolist()
    for k, threshold in enumerate(curve.thresholds.tolist()):
        table = naive.count(data, threshold)
        for name in ("precision", "recall", "f1", "mcc"):
            assert same(float(getattr(curve, name)[k]), getattr(naive, name)(table)), (name, threshold)


@given(collections())
def test_average_precision_is_that_of_scikit_learn(one: Collection) -> None:
    curve, data = make_curve(one.scored), one.all
    assert curve.average_precision == pytest.approx(metrics.average_precision_score(data.labels, data.scores))
    assert curve.average_precision == pytest.approx(naive.average_precision(data))


@given(collections(), thresholds)
def test_scores_are_those_of_scikit_learn(one: Collection, threshold: float) -> None:
    data = one.all
    guess = [score >= threshold and score > 0 for score in data.scores]
    found = make_curve(one.scored).at(max(threshold, 1e-9))
    assert found.f1 == pytest.approx(metrics.f1_score(data.labels, guess, zero_division=0))
    assert found.mcc == pytest.approx(metrics.matthews_corrcoef(data.labels, guess))
    if any(guess):
        assert found.precision == pytest.approx(metrics.precision_score(data.labels, guess))


@given(collections())
def test_pearson_counts_the_zeros(one: Collection) -> None:
    data = one.all
    if len({*data.scores}) == 1:
        assert math.isnan(pearson(one.scored))
    else:
        assert pearson(one.scored) == pytest.approx(naive.pearson(data.scores, data.labels))


@given(collections())
def test_the_best_f1_is_the_highest(one: Collection) -> None:
    best = find_best(make_curve(one.scored), Goal("f1"))
    if best is None:
        assert not any(one.all.scores)
        return
    assert best.counts.f1 == pytest.approx(naive.best_f1(one.all))
    assert best.above < best.threshold <= best.upto
    assert naive.f1(naive.count(one.all, best.threshold)) == pytest.approx(best.counts.f1)


@given(collections(), st.sampled_from(["precision", "recall"]), st.sampled_from([0.2, 0.5, 0.8, 1.0]))
def test_a_goal_is_kept_at_the_best_price(one: Collection, kind: str, least: float) -> None:
    data, other = one.all, {"precision": naive.recall, "recall": naive.precision}[kind]
    tables = [naive.count(data, threshold) for threshold in {*data.scores} if threshold > 0]
    allowed = [table for table in tables if getattr(naive, kind)(table) >= least]
    best = find_best(make_curve(one.scored), parse_goal(f"{kind}={least}"))
    assert (best is None) == (not allowed)
    if best is not None:
        assert getattr(best.counts, kind) >= least
        reached = best.counts.recall if kind == "precision" else best.counts.precision
        assert reached == pytest.approx(max(map(other, allowed)))


def test_a_threshold_below_what_is_known_is_no_choice() -> None:
    truth = Truth(np.array([0, 0, 1, 1]), names=("a", "b"))
    pairs = score_pairs(truth, np.array([0, 2]), np.array([1, 3]), np.array([0.9, 0.3]))
    lowest, known = find_best(make_curve(pairs), Goal()), find_best(make_curve(pairs), Goal(), least=0.5)
    assert lowest is not None and known is not None
    assert (lowest.upto, known.upto) == (0.3, 0.9)


@given(st.floats(0, 0.999), st.floats(1e-7, 0.2))
def test_a_short_number_lies_inside(above: float, width: float) -> None:
    upto = min(1.0, above + width)
    found = short_number(above, upto)
    assert above < found <= upto
    digits = -int(Decimal(repr(found)).normalize().as_tuple().exponent)
    if digits > 1:  # no number with fewer digits would do
        assert math.floor(upto * 10 ** (digits - 1)) / 10 ** (digits - 1) <= above


@pytest.mark.parametrize(
    ("above", "upto", "short"), [(0.61, 0.64, 0.62), (0.5, 0.7, 0.6), (0.69, 0.7, 0.7), (0.0, 1.0, 0.5)]
)
def test_short_numbers(above: float, upto: float, short: float) -> None:
    assert short_number(above, upto) == pytest.approx(short, abs=0.011)


@given(collections(), thresholds)
def test_scores_by_cluster(one: Collection, threshold: float) -> None:
    threshold = max(threshold, 0.05)
    found = score_clusters(one.truth, one.scored, threshold)
    expected = naive.macro(one.clusters, one.all, threshold)
    assert found.cluster.tolist() == sorted(expected)
    for k, cluster in enumerate(found.cluster.tolist()):
        values = (found.precision[k], found.recall[k], found.f1[k])
        assert all(map(same, values, expected[cluster]))
    assert found.macro["f1"] == pytest.approx(sum(row[2] for row in expected.values()) / len(expected))


def test_large_counts_do_not_overflow() -> None:
    counts = PairCounts(10**7, 9 * 10**6, 10**7, 5 * 10**13)
    assert counts.mcc == pytest.approx(0.9, abs=1e-3)


def test_a_score_must_be_a_number() -> None:
    truth = Truth(np.array([0, 0, 1]), names=("a", "b"))
    for bad in (math.nan, math.inf, -0.5):
        with pytest.raises(InputError, match="pair 2"):
            score_pairs(truth, np.array([0, 0]), np.array([1, 2]), np.array([0.5, bad]))


@pytest.mark.parametrize(
    "text", ["", "f2", "precision", "precision=", "precision=2", "recall=0", "recall=x", "f1=1"]
)
def test_a_goal_that_is_none(text: str) -> None:
    with pytest.raises(ParameterError, match="goal"):
        parse_goal(text)


def test_goals_in_words() -> None:
    assert [str(parse_goal(text)) for text in ("f1", "mcc", "precision=0.95", " recall=1 ")] == [
        "f1", "mcc", "precision=0.95", "recall=1",
    ]  # fmt: skip


def test_no_wrong_removal_at_all_is_a_goal() -> None:
    assert parse_goal("wrong=0") == Goal("wrong", 0.0)
    for text in ("precision=0", "recall=0", "wrong=-0.1", "wrong=2", "wrong"):
        with pytest.raises(ParameterError, match="wrong=W from 0 to 1"):
            parse_goal(text)
