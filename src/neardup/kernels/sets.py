"""Sets of hashes: made distinct, and intersected."""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit

U64 = np.uint64
LONG_RUN = 48  # buckets of up to this length are sorted by insertion


@inline
def insertion_sort(values, start, stop):
    """Sorts a short run in place."""
    for i in range(start + 1, stop):
        x = values[i]
        j = i - 1
        while j >= start and values[j] > x:
            values[j + 1] = values[j]
            j -= 1
        values[j + 1] = x


@inline
def longest_run(offsets):
    """The number of entries of the longest document."""
    longest = 0
    for d in range(len(offsets) - 1):
        longest = max(longest, offsets[d + 1] - offsets[d])
    return longest


@inline
def leading_bits(size):
    """The number of leading bits by which so many hashes are spread."""
    bits = 1
    while (1 << bits) < size and bits < 24:
        bits += 1
    return bits


@inline
def count_leading(keys, shift, starts):
    """Adds up how many keys have lower leading bits: those of value k go to starts[k]. starts is empty before."""
    for i in range(len(keys)):
        starts[(keys[i] >> shift) + U64(1)] += 1
    for k in range(1, len(starts)):
        starts[k] += starts[k - 1]


@inline
def make_slots(longest):
    """Counters for `spread_sort` of up to so many hashes."""
    return np.zeros((1 << leading_bits(longest)) + 1, np.int64)


@jit
def spread_sort(source, target, counts):
    """Sorts hashes into target. They are spread evenly, so the leading bits of a hash almost determine its position."""
    size = len(source)
    bits = leading_bits(size)
    shift = U64(64 - bits)
    slots = counts[: (1 << bits) + 1]
    slots[:] = 0
    for i in range(size):
        slots[(source[i] >> shift) + U64(1)] += 1
    longest = slots[0]
    for k in range(1, len(slots)):
        longest = max(longest, slots[k])
        slots[k] += slots[k - 1]
    for i in range(size):
        k = source[i] >> shift
        target[slots[k]] = source[i]
        slots[k] += 1
    if longest <= LONG_RUN:  # all are close to their positions: one pass is cheaper than one for each bucket
        insertion_sort(target, 0, size)
        return
    start = 0
    for k in range(1 << bits):  # slots[k] is now where run k ends
        stop = slots[k]
        if stop - start > LONG_RUN:
            target[start:stop].sort()
        elif stop - start > 1:
            insertion_sort(target, start, stop)
        start = stop


@inline
def write_distinct(ordered, out, at):
    """The place in out behind the distinct values of a sorted array, written from `at` on; both may be one array."""
    for i in range(len(ordered)):
        if i == 0 or ordered[i] != ordered[i - 1]:
            out[at] = ordered[i]
            at += 1
    return at


@jit
def distinct(hashes, offsets, out):
    """Offsets of each document's distinct hashes, which are written to `out` in order."""
    n, longest = len(offsets) - 1, longest_run(offsets)
    counts, scratch = make_slots(longest), np.empty(longest, U64)
    ends = np.zeros(n + 1, np.int64)
    for d in range(n):
        size = offsets[d + 1] - offsets[d]
        spread_sort(hashes[offsets[d] : offsets[d + 1]], scratch[:size], counts)
        ends[d + 1] = write_distinct(scratch[:size], out, ends[d])
    return ends


@inline
def first_from(hashes, start, stop, value):
    """The first place in start … stop of a hash that is not below the value."""
    while start < stop:
        middle = (start + stop) >> 1
        if hashes[middle] < value:
            start = middle + 1
        else:
            stop = middle
    return start


@jit
def count_shared(hashes, i, i_end, j, j_end):
    """How many hashes two sorted runs have in common; without a branch, because which side is smaller is random."""
    count = 0
    while (i < i_end) & (j < j_end):
        x, y = hashes[i], hashes[j]
        count += x == y
        i += U64(x <= y)
        j += U64(y <= x)
    return count


@jit
def intersect(hashes, offsets, left, right, shared):
    """Fills shared[p] with the number of hashes that documents left[p] and right[p] have in common.

    A merge waits for its last load at every step. Hashes are spread evenly, so each set is cut at the middle of
    the hash range and the two halves are merged in one loop: one half steps while the other waits.
    """
    for p in range(len(left)):
        a, a_end = offsets[left[p]], offsets[left[p] + 1]
        b, b_end = offsets[right[p]], offsets[right[p] + 1]
        a_cut = first_from(hashes, a, a_end, U64(1 << 63))
        b_cut = first_from(hashes, b, b_end, U64(1 << 63))
        i, i_end, j, j_end = U64(a), U64(a_cut), U64(b), U64(b_cut)
        k, k_end, m, m_end = U64(a_cut), U64(a_end), U64(b_cut), U64(b_end)
        count = 0
        while (i < i_end) & (j < j_end) & (k < k_end) & (m < m_end):
            x, y, z, w = hashes[i], hashes[j], hashes[k], hashes[m]
            count += x == y
            count += z == w
            i += U64(x <= y)
            j += U64(y <= x)
            k += U64(z <= w)
            m += U64(w <= z)
        count += count_shared(hashes, i, i_end, j, j_end)
        count += count_shared(hashes, k, k_end, m, m_end)
        shared[p] = count


@jit
def count_equal(hashes, offsets, out, counts):
    """Offsets of each document's distinct hashes, written to `out` in order, with the number of occurrences of each."""
    n, longest = len(offsets) - 1, longest_run(offsets)
    slots, scratch = make_slots(longest), np.empty(longest, U64)
    own, last = np.empty(longest, U64), np.zeros(longest + 1, np.int64)  # hashes, ends of their runs
    ends = np.zeros(n + 1, np.int64)
    for d in range(n):
        size = offsets[d + 1] - offsets[d]
        spread_sort(hashes[offsets[d] : offsets[d + 1]], scratch[:size], slots)
        total = np.int64(-1)
        before = U64(~scratch[0]) if size else U64(0)
        for i in range(U64(size)):  # without a branch: repeats are unpredictable
            total += np.int64(scratch[i] != before)
            before = scratch[i]
            own[U64(total)] = before
            last[U64(total) + U64(1)] = np.int64(i) + 1
        first = ends[d]
        for k in range(U64(total + 1)):
            out[U64(first) + k] = own[k]
            counts[U64(first) + k] = last[k + U64(1)] - last[k]
        ends[d + 1] = first + total + 1
    return ends


@jit
def intersect_weighted(hashes, weights, offsets, left, right, shared):
    """Fills shared[p] with the sum of the lesser weights of what documents left[p] and right[p] have in common."""
    for p in range(len(left)):
        i, i_end = U64(offsets[left[p]]), U64(offsets[left[p] + 1])
        j, j_end = U64(offsets[right[p]]), U64(offsets[right[p] + 1])
        total = 0.0
        while (i < i_end) & (j < j_end):
            x, y = hashes[i], hashes[j]
            total += min(weights[i], weights[j]) if x == y else np.float32(0)
            i += U64(x <= y)
            j += U64(y <= x)
        shared[p] = total


@jit
def number_occurrences(hashes, weights, offsets, out):
    """Offsets of features for single occurrences: (s, 1) … (s, w) for a feature s of weight w.

    `out` gets a hash of each; the first one is s itself.
    """
    n, total = len(offsets) - 1, 0
    ends = np.zeros(n + 1, np.int64)
    for d in range(n):
        for i in range(offsets[d], offsets[d + 1]):
            h = hashes[i]
            for _ in range(int(weights[i])):
                out[total] = h
                total += 1
                h = U64((h ^ h >> U64(29)) * U64(0xD6E8FEB86659FD93))
                h = U64(h ^ h >> U64(32))
        ends[d + 1] = total
    return ends
