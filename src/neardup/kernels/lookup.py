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
    for i in range(len(wanted)):
        key = wanted[i]
        bucket = key >> shift if shift < U64(64) else U64(0)
        low = index[bucket]
        high = index[bucket + U64(1)] if bucket + U64(1) < U64(len(index)) else len(keys)
        while low < high:
            middle = (low + high) >> 1
            if keys[middle] < key:
                low = middle + 1
            else:
                high = middle
        if low < len(keys) and keys[low] == key:
            found[i] = values[low]
