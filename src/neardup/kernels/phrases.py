"""Values of phrases and other features, from the values of words around them or of their occurrences."""

from __future__ import annotations

import numpy as np

from neardup.kernels import jit
from neardup.kernels.sets import first_from


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


@jit
def largest_of_occurrences(hashes, offsets, occurrences, occurrence_offsets, values, out):
    """Raises out[i] to the largest value among the occurrences of feature i in its document.

    Features are sorted by hash within a document; occurrences of other hashes are skipped.
    """
    for d in range(len(offsets) - 1):
        for i in range(occurrence_offsets[d], occurrence_offsets[d + 1]):
            place = first_from(hashes, offsets[d], offsets[d + 1], occurrences[i])
            if place < offsets[d + 1] and hashes[place] == occurrences[i]:
                out[place] = max(out[place], values[i])
