"""Tables of counts by hash, added up."""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit
from neardup.kernels.phrases import sort_by_insertion
from neardup.kernels.sets import leading_bits

U64 = np.uint64
MOST = 512  # entries with equal bits that are sorted by insertion: most of them have equal keys
PART = 12  # bits of the size of a part, which stays in the processor's caches


@inline
def spread(keys, counts, leading, bits, slots, out_keys, out_counts):
    """Moves entries behind each other by the `bits` of their keys that follow the leading ones.

    slots[k] is then where the entries of value k end; the result is the length of the longest run.
    """
    shift, mask = U64(64 - leading - bits), U64((1 << bits) - 1)
    slots[: (1 << bits) + 1] = 0
    for i in range(len(keys)):
        slots[((keys[i] >> shift) & mask) + U64(1)] += 1
    longest = 0
    for k in range(1, (1 << bits) + 1):
        longest = max(longest, slots[k])
        slots[k] += slots[k - 1]
    for i in range(len(keys)):
        k = (keys[i] >> shift) & mask
        out_keys[slots[k]], out_counts[slots[k]] = keys[i], counts[i]
        slots[k] += 1
    return longest


@jit
def add_equal(keys, counts, out_keys, out_counts):
    """Writes each distinct key once, in ascending order, with the sum of its counts, and returns how many there are.

    Hashes are spread evenly: leading bits cut them into parts of a few thousand, and further ones almost sort a part.
    """
    size = len(keys)
    leading = max(leading_bits(size) - PART, 1)
    ends, parts = np.zeros((1 << leading) + 1, np.int64), (np.empty_like(keys), np.empty_like(counts))
    longest = spread(keys, counts, 0, leading, ends, parts[0], parts[1])
    slots, total, start = np.zeros((1 << leading_bits(longest)) + 1, np.int64), 0, 0
    room, values = np.empty(longest, np.uint64), np.empty(longest, counts.dtype)
    for part in range(1 << leading):
        stop = ends[part]
        own, own_counts = parts[0][start:stop], parts[1][start:stop]
        sorted_keys, sorted_counts = room[: stop - start], values[: stop - start]
        bits = leading_bits(stop - start)
        if spread(own, own_counts, leading, bits, slots, sorted_keys, sorted_counts) <= MOST:
            sort_by_insertion(sorted_keys, sorted_counts, 0, stop - start)
        else:
            order = np.argsort(own)
            sorted_keys[:], sorted_counts[:] = own[order], own_counts[order]
        for i in range(stop - start):
            if i > 0 and sorted_keys[i] == sorted_keys[i - 1]:
                out_counts[total - 1] += sorted_counts[i]
            else:
                out_keys[total], out_counts[total] = sorted_keys[i], sorted_counts[i]
                total += 1
        start = stop
    return total
