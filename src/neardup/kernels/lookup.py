"""Values of hashes in a sorted table."""

from __future__ import annotations

import numpy as np

from neardup.kernels import jit

U64 = np.uint64


@jit
def look_up(keys, values, index, wanted, found):
    """Fills found[i] with the value of wanted[i], and leaves it where there is none.

    `index` has a power of two of entries: where the keys with each leading run of bits begin. Hashes are
    spread evenly, so the search is over within a step or two; sorted runs are what a crafted table would make
    of it, hence the search by halves.
    """
    size = len(index)
    shift = U64(64)
    while size > 1:
        size >>= 1
        shift -= U64(1)
    last = U64(len(index) - 1)
    for i in range(len(wanted)):
        key = wanted[i]
        bucket = key >> shift if shift < U64(64) else U64(0)
        low = U64(index[bucket])
        high = U64(index[bucket + U64(1)]) if bucket < last else U64(len(keys))
        while high > low + U64(8):
            middle = (low + high) >> U64(1)
            if keys[middle] <= key:
                low = middle
            else:
                high = middle
        for place in range(low, high):  # a few, without a branch that cannot be foreseen
            found[i] = values[place] if keys[place] == key else found[i]
