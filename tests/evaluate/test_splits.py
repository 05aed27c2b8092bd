"""Halves of the clusters: disjoint, repeatable, and a threshold that is judged where it was not chosen."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import Collection, collections
from hypothesis import assume, given
from hypothesis import strategies as st

import naive_scores as naive
from neardup.errors import InputError
from neardup.evaluate.goals import Goal, find_best
from neardup.evaluate.labels import Truth
from neardup.evaluate.scores import make_curve, score_pairs
from neardup.evaluate.splits import OFFSETS, halves, later_blocks, score_splits


@given(collections(), st.integers(0, 99))
def test_no_cluster_is_on_both_sides(one: Collection, seed: int) -> None:
    truth, clusters = one.truth, np.array(one.clusters)
    assume((truth.sizes > 1).sum() > 1)
    for first, second in halves(truth, 3, seed):
        assert not (first & second).any()
        assert ((first | second) == (clusters >= 0)).all()
        assert not {*clusters[first].tolist()} & {*clusters[second].tolist()}
        for side in (first, second):
            assert truth.only(side).positives > 0


@given(collections(), st.integers(0, 99))
def test_held_out_scores(one: Collection, seed: int) -> None:
    truth, pairs = one.truth, one.scored
    assume((truth.sizes > 1).sum() > 1)
    found = score_splits(truth, pairs, Goal("f1"), 2, seed)
    expected = []
    for pair in halves(truth, 2, seed):
        sides = [[c if chosen else -1 for c, chosen in zip(one.clusters, side, strict=True)] for side in pair]
        for sample, rest in (sides, sides[::-1]):
            data = naive.every_pair(sample, one.scores)
            own = Collection(sample, one.scores, set())
            best = find_best(make_curve(own.scored), Goal("f1"))
            if best is None:
                expected.append(np.nan)
                continue
            assert best.counts.f1 == pytest.approx(naive.best_f1(data))
            expected.append(naive.f1(naive.count(naive.every_pair(rest, one.scores), best.threshold)))
    assert found.f1.tolist() == pytest.approx(expected, nan_ok=True)


def test_the_sensitivity_of_f1() -> None:
    one = Collection([0, 0, 1, 1], {(0, 1): 0.8, (2, 3): 0.84, (0, 2): 0.76}, set())
    found = score_splits(one.truth, one.scored, Goal("f1"), 1, 1)
    assert set(found.sensitivity) == {*OFFSETS}
    assert found.as_dict()["halves"] == 2
    around = found.as_dict()["f1_around_threshold"]
    assert list(around) == ["-0.1", "-0.05", "-0.01", "+0.01", "+0.05", "+0.1"]


def test_a_goal_that_a_half_does_not_reach_is_counted() -> None:
    one = Collection([0, 0, 1, 1, 2, 2], {(0, 1): 0.8}, set())
    found = score_splits(one.truth, one.scored, Goal("recall", 0.9), 3, 1)
    summary = found.as_dict()
    assert summary["halves"] == 6 and summary["reached"] < 6
    assert np.isnan(found.f1[np.isnan(found.threshold)]).all()


def test_one_cluster_with_pairs_cannot_be_halved() -> None:
    with pytest.raises(InputError, match="only one cluster"):
        list(halves(Truth(np.array([0, 0, 1]), names=("a", "b")), 1, 1))


def test_judged_pairs_are_halved_by_what_they_connect() -> None:
    left, right = np.array([0, 1, 4, 7]), np.array([1, 2, 5, 8])
    truth = Truth.of_pairs(left, right, np.array([True, False, True, False]))
    pairs = score_pairs(truth, left, right, np.array([0.9, 0.8, 0.7, 0.2]))
    for first, second in halves(truth, 4, 1):
        assert first[0] == first[1] == first[2] and second[4] == second[5] and first[0] != first[4]
    assert score_splits(truth, pairs, Goal("f1"), 4, 1).f1.shape == (8,)


def test_earlier_clusters_choose_the_threshold_of_each_later_block() -> None:
    truth = Truth(np.repeat(np.arange(40), 3), names=tuple(map(str, range(40))))
    times = np.repeat(np.arange(40) * 86_400.0, 3)
    parts = later_blocks(truth, times)
    assert [int(other.sum()) for _, other in parts] == [15] * 4
    for own, other in parts:
        assert times[own].max() < times[other].min()
    left = np.arange(0, 120, 3)
    pairs = score_pairs(truth, left, left + 1, np.linspace(0.9, 0.5, 40))  # ever less alike
    found = score_splits(truth, pairs, Goal(), 5, 1, times=times)
    assert len(found.threshold) == 4
    for (own, other), threshold, f1 in zip(parts, found.threshold, found.f1, strict=True):
        earlier, later = (
            make_curve(pairs.take(part[pairs.left] & part[pairs.right], truth.only(part)))
            for part in (own, other)
        )
        best = find_best(earlier, Goal())
        assert best is not None and (threshold, f1) == (best.threshold, later.at(threshold).f1)
    assert later_blocks(truth, np.full(120, np.nan)) == []
    assert len(score_splits(truth, pairs, Goal(), 5, 1, times=np.full(120, np.nan)).threshold) == 10
