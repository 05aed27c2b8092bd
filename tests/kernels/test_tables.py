"""Tables that are added up have the counts of the twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import COMPILED

import naive
from neardup.kernels import lookup, phrases, tables

hashes = st.one_of(st.integers(0, 9), st.integers(0, 2**64 - 1))


BITS = 4  # of parts


def cut(keys: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    out, out_counts = np.empty_like(keys), np.empty_like(counts)
    return out, out_counts, tables.cut(keys, counts, BITS, out, out_counts)


def cut_once(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    out = np.empty_like(keys)
    return out, tables.cut_keys(keys, BITS, out)


def stacked(parts: list[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    """The columns of several blocks behind each other, and where the parts of each begin."""
    before = np.cumsum([0, *(len(part[0]) for part in parts[:-1])])
    columns = [np.concatenate(column) for column in list(zip(*parts, strict=True))[:-1]]
    return *columns, np.stack([part[-1] + size for part, size in zip(parts, before, strict=True)])


def summed(keys: np.ndarray, counts: np.ndarray, least: int = 1, blocks: int = 1) -> dict[int, int]:
    """The sums of entries that came in so many blocks, those of count 1 without it."""
    some = list(zip(np.array_split(keys, blocks), np.array_split(counts, blocks), strict=True))
    singles = stacked([cut_once(key[count == 1]) for key, count in some])
    others = stacked([cut(key[count > 1], count[count > 1]) for key, count in some])
    out, sums = np.empty(len(keys), np.uint64), np.empty(len(keys), np.int64)
    size = tables.sum_parts(singles, others, least, out, sums)
    return dict(zip(out[:size].tolist(), sums[:size].tolist(), strict=True))


@given(st.lists(st.tuples(hashes, st.integers(1, 2**40)), max_size=80), st.integers(1, 3), st.integers(1, 4))
def test_equal_keys_are_added_as_by_the_twin(entries: list[tuple[int, int]], least: int, blocks: int) -> None:
    keys = np.array([key for key, _ in entries], np.uint64)
    counts = np.array([count for _, count in entries], np.int64)
    found = summed(keys, counts, least, blocks)
    assert list(found.items()) == list(naive.sum_parts(keys.tolist(), counts.tolist(), least).items())


@given(st.lists(st.sampled_from([0, 1, 2, 7 << 60, 2**64 - 1]), max_size=20), st.integers(1, 3))
def test_keys_of_few_counts_are_dropped_as_by_the_twin(keys: list[int], least: int) -> None:
    """Each count is 1: what occurs once is told from what occurs twice by its key alone."""
    some, ones = np.array(keys, np.uint64), np.ones(len(keys), np.int64)
    assert summed(some, ones, least, 2) == naive.sum_parts(keys, ones.tolist(), least)


@pytest.mark.parametrize("most", [2, 3000, 2**64 - 1])
@pytest.mark.parametrize("least", [1, 2])
def test_many_keys_are_added_too(most: int, least: int) -> None:
    """Spread evenly, over several parts; and all with the same leading bits."""
    rng, size = np.random.default_rng(1), 30_000 if COMPILED else 2_000
    keys, counts = rng.integers(0, most, size, np.uint64), rng.integers(1, 9, size)
    keys = np.concatenate([keys, keys[::2]])
    counts = np.concatenate([counts, counts[::2]])
    expected = naive.sum_parts(keys.tolist(), counts.tolist(), least)
    assert list(summed(keys, counts, least, 3).items()) == list(expected.items())


@given(st.lists(hashes, max_size=40))
def test_entries_are_cut_into_the_parts_of_the_twin(values: list[int]) -> None:
    keys = np.array(values, np.uint64)
    out, counts, starts = cut(keys, np.arange(len(keys)))
    parts = [out[starts[part] : starts[part + 1]].tolist() for part in range(1 << BITS)]
    assert parts == naive.cut(values, BITS)
    assert np.array_equal(keys[counts], out)  # each count is still with its key
    alone, same = cut_once(keys)
    assert np.array_equal(alone, out) and np.array_equal(same, starts)


@given(st.lists(st.lists(hashes, max_size=12), max_size=8), hashes)
def test_rows_are_counted_as_by_the_twin_whatever_the_factor(rows: list[list[int]], drawn: int) -> None:
    flat = np.array([h for row in rows for h in row], np.uint64)
    offsets = np.cumsum([0, *map(len, rows)])
    keys, counts = np.empty(len(flat), np.uint64), np.empty(len(flat), np.int64)
    size = tables.count_rows(flat, offsets, np.uint64(drawn | 1), keys, counts)
    assert list(zip(keys[:size], counts[:size], strict=True)) == list(naive.count_rows(rows).items())


@given(st.lists(hashes, max_size=60, unique=True), st.lists(hashes, max_size=30))
def test_listed_keys_are_those_of_the_twin(values: list[int], others: list[int]) -> None:
    keys = np.array(sorted(values), np.uint64)
    bits = max(1, len(keys).bit_length())
    index = np.searchsorted(keys, np.arange(1 << bits, dtype=np.uint64) << np.uint64(64 - bits))
    for size in (6, 9):
        bitmap = lookup.make_filter(keys, size)
        numbers = {n for n in range(1 << size) if int(bitmap[n >> 6]) >> (n & 63) & 1}
        assert numbers == naive.make_filter(values, size)
        queries = np.array([*values, *others], np.uint64)
        found = np.empty(len(queries), np.bool_)
        lookup.among(keys, index, bitmap, size, queries, found)
        assert found.tolist() == naive.among(values, queries.tolist())


rows = st.lists(
    st.dictionaries(hashes, st.tuples(st.integers(0, 2**20), st.booleans()), max_size=8), max_size=6
)


@given(rows, st.sampled_from([0.0, 0.01, 0.5, 1.0]))
def test_rare_features_are_those_of_the_twin(
    documents: list[dict[int, tuple[int, bool]]], least: float
) -> None:
    some = [sorted(document.items()) for document in documents]
    offsets = np.cumsum([0, *map(len, some)])
    keys = np.array([h for row in some for h, _ in row], np.uint64)
    weights = np.array([weight for row in some for _, (weight, _) in row], np.float32)
    rare = np.array([one for row in some for _, (_, one) in row], np.bool_)
    out, out_weights = np.empty_like(keys), np.empty_like(weights)
    ends = phrases.keep_rare(keys, weights, rare, offsets, least, out, out_weights)
    for d, row in enumerate(some):
        own = slice(ends[d], ends[d + 1])
        found = list(zip(out[own].tolist(), out_weights[own].tolist(), strict=True))
        wanted = naive.keep_rare({h: w for h, (w, _) in row}, {h: r for h, (_, r) in row}, least)
        assert found == list(wanted.items())
