"""Consistent weighted samples: unbiased for any weights, the same in every batch; bad weights are refused."""

from __future__ import annotations

import numpy as np
import pytest

from neardup.columns import Features
from neardup.errors import PlanError
from neardup.signatures.consistent import Consistent
from neardup.verify.weighted import WeightedJaccard

SAMPLERS = ("darts", "ioffe", "clocks")
SLOTS = 4000
PAIRS = 12  # independent pairs of documents of each kind


def documents(size: int, scale: float, spread: float, same: bool, seed: int) -> Features:
    """Pairs of documents that share half of their phrases; where not `same`, with weights of their own."""
    random = np.random.default_rng(seed)
    rows: list[tuple[np.ndarray, np.ndarray]] = []
    for _ in range(PAIRS):
        keys = random.integers(0, 2**64, 3 * size, dtype=np.uint64)
        weights = scale * np.exp(random.normal(0, spread, 3 * size))
        for part in (slice(0, 2 * size), slice(size, 3 * size)):
            order = np.argsort(keys[part])
            own = 1.0 if same else np.exp(random.normal(0, 0.7, 2 * size))
            rows.append((keys[part][order], (weights[part] * own)[order]))
    offsets = np.arange(2 * PAIRS + 1) * 2 * size
    return Features(
        offsets,
        np.concatenate([keys for keys, _ in rows]),
        np.concatenate([weights for _, weights in rows]).astype(np.float32),
        distinct=True,
    )


LEFT, RIGHT = np.arange(0, 2 * PAIRS, 2), np.arange(1, 2 * PAIRS, 2)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("size", [1, 8, 100])
@pytest.mark.parametrize(
    ("scale", "spread"),
    [(1, 0), (1e-6, 1), (1e6, 1), (1, 4), (1e9, 7)],
    ids=["equal", "tiny", "huge", "wide", "df4"],
)
def test_slots_agree_as_often_as_weights_do(size: int, scale: float, spread: float, sampler: str) -> None:
    features = documents(size, scale, spread, sampler == "clocks", seed=size + int(spread))
    exact = WeightedJaccard().measure(features, LEFT, RIGHT).similarity
    slots = Consistent(SLOTS, 3, sampler)(features).slots
    share = (slots[LEFT] == slots[RIGHT]).mean(axis=1)
    error = np.sqrt(np.maximum(exact * (1 - exact), 1e-6) / SLOTS)
    assert abs((share - exact).sum()) <= 3 * np.sqrt((error**2).sum())
    assert (np.abs(share - exact) <= 4.5 * error + 1 / SLOTS).all()


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_document_has_the_same_samples_in_every_batch(sampler: str) -> None:
    features = documents(9, 1.0, 2.0, sampler == "clocks", seed=1)
    whole = Consistent(33, 1, sampler)(features)
    for document in range(len(features)):
        some = slice(features.offsets[document], features.offsets[document + 1])
        size = some.stop - some.start
        alone = Features(
            np.array([0, 0, size, size]), features.hashes[some], features.weights[some], distinct=True
        )
        found = Consistent(33, 1, sampler)(alone)
        assert np.array_equal(found.slots[1], whole.slots[document])
        assert found.present.tolist() == [False, True, False]


def test_slots_depend_on_the_seed_and_are_independent_of_each_other() -> None:
    features = documents(50, 1.0, 1.0, False, seed=2)
    one, other = Consistent(500, 1)(features).slots, Consistent(500, 2)(features).slots
    assert (one == other).mean() < 0.1
    agreeing = one[LEFT] == one[RIGHT]
    halves = np.corrcoef(agreeing[:, ::2].ravel(), agreeing[:, 1::2].ravel())[0, 1]
    assert abs(halves) < 0.1


def weighted(*weights: float) -> Features:
    return Features(
        np.array([0, len(weights)]),
        np.arange(len(weights), dtype=np.uint64),
        np.array(weights, np.float32),
        distinct=True,
    )


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
@pytest.mark.parametrize("stage", [Consistent(4, 1, sampler) for sampler in SAMPLERS])
def test_weights_that_mean_nothing_are_refused(bad: float, stage: Consistent) -> None:
    with pytest.raises(PlanError, match="finite and not below 0; feature 1 of document 0"):
        stage(weighted(1.0, bad))
    with pytest.raises(PlanError, match="finite and not below 0"):
        WeightedJaccard().measure(weighted(1.0, bad), np.array([0]), np.array([0]))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_weights_of_zero_are_no_features(sampler: str) -> None:
    stage = Consistent(16, 1, sampler)
    assert not stage(weighted(0.0, 0.0)).present.any()
    assert np.array_equal(
        stage(weighted(0.0, 3.0)).slots,
        stage(
            Features(np.array([0, 1]), np.array([1], np.uint64), np.array([3.0], np.float32), distinct=True)
        ).slots,
    )


def test_weighted_jaccard_is_min_over_max() -> None:
    features = Features(
        np.array([0, 2, 4, 4]),
        np.array([1, 2, 2, 3], np.uint64),
        np.array([1.5, 2.0, 0.5, 4.0], np.float32),
        distinct=True,
    )
    found = WeightedJaccard().measure(features, np.array([0, 0, 2]), np.array([1, 2, 2]))
    assert found.similarity.tolist() == [0.5 / 7.5, 0.0, 0.0]
    assert found.containment[0] == 0.5 / 3.5
    assert WeightedJaccard().passes(found, 0.5 / 7.5).tolist() == [True, False, False]
