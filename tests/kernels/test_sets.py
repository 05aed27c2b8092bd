"""Sets of hashes: sorted, distinct, and intersected."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import COMPILED, hash_batches, hash_lists, offset_types, pack, unpack

import naive
from neardup.kernels import sets


def kernel_sets(rows: list[list[int]], offset_type: type = np.int64) -> list[list[int]]:
    hashes, offsets = pack(rows, np.uint64, offset_type)
    out = np.empty(len(hashes), np.uint64)
    return unpack(out, sets.distinct(hashes, offsets, out))


@given(hash_batches, offset_types)
def test_sets_are_those_of_the_twin(rows: list[list[int]], offset_type: type) -> None:
    assert kernel_sets(rows, offset_type) == [naive.distinct(row) for row in rows]


@given(hash_batches)
def test_a_document_gives_the_same_set_alone_and_in_any_batch(rows: list[list[int]]) -> None:
    alone = [kernel_sets([row])[0] for row in rows]
    assert kernel_sets(rows) == alone
    assert kernel_sets(rows[::-1]) == alone[::-1]


SIZE = 5000 if COMPILED else 300


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(1).integers(0, 2**64, SIZE, np.uint64),
        np.random.default_rng(2).integers(0, 50, SIZE, np.uint64),
        np.arange(SIZE, dtype=np.uint64)[::-1],
        np.full(SIZE, 2**64 - 1, np.uint64),
        np.array([*range(sets.LONG_RUN + 2), *range(2**63, 2**63 + sets.LONG_RUN)], np.uint64)[::-1],
    ],
    ids=["spread evenly", "many repeats", "leading bits all equal", "all equal", "runs as long as allowed"],
)
def test_any_distribution_is_sorted(values: np.ndarray) -> None:
    values.flags.writeable = False
    target, counts = np.empty_like(values), np.zeros((1 << 24) + 1, np.int64)
    sets.spread_sort(values, target, counts)
    assert target.tolist() == sorted(values.tolist())


@given(st.lists(hash_lists, min_size=2, max_size=5), offset_types)
def test_shared_hashes_are_counted_as_the_twin_does(rows: list[list[int]], offset_type: type) -> None:
    rows = [[], *(sorted({*row}) for row in rows), sorted({*rows[0], *rows[1]})]
    hashes, offsets = pack(rows, np.uint64, offset_type)
    left, right = (ends.ravel() for ends in np.meshgrid(range(len(rows)), range(len(rows))))
    shared = np.full(len(left), -1, np.int64)
    sets.intersect(hashes, offsets, left, right, shared)
    expected = [naive.intersect(rows[a], rows[b]) for a, b in zip(left, right, strict=True)]
    assert shared.tolist() == expected


@given(hash_batches, offset_types)
def test_hashes_are_counted_as_the_twin_does(rows: list[list[int]], offset_type: type) -> None:
    hashes, offsets = pack(rows, np.uint64, offset_type)
    out, counts = np.empty(len(hashes), np.uint64), np.empty(len(hashes), np.float32)
    ends = sets.count_equal(hashes, offsets, out, counts)
    found = [[*zip(*both, strict=True)] for both in zip(unpack(out, ends), unpack(counts, ends), strict=True)]
    assert found == [naive.count_equal(row) for row in rows]


@given(st.lists(hash_lists, min_size=2, max_size=5), offset_types)
def test_shared_frequencies_are_summed_as_the_twin_does(rows: list[list[int]], offset_type: type) -> None:
    counted = [naive.count_equal(row) for row in [[], *rows, rows[0] + rows[1]]]
    hashes, offsets = pack([[h for h, _ in row] for row in counted], np.uint64, offset_type)
    weights, _ = pack([[c for _, c in row] for row in counted], np.float32)
    left, right = (ends.ravel() for ends in np.meshgrid(range(len(counted)), range(len(counted))))
    shared = np.full(len(left), -1.0)
    sets.intersect_weighted(hashes, weights, offsets, left, right, shared)
    pairs = zip(left, right, strict=True)
    assert shared.tolist() == [naive.intersect_weighted(dict(counted[a]), dict(counted[b])) for a, b in pairs]
