"""Pairs of fingerprints that differ in few bits. Fingerprints are columns of 64-bit words: words × documents."""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit
from neardup.kernels.graph import find

U32, U64 = np.uint32, np.uint64
TILE = 64  # fingerprints that are compared with one at a time
LANES = 16  # … rounded up to a multiple of so many, for vector instructions: columns are padded to it


@inline
def count_ones(x):
    """The number of bits of a word that are set; compilers turn these lines into one instruction."""
    x = U64(x - U64(U64(x >> U64(1)) & U64(0x5555555555555555)))
    x = U64(U64(x & U64(0x3333333333333333)) + U64(U64(x >> U64(2)) & U64(0x3333333333333333)))
    x = U64(U64(x + U64(x >> U64(4))) & U64(0x0F0F0F0F0F0F0F0F))
    return U64(U64(x * U64(0x0101010101010101)) >> U64(56))


@jit
def count_columns(columns, out):
    """Fills out[d] with the number of bits that are set in a fingerprint."""
    for d in range(columns.shape[1]):
        total = U64(0)
        for w in range(columns.shape[0]):
            total += count_ones(columns[w, d])
        out[d] = total


@jit
def block_keys(columns, bits, out):
    """Fills out[d] with the chosen bits of each fingerprint, the first of them lowest."""
    out[:] = 0
    for place in range(len(bits)):
        row, shift, where = columns[bits[place] >> 6], U64(bits[place] & 63), U64(place)
        for d in range(len(out)):
            out[d] |= U32(U64(U64(row[d] >> shift) & U64(1)) << where)


@jit
def order_by_digit(keys, shift, mask, order, counts, out):
    """One pass of a radix sort: fills out with `order` sorted by a digit of the keys, stable."""
    counts[:] = 0
    for i in range(len(order)):
        counts[U64((keys[order[i]] >> shift) & mask) + U64(1)] += 1
    for digit in range(len(counts) - 1):
        counts[digit + 1] += counts[digit]
    for i in range(len(order)):
        digit = U64((keys[order[i]] >> shift) & mask)
        out[U64(counts[digit])] = order[i]
        counts[digit] += 1


@jit
def gather_columns(columns, order, out):
    """Fills out with the fingerprints in an order."""
    for w in range(columns.shape[0]):
        source, target = columns[w], out[w]
        for i in range(len(order)):
            target[i] = source[U64(order[i])]


@jit
def run_ends(keys, order, limit, ends, large):
    """Fills ends[i] with the end of the run of equal keys around position i.

    Runs longer than the limit are left out (they end at once) and written to `large` as begin and end; returns
    their number.
    """
    begin, found = 0, 0
    for i in range(1, len(order) + 1):
        if i == len(order) or keys[U64(order[i])] != keys[U64(order[begin])]:
            too_long = i - begin > limit
            for j in range(begin, i):
                ends[j] = j + 1 if too_long else i
            if too_long:
                large[found, 0], large[found, 1] = begin, i
                found += 1
            begin = i
    return found


@jit
def window_ends(ones, distance, ends):
    """Fills ends[i] with the first position whose number of ones (ascending) is more than `distance` above."""
    end = 0
    for i in range(len(ones)):
        while end < len(ones) and ones[end] <= ones[i] + distance:
            end += 1
        ends[i] = end


@inline
def least_distance(columns, one, begin, lanes, room):
    """The least distance of one fingerprint from `lanes` others, a multiple of LANES."""
    least = U64(0xFFFFFFFF)
    if columns.shape[0] == 1:
        word, row = columns[0, one], columns[0]
        for j in range(U64(begin), U64(begin + lanes)):
            least = min(least, count_ones(U64(word ^ row[j])))
        return least
    for j in range(lanes):
        room[j] = U64(0)
    for w in range(columns.shape[0]):
        word, row = columns[w, one], columns[w, begin : begin + lanes]
        for j in range(lanes):
            room[j] += count_ones(U64(word ^ row[j]))
    for j in range(lanes):
        least = min(least, room[j])
    return least


@jit
def differ(columns, a, b):
    """The number of bits in which two fingerprints differ."""
    total = U64(0)
    for w in range(columns.shape[0]):
        total += count_ones(U64(columns[w, a] ^ columns[w, b]))
    return total


@jit
def met_before(columns, a, others, b, earlier):
    """Whether fingerprint a and fingerprint b of `others` agree under one of the masks."""
    for table in range(earlier.shape[0]):
        different = U64(0)
        for w in range(columns.shape[0]):
            different |= U64(columns[w, a] ^ others[w, b]) & earlier[table, w]
        if different == U64(0):
            return True
    return False


@jit
def joins(parent, a, b):
    """Joins the components of a and b; whether they were separate. Always true without parents."""
    if len(parent) == 0:
        return True
    a, b = find(parent, a), find(parent, b)
    parent[max(a, b)] = min(a, b)
    return a != b


@jit
def join_spans(columns, ends, begin, distance, earlier, parent, out):
    """Fills out with pairs of positions i < j < ends[i] whose fingerprints are at most `distance` apart.

    Leaves out pairs that agree under one of the `earlier` masks and, with parents, pairs that are already
    connected. Starts at position `begin`; returns where it stopped because the output is full, and the number of pairs.
    """
    left, right, apart = out
    found, n = 0, len(ends)
    limit, room = U64(distance), np.empty(TILE, np.uint64)
    for i in range(begin, n):
        end = np.int64(ends[i])
        if found + end - i > len(left):
            return i, found
        start = i + 1
        while start < end:
            stop = min(start + TILE, end)
            lanes = -(-(stop - start) // LANES) * LANES  # results behind the end are ignored
            if least_distance(columns, i, start, lanes, room) <= limit:
                for j in range(start, stop):
                    d = differ(columns, i, j)
                    if d <= limit and not met_before(columns, i, columns, j, earlier) and joins(parent, i, j):
                        left[found], right[found], apart[found] = i, j, d
                        found += 1
            start = stop
    return n, found


@jit
def probe(columns, table, queries, begin, distance, earlier, out):
    """Fills out with (query, document, distance) for the documents with a query's key that are within the distance.

    Leaves out pairs that agree under one of the `earlier` masks. Returns the query where it stopped because the
    output is full, and the number of rows.
    """
    starts, order = table
    words, keys = queries
    found, limit = 0, U64(distance)
    for q in range(begin, len(keys)):
        first, last = starts[keys[q]], starts[U64(keys[q]) + U64(1)]
        if found + last - first > len(out[0]):
            return q, found
        for place in range(first, last):
            d = np.int64(order[place])
            total = U64(0)
            for w in range(columns.shape[0]):
                total += count_ones(U64(columns[w, d] ^ words[w, q]))
            if total <= limit and not met_before(columns, d, words, q, earlier):
                out[0][found], out[1][found], out[2][found] = q, d, total
                found += 1
    return len(keys), found
