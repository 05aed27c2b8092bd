"""Occurrences of features in documents: what the tokens behind a distinct feature had in common."""

from __future__ import annotations

import numpy as np

from neardup.kernels import jit

U64 = np.uint64


@jit
def largest_of_occurrences(hashes, offsets, seen, seen_offsets, values, out):
    """Raises out[i] to the largest value among the occurrences of feature i in its document.

    Features are sorted by hash within a document; occurrences of others are passed over.
    """
    for d in range(len(offsets) - 1):
        for i in range(seen_offsets[d], seen_offsets[d + 1]):
            low, high = offsets[d], offsets[d + 1]
            while low < high:
                middle = (low + high) >> 1
                if hashes[middle] < seen[i]:
                    low = middle + 1
                else:
                    high = middle
            if low < offsets[d + 1] and hashes[low] == seen[i]:
                out[low] = max(out[low], values[i])
