"""The overlap of every document with all later ones: a sparse matrix product, row by row.

A row is a document; its accumulators add up what it shares with each later document.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.kernels import jit

SPARSE = 8  # a row that touches less than one document in so many is sorted instead of scanned


class Lists(NamedTuple):
    """Inverted lists: the documents of each feature in order, and for each entry of a document its partners."""

    offsets: np.ndarray  # of each document's entries
    own: np.ndarray  # their weights; not read if features are only counted
    starts: np.ndarray  # of each entry: where its partners begin in the lists
    ends: np.ndarray  # … and where they end
    documents: np.ndarray  # the lists, concatenated
    weights: np.ndarray  # of their entries; not read if features are only counted


class SimilarityLimit(NamedTuple):
    """The least similarity of a pair, and what it is computed from."""

    sizes: np.ndarray  # of each document: its sum of weights, or of their squares
    cosine: bool  # False: Jaccard
    least: float


class Accumulators(NamedTuple):
    """An accumulator for each document, all zero between rows, and the list of documents in use."""

    totals: np.ndarray
    used: np.ndarray
    touched: np.ndarray


class PairColumns(NamedTuple):
    """Output columns of the pairs."""

    left: np.ndarray
    right: np.ndarray
    shared: np.ndarray


@jit
def similar(shared, a, b, rule):
    """The similarity of two documents of sizes a and b; a quotient, as users compute it, so that a tie passes."""
    whole = np.sqrt(a * b) if rule.cosine else a + b - shared
    return shared / whole if whole > 0 else 0.0


@jit
def collect_row(row, count, scratch, rule, found, size):
    """The number of pairs after those of this row were written, in order, and its accumulators cleared."""
    totals, used, touched = scratch
    later = len(totals) - row - 1
    if count * SPARSE < later:
        touched[:count].sort()
    else:
        count = 0
        for b in range(row + 1, len(totals)):
            touched[count] = b
            count += used[b] != 0
    for i in range(count):
        b = touched[i]
        shared = np.float64(totals[b])
        totals[b] = 0
        used[b] = 0
        if similar(shared, rule.sizes[row], rule.sizes[b], rule) >= rule.least:
            found.left[size] = row
            found.right[size] = b
            found.shared[size] = shared
            size += 1
    return size


@jit
def count_overlaps(lists, first, last, scratch, rule, found):
    """The number of pairs of rows first … last: how many features each shares with every later document.

    `scratch.used` is `scratch.totals`: a document with a count is in use.
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

    In the order of the features, so that two documents have the same sum at any position in the corpus.
    """
    totals, used, touched = scratch
    size = 0
    for row in range(first, last):
        count = 0
        for i in range(lists.offsets[row], lists.offsets[row + 1]):
            w = np.float64(lists.own[i])
            for p in range(lists.starts[i], lists.ends[i]):
                b = lists.documents[p]
                v = np.float64(lists.weights[p])
                touched[count] = b
                count += used[b] == 0
                used[b] = 1
                totals[b] += w * v if rule.cosine else min(w, v)
        size = collect_row(row, count, scratch, rule, found, size)
    return size
