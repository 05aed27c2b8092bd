"""Tables that are added up have the counts of the twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import COMPILED

import naive
from neardup.kernels import tables

hashes = st.one_of(st.integers(0, 9), st.integers(0, 2**64 - 1))


def summed(keys: np.ndarray, counts: np.ndarray) -> dict[int, int]:
    out, sums = np.empty(len(keys), np.uint64), np.empty(len(keys), np.int64)
    size = tables.add_equal(keys, counts, out, sums)
    return dict(zip(out[:size].tolist(), sums[:size].tolist(), strict=True))


@given(st.lists(st.tuples(hashes, st.integers(1, 2**40)), max_size=80))
def test_equal_keys_are_added_as_by_the_twin(entries: list[tuple[int, int]]) -> None:
    keys = np.array([key for key, _ in entries], np.uint64)
    counts = np.array([count for _, count in entries], np.int64)
    found, expected = summed(keys, counts), naive.add_equal(keys.tolist(), counts.tolist())
    assert list(found.items()) == list(expected.items())


@pytest.mark.parametrize("most", [2, 3000, 2**64 - 1])
def test_many_keys_are_added_too(most: int) -> None:
    """Spread evenly, over several parts; and all with the same leading bits."""
    rng, size = np.random.default_rng(1), 30_000 if COMPILED else 2_000
    keys, counts = rng.integers(0, most, size, np.uint64), rng.integers(1, 9, size)
    keys = np.concatenate([keys, keys[::2]])
    counts = np.concatenate([counts, counts[::2]])
    assert list(summed(keys, counts).items()) == list(naive.add_equal(keys.tolist(), counts.tolist()).items())
