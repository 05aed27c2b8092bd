"""Sets of integers as sorted arrays, such as packed pairs and document numbers: distinct values, difference.

NumPy's set functions use hash tables: for tens of millions of integers they take fifty times as long as a sort,
and several times the memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from neardup import kernels
from neardup.columns import Numbers

MANY = 1 << 16  # values that are merged with the others; fewer are looked up


def distinct(*parts: Numbers) -> Numbers:
    """The values of all parts, each once, sorted."""
    return made_distinct(np.concatenate(parts) if parts else np.zeros(0, np.int64))


def made_distinct(values: Numbers) -> Numbers:
    """The values, each once, sorted; sorts the given array in place."""
    values.sort()
    return values[_fresh(values)]


def count_distinct(values: Numbers) -> int:
    """The number of distinct values."""
    return int(_fresh(np.sort(values)).sum())


def without(values: Numbers, others: Numbers) -> Numbers:
    """The values that are not among the others; both are sorted."""
    if not len(others):
        return values
    if len(values) > max(MANY, len(others) // 16):
        found: Numbers = kernels.buckets.without_sorted(values, others)
        return found
    positions = np.minimum(np.searchsorted(others, values), len(others) - 1)
    return values[others[positions] != values]


def order_of(values: Any) -> Numbers:
    """The stable order of integers that are not negative: several times as fast as sorting their places.

    Values are sorted with their places in the lowest bits. Where these bits are needed for the values themselves, what
    comes out is nearly sorted, and is sorted once more.
    """
    if len(values) < MANY:
        return np.argsort(values, kind="stable")
    bits = len(values).bit_length()
    mask = np.uint64((1 << bits) - 1)
    marked = values.astype(np.uint64) << np.uint64(64 - int(values.max()).bit_length())
    marked &= ~mask
    marked |= np.arange(len(values), dtype=np.uint64)
    marked.sort()
    order = (marked & mask).astype(np.int64)
    found = values[order]
    if (found[1:] < found[:-1]).any():
        order = order[np.argsort(found, kind="stable")]
    return order


def _fresh(values: Numbers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Where a value is not the one before."""
    fresh = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=fresh[1:])
    return fresh


def run_starts(*columns: Any) -> Numbers:
    """Where runs of rows with equal values start, followed by the number of rows."""
    n = len(columns[0])
    new = np.ones(n, np.bool_)
    if n:
        new[1:] = False
        for values in columns:
            new[1:] |= values[1:] != values[:-1]
    return np.append(np.flatnonzero(new), n)
