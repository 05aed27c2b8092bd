"""The kernels of learned weights are those of their twins."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from inputs import pack, unpack

import naive
from neardup.kernels import bits, grams

few = st.sampled_from([0, 1, 2**63, 2**64 - 1, 2**40 + 1, 12345, 2**32])
hashes = st.one_of(few, st.integers(0, 2**64 - 1))
occurrences = st.lists(st.tuples(hashes, st.integers(0, 3), st.integers(0, 2**32 - 1)), max_size=40)
seeds = st.integers(0, 2**62)
numbers = st.floats(-4, 4, width=32)


@given(st.lists(occurrences, max_size=4), st.booleans())
def test_grams_are_those_of_the_twin(rows: list[list[tuple[int, int, int]]], with_places: bool) -> None:
    keys, offsets = pack([[row[0] for row in rows_] for rows_ in rows], np.uint64)
    marks, starts = pack([[row[1] for row in rows_] for rows_ in rows], np.uint8)
    places = pack([[row[2] for row in rows_] for rows_ in rows], np.uint32)[0]
    source = grams.Occurrences(keys, offsets, starts, marks, places if with_places else places[:0])
    out = grams.GramColumns(
        np.empty(len(keys), np.uint64), *(np.empty(len(keys), np.uint32) for _ in range(5))
    )
    ends = grams.tabulate(source, out)
    columns = [unpack(column[: ends[-1]], ends) for column in out]
    found = [
        [naive.Gram(*gram) for gram in zip(*document, strict=True)] for document in zip(*columns, strict=True)
    ]
    assert found == [
        naive.tabulate(
            [h for h, _, _ in row], [m for _, m, _ in row], [f for _, _, f in row] if with_places else []
        )
        for row in rows
    ]


def test_k_grams_may_begin_elsewhere_than_their_tokens() -> None:
    keys, offsets = np.array([7, 7, 9], np.uint64), np.array([0, 2, 3])
    marks, starts = (
        np.array([1, 0, 0, 2, 0], np.uint8),
        np.array([0, 3, 5]),
    )  # the last tokens begin no k-gram
    out = grams.GramColumns(np.empty(3, np.uint64), *(np.empty(3, np.uint32) for _ in range(5)))
    ends = grams.tabulate(grams.Occurrences(keys, offsets, starts, marks, np.zeros(0, np.uint32)), out)
    assert ends.tolist() == [0, 1, 2]
    assert out.capitals[:2].tolist() == [1, 0] and out.digits[:2].tolist() == [0, 1]


@given(st.lists(st.dictionaries(few, st.lists(numbers, min_size=3, max_size=3)), min_size=1, max_size=4))
def test_products_are_those_of_the_twin(rows: list[dict[int, list[float]]]) -> None:
    rows = [dict(sorted(row.items())) for row in rows]
    keys, offsets = pack([list(row) for row in rows], np.uint64)
    values = np.zeros((len(keys), 3))
    for row, start in zip(rows, offsets, strict=False):
        for place, phi in enumerate(row.values()):
            values[start + place] = phi
    left, right = (side.ravel() for side in np.indices((len(rows), len(rows))))
    out = np.empty((len(left), 6))
    grams.multiply_pairs(keys, values, offsets, left, right, out)
    expected = [naive.multiply_pairs(rows[a], rows[b], 3) for a, b in zip(left, right, strict=True)]
    assert np.allclose(out, expected, rtol=1e-12, atol=1e-12)


@given(st.lists(st.dictionaries(hashes, st.integers(0, 5), max_size=8), max_size=3), seeds)
def test_min_hashes_of_levels_are_those_of_the_twin(rows: list[dict[int, int]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    mix, steps = rng.integers(0, 2**32, 4, dtype=np.uint32), rng.integers(0, 99, 6).astype(np.uint32)
    keys, offsets = pack([list(row) for row in rows], np.uint64)
    levels = pack([list(row.values()) for row in rows], np.int64)[0]
    slots = np.empty((len(rows), 6), np.uint32)
    grams.minhash_levels(keys, levels, offsets, mix, steps, slots)
    assert slots.tolist() == [naive.minhash_levels(row, mix.tolist(), steps.tolist()) for row in rows]


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=4), st.integers(1, 60), seeds)
def test_keys_of_sampled_bits_are_those_of_the_twin(rows: list[int], width: int, seed: int) -> None:
    slots = np.array([[row & 0xFFFFFFFF, row >> 32] for row in rows], np.uint32)
    chosen = np.stack([np.random.default_rng(seed + band).permutation(64)[:width] for band in range(3)])
    keys = np.empty((3, len(rows)), np.uint64)
    bits.sampled_keys(slots, chosen, seed, keys)
    expected = [naive.sampled_keys([row >> k & 1 for k in range(64)], chosen.tolist(), seed) for row in rows]
    assert keys.T.tolist() == expected
