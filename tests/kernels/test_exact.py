"""The kernels of the exact matchers, beside their twins."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from inputs import offset_types, pack, unpack

import naive
from neardup.candidates import partitions, prefix
from neardup.candidates.exact import FeatureSets, collect, expand
from neardup.columns import Features
from neardup.kernels import exact
from neardup.kernels import partitions as lists
from neardup.kernels import prefix as prefixes

Document = dict[int, int]
SPREAD = 0x9E3779B97F4A7C15

few = st.dictionaries(st.integers(0, 7), st.integers(1, 4), max_size=8)
spread = few.map(lambda row: {h * SPREAD & naive.MASK: count for h, count in row.items()})
sets = spread.map(lambda row: dict.fromkeys(row, 1))
documents = st.one_of(*(st.lists(kind, max_size=9) for kind in (few, spread, sets)))
fractions = st.integers(1, 20).map(lambda k: Fraction(k, 20))


def arrays(rows: list[Document], offset_type: type = np.int64) -> tuple:
    """Hashes, weights and offsets, as kernels take them."""
    ordered = [sorted(row.items()) for row in rows]
    hashes, offsets = pack([[h for h, _ in row] for row in ordered], np.uint64, offset_type)
    weights, _ = pack([[w for _, w in row] for row in ordered], np.float32)
    return hashes, weights, offsets


def collection(rows: list[Document]) -> FeatureSets:
    hashes, weights, offsets = arrays(rows)
    return collect(Features(offsets, hashes, weights, distinct=True))


def ratio(limit: Fraction) -> tuple[int, int]:
    return limit.numerator, limit.denominator


@given(documents, offset_types)
def test_sizes_and_sketches_are_those_of_the_twin(rows: list[Document], offset_type: type) -> None:
    hashes, weights, offsets = arrays(rows, offset_type)
    sizes, sketches = np.zeros(len(rows), np.int64), np.zeros((len(rows), 3), np.uint64)
    assert exact.summarise(hashes, weights, offsets, sizes, sketches)
    found = [
        (size, low | high << 64, total)
        for size, (low, high, total) in zip(sizes, sketches.tolist(), strict=True)
    ]
    assert found == [naive.summarise(row) for row in rows]
    exact.summarise(hashes, weights[:0], offsets, sizes, sketches)
    assert sizes.tolist() == [len(row) for row in rows]


def test_weights_that_are_no_frequencies_are_noticed() -> None:
    sizes, sketches = np.zeros(1, np.int64), np.zeros((1, 3), np.uint64)
    for weight in (0.5, 0.0, -1.0, 2.5):
        values = np.array([1, weight, 3], np.float32)
        assert not exact.summarise(np.arange(3, dtype=np.uint64), values, np.array([0, 3]), sizes, sketches)


@given(documents)
def test_equal_documents_have_one_representative_even_if_digests_collide(rows: list[Document]) -> None:
    rows = rows + rows[:2]
    for digests in (np.zeros(len(rows), np.uint64), np.array([sum(row) % 4 for row in rows], np.uint64)):
        representative = np.arange(len(rows))
        order = np.argsort(digests)[::-1].copy()
        exact.collapse_equal(arrays(rows), digests, order, representative)
        assert representative.tolist() == naive.collapse_equal(rows)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=30))
def test_documents_are_ordered_by_size(sizes: list[int]) -> None:
    chosen = np.arange(0, len(sizes), 2)
    found = exact.order_by_size(np.array(sizes), chosen, np.zeros(22, np.int64))
    assert found.tolist() == naive.order_by_size(sizes, chosen.tolist())


@given(documents, st.integers(0, 9))
def test_overlaps_are_those_of_the_twin_and_sketches_exclude_none(rows: list[Document], needed: int) -> None:
    hashes, weights, offsets = arrays(rows)
    sizes, sketches = np.zeros(len(rows), np.int64), np.zeros((len(rows), 3), np.uint64)
    exact.summarise(hashes, weights, offsets, sizes, sketches)
    for a, b in combinations(range(len(rows)), 2):
        both = (sizes[a], sizes[b])
        shared = naive.overlap(rows[a], rows[b], needed)
        assert exact.overlap(hashes, weights, offsets, a, b, both, needed) == shared
        if shared >= 0:
            assert exact.may_share(sketches, a, b, sum(both), shared)


def test_sketches_of_documents_without_anything_in_common_differ() -> None:
    rows = [{h * SPREAD & naive.MASK: 1 for h in range(begin, begin + 50)} for begin in (0, 50)]
    sketches = np.zeros((2, 3), np.uint64)
    exact.summarise(*arrays(rows), np.zeros(2, np.int64), sketches)
    assert not exact.may_share(sketches, 0, 1, 100, 40)
    assert exact.may_share(sketches, 0, 1, 100, 0)


@given(documents)
def test_inverted_lists_are_those_of_the_twin(rows: list[Document]) -> None:
    ranks = np.arange(len(rows))
    keys, starts, counts, members = lists.build_lists(arrays(rows), ranks, 0, len(rows))
    found = {
        int(keys[s]): members[starts[s] : starts[s] + counts[s]].tolist() for s in np.flatnonzero(starts >= 0)
    }
    assert found == (naive.build_lists(rows) if rows else {})


@given(documents, fractions, st.lists(st.integers(0, 3), min_size=8, max_size=8))
def test_prefixes_are_those_of_the_twin(rows: list[Document], limit: Fraction, classes: list[int]) -> None:
    hashes, weights, offsets = arrays(rows)
    sizes = np.array([sum(row.values()) for row in rows], np.int64)
    room = len(hashes) + 1
    counts, starts = np.zeros(len(rows), np.int64), np.append(0, np.cumsum([len(row) for row in rows]))[:-1]
    out = (starts, np.empty(room, np.uint64), np.empty(room, np.uint32), np.empty(room, np.uint32), counts)
    table, ranks, span = np.array(classes, np.uint8), np.arange(len(rows)), (0, len(rows))
    prefixes.select_prefixes((hashes, weights, offsets), ranks, sizes, table, ratio(limit), span, out)
    for r, row in enumerate(rows):
        part = slice(starts[r], starts[r] + counts[r])
        found = [*zip(out[1][part].tolist(), out[2][part].tolist(), strict=True)]
        assert found == naive.select_prefixes(row, classes, limit)
        assert out[3][part].tolist() == [row[h] for h, _ in found]


@given(st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=9), max_size=9), st.integers(1, 4))
def test_entries_are_scattered_by_part_and_rank(rows: list[list[int]], bits: int) -> None:
    hashes, offsets = pack(rows, np.uint64)
    starts, counts = offsets[:-1], np.diff(offsets)
    shift, span = np.uint64(64 - bits), (0, len(rows))
    sizes = np.zeros(1 << bits, np.int64)
    prefixes.count_parts(hashes, starts, counts, span, shift, sizes)
    places = (np.cumsum(sizes) - sizes).astype(np.uint64)
    parts = np.zeros((int(counts.sum()), 2), np.uint64)
    prefixes.scatter(hashes, starts, counts, span, shift, places, parts)
    numbered = [(h, r << 32 | (int(starts[r]) + k)) for r, row in enumerate(rows) for k, h in enumerate(row)]
    expected = sorted(numbered, key=lambda entry: ((entry[0] * SPREAD & naive.MASK) >> (64 - bits), entry[1]))
    assert [*map(tuple, parts.tolist())] == expected
    assert places.tolist() == np.cumsum(sizes).tolist()


@given(st.lists(st.integers(0, 9), max_size=60))
def test_equal_entries_of_a_part_find_each_other(values: list[int]) -> None:
    part = np.array([(h * SPREAD & naive.MASK, i) for i, h in enumerate(values)], np.uint64).reshape(-1, 2)
    buffers = prefixes.make_buffers(np.int64(len(part)))
    several = prefixes.group_equal(part, buffers)
    chosen = buffers.chosen[:several].tolist()
    assert {i for i, h in enumerate(values) if values.count(h) > 1} <= {*chosen}
    assert [buffers.group[i] for i in chosen] == [values.index(values[i]) for i in chosen]
    assert [buffers.counts[buffers.group[i]] for i in chosen] == [values.count(values[i]) for i in chosen]
    assert buffers.sources[:several].tolist() == chosen


@given(documents)
def test_a_sample_of_every_document_counts_all_features(rows: list[Document]) -> None:
    hashes, _, offsets = arrays(rows)
    counts = np.zeros(16, np.uint32)
    assert prefixes.sample_features(hashes, offsets, 1, counts) == sum(map(len, rows))
    assert counts.tolist() == [sum(h % 16 == slot for row in rows for h in row) for slot in range(16)]
    counts[:] = 0
    assert prefixes.sample_features(hashes, offsets, 2, counts) == sum(map(len, rows[::2]))


@given(documents, fractions)
def test_both_matchers_find_what_the_twin_finds(rows: list[Document], limit: Fraction) -> None:
    sets = collection(rows)
    expected = naive.exact_pairs(rows, limit)
    for found in (
        prefix.match(sets, limit),
        partitions.match(sets, limit),
        partitions.match(sets, limit, partitions=False),
        partitions.match(sets, limit, pruning=False),
    ):
        pairs = expand(sets, found)
        rows_found = zip(pairs.left.tolist(), pairs.right.tolist(), pairs.shared.tolist(), strict=True)
        assert [*rows_found] == expected


@given(documents, fractions, st.integers(0, 5))
def test_no_order_of_features_loses_a_pair(rows: list[Document], limit: Fraction, seed: int) -> None:
    sets = collection(rows)
    if len(sets) < 2:
        return
    classes = np.random.default_rng(seed).integers(0, 7, 256).astype(np.uint8)
    with prefix.ThreadPoolExecutor(1) as pool:
        run = prefix.PrefixJoin(sets, ratio(limit), 1, pool)
        found = run.meet(run.prefixes(classes))
    ranked = sorted(map(tuple, np.concatenate([part[0] for part in found]).tolist()))
    expected = partitions.match(sets, limit, pruning=False, partitions=False)
    assert ranked == sorted(zip(expected.left, expected.right, expected.shared, strict=True))
    assert unpack(sets.hashes, sets.offsets)
