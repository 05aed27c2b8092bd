"""Candidate pairs of buckets: documents whose keys are equal."""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit


@jit
def count_pairs(starts, limit, pivots):
    """How many pairs each bucket gives: all of a bucket of up to `limit`, else every member with each pivot."""
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
def move_pivots_first(members, rank, pivots):
    """Swaps the members of the smallest ranks to the front: an order-free choice."""
    for p in range(pivots):
        best = p
        for i in range(p + 1, len(members)):
            if rank[members[i]] < rank[members[best]]:
                best = i
        members[p], members[best] = members[best], members[p]


@jit
def star_rounds(codes, n, rank, most):
    """For each pair, as left · n + right, how many smaller ranks the document of the larger one is paired with.

    Below `most`, which stands for that many and more.
    """
    starts = np.zeros(n + 1, np.int64)
    for code in codes:
        starts[by_rank(code, n, rank)[1] + 1] += 1
    for k in range(n):
        starts[k + 1] += starts[k]
    met = np.empty(len(codes), np.int64)  # by each document, the others that come before it
    for code in codes:
        low, high = by_rank(code, n, rank)
        met[starts[high]] = low
        starts[high] += 1  # becomes the end of its stretch, which is the beginning of the next one
    rounds = np.zeros(len(codes), np.uint8)
    for k in range(len(codes)):
        low, high = by_rank(codes[k], n, rank)
        smaller = 0
        for other in met[starts[high - 1] if high > 0 else 0 : starts[high]]:
            smaller += rank[other] < rank[low]
        rounds[k] = min(smaller, most)
    return rounds


@inline
def by_rank(code, n, rank):
    """The documents of a pair, the one of the smaller rank first."""
    a, b = code // n, code % n
    return (b, a) if rank[b] < rank[a] else (a, b)


@jit
def fill_pairs(members, starts, rank, rule, out):
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
            move_pivots_first(bucket, rank, firsts)
        for i in range(firsts):
            for j in range(i + 1, size):
                left[total] = min(bucket[i], bucket[j])
                right[total] = max(bucket[i], bucket[j])
                total += 1
    return total
