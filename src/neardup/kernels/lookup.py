"""Values of hashes in a sorted table."""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit

U64 = np.uint64
PROBED = 4  # keys compared without a check that they belong to the bucket


@inline
def probe_first(keys, low, key):
    """The index of the key among PROBED keys from `low`, or `low` itself; without unpredictable branches."""
    at = low
    at = low + U64(1) if keys[low + U64(1)] == key else at
    at = low + U64(2) if keys[low + U64(2)] == key else at
    return low + U64(3) if keys[low + U64(3)] == key else at


@jit
def search(keys, low, high, key):
    """The last index from `low` before `high` whose key is not greater, by binary search."""
    while high > low + U64(1):
        middle = (low + high) >> U64(1)
        if keys[middle] <= key:
            low = middle
        else:
            high = middle
    return low


@jit
def look_up(keys, values, index, queries, found):
    """Fills found[i] with the value of queries[i], and leaves it unchanged if there is none.

    `index` has a power of two of entries: where the keys with each leading run of bits begin. Hashes are
    spread evenly, so the first keys of a bucket nearly always suffice; the binary search keeps a crafted table
    from making it quadratic.
    """
    size = len(index)
    shift = U64(64)
    while size > 1:
        size >>= 1
        shift -= U64(1)
    end = U64(len(keys))
    furthest = U64(max(len(keys) - PROBED, 0))
    for i in range(len(queries)):
        key = queries[i]
        bucket = key >> shift if shift < U64(64) else U64(0)
        low = min(U64(index[bucket]), furthest)
        if end < U64(PROBED):
            at = search(keys, low, end, key) if end > U64(0) else end
        else:
            at = probe_first(keys, low, key)
            if keys[at] != key and keys[low + U64(PROBED - 1)] < key:
                at = search(keys, low, end, key)
        if at < end and keys[at] == key:
            found[i] = values[at]


@jit
def make_filter(keys, bits):
    """2 ** bits bits, of which those of the keys are set."""
    found = np.zeros(max(1, (1 << bits) >> 6), U64)
    for key in keys:
        slot = (key * U64(0x9E3779B97F4A7C15)) >> U64(64 - bits)
        found[slot >> U64(6)] |= U64(1) << (slot & U64(63))
    return found


@jit
def among(keys, index, bitmap, bits, queries, found):
    """Fills found[i] with whether queries[i] is one of the keys, which are indexed as for `look_up`.

    Most of those that are not are known by a bit of the filter, which stays in the processor's caches.
    """
    size, shift = len(index), U64(64)
    while size > 1:
        size >>= 1
        shift -= U64(1)
    end = U64(len(keys))
    for i in range(len(queries)):
        key = queries[i]
        slot = (key * U64(0x9E3779B97F4A7C15)) >> U64(64 - bits)
        found[i] = False
        if (bitmap[slot >> U64(6)] >> (slot & U64(63))) & U64(1):
            low = U64(index[key >> shift]) if shift < U64(64) else U64(0)
            if low < end:
                at = low
                while at + U64(1) < min(low + U64(PROBED), end) and keys[at] < key:
                    at += U64(1)
                if keys[at] < key:
                    at = search(keys, low, end, key)
                found[i] = keys[at] == key
