"""Sorted arrays as sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neardup.sorted_sets import count_distinct, distinct, without

values = st.lists(st.integers(0, 40) | st.integers(0, 2**62), max_size=60)


@given(st.lists(values, max_size=4))
def test_each_value_once_and_in_order(parts: list[list[int]]) -> None:
    arrays = [np.array(part, np.int64) for part in parts]
    before = [array.copy() for array in arrays]
    whole = {value for part in parts for value in part}
    assert distinct(*arrays).tolist() == sorted(whole)
    assert all(np.array_equal(one, other) for one, other in zip(arrays, before, strict=True))
    assert count_distinct(np.concatenate([np.zeros(0, np.int64), *arrays])) == len(whole)


@given(values, values)
def test_what_is_left_without_others(some: list[int], others: list[int]) -> None:
    left = without(distinct(np.array(some, np.int64)), distinct(np.array(others, np.int64)))
    assert left.tolist() == sorted({*some} - {*others})
