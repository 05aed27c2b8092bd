"""Bands of sampled bits find pairs as often as they say, and levels are sampled as often as weights say."""

from __future__ import annotations

import numpy as np
import pytest

import neardup
from neardup.candidates.bit_bands import (
    BitBands,
    choose_bit_bands,
    distance_for,
    least_cosine,
    sampled_bits,
)
from neardup.candidates.inverted import Inverted
from neardup.columns import Features, Signatures
from neardup.errors import PlanError
from neardup.signatures.quantised import QuantisedMinHash
from neardup.signatures.sign_bits import Projection, SignBits, bit_agreement
from neardup.verify.bits import BitAgreement
from neardup.verify.cosine import ExtendedJaccard


@pytest.mark.parametrize(("threshold", "recall"), [(0.3, 0.9), (0.5, 0.95), (0.7, 0.99), (0.95, 0.99)])
def test_the_chosen_bands_reach_the_recall_and_no_more_than_needed(threshold: float, recall: float) -> None:
    bands = choose_bit_bands(threshold, recall, 384, "cosine", 1)
    assert recall <= bands.probability(threshold) < recall + 0.02
    assert bands.reach(recall) <= threshold + 1e-6
    assert bands.probability(0.0) < bands.probability(threshold) <= bands.probability(1.0) == 1.0


def test_pairs_are_found_as_often_as_stated() -> None:
    bands, rng, pairs = BitBands(384, 40, 12), np.random.default_rng(1), 4000
    agree = 0.78
    left = rng.random((pairs, 384)) < 0.5
    right = left ^ (rng.random((pairs, 384)) > agree)
    keys = [bands.keys(packed(side)) for side in (left, right)]
    found = (keys[0] == keys[1]).any(axis=0).mean()
    assert found == pytest.approx(bands.probability(np.cos(np.pi * (1 - agree))), abs=0.03)


def test_the_sieve_keeps_pairs_at_the_threshold_and_hardly_any_other() -> None:
    rng, pairs, threshold = np.random.default_rng(2), 20_000, 0.65
    bands = choose_bit_bands(threshold, 0.95, 384, "cosine", 1)
    for cosine, least, most in ((threshold, 0.999, 1.0), (0.16, 0.0, 0.01)):
        left = rng.random((pairs, 384)) < 0.5
        right = left ^ (rng.random((pairs, 384)) > bit_agreement(cosine))
        both = packed(np.concatenate([left, right]))
        for exempt, share in ((False, (least, most)), (True, (1.0, 1.0))):
            sieve = bands.sieve(both, threshold, np.full(2 * pairs, exempt))
            kept, _ = sieve(np.arange(pairs), np.arange(pairs) + pairs)
            assert share[0] <= len(kept) / pairs <= share[1]


def packed(bits: np.ndarray) -> Signatures:
    slots = np.packbits(bits, axis=1, bitorder="little").view("<u4")
    return Signatures(slots, np.ones(len(bits), np.bool_))


def test_no_bit_is_twice_in_a_band() -> None:
    chosen = sampled_bits(BitBands(64, 30, 20))
    assert all(len(set(row)) == 20 for row in chosen.tolist()) and chosen.max() < 64


def test_short_signatures_are_refused() -> None:
    with pytest.raises(PlanError, match="has 64 bits, and the bands need 384"):
        BitBands().keys(packed(np.ones((1, 64), np.bool_)))


def vectors(seed: int, documents: int = 30) -> Features:
    rng = np.random.default_rng(seed)
    rows = [
        np.sort(rng.choice(60, 20, replace=False)).astype(np.uint64) * np.uint64(2**57 + 12345)
        for _ in range(documents)
    ]
    offsets = np.arange(documents + 1) * 20
    hashes = np.concatenate([np.sort(row) for row in rows])
    return Features(offsets, hashes, rng.random(documents * 20).astype(np.float32) * 2, distinct=True)


def test_extended_jaccard_is_bounded_by_the_cosine_and_searched_exactly() -> None:
    features = vectors(3)
    left, right = np.triu_indices(30, 1)
    measured = ExtendedJaccard().measure(features, left, right)
    dots, a, b = measured.shared, measured.left_size, measured.right_size
    assert np.allclose(measured.similarity, dots / (a + b - dots))
    bound = np.array([least_cosine(s, "jaccard") for s in measured.similarity])
    assert (dots / np.sqrt(a * b) >= bound - 1e-9).all()
    found = Inverted("extended_jaccard").pairs(features, 0.25)
    wanted = measured.similarity >= 0.25
    assert sorted(zip(found.left, found.right, strict=True)) == sorted(
        zip(left[wanted], right[wanted], strict=True)
    )


def test_min_hashes_of_levels_estimate_what_weights_share() -> None:
    features = vectors(5, 8)
    signed = QuantisedMinHash(4000, levels=16)(features)
    levels = np.rint(features.weights.astype(float) * 16)  # type: ignore[union-attr]
    for a in range(7):
        parts = [slice(d * 20, d * 20 + 20) for d in (a, a + 1)]
        mine, theirs = (dict(zip(features.hashes[p].tolist(), levels[p], strict=True)) for p in parts)
        both = sum(min(mine.get(h, 0), theirs.get(h, 0)) for h in mine)
        whole = sum(levels[a * 20 : a * 20 + 40]) - both
        assert (signed.slots[a] == signed.slots[a + 1]).mean() == pytest.approx(both / whole, abs=0.03)


def test_what_has_no_level_is_absent() -> None:
    features = Features(
        np.array([0, 1, 2]), np.array([1, 2], np.uint64), np.array([0.01, -3], np.float32), distinct=True
    )
    assert QuantisedMinHash(4)(features).present.tolist() == [False, False]


def test_a_distance_is_as_wide_as_the_recall_that_is_asked_for() -> None:
    rng = np.random.default_rng(2)
    for agree in (0.6, 0.8, 0.95):
        within = distance_for(agree, 0.9, 384)
        apart = 384 - rng.binomial(384, agree, 20_000)
        assert (apart <= within).mean() >= 0.89
        assert (apart <= within - 1).mean() < 0.91
    assert distance_for(1.0, 0.99, 64) == 0


@pytest.mark.parametrize("projection", ["signs", "gaussian", "uniform"])
@pytest.mark.parametrize("cosine", [0.2, 0.6, 0.9])
def test_every_projection_agrees_as_often_as_the_angle_says(projection: Projection, cosine: float) -> None:
    shared, words = round(2000 * cosine), np.random.default_rng(1).integers(0, 2**64, 4000, dtype=np.uint64)
    sides = [np.sort(words[:2000]), np.sort(np.append(words[:shared], words[2000 : 4000 - shared]))]
    pair = Features(
        np.array([0, 2000, 4000]), np.concatenate(sides), np.ones(4000, np.float32), distinct=True
    )
    slots = SignBits(4096, 3, projection)(pair)
    share = BitAgreement(4096).measure(slots, np.array([0]), np.array([1])).similarity[0]
    expected = bit_agreement(shared / 2000)
    assert share == pytest.approx(expected, abs=4 * (expected * (1 - expected) / 4096) ** 0.5)


def test_hamming_tables_find_what_bands_find() -> None:
    rng = np.random.default_rng(4)
    words = np.array([f"w{k}" for k in range(3000)])
    texts = []
    for _ in range(60):
        story = rng.choice(words, 80)
        changed = np.where(rng.random(80) < 0.03, rng.choice(words, 80), story)
        texts += [" ".join(story), " ".join(changed)]
    exact = neardup.pairs(texts, method="andd", signature="none", threshold=0.9)
    tables = neardup.pairs(texts, method="andd", search="tables", recall=0.999, threshold=0.9)
    assert exact.num_rows > 40
    assert set(zip(*exact.select(["left", "right"]).to_pydict().values(), strict=True)) == set(
        zip(*tables.select(["left", "right"]).to_pydict().values(), strict=True)
    )
