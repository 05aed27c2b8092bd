"""Intervals: samples by weights are samples by copies, and judged samples have Wilson's interval."""

from __future__ import annotations

import math

import numpy as np
import pytest
from drawn import Collection, collections
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

import naive_scores as naive
from neardup.errors import ParameterError
from neardup.evaluate.intervals import (
    SCORES,
    draw,
    interval,
    intervals,
    judged_precision,
    resample,
    weighted_counts,
)
from neardup.evaluate.labels import Truth
from neardup.evaluate.scores import score_pairs


@given(collections(undecided=True), st.integers(0, 1000))
def test_weights_count_like_copies(one: Collection, seed: int) -> None:
    truth = one.truth
    samples = resample(truth, one.scored, 0.5, 3, seed)
    kept = 0
    for weights in draw(truth, 3, seed):
        copies = naive.resampled(one.clusters, one.all, weights.astype(int).tolist())
        assert weighted_counts(truth, weights) == (sum(copies.labels), len(copies.labels))
        if not any(copies.labels):
            continue
        table = naive.count(copies, 0.5)
        for name in ("precision", "recall", "f1", "mcc"):
            expected = getattr(naive, name)(table)
            assert samples[name][kept] == pytest.approx(expected, nan_ok=True), name
        best = naive.best_f1(copies)
        assert samples["best_f1"][kept] == pytest.approx(0.0 if math.isnan(best) else best)
        assert samples["average_precision"][kept] == pytest.approx(naive.average_precision(copies))
        kept += 1
    assert len(samples["f1"]) == kept


@given(collections(), st.integers(0, 1000))
def test_as_many_clusters_are_drawn_as_there_are(one: Collection, seed: int) -> None:
    drawn = draw(one.truth, 5, seed)
    present = {label for label in one.clusters if label >= 0}
    assert (drawn.sum(axis=1) == len(present)).all()
    absent = [k for k in range(drawn.shape[1]) if k not in present]
    assert (drawn[:, absent] == 0).all()


def test_the_same_seed_gives_the_same_samples() -> None:
    one = Collection([0, 0, 1, 1, 2], {(0, 1): 0.9, (0, 2): 0.6, (2, 3): 0.4}, set())
    first, again = (resample(one.truth, one.scored, 0.5, 20, 3) for _ in range(2))
    other = resample(one.truth, one.scored, 0.5, 20, 4)
    assert all(np.array_equal(first[name], again[name], equal_nan=True) for name in SCORES)
    assert not np.array_equal(first["recall"], other["recall"])


def test_clusters_and_not_pairs_are_drawn() -> None:
    """One large cluster that is found and one small one that is not: recall is anything between 0 and 1."""
    clusters = [0] * 30 + [1] * 30
    scores = {(a, b): 1.0 for a in range(30) for b in range(a + 1, 30)}
    one = Collection(clusters, scores, set())
    found = intervals(resample(one.truth, one.scored, 0.5, 200, 1))
    assert (found["recall"].low, found["recall"].high) == (0.0, 1.0)  # pairs would say 0.47 to 0.53


def test_judged_pairs_that_share_a_document_are_drawn_together() -> None:
    left, right = np.array([0, 1, 4]), np.array([1, 2, 5])
    truth = Truth.of_pairs(left, right, np.array([True, False, True]))
    assert truth.units.tolist() == [0, 0, 0, -1, 1, 1]
    assert draw(truth, 4, 1).shape == (4, 2)
    pairs = score_pairs(truth, left, right, np.array([0.9, 0.8, 0.1]))
    precision = resample(truth, pairs, 0.5, 50, 1)["precision"]
    assert {*precision[~np.isnan(precision)].tolist()} == {0.5}  # the two that share a document come together
    assert weighted_counts(truth, np.array([2.0, 1.0])) == (3.0, 5.0)


def test_an_interval_is_the_middle_of_the_samples() -> None:
    found = interval(np.append(np.arange(101) / 100, np.nan), 0.9)
    assert (found.low, found.high) == (pytest.approx(0.05), pytest.approx(0.95))
    assert math.isnan(interval(np.array([np.nan])).low)
    with pytest.raises(ParameterError):
        draw(Truth(np.array([0, 0, 1]), names=("a", "b")), 0, 1)


@given(st.integers(0, 40), st.integers(0, 40))
def test_judged_precision(right: int, wrong: int) -> None:
    if right + wrong == 0:
        with pytest.raises(ParameterError):
            judged_precision(right, wrong)
        return
    found = judged_precision(right, wrong, unclear=3)
    low, high = proportion_confint(right, right + wrong, method="wilson")
    assert (found.interval.low, found.interval.high) == (
        pytest.approx(low, abs=1e-9),
        pytest.approx(high, abs=1e-9),
    )
    assert (found.precision, found.judged, found.unclear) == (right / (right + wrong), right + wrong, 3)
