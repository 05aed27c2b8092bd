"""Values of distinct features from the values of their occurrences."""

from __future__ import annotations

import numpy as np

from neardup.kernels import jit

U64 = np.uint64


@jit
def largest_of_occurrences(hashes, offsets, occurrences, occurrence_offsets, values, out):
    """Raises out[i] to the largest value among the occurrences of feature i in its document.

    Features are sorted by hash within a document; occurrences of other hashes are skipped.
    """
    for d in range(len(offsets) - 1):
        for i in range(occurrence_offsets[d], occurrence_offsets[d + 1]):
            low, high = offsets[d], offsets[d + 1]
            while low < high:
                middle = (low + high) >> 1
                if hashes[middle] < occurrences[i]:
                    low = middle + 1
                else:
                    high = middle
            if low < offsets[d + 1] and hashes[low] == occurrences[i]:
                out[low] = max(out[low], values[i])
