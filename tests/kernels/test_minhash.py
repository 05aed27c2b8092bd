"""Slots are the least values of permutations; keys are hashes of bands of slots."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import hash_batches, offset_types, pack
from numpy.typing import NDArray

import naive
from neardup.kernels import minhash
from neardup.signatures.minhash import permutations

seeds = st.integers(0, 2**63 - 1)
slot_counts = st.sampled_from([4, 8, 20])


def kernel_slots(rows: list[list[int]], slots: int, seed: int, offset_type: type = np.int64) -> NDArray:
    hashes, offsets = pack(rows, np.uint64, offset_type)
    found = np.empty((len(rows), slots), np.uint32)
    minhash.minhash(hashes, offsets, *permutations(slots, seed), found)
    return found


@given(hash_batches, slot_counts, seeds, offset_types)
def test_slots_are_those_of_the_twin(rows: list[list[int]], slots: int, seed: int, offset_type: type) -> None:
    mix, places = (column.tolist() for column in permutations(slots, seed))
    expected = [naive.minhash(row, mix, places) for row in rows]
    assert kernel_slots(rows, slots, seed, offset_type).tolist() == expected


@pytest.mark.parametrize("size", [minhash.BLOCK - 1, minhash.BLOCK, minhash.BLOCK + 1, 2 * minhash.BLOCK + 7])
def test_a_document_longer_than_a_block_is_looked_at_as_a_whole(size: int) -> None:
    row = np.random.default_rng(size).integers(0, 2**64, size, np.uint64).tolist()
    mix, places = (column.tolist() for column in permutations(8, 5))
    assert kernel_slots([[1], row, []], 8, 5)[1].tolist() == naive.minhash(row, mix, places)


@given(hash_batches, seeds)
def test_a_document_gives_the_same_slots_alone_and_in_any_batch(rows: list[list[int]], seed: int) -> None:
    alone = [kernel_slots([row], 8, seed)[0].tolist() for row in rows]
    assert kernel_slots(rows, 8, seed).tolist() == alone
    assert kernel_slots(rows[::-1], 8, seed).tolist() == alone[::-1]


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_neither_order_nor_repetition_of_features_changes_a_slot(row: list[int], random: Random) -> None:
    shuffled = row * 2
    random.shuffle(shuffled)
    first, second = kernel_slots([row, shuffled], 8, 1)
    assert np.array_equal(first, second)


@given(st.integers(0, 2**64 - 1), st.sampled_from([4, 64]))
def test_a_hash_comes_back_from_any_two_slots_whose_distance_is_odd(value: int, slots: int) -> None:
    """So no slot is determined by another: u + k·v and u + m·v are independent where u and v are."""
    (a, b, c, d), places = (column.tolist() for column in permutations(slots, 3))
    row = kernel_slots([[value]], slots, 3)[0].tolist()
    made = [row[place] for place in places]
    for k, m in [(0, 1), (slots - 1, 0), (2, 3)]:
        v = (made[m] - made[k]) * pow(m - k, -1, 2**32)
        u = made[k] - k * v
        assert (u - b) * pow(a, -1, 2**32) % 2**32 == value >> 32
        assert (v - d) * pow(c, -1, 2**32) % 2**32 == value % 2**32


def test_what_a_seed_gives_never_changes_since_stored_signatures_depend_on_it() -> None:
    mix, places = permutations(8, 1)
    assert mix.tolist() == [2032329983, 2198257139, 3243419751, 4082210491]
    assert places.tolist() == [7, 4, 3, 0, 1, 2, 6, 5]


@given(
    st.lists(st.lists(st.integers(0, 2**32 - 1), min_size=12, max_size=12), max_size=5),
    st.sampled_from([(1, 12), (12, 1), (3, 4), (2, 5)]),
    seeds,
)
def test_keys_are_those_of_the_twin(slots: list[list[int]], shape: tuple[int, int], seed: int) -> None:
    bands, rows = shape
    table = np.array(slots, np.uint32).reshape(-1, 12)
    table.flags.writeable = False
    keys = np.empty((bands, len(slots)), np.uint64)
    minhash.band_keys(table, rows, seed, keys)
    assert keys.T.tolist() == [naive.band_keys(row, bands, rows, seed) for row in slots]


@pytest.mark.parametrize("changed", range(8))
def test_a_key_changes_with_its_own_slots_and_with_no_other(changed: int) -> None:
    slots = np.arange(16, dtype=np.uint32).reshape(2, 8) % 8
    slots[1, changed] += 1
    keys = np.empty((4, 2), np.uint64)
    minhash.band_keys(slots, 2, 1, keys)
    assert np.flatnonzero(keys[:, 0] != keys[:, 1]).tolist() == [changed // 2]
