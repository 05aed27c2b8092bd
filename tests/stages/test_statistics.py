"""Document frequencies: counted per document, summed over parts, looked up, named by a digest."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from neardup.columns import Features
from neardup.errors import StatisticsError
from neardup.statistics import Frequencies, Statistics, add_up, count_features, merge

# Few values, so that they meet; and values at both ends, where the leading bits are all equal.
hashes = st.sampled_from([*range(6), *range(2**64 - 6, 2**64), *(k << 58 for k in range(64))])
documents = st.lists(st.lists(hashes, max_size=12), max_size=12)


def features(rows: list[list[int]]) -> Features:
    offsets = np.cumsum([0, *map(len, rows)])
    return Features(offsets, np.array([value for row in rows for value in row], np.uint64))


def counted(rows: list[list[int]]) -> dict[int, int]:
    return dict(Counter(value for row in rows for value in set(row)))


def as_dict(table: Frequencies) -> dict[int, int]:
    return dict(zip(table.keys.tolist(), table.counts.tolist(), strict=True))


@given(documents)
def test_a_feature_counts_once_in_each_document(rows: list[list[int]]) -> None:
    table = count_features(features(rows))
    assert as_dict(table) == counted(rows)
    assert table.keys.tolist() == sorted(table.keys.tolist())


@given(st.lists(documents, min_size=1, max_size=4))
def test_parts_add_up_to_the_whole(parts: list[list[list[int]]]) -> None:
    whole = add_up(count_features(features(part)) for part in parts)
    assert as_dict(whole) == counted([row for part in parts for row in part])


@given(documents, st.lists(hashes, max_size=20))
def test_frequencies_are_those_of_the_twin(rows: list[list[int]], wanted: list[int]) -> None:
    table = count_features(features(rows))
    assert table.of(np.array(wanted, np.uint64)).tolist() == naive.look_up(counted(rows), wanted)


def test_a_large_table_finds_every_key_and_nothing_else() -> None:
    keys = np.unique(np.random.default_rng(1).integers(0, 2**64, 200_001, dtype=np.uint64))
    table = Frequencies(keys[::2], np.arange(1, len(keys[::2]) + 1))
    found = table.of(keys)
    assert np.array_equal(found[::2], table.counts) and not found[1::2].any()


def statistics(rows: list[list[int]], text: str = "words") -> Statistics:
    return Statistics(len(rows), text, {"shingles": count_features(features(rows))})


@given(documents, documents)
def test_merging_is_counting_together_whatever_the_order(
    one: list[list[int]], other: list[list[int]]
) -> None:
    a, b, both = statistics(one), statistics(other), statistics(one + other)
    assert merge([a, b]).digest == merge([b, a]).digest == both.digest
    assert merge([a, b]).documents == len(one) + len(other)


def test_the_digest_names_what_was_counted_and_the_result() -> None:
    base = statistics([[1, 2], [2]])
    others = [statistics([[1, 2], [2], []]), statistics([[1], [2]]), statistics([[1, 2], [2]], "characters")]
    assert len({base.digest, *(other.digest for other in others)}) == 4


def test_what_was_not_counted_is_refused_by_name() -> None:
    with pytest.raises(StatisticsError, match="do not cover phrases; they cover shingles"):
        statistics([[1]]).table("phrases")
    with pytest.raises(StatisticsError, match="cannot be merged"):
        merge([statistics([[1]]), statistics([[1]], "characters")])
