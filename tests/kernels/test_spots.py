"""Spot signatures are those of the twin, in every batch."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from inputs import hash_batches, offset_types, pack, unpack

import naive
from neardup.features.shingles import factors
from neardup.kernels import spots

tables = st.dictionaries(
    st.one_of(st.integers(0, 9), st.integers(2**64 - 300, 2**64 - 1)), st.integers(1, 15)
)
rules = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 5)), min_size=3, max_size=3)


def make_table(words: dict[int, int], size: int = 2048) -> tuple[np.ndarray, np.ndarray]:
    keys, slots = np.zeros(size, np.uint64), np.zeros(size, np.uint32)
    spots.fill_table(np.array([*words], np.uint64), np.array([*words.values()], np.uint32), keys, slots)
    return keys, slots


def kernel_spots(
    rows: list[list[int]], table: dict[int, int], chosen: list[tuple[int, int]], offset_type: type = np.int64
) -> list[list[int]]:
    tokens, offsets = pack(rows, np.uint64, offset_type)
    words = tokens[offsets[0] : offsets[-1]]
    marks = np.zeros(len(words), np.uint32)
    count = spots.mark_words(words, *make_table(table), marks)
    hashes = np.empty(count * len(chosen) + 1, np.uint64)
    distances, chains = np.array(chosen, np.int64).T.copy()
    ends = spots.chain_words(tokens, offsets, marks, (distances, chains), factors(6), hashes)
    return unpack(hashes, ends)


@given(hash_batches, tables, offset_types)
def test_words_are_marked_as_the_twin_does(rows: list[list[int]], table: dict[int, int], kind: type) -> None:
    tokens, _ = pack(rows, np.uint64, kind)
    marks = np.zeros(len(tokens), np.uint32)
    count = spots.mark_words(tokens, *make_table(table), marks)
    assert marks.tolist() == naive.mark_words(tokens.tolist(), table)
    assert count == sum(mark > 1 for mark in marks)


def test_a_full_table_keeps_every_word_and_joins_the_marks_of_one() -> None:
    words = np.array([*range(255), 7], np.uint64)  # all want the same slot
    keys, slots = np.zeros(256, np.uint64), np.zeros(256, np.uint32)
    spots.fill_table(words, np.array([1] * 255 + [4], np.uint32), keys, slots)
    marks = np.zeros(257, np.uint32)
    spots.mark_words(np.arange(257, dtype=np.uint64), keys, slots, marks)
    assert marks.tolist() == [1] * 7 + [5] + [1] * 247 + [0, 0]


@given(hash_batches, tables, rules, offset_types)
def test_signatures_are_those_of_the_twin(
    rows: list[list[int]], table: dict[int, int], chosen: list[tuple[int, int]], offset_type: type
) -> None:
    expected = [
        naive.chain_words(row, naive.mark_words(row, table), chosen, factors(6).tolist()) for row in rows
    ]
    assert kernel_spots(rows, table, chosen, offset_type) == expected


@given(hash_batches, tables, rules)
def test_a_document_gives_the_same_signatures_alone_and_in_any_batch(
    rows: list[list[int]], table: dict[int, int], chosen: list[tuple[int, int]]
) -> None:
    alone = [kernel_spots([row], table, chosen)[0] for row in rows]
    assert kernel_spots(rows, table, chosen) == alone
    assert kernel_spots(rows[::-1], table, chosen) == alone[::-1]
