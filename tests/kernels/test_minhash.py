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
    a, b = (column.tolist() for column in permutations(slots, seed))
    expected = [naive.minhash(row, a, b) for row in rows]
    assert kernel_slots(rows, slots, seed, offset_type).tolist() == expected


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


@given(st.integers(0, 2**32 - 1), st.sampled_from([4, 64]))
def test_the_permutations_are_permutations(value: int, slots: int) -> None:
    """Each has an inverse: x comes back from a·x + b."""
    a, b = (column.tolist() for column in permutations(slots, 3))
    for slot, factor, summand in zip(kernel_slots([[value << 32]], slots, 3)[0].tolist(), a, b, strict=True):
        assert (slot - summand) * pow(factor, -1, 2**32) % 2**32 == value


def test_the_first_slots_of_a_longer_signature_are_those_of_a_shorter_one() -> None:
    rows = [[1 << 40, 2 << 50, 3 << 60]]
    assert np.array_equal(kernel_slots(rows, 64, 9)[:, :8], kernel_slots(rows, 8, 9))


def test_the_permutations_of_a_seed_never_change_since_stored_signatures_depend_on_them() -> None:
    a, b = permutations(4, 1)
    assert a.tolist() == [2032329983, 3243419751, 149690573, 3534516179]
    assert b.tolist() == [2198257139, 4082210491, 619160822, 4074418350]


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
