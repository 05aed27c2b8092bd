"""Candidate pairs of buckets, which are documents with equal keys."""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit


@jit
def count_pairs(starts, limit, pivots):
    """The number of pairs of each bucket: all of up to `limit` members, else those of a member and a pivot."""
    counts = np.zeros(len(starts) - 1, np.int64)
    for k in range(len(counts)):
        size = starts[k + 1] - starts[k]
        if size <= limit:
            counts[k] = size * (size - 1) // 2
        else:
            firsts = min(pivots, size)
            counts[k] = firsts * (firsts - 1) // 2 + firsts * (size - firsts)
    return counts


@inline
def move_pivots_first(members, id_hashes, pivots):
    """Swaps the members of the smallest id hashes to the front: a choice that no input order changes."""
    for p in range(pivots):
        best = p
        for i in range(p + 1, len(members)):
            if id_hashes[members[i]] < id_hashes[members[best]]:
                best = i
        members[p], members[best] = members[best], members[p]


@jit
def star_rounds(packed, n, id_hashes, most):
    """The round of each packed pair, left · n + right: the number of partners that its later document has before it.

    Documents are ordered by id hash. The result is at most `most`, which means that many or more.
    """
    starts = np.zeros(n + 1, np.int64)
    for pair in packed:
        starts[by_id_hash(pair, n, id_hashes)[1] + 1] += 1
    for k in range(n):
        starts[k + 1] += starts[k]
    met = np.empty(len(packed), np.int64)  # for each document its partners of smaller id hash
    for pair in packed:
        low, high = by_id_hash(pair, n, id_hashes)
        met[starts[high]] = low
        starts[high] += 1  # ends as the end of its range, where the next one begins
    rounds = np.zeros(len(packed), np.uint8)
    for k in range(len(packed)):
        low, high = by_id_hash(packed[k], n, id_hashes)
        smaller = 0
        for other in met[starts[high - 1] if high > 0 else 0 : starts[high]]:
            smaller += id_hashes[other] < id_hashes[low]
        rounds[k] = min(smaller, most)
    return rounds


@inline
def by_id_hash(pair, n, id_hashes):
    """The documents of a packed pair, the one with the smaller id hash first."""
    a, b = pair // n, pair % n
    return (b, a) if id_hashes[b] < id_hashes[a] else (a, b)


@jit
def fill_pairs(members, starts, id_hashes, rule, out):
    """Writes the pairs of each bucket to out = (left, right), smaller number left."""
    limit, pivots = rule
    left, right = out
    total = 0
    for k in range(len(starts) - 1):
        bucket = members[starts[k] : starts[k + 1]]
        size = len(bucket)
        firsts = size
        if size > limit:
            firsts = min(pivots, size)
            move_pivots_first(bucket, id_hashes, firsts)
        for i in range(firsts):
            for j in range(i + 1, size):
                left[total] = min(bucket[i], bucket[j])
                right[total] = max(bucket[i], bucket[j])
                total += 1
    return total
