"""Sorted arrays as sets."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neardup import sorted_sets
from neardup.sorted_sets import count_distinct, distinct, order_of, without

values = st.lists(st.integers(0, 40) | st.integers(0, 2**62), max_size=60)


@given(st.lists(values, max_size=4))
def test_each_value_once_and_in_order(parts: list[list[int]]) -> None:
    arrays = [np.array(part, np.int64) for part in parts]
    before = [array.copy() for array in arrays]
    whole = {value for part in parts for value in part}
    assert distinct(*arrays).tolist() == sorted(whole)
    assert all(np.array_equal(one, other) for one, other in zip(arrays, before, strict=True))
    assert count_distinct(np.concatenate([np.zeros(0, np.int64), *arrays])) == len(whole)


MANY = st.sampled_from([0, 1 << 16])  # few values are many, or not


@given(values, values, MANY)
def test_what_is_left_without_others(some: list[int], others: list[int], many: int) -> None:
    with patch.object(sorted_sets, "MANY", many):
        left = without(distinct(np.array(some, np.int64)), distinct(np.array(others, np.int64)))
    assert left.tolist() == sorted({*some} - {*others})


@given(st.lists(st.integers(0, 3) | st.integers(0, 2**64 - 1), min_size=1, max_size=60), MANY)
def test_the_order_is_the_stable_one(some: list[int], many: int) -> None:
    with patch.object(sorted_sets, "MANY", many):
        order = order_of(np.array(some, np.uint64))
    assert order.tolist() == sorted(range(len(some)), key=some.__getitem__)
