"""Sign bits, set hashes, numbered occurrences and dot products are those of their twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import pack, unpack

import naive
from neardup.kernels import bits, phrases, set_hash, sets, weighted
from neardup.signatures.sign_bits import Projection, coefficients

hashes = st.integers(0, 2**64 - 1)
documents = st.lists(st.dictionaries(hashes, st.integers(0, 50), max_size=12), max_size=4)
seeds = st.integers(0, 2**62)


def packed(rows: list[dict[int, int]], kind: type = np.int64) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = [dict(sorted(row.items())) for row in rows]
    keys, offsets = pack([list(row) for row in rows], np.uint64)
    return keys, pack([list(row.values()) for row in rows], kind)[0], offsets


def unpacked_bits(row: list[int]) -> list[int]:
    return [word >> bit & 1 for word in row for bit in range(32)]


@given(documents, st.sampled_from([64, 128, 384]), seeds)
def test_sign_bits_are_those_of_the_twin(rows: list[dict[int, int]], size: int, seed: int) -> None:
    keys, weights, offsets = packed(rows)
    out = np.empty((len(rows), size // 32), np.uint32)
    bits.sign_bits(keys, weights, offsets, seed, out)
    expected = [naive.sign_bits(list(row), list(row.values()), size, seed) for row in rows]
    assert [unpacked_bits(row) for row in out.tolist()] == expected


@given(documents, st.sampled_from([64, 128]), seeds, st.sampled_from(["gaussian", "uniform"]))
def test_signs_of_other_projections_are_those_of_the_twin(
    rows: list[dict[int, int]], size: int, seed: int, kind: Projection
) -> None:
    keys, weights, offsets = packed(rows)
    out, table = np.empty((len(rows), size // 32), np.uint32), coefficients(kind)
    bits.table_signs(keys, weights, offsets, seed, table, out)
    expected = [naive.table_signs(list(row), list(row.values()), size, seed, table.tolist()) for row in rows]
    assert [unpacked_bits(row) for row in out.tolist()] == expected


@given(st.lists(st.lists(st.integers(0, 2**32 - 1), min_size=6, max_size=6), min_size=1, max_size=8))
def test_distances_are_those_of_the_twin(rows: list[list[int]]) -> None:
    slots = np.array(rows, np.uint32)
    left, right = (side.ravel() for side in np.indices((len(rows), len(rows))))
    out = np.zeros(len(left), np.int64)
    bits.hamming(slots, left, right, out)
    assert out.tolist() == [naive.hamming(rows[a], rows[b]) for a, b in zip(left, right, strict=True)]


@given(
    st.lists(st.tuples(st.tuples(*3 * [hashes]), st.booleans()), min_size=1, max_size=8), st.integers(0, 192)
)
def test_near_pairs_are_those_of_the_twin(rows: list[tuple[tuple[int, int, int], bool]], most: int) -> None:
    words, exempt = [list(words) for words, _ in rows], [alone for _, alone in rows]
    left, right = (side.ravel().copy() for side in np.indices((len(rows), len(rows))))
    pairs = list(zip(left.tolist(), right.tolist(), strict=True))
    kept = bits.keep_near(np.array(words, np.uint64), np.array(exempt), most, left, right)
    found = list(zip(left[:kept].tolist(), right[:kept].tolist(), strict=True))
    assert found == naive.keep_near(words, exempt, most, pairs)


@given(documents, st.integers(1, 5), st.sampled_from([0, 2**31, 2**32]), seeds)
def test_set_hashes_are_those_of_the_twin(
    rows: list[dict[int, int]], lexicons: int, limit: int, seed: int
) -> None:
    keys, _, offsets = packed(rows)
    out = np.empty((len(rows), 2 * lexicons), np.uint32)
    set_hash.set_hash(keys, offsets, np.uint64(limit), seed, out)
    found = [[a << 32 | b for a, b in zip(row[::2], row[1::2], strict=True)] for row in out.tolist()]
    assert found == [naive.set_hash(sorted(row), lexicons, limit, seed) for row in rows]


@given(documents)
def test_numbered_occurrences_are_those_of_the_twin(rows: list[dict[int, int]]) -> None:
    keys, weights, offsets = packed(rows, np.float32)
    out = np.empty(int(weights.sum()), np.uint64)
    ends = sets.number_occurrences(keys, weights, offsets, out)
    expected = [
        naive.number_occurrences(*zip(*sorted(row.items()), strict=True)) if row else [] for row in rows
    ]
    assert unpack(out, ends) == expected


@given(documents.filter(len))
def test_dot_products_are_those_of_the_twin(rows: list[dict[int, int]]) -> None:
    keys, weights, offsets = packed(rows, np.float64)
    left, right = (side.ravel() for side in np.indices((len(rows), len(rows))))
    out, norms = np.zeros(len(left)), np.zeros(len(rows))
    weighted.dot(keys, weights, offsets, left, right, out)
    weighted.sum_weights(offsets, weights, True, norms)
    assert out.tolist() == [naive.dot(rows[a], rows[b]) for a, b in zip(left, right, strict=True)]
    assert norms.tolist() == [naive.dot(row, row) for row in rows]


@given(documents, st.sampled_from([64, 128]), seeds)
def test_projections_are_those_of_the_twin(rows: list[dict[int, int]], size: int, seed: int) -> None:
    keys, weights, offsets = packed(rows)
    out = np.empty((len(rows), size), np.int64)
    bits.projections(keys, weights, offsets, seed, out)
    ordered = [dict(sorted(row.items())) for row in rows]
    assert out.tolist() == [naive.projections(list(r), list(r.values()), size, seed) for r in ordered]


@given(st.lists(st.lists(st.integers(0, 9), max_size=12), max_size=4))
def test_values_of_occurrences_are_those_of_the_twin(rows: list[list[int]]) -> None:
    features = [sorted({x for x in row if x != 3}) for row in rows]  # one of them was dropped
    values = [[(7 * i) % 5 for i in range(len(row))] for row in rows]
    keys, offsets = pack(features, np.uint64)
    seen, seen_offsets = pack(rows, np.uint64)
    out = np.full(len(keys), -1.0)
    phrases.largest_of_occurrences(keys, offsets, seen, seen_offsets, pack(values, np.float64)[0], out)
    expected = [
        naive.largest_of_occurrences(*three, -1.0) for three in zip(features, rows, values, strict=True)
    ]
    assert unpack(out, offsets) == expected


whole = st.lists(st.integers(0, 40), max_size=20)


@given(whole, st.lists(st.integers(1, 9), min_size=1, max_size=30), st.booleans())
def test_weights_of_a_table_are_those_of_the_twin(numbers: list[int], table: list[int], plain: bool) -> None:
    factors = [] if plain else [(7 * i) % 5 for i in range(len(numbers))]
    out = np.zeros(len(numbers), np.float32)
    weighted.weigh(
        np.array(numbers, np.int64), np.array(table, np.float32), np.array(factors, np.float32), out
    )
    assert out.tolist() == naive.weigh(numbers, table, factors)


@given(st.lists(st.lists(st.floats(-100, 100, width=32), max_size=8), max_size=4))
def test_fixed_point_weights_are_those_of_the_twin(rows: list[list[float]]) -> None:
    weights, offsets = pack(rows, np.float32)
    out = np.zeros(len(weights), np.int64)
    bits.to_fixed_point(weights, offsets, 1 << 20, out)
    assert unpack(out, offsets) == [naive.to_fixed_point(row, 1 << 20) for row in rows]


@pytest.mark.parametrize("cosine", [0.2, 0.5, 0.8, 0.95])
def test_bits_are_equal_as_often_as_the_angle_says(cosine: float) -> None:
    """1 − θ/π over 4,096 projections of documents with a known cosine: within four standard errors."""
    random, shared = np.random.default_rng(7), 400
    own = round(shared * (1 / cosine - 1))
    words = random.integers(0, 2**64, shared + 2 * own, dtype=np.uint64)
    sides = [np.sort(words[: shared + own]), np.sort(np.concatenate([words[:shared], words[shared + own :]]))]
    keys, offsets = np.concatenate(sides), np.cumsum([0, *map(len, sides)])
    out, distance = np.empty((2, 128), np.uint32), np.zeros(1, np.int64)
    bits.sign_bits(keys, np.ones(len(keys), np.int64), offsets, 3, out)
    bits.hamming(out, np.array([0]), np.array([1]), distance)
    share = 1 - np.arccos(shared / (shared + own)) / np.pi
    assert 1 - distance[0] / 4096 == pytest.approx(share, abs=4 * (share * (1 - share) / 4096) ** 0.5)
