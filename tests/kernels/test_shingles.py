"""Shingles are hashes of runs of tokens, the same in every batch."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from inputs import hash_batches, offset_types, pack, unpack

import naive
from neardup.features.shingles import factors
from neardup.kernels import shingles

widths = st.integers(1, 9)


def kernel_shingles(rows: list[list[int]], width: int, offset_type: type = np.int64) -> list[list[int]]:
    tokens, offsets = pack(rows, np.uint64, offset_type)
    hashes = np.empty(len(tokens) + 1, np.uint64)
    ends = shingles.shingle(tokens, offsets, factors(width), hashes)
    return unpack(hashes, ends)


@given(hash_batches, widths, offset_types)
def test_shingles_are_those_of_the_twin(rows: list[list[int]], width: int, offset_type: type) -> None:
    expected = [naive.shingle(row, factors(width).tolist()) for row in rows]
    assert kernel_shingles(rows, width, offset_type) == expected


@given(hash_batches, widths)
def test_a_document_gives_the_same_shingles_alone_and_in_any_batch(rows: list[list[int]], width: int) -> None:
    alone = [kernel_shingles([row], width)[0] for row in rows]
    assert kernel_shingles(rows, width) == alone
    assert kernel_shingles(rows[::-1], width) == alone[::-1]


@given(hash_batches, widths)
def test_a_document_has_a_shingle_for_each_run_one_if_it_is_shorter_none_if_it_is_empty(
    rows: list[list[int]], width: int
) -> None:
    counts = [len(found) for found in kernel_shingles(rows, width)]
    assert counts == [max(len(row) - width + 1, min(len(row), 1)) for row in rows]


def test_the_order_of_tokens_and_their_repetition_count() -> None:
    rows = [list(order) for order in permutations([1, 2, 3])] + [[1], [1, 1], [1, 1, 1], [0], [0, 1], [1, 0]]
    hashes = [found[0] for found in kernel_shingles(rows, 3)]
    # Tokens that are hashed to 0 would vanish from the sum; they are one in 2^64.
    assert len({*hashes}) == len(rows) - 1
    assert kernel_shingles([[1]], 3) == kernel_shingles([[1, 0]], 3)


def test_the_factors_never_change_since_stored_signatures_depend_on_them() -> None:
    assert factors(3).tolist() == [13240084904291058739, 2283854552898185917, 10652024995427560661]
    assert all(int(factor) % 2 for factor in factors(64))
    assert factors(9)[:3].tolist() == factors(3).tolist()
