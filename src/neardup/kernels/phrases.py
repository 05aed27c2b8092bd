"""Weights of phrases: sums over the words around them, and the largest weight of each phrase."""

from __future__ import annotations

import numpy as np

from neardup.kernels import jit


@jit
def sum_around(values, offsets, half, sums):
    """Fills sums[i] with the sum of the values of the `half` tokens before token i and of as many from it on."""
    for d in range(len(offsets) - 1):
        start, stop = offsets[d], offsets[d + 1]
        total = np.int64(0)
        for i in range(start, min(start + half, stop)):
            total += values[i]
        for i in range(start, stop):
            sums[i] = total
            if i + half < stop:
                total += values[i + half]
            if i - half >= start:
                total -= values[i - half]


@jit
def heaviest(hashes, weights, offsets, out, heaviest_weights):
    """Offsets of each document's distinct hashes, written to `out` in order, each with its largest weight."""
    ends = np.zeros(len(offsets), np.int64)
    for d in range(len(offsets) - 1):
        start, total = offsets[d], ends[d]
        order = np.argsort(hashes[start : offsets[d + 1]])
        for place in order:
            i = start + place
            if total > ends[d] and out[total - 1] == hashes[i]:
                heaviest_weights[total - 1] = max(heaviest_weights[total - 1], weights[i])
            else:
                out[total] = hashes[i]
                heaviest_weights[total] = weights[i]
                total += 1
        ends[d + 1] = total
    return ends
