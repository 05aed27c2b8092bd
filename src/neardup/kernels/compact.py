"""Sets of hashes that have much in common: a bit for each common hash, the others as they are.

Documents of a hot bucket share most of their features. Of what is common, 64 are compared by one instruction.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit
from neardup.kernels.hamming import count_ones
from neardup.kernels.sets import (
    LONG_RUN,
    count_shared,
    insertion_sort,
    longest_run,
    make_slots,
    spread_sort,
    write_distinct,
)

U64 = np.uint64


@inline
def place_of(keys, values, hash_, shift):
    """Where a hash stands in an open table whose empty places have the value 0, or where it would."""
    k = hash_ >> shift
    while values[k] != 0 and keys[k] != hash_:
        k = U64(k + U64(1)) & U64(len(keys) - 1)
    return k


@jit
def number_hashes(hashes, shift, keys, values):
    """Enters hashes into an empty open table, with the values 1, 2, 3 …"""
    for i in range(len(hashes)):
        k = place_of(keys, values, hashes[i], shift)
        keys[k] = hashes[i]
        values[k] = i + 1


@jit
def mark_hashes(hashes, bit, shift, keys, values):
    """Enters the hashes of a set into an open table, and sets the set's bit, below 64, in the value of each."""
    for i in range(len(hashes)):
        k = place_of(keys, values, hashes[i], shift)
        keys[k] = hashes[i]
        values[k] |= U64(1) << U64(bit)


@jit
def split_common(hashes, offsets, table, bits, others):
    """Sets a bit of a document's row for each of its common hashes; `others` gets the rest, sorted, each once.

    `table` has the common hashes, numbered from 1. Returns the offsets of each document's others.
    """
    shift, keys, values = table
    longest = longest_run(offsets)
    counts, scratch = make_slots(longest), np.empty(longest, U64)
    ends = np.zeros(len(offsets), np.int64)
    for d in range(len(offsets) - 1):
        own, size = bits[d], 0
        for i in range(offsets[d], offsets[d + 1]):
            number = values[place_of(keys, values, hashes[i], shift)]
            if number:
                own[(number - 1) >> 6] |= U64(1) << U64((number - 1) & 63)
            else:
                scratch[size] = hashes[i]
                size += 1
        first = ends[d]
        run = others[first : first + size]
        if size > LONG_RUN:
            spread_sort(scratch[:size], run, counts)
        else:
            run[:] = scratch[:size]
            insertion_sort(run, 0, size)
        ends[d + 1] = write_distinct(run, others, first)
    return ends


@inline
def count_bits(a, b):
    """How many bits two rows have in common."""
    count = U64(0)
    for w in range(len(a)):
        count += count_ones(a[w] & b[w])
    return np.int64(count)


@jit
def shared_of_pairs(sets, left, right, shared):
    """Fills shared[p] with the number of hashes that sets left[p] and right[p] have in common."""
    bits, others, offsets = sets
    for p in range(len(left)):
        a, b = left[p], right[p]
        i, i_end, j, j_end = U64(offsets[a]), U64(offsets[a + 1]), U64(offsets[b]), U64(offsets[b + 1])
        shared[p] = count_bits(bits[a], bits[b]) + np.int64(count_shared(others, i, i_end, j, j_end))


@jit
def first_reached(sets, rows, heads, table, limit, first, shared):
    """Fills first[r] with the first of some heads that the set rows[r] reaches the threshold with, or −1.

    heads = bits and sizes of up to 64 sets, and the number of the one to begin with; `table` has the marks of their
    other hashes; `limit` is the threshold, a fraction. shared[r] gets what the two sets have in common.
    """
    bits, others, offsets, sizes = sets
    head_bits, head_sizes, begin = heads
    shift, keys, values = table
    numerator, denominator = limit
    counts = np.zeros(64, np.int64)
    for r in range(len(rows)):
        d = rows[r]
        counts[:] = 0
        for i in range(offsets[d], offsets[d + 1]):
            marks = values[place_of(keys, values, others[i], shift)]
            while marks:
                lowest = marks & U64(~marks + U64(1))
                counts[count_ones(U64(lowest - U64(1)))] += 1
                marks ^= lowest
        first[r], shared[r] = -1, 0
        for s in range(begin, len(head_sizes)):
            common = counts[s] + count_bits(bits[d], head_bits[s])
            union = sizes[d] + head_sizes[s] - common
            if common > 0 and common * denominator >= numerator * union:
                first[r], shared[r] = s, common
                break
