"""Runs of equal keys."""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit
from neardup.kernels.phrases import sort_by_insertion
from neardup.kernels.sets import LONG_RUN, count_leading, leading_bits

U64 = np.uint64


@inline
def order_by_leading_bits(keys, slots, ordered, places):
    """Moves keys, and their places, behind each other by their leading bits; slots[k] is then where run k ends."""
    shift = U64(64 - leading_bits(len(keys)))
    count_leading(keys, shift, slots)
    for i in range(len(keys)):
        k = keys[i] >> shift
        ordered[slots[k]], places[slots[k]] = keys[i], i
        slots[k] += 1


@jit
def equal_runs(keys):
    """The places of keys that occur more than once, equal ones together and ascending, and where each run starts.

    Hashes are spread evenly, so that leading bits nearly sort them; a run of many equal ones needs no sorting.
    """
    ordered, places = np.empty(len(keys), U64), np.empty(len(keys), np.int64)
    slots = np.zeros((1 << leading_bits(len(keys))) + 1, np.int64)
    order_by_leading_bits(keys, slots, ordered, places)
    found, starts = np.empty(len(keys), np.int64), np.empty(len(keys) // 2 + 2, np.int64)
    total, runs, start = 0, 0, 0
    for k in range(len(slots) - 1):
        stop = slots[k]
        if stop - start > LONG_RUN and (ordered[start:stop] != ordered[start]).any():
            order = np.argsort(ordered[start:stop])
            ordered[start:stop], places[start:stop] = ordered[start:stop][order], places[start:stop][order]
        elif stop - start > 1:
            sort_by_insertion(ordered, places, start, stop)
        i = start
        while i < stop:
            j = i + 1
            while j < stop and ordered[j] == ordered[i]:
                j += 1
            if j - i > 1:
                starts[runs] = total
                runs += 1
                for m in range(i, j):
                    found[total] = places[m]
                    total += 1
            i = j
        start = stop
    starts[runs] = total
    return found[:total].copy(), starts[: runs + 1].copy()
