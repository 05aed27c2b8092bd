"""Values of hashes in a sorted table."""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit

U64 = np.uint64
NEAR = 4  # keys that are looked at without asking whether they belong to the bucket


@inline
def first_near(keys, low, key):
    """The place of the key among NEAR keys from `low`, or `low` itself; without a branch that cannot be foreseen."""
    place = low
    place = low + U64(1) if keys[low + U64(1)] == key else place
    place = low + U64(2) if keys[low + U64(2)] == key else place
    return low + U64(3) if keys[low + U64(3)] == key else place


@jit
def search(keys, low, high, key):
    """The last place from `low` before `high` whose key is not greater, by halves."""
    while high > low + U64(1):
        middle = (low + high) >> U64(1)
        if keys[middle] <= key:
            low = middle
        else:
            high = middle
    return low


@jit
def look_up(keys, values, index, wanted, found):
    """Fills found[i] with the value of wanted[i], and leaves it where there is none.

    `index` has a power of two of entries: where the keys with each leading run of bits begin. Hashes are
    spread evenly, so the search is nearly always over within the first keys; sorted runs are what a crafted table
    would make of it, hence the search by halves.
    """
    size = len(index)
    shift = U64(64)
    while size > 1:
        size >>= 1
        shift -= U64(1)
    end = U64(len(keys))
    furthest = U64(max(len(keys) - NEAR, 0))
    for i in range(len(wanted)):
        key = wanted[i]
        bucket = key >> shift if shift < U64(64) else U64(0)
        low = min(U64(index[bucket]), furthest)
        if end < U64(NEAR):
            place = search(keys, low, end, key) if end > U64(0) else end
        else:
            place = first_near(keys, low, key)
            if keys[place] != key and keys[low + U64(NEAR - 1)] < key:
                place = search(keys, low, end, key)
        if place < end and keys[place] == key:
            found[i] = values[place]
