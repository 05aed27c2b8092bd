"""What both exact matchers need: contents by size, equal contents, and overlaps that give up early."""

from __future__ import annotations

import numpy as np

from neardup.kernels import jit

U64 = np.uint64


@jit
def summarise(hashes, weights, offsets, sizes, digests):
    """Fills in each document's size (Σ weights, 1 each where there are none) and a number equal for equal documents.

    Returns whether every weight is a whole number of at least 1.
    """
    whole = True
    for d in range(len(sizes)):
        begin, end = offsets[d], offsets[d + 1]
        digest = U64(0)
        if len(weights):
            size = np.int64(0)
            for i in range(begin, end):
                w = np.int64(weights[i])
                whole &= (w >= 1) & (np.float32(w) == weights[i])
                size += w
                digest = U64(digest + U64(hashes[i] * U64(w)))
        else:
            size = np.int64(end - begin)
            for i in range(begin, end):
                digest = U64(digest + hashes[i])
        sizes[d] = size
        digests[d] = U64((digest ^ U64(size)) * U64(0x9E3779B97F4A7C15))
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
def collapse_equal(hashes, weights, offsets, digests, order, content):
    """Gives equal documents the first of them as their content; order = documents by (digest, number).

    Digests only bring equal documents together; a document that differs from all before it begins a content.
    """
    start = 0
    for k in range(1, len(order) + 1):
        if k == len(order) or digests[order[k]] != digests[order[start]]:
            for i in range(start + 1, k):
                d = order[i]
                for j in range(start, i):
                    if content[order[j]] == order[j] and are_equal(hashes, weights, offsets, order[j], d):
                        content[d] = order[j]
                        break
            start = k


@jit
def order_by_size(sizes, chosen, counts):
    """The chosen documents by (size, number); counts has room for every size and one more."""
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
def overlap(hashes, weights, offsets, a, b, sizes, needed):
    """What documents a and b share, or -1 as soon as it cannot reach what is needed; sizes = those of the two."""
    i, i_end = U64(offsets[a]), U64(offsets[a + 1])
    j, j_end = U64(offsets[b]), U64(offsets[b + 1])
    spare_a, spare_b = sizes[0] - needed, sizes[1] - needed  # what either may have for itself
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


@jit
def brute_force(hashes, weights, offsets, sizes, limit, out):
    """The number of pairs of documents that reach the limit, the first of which are written to out; for tests."""
    p, q = limit
    count = 0
    for a in range(len(sizes)):
        for b in range(a + 1, len(sizes)):
            needed = max((p * (sizes[a] + sizes[b]) + p + q - 1) // (p + q), 1)
            shared = overlap(hashes, weights, offsets, a, b, (sizes[a], sizes[b]), needed)
            if shared >= 0:
                if count < len(out):
                    out[count, 0], out[count, 1], out[count, 2] = a, b, shared
                count += 1
    return count
