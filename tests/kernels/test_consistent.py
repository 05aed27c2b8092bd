"""Weighted samples are those of the twins; weights of phrases too."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from inputs import pack, unpack

import naive
from neardup.kernels import consistent, phrases

hashes = st.one_of(st.integers(0, 9), st.integers(0, 2**64 - 1))
weights = st.floats(2.0**-40, 2.0**60).map(np.float32).filter(lambda w: w > 0)
documents = st.lists(st.dictionaries(hashes, weights, max_size=12), max_size=6)


def flat(rows: list[dict[int, float]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    keys, offsets = pack([sorted(row) for row in rows], np.uint64, np.int64)
    return keys, beside([[row[key] for key in sorted(row)] for row in rows], keys, offsets), offsets


def beside(rows: list[list[float]], keys: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Values in the places of their keys."""
    values = np.ones(len(keys))
    values[offsets[0] : offsets[-1]] = [value for row in rows for value in row]
    return values


@given(documents, st.integers(0, 2**32 - 1))
def test_samples_are_those_of_the_twin(rows: list[dict[int, float]], seed: int) -> None:
    keys, values, offsets = flat(rows)
    slots = np.ones((len(rows), 7), np.uint32)
    consistent.sample(keys, np.log(values).astype(np.float32), offsets, seed, slots)
    for row, found in zip(rows, slots.tolist(), strict=True):
        logs = [float(np.float32(math.log(row[key]))) for key in sorted(row)]
        for number, slot in enumerate(found):
            expected = naive.sample(sorted(row), logs, seed, number)
            assert slot == expected.slot or expected.margin < 1e-4


@given(documents, st.integers(0, 2**63 - 1), st.integers(1, 9))
def test_races_are_those_of_the_twin(rows: list[dict[int, float]], seed: int, count: int) -> None:
    keys, values, offsets = flat(rows)
    slots = np.ones((len(rows), count), np.uint32)
    consistent.race(keys, values, offsets, np.uint64(seed), slots)
    for row, found in zip(rows, slots.tolist(), strict=True):
        assert found == naive.race(sorted(row), [float(row[key]) for key in sorted(row)], seed, count)


@given(documents, st.integers(0, 2**63 - 1), st.integers(1, 9))
def test_darts_are_those_of_the_twin(rows: list[dict[int, float]], seed: int, count: int) -> None:
    keys, values, offsets = flat(rows)
    slots = np.ones((len(rows), count), np.uint32)
    consistent.darts(keys, values, offsets, np.uint64(seed), slots)
    for row, found in zip(rows, slots.tolist(), strict=True):
        assert found == naive.darts(sorted(row), [float(row[key]) for key in sorted(row)], seed, count)


def test_darts_of_long_documents_are_those_of_the_twin() -> None:
    """More phrases than vector instructions take at a time; some slots are filled late, some only at twice the time."""
    rng = np.random.default_rng(1)
    rows = [
        dict(zip(rng.integers(0, 2**63, 90).tolist(), rng.exponential(size=90), strict=True))
        for _ in range(60)
    ]
    keys, values, offsets = flat(rows)
    slots = np.ones((len(rows), 30), np.uint32)
    consistent.darts(keys, values, offsets, np.uint64(5), slots)
    for row, found in zip(rows, slots.tolist(), strict=True):
        assert found == naive.darts(sorted(row), [row[key] for key in sorted(row)], 5, 30)


def test_many_equal_leading_bits_are_sorted_too() -> None:
    keys = np.random.default_rng(1).integers(0, 200, 500).astype(np.uint64)
    values, offsets = np.arange(500, dtype=np.float32), np.array([0, 500])
    out, weight = np.empty(500, np.uint64), np.empty(500, np.float32)
    end = phrases.heaviest(keys, values, offsets, out, weight)[-1]
    found = dict(zip(out[:end].tolist(), weight[:end].tolist(), strict=True))
    assert list(found.items()) == sorted(naive.heaviest(keys.tolist(), values.tolist()).items())


@given(st.lists(st.floats(2.0**-47, 2.0), min_size=1, max_size=40))
def test_logarithms_are_right_to_six_digits(values: list[float]) -> None:
    found = np.array(values, np.float32)
    exact = np.log(found.astype(np.float64))
    consistent.logarithms(found, found.view(np.int32), np.empty(len(found), np.float32))
    assert np.allclose(found, exact, rtol=3e-7, atol=1e-12)


@given(st.lists(st.lists(st.integers(0, 99), max_size=30), max_size=5), st.integers(1, 12))
def test_sums_around_are_those_of_the_twin(rows: list[list[int]], half: int) -> None:
    values, offsets = pack(rows, np.int64, np.int64)
    sums = np.zeros(len(values), np.int64)
    phrases.sum_around(values, offsets, half, sums)
    assert unpack(sums, offsets) == [naive.sum_around(row, half) for row in rows]


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 5), st.sampled_from([0.5, 1.0, 2.0, 8.0])), max_size=9), max_size=5
    )
)
def test_the_heaviest_occurrence_counts(rows: list[list[tuple[int, float]]]) -> None:
    keys, offsets = pack([[key for key, _ in row] for row in rows], np.uint64, np.int64)
    values = beside([[weight for _, weight in row] for row in rows], keys, offsets).astype(np.float32)
    out, weight = np.empty(len(keys), np.uint64), np.empty(len(keys), np.float32)
    ends = phrases.heaviest(keys, values, offsets, out, weight)
    found = zip(unpack(out, ends), unpack(weight, ends), strict=True)
    expected = [naive.heaviest([k for k, _ in row], [w for _, w in row]) for row in rows]
    assert [dict(zip(a, b, strict=True)) for a, b in found] == expected
    assert unpack(out, ends) == [list(row) for row in expected]
