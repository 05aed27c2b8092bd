"""Hamming search: exact for any bits, distance and number, whatever way it takes; far from quadratic on skew."""

from __future__ import annotations

import time

import numpy as np
import pytest

from neardup.candidates.hamming import FingerprintIndex, Hamming, near_pairs, to_columns
from neardup.candidates.hamming_cost import choose_layout
from neardup.clusters.graph import components
from neardup.columns import Signatures
from neardup.errors import ParameterError

RANDOM = np.random.default_rng(3)


def planted(n: int, words: int, distance: int) -> np.ndarray:
    """Fingerprints of which half lie up to `distance` bits from another."""
    values = RANDOM.integers(0, 2**64, (words, n), dtype=np.uint64)
    half = n // 2
    if half:
        values[:, half:] = values[:, RANDOM.integers(0, half, n - half)]
        for _ in range(distance):
            where = RANDOM.integers(0, words, n - half)
            flips = np.uint64(1) << RANDOM.integers(0, 64, n - half).astype(np.uint64)
            values[where, np.arange(half, n)] ^= np.where(RANDOM.random(n - half) < 0.6, flips, np.uint64(0))
    return values


def brute(columns: np.ndarray, distance: int) -> set[tuple[int, int, int]]:
    bits = np.unpackbits(np.ascontiguousarray(columns.T).view(np.uint8), axis=1).astype(np.float32)
    same = bits @ bits.T + (1 - bits) @ (1 - bits).T
    apart = np.rint(bits.shape[1] - same).astype(np.int64)
    left, right = np.nonzero(np.triu(apart <= distance, 1))
    return set(zip(left.tolist(), right.tolist(), apart[left, right].tolist(), strict=True))


@pytest.mark.parametrize("words", [1, 2, 6, 64])
@pytest.mark.parametrize("distance", [0, 1, 3, 6, 28])
@pytest.mark.parametrize("n", [1, 2, 60, 400])
def test_all_pairs_are_those_of_brute_force(words: int, distance: int, n: int) -> None:
    columns = planted(n, words, distance)
    for kind in ("auto", "tables", "shards"):
        found = list(
            zip(*(c.tolist() for c in near_pairs(columns, distance, kind=kind, threads=2)), strict=True)
        )
        assert len(found) == len(set(found)), kind
        assert set(found) == brute(columns, distance), kind


def test_long_runs_are_joined_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neardup.candidates.hamming.RUN", 8)
    for mask in (0xFFFF, 0xFF00FF00FF00FF00, 0x3):  # most bits constant
        columns = planted(500, 1, 3) & np.uint64(mask)
        found = list(zip(*(c.tolist() for c in near_pairs(columns, 3, kind="tables")), strict=True))
        assert len(found) == len(set(found))
        assert set(found) == brute(columns, 3)
        left, right, _ = near_pairs(columns, 3, spanning=True)
        every = np.array([pair[:2] for pair in found]).reshape(-1, 2)
        assert (components(500, left, right) == components(500, every[:, 0], every[:, 1])).all()
        assert len(left) < 500 * 8


@pytest.mark.parametrize("name", ["all equal", "half equal", "half the bits constant"])
def test_skew_costs_no_square(name: str) -> None:
    """60,000 fingerprints; a square of them would take a minute and more."""
    n, values = 60_000, RANDOM.integers(0, 2**64, 60_000, dtype=np.uint64)
    if name == "all equal":
        values[:] = values[0]
    elif name == "half equal":
        values[: n // 2] = values[0]
    else:
        values &= np.uint64(0xFFFFFFFF)
    near_pairs(values[None, :5000].copy(), 3, spanning=True)
    began = time.process_time()
    near_pairs(values[None, :].copy(), 3, spanning=True)
    assert time.process_time() - began < 2


def test_a_fingerprint_index_finds_what_brute_force_finds() -> None:
    columns, wanted = planted(3000, 2, 3), planted(40, 2, 0)
    wanted[:, :20] = columns[:, 100:120] ^ np.uint64(1)
    for distance in (0, 3, 9):
        index = FingerprintIndex.of(columns, distance)
        query, document, apart = index.search(wanted)
        both = np.concatenate([wanted, columns], axis=1)
        expected = {(a, b - 40, d) for a, b, d in brute(both, distance) if a < 40 <= b}
        assert set(zip(query.tolist(), document.tolist(), apart.tolist(), strict=True)) == expected
        assert len(query) == len(expected)


def test_a_threshold_is_a_distance_and_documents_without_features_meet_nothing() -> None:
    slots = np.zeros((3, 2), np.uint32)
    slots[1] = [7, 0]
    stage = Hamming(64)
    assert [stage.distance((64 - k) / 64) for k in range(6)] == list(range(6))
    assert [Hamming(384).distance((384 - k) / 384) for k in range(60)] == list(range(60))
    pairs = stage.pairs(Signatures(slots, np.array([True, True, False])), 61 / 64)
    assert (pairs.left.tolist(), pairs.right.tolist(), pairs.similarity.tolist()) == ([0], [1], [61 / 64])
    assert to_columns(np.array([[1, 2]], np.uint32)).tolist() == [[1 | 2 << 32]]


def test_bad_requests_are_refused() -> None:
    with pytest.raises(ParameterError, match="distance"):
        near_pairs(planted(3, 1, 0), -1)
    with pytest.raises(ParameterError, match="kind"):
        choose_layout(planted(3, 1, 0), 1, "fast")


def test_the_cost_decides() -> None:
    few, many = planted(50, 1, 0), planted(200_000, 1, 0)
    assert choose_layout(few, 3) is None
    found = choose_layout(many, 3)
    assert found is not None and len(found.keys) == 4
    assert choose_layout(many, 40) is None
