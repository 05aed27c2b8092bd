"""What every document has in common with all later ones: a sparse product, row by row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.kernels import jit

SPARSE = 8  # a row that touches less than one document in so many is sorted instead of scanned


class Lists(NamedTuple):
    """For each feature the documents that have it, in order; and of each document's entries what they meet there."""

    offsets: np.ndarray  # of each document's entries
    own: np.ndarray  # their weights; not read where features are only counted
    starts: np.ndarray  # of each entry: where the documents that it meets begin in the lists
    ends: np.ndarray  # … and where they end
    documents: np.ndarray  # the lists, one behind the other
    weights: np.ndarray  # beside them; not read where features are only counted


class Rule(NamedTuple):
    """Which pairs are given: those of at least this similarity."""

    sizes: np.ndarray  # of each document: its sum of weights, or of their squares
    cosine: bool  # or Jaccard
    least: float


class Scratch(NamedTuple):
    """An accumulator for each document, all zero between rows, and the list of those in use."""

    totals: np.ndarray
    seen: np.ndarray
    touched: np.ndarray


class Found(NamedTuple):
    """Where pairs are written."""

    left: np.ndarray
    right: np.ndarray
    shared: np.ndarray


@jit
def similar(shared, a, b, rule):
    """The similarity of two documents of sizes a and b; a quotient, as users compute it, so that ties count."""
    whole = np.sqrt(a * b) if rule.cosine else a + b - shared
    return shared / whole if whole > 0 else 0.0


@jit
def collect_row(row, count, scratch, rule, found, size):
    """The number of pairs after those of this row were written, in order, and its accumulators cleared."""
    totals, seen, touched = scratch
    later = len(totals) - row - 1
    if count * SPARSE < later:
        touched[:count].sort()
    else:
        count = 0
        for b in range(row + 1, len(totals)):
            touched[count] = b
            count += seen[b] != 0
    for i in range(count):
        b = touched[i]
        shared = np.float64(totals[b])
        totals[b] = 0
        seen[b] = 0
        if similar(shared, rule.sizes[row], rule.sizes[b], rule) >= rule.least:
            found.left[size] = row
            found.right[size] = b
            found.shared[size] = shared
            size += 1
    return size


@jit
def count_overlaps(lists, first, last, scratch, rule, found):
    """The number of pairs of rows first … last: how many features each shares with every later document.

    `scratch.seen` is `scratch.totals`: what has a count has been seen.
    """
    totals, touched = scratch.totals, scratch.touched
    size = 0
    for row in range(first, last):
        count = 0
        for i in range(lists.offsets[row], lists.offsets[row + 1]):
            for p in range(lists.starts[i], lists.ends[i]):
                b = lists.documents[p]
                touched[count] = b
                count += totals[b] == 0
                totals[b] += 1
        size = collect_row(row, count, scratch, rule, found, size)
    return size


@jit
def add_overlaps(lists, first, last, scratch, rule, found):
    """The number of pairs of rows first … last: the least weights of shared features, or their products, added.

    In the order of the features, so that the same two documents have the same sum wherever they stand.
    """
    totals, seen, touched = scratch
    size = 0
    for row in range(first, last):
        count = 0
        for i in range(lists.offsets[row], lists.offsets[row + 1]):
            w = np.float64(lists.own[i])
            for p in range(lists.starts[i], lists.ends[i]):
                b = lists.documents[p]
                v = np.float64(lists.weights[p])
                touched[count] = b
                count += seen[b] == 0
                seen[b] = 1
                totals[b] += w * v if rule.cosine else min(w, v)
        size = collect_row(row, count, scratch, rule, found, size)
    return size
