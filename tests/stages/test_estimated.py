"""Signatures that decide: their estimates, the pairs that pass, and the curve that says how many do."""

from __future__ import annotations

from math import cos, pi

import numpy as np
import pytest

import neardup
from neardup.candidates.bit_bands import BitBands
from neardup.candidates.decided import Decided, decided_curve
from neardup.candidates.groups import Groups
from neardup.columns import Features, Signatures
from neardup.errors import ParameterError
from neardup.signatures.quantised import QuantisedMinHash
from neardup.verify.estimated import Estimated


def bits(rows: np.ndarray) -> Signatures:
    return Signatures(np.packbits(rows, axis=1, bitorder="little").view("<u4"), np.ones(len(rows), np.bool_))


@pytest.mark.parametrize("kind", ["cosine", "jaccard"])
def test_an_estimate_is_the_cosine_of_the_share_of_different_bits(kind: str) -> None:
    rng = np.random.default_rng(1)
    rows = rng.random((20, 384)) < 0.5
    rows[1], rows[2] = rows[0], ~rows[0]
    left, right = np.triu_indices(20, 1)
    check = Estimated(384, "bits", kind)  # type: ignore[arg-type]
    found = check.measure(bits(rows), left, right)
    for a, b, similarity in zip(left, right, found.similarity, strict=True):
        cosine = max(0.0, cos(pi * sum(x != y for x, y in zip(rows[a], rows[b], strict=True)) / 384))
        assert similarity == pytest.approx(cosine if kind == "cosine" else cosine / (2 - cosine), abs=1e-12)
    assert found.similarity[0] == 1 and found.similarity[1] == 0
    least = check.least_equal(0.1)
    equal = np.array([(rows[a] == rows[b]).sum() for a, b in zip(left, right, strict=True)])
    assert (check.passes(found, 0.1) == (equal >= least)).all() and check.passes(found, 0.1).sum() < len(left)


def test_documents_without_features_pass_with_nobody() -> None:
    signed = Signatures(np.zeros((2, 12), np.uint32), np.zeros(2, np.bool_))
    pairs = Estimated(384).measure(signed, np.array([0]), np.array([1]))
    assert pairs.similarity[0] == 0 and not Estimated(384).passes(pairs, 0.01).any()


def test_samples_are_read_as_the_cosine_of_equal_entries() -> None:
    slots = np.array([[1, 2, 3, 4], [1, 2, 3, 9]], np.uint32)
    signed = Signatures(slots, np.ones(2, np.bool_))
    sides = np.array([0]), np.array([1])
    assert Estimated(4, "slots", "jaccard").measure(signed, *sides).similarity[0] == 0.75
    assert Estimated(4, "slots").measure(signed, *sides).similarity[0] == pytest.approx(1.5 / 1.75)


@pytest.mark.parametrize("similarity", [0.5, 0.6, 0.7])
def test_the_curve_of_bits_is_what_simulated_pairs_do(similarity: float) -> None:
    bands, check = BitBands(384, 40, 12), Estimated(384)
    curve = Decided(check, 0.6, bands)
    rng, pairs = np.random.default_rng(3), 4000
    left = rng.random((pairs, 384)) < 0.5
    right = left ^ (rng.random((pairs, 384)) > curve.share(similarity))
    both = bits(np.concatenate([left, right]))
    keys = bands.keys(both)
    candidate = (keys[:, :pairs] == keys[:, pairs:]).any(axis=0)
    numbers = np.arange(pairs)
    found = check.measure(both, numbers, numbers + pairs)
    passed = check.passes(found, 0.6)
    assert passed.mean() == pytest.approx(curve.passes(similarity), abs=0.03)
    assert (passed & candidate).mean() == pytest.approx(curve.probability(similarity), abs=0.03)
    assert found.similarity.std() == pytest.approx(curve.error(similarity), rel=0.1)


def test_the_curve_of_samples_is_what_simulated_pairs_do() -> None:
    check, shape = Estimated(23, "slots", "jaccard"), Groups(5, 4)
    curve = Decided(check, 0.6, shape)
    rng, pairs = np.random.default_rng(4), 5000
    for similarity in (0.5, 0.7):
        equal = rng.random((pairs, 23)) < similarity
        candidate = equal[:, :20].reshape(pairs, 5, 4).all(axis=2).any(axis=1)
        passed = equal.mean(axis=1) >= 0.6
        assert passed.mean() == pytest.approx(curve.passes(similarity), abs=0.03)
        assert (passed & candidate).mean() == pytest.approx(curve.probability(similarity), abs=0.03)
        assert curve.probability(similarity) <= curve.candidate(similarity)


@pytest.mark.parametrize("levels", [1, 8, 100])
def test_few_levels_estimate_without_bias(levels: int) -> None:
    """Weights below a level, cut by rounding, would all count as nothing or as a whole level."""
    rng = np.random.default_rng(levels)
    hashes = np.sort(rng.integers(0, 2**64, 6000, dtype=np.uint64))
    mine = (rng.pareto(1.5, 6000) * 0.1).astype(np.float32)
    theirs = (mine * rng.choice([0.0, 0.4, 1.0, 1.6], 6000)).astype(np.float32)
    pair = Features(
        np.array([0, 6000, 12000]), np.tile(hashes, 2), np.concatenate([mine, theirs]), distinct=True
    )
    signed = QuantisedMinHash(2000, levels)(pair).slots
    mine, theirs = np.minimum(mine, 8).astype(float), np.minimum(theirs, 8).astype(float)
    expected = np.minimum(mine, theirs).sum() / np.maximum(mine, theirs).sum()
    assert (signed[0] == signed[1]).mean() == pytest.approx(expected, abs=0.04)


OPTIONS: list[dict] = [
    {},
    {"signature": "minhash", "num_perm": 80, "levels": 3},
    {"signature": "samples"},
    {"search": "tables", "threshold": 0.9},
    {"similarity": "jaccard"},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_plans_that_decide_travel_and_have_a_curve(options: dict) -> None:
    plan = neardup.make_plan("andd", verify="signatures", **options)
    assert neardup.Plan.from_json(plan.to_json()) == plan
    curve = decided_curve(plan)
    assert curve is not None and plan.check_view is None
    assert curve.probability(1.0) == pytest.approx(1.0)
    assert curve.probability(plan.threshold - 0.3) < 0.01 < curve.probability(plan.threshold)
    assert curve.bytes == {"bits": 48}.get(options.get("signature", "bits"), 4 * plan.view.signature.slots)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"signature": "none", "verify": "signatures"}, "'exact' with signature=none"),
        ({"levels": 4}, "left out unless signature is minhash"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        neardup.make_plan("andd", **options)
