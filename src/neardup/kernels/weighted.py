"""Dot products and sums of weighted features, sorted by hash."""

from __future__ import annotations

import numpy as np

from neardup.kernels import jit


@jit
def dot(hashes, weights, offsets, left, right, out):
    """Fills out[p] with the sum of products of the weights of features that left[p] and right[p] share."""
    for p in range(len(left)):
        i, i_end = np.uint64(offsets[left[p]]), np.uint64(offsets[left[p] + 1])
        j, j_end = np.uint64(offsets[right[p]]), np.uint64(offsets[right[p] + 1])
        total = 0.0
        while (i < i_end) & (j < j_end):
            x, y = hashes[i], hashes[j]
            total += weights[i] * weights[j] if x == y else 0.0
            i += np.uint64(x <= y)
            j += np.uint64(y <= x)
        out[p] = total


@jit
def sum_weights(offsets, weights, squared, sums):
    """Fills in each document's sum of weights, or of their squares, added in the order of its features."""
    for d in range(len(sums)):
        total = 0.0
        for i in range(offsets[d], offsets[d + 1]):
            w = np.float64(weights[i])
            total += w * w if squared else w
        sums[d] = total


@jit
def weigh(numbers, table, factors, out):
    """Fills out with the table's entry for each number (the last one for larger numbers), times a factor if given."""
    last = np.uint64(len(table) - 1)
    for i in range(len(numbers)):
        out[i] = table[min(np.uint64(numbers[i]), last)]
    if len(factors):
        for i in range(len(numbers)):
            out[i] *= factors[i]
