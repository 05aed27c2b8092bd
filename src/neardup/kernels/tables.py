"""Tables of counts by hash: counted batch by batch, and added up part by part."""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit
from neardup.kernels.phrases import sort_by_insertion
from neardup.kernels.sets import count_leading, leading_bits

U32, U64 = np.uint32, np.uint64
MOST = 512  # entries with equal bits that are sorted by insertion: most of them have equal keys
SLOTS = 3  # bits: eight slots for each entry that is asked whether its key occurs once


@jit
def count_rows(hashes, offsets, spread, keys, counts):
    """Writes each distinct hash, in the order of first occurrence, with the number of rows that have it.

    Returns how many there are. A row counts once, however often it repeats a hash. `spread` is an odd factor; the
    answer does not depend on it. Where nobody knows it, nobody can choose texts whose hashes meet in one place of
    the table.
    """
    size = offsets[len(offsets) - 1] - offsets[0]
    bits = leading_bits(2 * size)
    while (1 << bits) < 2 * size:
        bits += 1
    shift, mask = U64(64 - bits), U64((1 << bits) - 1)
    table = np.zeros(1 << bits, U32)  # the entry of a slot, from 1
    last = np.empty(size, U32)  # the row that an entry met last
    found = 0
    for row in range(len(offsets) - 1):
        for i in range(offsets[row], offsets[row + 1]):
            h = hashes[i]
            slot = (h * spread) >> shift
            while table[slot] != U32(0) and keys[table[slot] - U32(1)] != h:
                slot = (slot + U64(1)) & mask
            entry = table[slot]
            if entry == U32(0):
                keys[found], counts[found], last[found] = h, 1, row
                found += 1
                table[slot] = found
            else:
                counts[entry - U32(1)] += np.int64(last[entry - U32(1)] != U32(row))
                last[entry - U32(1)] = row
    return found


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
def cut(keys, counts, bits, out_keys, out_counts):
    """Moves entries behind each other by their leading bits, and returns where each part begins, and the last ends."""
    ends = np.zeros((1 << bits) + 1, np.int64)
    spread(keys, counts, 0, bits, ends, out_keys, out_counts)
    ends[1:] = ends[:-1].copy()
    ends[0] = 0
    return ends


@jit
def cut_keys(keys, bits, out_keys):
    """The same for keys without counts."""
    shift, ends = U64(64 - bits), np.zeros((1 << bits) + 1, np.int64)
    count_leading(keys, shift, ends)
    for i in range(len(keys)):
        k = keys[i] >> shift
        out_keys[ends[k]] = keys[i]
        ends[k] += 1
    ends[1:] = ends[:-1].copy()
    ends[0] = 0
    return ends


@inline
def keep_repeated(keys, counts, least, bitmaps):
    """Moves the entries that may reach the least sum to the front, and returns how many: all that do, and few others.

    If the least sum is 2, a key that occurs once, as most do, is seen by a bit and never sorted.
    """
    size = len(keys)
    if least < 2:
        return size
    bits = leading_bits(size) + SLOTS
    shift, words = U64(64 - bits), max(1, (1 << bits) >> 6)
    once, twice = bitmaps[0, :words], bitmaps[1, :words]
    once[:], twice[:] = U64(0), U64(0)
    for i in range(size):
        slot = (keys[i] * U64(0x9E3779B97F4A7C15)) >> shift
        bit = U64(1) << (slot & U64(63))
        twice[slot >> U64(6)] |= bit & (once[slot >> U64(6)] | (U64(0) - U64(counts[i] > 1)))
        once[slot >> U64(6)] |= bit
    kept = 0
    for i in range(size):
        slot = (keys[i] * U64(0x9E3779B97F4A7C15)) >> shift
        keys[kept], counts[kept] = keys[i], counts[i]
        kept += np.int64((twice[slot >> U64(6)] >> (slot & U64(63))) & U64(1))
    return kept


@inline
def gather(singles, tables, part, out_keys, out_counts):
    """Copies the entries of one part from all blocks, and returns how many there are."""
    keys, starts = singles
    total = 0
    for block in range(len(starts)):
        for i in range(starts[block, part], starts[block, part + 1]):
            out_keys[total], out_counts[total] = keys[i], 1
            total += 1
    keys, counts, starts = tables
    for block in range(len(starts)):
        for i in range(starts[block, part], starts[block, part + 1]):
            out_keys[total], out_counts[total] = keys[i], counts[i]
            total += 1
    return total


@inline
def longest_part(starts, others):
    """The most entries of a part of all blocks together."""
    longest = 0
    for part in range(starts.shape[1] - 1):
        size = 0
        for block in range(len(starts)):
            size += starts[block, part + 1] - starts[block, part]
        for block in range(len(others)):
            size += others[block, part + 1] - others[block, part]
        longest = max(longest, size)
    return longest


@jit
def sum_parts(singles, tables, least, out_keys, out_counts):
    """Writes each key of a sum of `least` or more once, in ascending order, with its sum; returns how many there are.

    singles = (keys, starts) are entries that count once, tables = (keys, counts, starts) are others. Row b of `starts`
    has where the parts of block b begin, by leading bits, and where the last one ends. A part of all blocks stays in
    the processor's caches; further bits almost sort it, hashes being spread evenly.
    """
    parts = tables[2].shape[1] - 1
    leading, longest = 0, longest_part(singles[1], tables[2])
    while (1 << leading) < parts:
        leading += 1
    room = (np.empty(longest, U64), np.empty(longest, out_counts.dtype))
    ordered = (np.empty(longest, U64), np.empty(longest, out_counts.dtype))
    most = leading_bits(longest)
    slots, bitmaps = np.zeros((1 << most) + 1, np.int64), np.empty((2, 1 << max(most + SLOTS - 6, 0)), U64)
    total = 0
    for part in range(parts):
        size = gather(singles, tables, part, room[0], room[1])
        size = keep_repeated(room[0][:size], room[1][:size], least, bitmaps)
        own, sums = room[0][:size], room[1][:size]
        sorted_keys, sorted_sums = ordered[0][:size], ordered[1][:size]
        if spread(own, sums, leading, leading_bits(size), slots, sorted_keys, sorted_sums) <= MOST:
            sort_by_insertion(sorted_keys, sorted_sums, 0, size)
        else:
            order = np.argsort(own)
            sorted_keys[:], sorted_sums[:] = own[order], sums[order]
        i = 0
        while i < size:
            key, both = sorted_keys[i], sorted_sums[i]
            i += 1
            while i < size and sorted_keys[i] == key:
                both += sorted_sums[i]
                i += 1
            if both >= least:
                out_keys[total], out_counts[total] = key, both
                total += 1
    return total
