"""Sets as bits of common hashes and other hashes: what they share is what the sets themselves share."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive
from neardup.columns import Features
from neardup.kernels import buckets, compact
from neardup.verify.compact_sets import CommonFeatures, CompactSets, GrowingSets, Heads, OpenTable

SPREAD = 0x9E3779B97F4A7C15
# Hashes spread evenly, and some that fall into one place of a table.
hashes = st.integers(0, 90).map(lambda k: k * SPREAD & naive.MASK) | st.integers(0, 6)
documents = st.lists(st.lists(hashes, max_size=70), min_size=1, max_size=9)
limits = st.fractions(Fraction(1, 10), 1, max_denominator=20)


def as_features(rows: list[list[int]]) -> Features:
    """Rows of hashes as features that may be there more than once."""
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return Features(offsets, np.array([h for row in rows for h in row], np.uint64))


def compacted(rows: list[list[int]], sample: int) -> CompactSets:
    """The sets of rows, with what is common in the first of them."""
    return CommonFeatures(as_features(rows[:sample])).split(as_features(rows))


def values_of(table: OpenTable) -> dict[int, int]:
    """What a table holds."""
    _, keys, values = table.arrays
    return {int(key): int(value) for key, value in zip(keys, values, strict=True) if value}


@given(st.lists(hashes, unique=True, max_size=60))
def test_a_table_numbers_hashes_as_the_twin_does(some: list[int]) -> None:
    table = OpenTable(len(some), np.int32)
    compact.number_hashes(np.array(some, np.uint64), *table.arrays)
    assert values_of(table) == naive.number_hashes(some)


@given(st.lists(st.lists(hashes, max_size=20), max_size=64))
def test_a_table_marks_hashes_as_the_twin_does(sets: list[list[int]]) -> None:
    table = OpenTable(sum(map(len, sets)), np.uint64)
    for bit, some in enumerate(sets):
        compact.mark_hashes(np.array(some, np.uint64), bit, *table.arrays)
    assert values_of(table) == naive.mark_hashes(sets)


@given(documents, st.lists(hashes, unique=True, max_size=80))
def test_documents_are_split_as_the_twin_does(rows: list[list[int]], common: list[int]) -> None:
    features, table = as_features(rows), OpenTable(len(common), np.int32)
    compact.number_hashes(np.array(common, np.uint64), *table.arrays)
    bits = np.zeros((len(rows), 2), np.uint64)
    others = np.zeros(len(features.hashes), np.uint64)
    ends = compact.split_common(features.hashes, features.offsets, table.arrays, bits, others)
    for row, own, start, stop in zip(rows, bits.tolist(), ends[:-1], ends[1:], strict=True):
        numbers = {64 * word + bit for word in range(2) for bit in range(64) if own[word] >> bit & 1}
        assert (numbers, others[start:stop].tolist()) == naive.split_common(row, common)


@given(documents, st.integers(1, 9), st.data())
def test_pairs_share_what_the_twin_counts(rows: list[list[int]], sample: int, data: st.DataObject) -> None:
    sets = compacted(rows, sample)
    assert sets.sizes.tolist() == [len({*row}) for row in rows]
    place = st.integers(0, len(rows) - 1)
    pairs = data.draw(st.lists(st.tuples(place, place), max_size=12))
    left, right = np.array(pairs, np.int32).reshape(-1, 2).T.copy()
    assert sets.shared(left, right).tolist() == naive.shared_of_pairs(rows, pairs)


@given(documents, st.integers(1, 9), limits, st.data())
def test_the_first_head_is_that_of_the_twin(
    rows: list[list[int]], sample: int, limit: Fraction, data: st.DataObject
) -> None:
    sets = compacted(rows, sample)
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=64))
    begin = data.draw(st.integers(0, len(chosen)))
    heads = Heads(sets.bits.shape[1])
    for row in chosen:
        heads.add(sets, row)
    first, shared = heads.first_reached(sets, np.arange(len(rows), dtype=np.int32), begin, limit)
    expected = [naive.first_reached(row, [rows[head] for head in chosen], begin, limit) for row in rows]
    assert list(zip(first.tolist(), shared.tolist(), strict=True)) == expected
    assert heads.sizes_of(np.arange(len(chosen))).tolist() == [len({*rows[head]}) for head in chosen]


@given(documents, st.integers(1, 9), st.integers(0, 100))
def test_sets_that_come_in_batches_are_the_same(rows: list[list[int]], size: int, room: int) -> None:
    common = CommonFeatures(as_features(rows))
    whole, growing = common.split(as_features(rows)), GrowingSets(len(rows), common.words, room)
    for start in range(0, len(rows), size):
        growing.add(common.split(as_features(rows[start : start + size])))
    for name, values in vars(whole).items():
        assert np.array_equal(getattr(growing.all, name), values)


NODES = 12
nodes = st.integers(0, NODES - 1)
pair_lists = st.lists(st.tuples(nodes, nodes), max_size=30)
labellings = st.lists(st.integers(0, 4), min_size=NODES, max_size=NODES)


@given(pair_lists, labellings)
def test_labels_of_packed_pairs_are_those_of_the_twin(
    pairs: list[tuple[int, int]], labels: list[int]
) -> None:
    packed, given_labels = np.array([a * NODES + b for a, b in pairs], np.int64), np.array(labels, np.int32)
    kept = buckets.keep_apart(packed, NODES, given_labels)
    assert kept.tolist() == [a * NODES + b for a, b in naive.keep_apart(pairs, labels)]
    assert buckets.left_labels(packed, NODES, given_labels).tolist() == naive.left_labels(pairs, labels)
    counts = np.zeros(5, np.int64)
    buckets.count_by_label(packed, NODES, given_labels.astype(np.int64), counts)
    assert counts.tolist() == naive.count_by_label(pairs, labels, 5)


@given(st.sets(st.integers(0, 40)), st.sets(st.integers(0, 40)))
def test_merged_values_are_those_of_the_twin(values: set[int], others: set[int]) -> None:
    left, right = (np.array(sorted(some), np.int64) for some in (values, others))
    assert buckets.without_sorted(left, right).tolist() == naive.without_sorted(values, others)
