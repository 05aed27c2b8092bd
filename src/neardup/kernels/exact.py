"""Helpers of both exact matchers: documents by size, equal feature sets, and overlaps that stop early."""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit
from neardup.kernels.hamming import count_ones

U64 = np.uint64
SPREAD = 0x9E3779B97F4A7C15


@inline
def part_of(h, shift):
    """The part, or the slot of a table, that a hash belongs to: its upper bits, after a multiplication."""
    return U64(U64(h * U64(SPREAD)) >> shift)


@jit
def summarise(hashes, weights, offsets, sizes, sketches):
    """Fills in each document's size (Σ weights, 1 each if there are none) and its sketch of 192 bits.

    A sketch is the parity of the features in each of 128 slots, and their sum, which is equal for equal documents.
    Returns whether every weight is a whole number of at least 1. Loops are kept apart so that they compile to vector
    instructions.
    """
    whole = True
    for d in range(len(sizes)):
        own = hashes[offsets[d] : offsets[d + 1]]
        total, low, high = U64(0), U64(0), U64(0)
        for i in range(len(own)):
            h = own[i]
            total = U64(total + h)
            bit = U64(1) << (h >> U64(58))
            upper = U64(0) - (h >> U64(57) & U64(1))
            high ^= bit & upper
            low ^= bit & ~upper
        sketches[d, 0], sketches[d, 1], sketches[d, 2] = low, high, total
        size = np.int32(len(own))
        if len(weights):
            times = weights[offsets[d] : offsets[d + 1]]
            size, wrong = np.int32(0), np.int32(0)
            for i in range(len(times)):
                w = np.int32(times[i])
                wrong |= np.int32((np.float32(w) != times[i]) | (w < np.int32(1)))
                size = np.int32(size + w)
            whole &= wrong == 0
        sizes[d] = size
    return whole


@jit
def are_equal(hashes, weights, offsets, a, b):
    """Whether two documents have the same features, equally often."""
    i, j, size = offsets[a], offsets[b], offsets[a + 1] - offsets[a]
    if offsets[b + 1] - j != size:
        return False
    for k in range(size):
        if hashes[i + k] != hashes[j + k]:
            return False
    if len(weights):
        for k in range(size):
            if weights[i + k] != weights[j + k]:
                return False
    return True


@jit
def collapse_equal(arrays, digests, order, representative):
    """Sets the representative of equal documents to the first of them; order = documents by digest.

    Digests only bring equal documents together; a document that differs from all before it represents itself.
    """
    hashes, weights, offsets = arrays
    start = 0
    for k in range(1, len(order) + 1):
        if k == len(order) or digests[order[k]] != digests[order[start]]:
            if k - start > 1:
                order[start:k].sort()
            for i in range(start + 1, k):
                d = order[i]
                for j in range(start, i):
                    if representative[order[j]] == order[j] and are_equal(
                        hashes, weights, offsets, order[j], d
                    ):
                        representative[d] = order[j]
                        break
            start = k


@jit
def order_by_size(sizes, chosen, counts):
    """The chosen documents by (size, number); counts has one entry more than there are sizes."""
    counts[:] = 0
    for k in range(len(chosen)):
        counts[sizes[chosen[k]] + 1] += 1
    for s in range(1, len(counts)):
        counts[s] += counts[s - 1]
    order = np.empty(len(chosen), np.int64)
    for k in range(len(chosen)):
        s = sizes[chosen[k]]
        order[counts[s]] = chosen[k]
        counts[s] += 1
    return order


@jit
def may_share(sketches, a, b, both, needed):
    """Whether the sketches of two documents allow the overlap needed; both = the sum of their sizes.

    Every slot whose parities differ holds at least one feature that only one of the two has: with x such slots the
    overlap is at most (L + L' − x) / 2. (Sandes et al., A bitmap filter for exact set similarity joins, 2020.)
    """
    low = count_ones(U64(sketches[a, 0] ^ sketches[b, 0]))
    high = count_ones(U64(sketches[a, 1] ^ sketches[b, 1]))
    return 2 * needed + np.int64(low) + np.int64(high) <= both


@jit
def overlap(hashes, weights, offsets, a, b, sizes, needed):
    """The overlap of documents a and b, or -1 as soon as it cannot reach `needed`; sizes = those of the two."""
    i, i_end = U64(offsets[a]), U64(offsets[a + 1])
    j, j_end = U64(offsets[b]), U64(offsets[b + 1])
    spare_a, spare_b = sizes[0] - needed, sizes[1] - needed  # the most that each may have unshared
    shared = np.int64(0)
    if len(weights) == 0:
        while (i < i_end) & (j < j_end) & (spare_a >= 0) & (spare_b >= 0):
            x, y = hashes[i], hashes[j]
            shared += x == y
            spare_a -= x < y
            spare_b -= y < x
            i += U64(x <= y)
            j += U64(y <= x)
    else:
        while (i < i_end) & (j < j_end) & (spare_a >= 0) & (spare_b >= 0):
            x, y = hashes[i], hashes[j]
            v = np.int64(weights[i]) if x <= y else np.int64(0)
            w = np.int64(weights[j]) if y <= x else np.int64(0)
            common = min(v, w)
            shared += common
            spare_a -= v - common
            spare_b -= w - common
            i += U64(x <= y)
            j += U64(y <= x)
    return shared if shared >= needed else np.int64(-1)
