"""Candidate pairs of buckets, which are documents with equal keys."""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit

U32, U64 = np.uint32, np.uint64


@inline
def slot_of(key, shift):
    """The slot of a key; keys of equal bits in part fall apart."""
    return (key * U64(0x9E3779B97F4A7C15)) >> shift


@jit
def may_repeat(keys, bits):
    """Where keys stand that may occur twice: all that do, and few others. Slots are 2 ** bits."""
    shift = U64(64 - bits)
    once = np.zeros((1 << bits) // 64 + 1, np.uint64)
    twice = np.zeros((1 << bits) // 64 + 1, np.uint64)
    for key in keys:
        slot = slot_of(key, shift)
        bit = U64(1) << (slot & U64(63))
        twice[slot >> U64(6)] |= once[slot >> U64(6)] & bit
        once[slot >> U64(6)] |= bit
    found = np.empty(len(keys), np.int64)
    total = 0
    for k in range(len(keys)):
        slot = slot_of(keys[k], shift)
        found[total] = k
        total += np.int64((twice[slot >> U64(6)] >> (slot & U64(63))) & U64(1))
    return found[:total]


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
def least_partners(packed, n, ranks, most):
    """For each document the smallest ranks, sorted, of its partners in packed pairs, left · n + right, that have a
    smaller rank than itself."""
    least = np.empty((n, most), np.uint32)
    least[:] = U32(0xFFFFFFFF)
    for pair in packed:
        low, high = by_rank(pair, n, ranks)
        own, value = least[high], ranks[low]
        k = most - 1
        if k >= 0 and value < own[k]:
            while k > 0 and own[k - 1] > value:
                own[k] = own[k - 1]
                k -= 1
            own[k] = value
    return least


@jit
def star_rounds(packed, n, ranks, least):
    """The round of each packed pair: the number of partners that its later document, by rank, has before it.

    `least` is what `least_partners` gives; a round of its width means that many or more.
    """
    rounds = np.zeros(len(packed), np.uint8)
    for p in range(len(packed)):
        low, high = by_rank(packed[p], n, ranks)
        own, value, smaller = least[high], ranks[low], 0
        for k in range(least.shape[1]):
            smaller += own[k] < value
        rounds[p] = smaller
    return rounds


@inline
def by_rank(pair, n, ranks):
    """The documents of a packed pair, the one with the smaller rank first."""
    a = U64(pair) // U64(n)
    b = U64(pair) - a * U64(n)
    return (b, a) if ranks[b] < ranks[a] else (a, b)


@inline
def put_firsts_first(bucket, id_hashes, rule):
    """How many members of a bucket meet all behind them; those of smallest id hash come first where it matters."""
    limit, pivots, begin = rule
    size = len(bucket)
    firsts = min(pivots, size) if size > limit else size
    move_pivots_first(bucket, id_hashes, firsts if size > limit else min(begin, size))
    return firsts


@jit
def fill_pairs(members, starts, id_hashes, rule, out):
    """Writes the pairs of each bucket to out, packed: left · n + right, the smaller number left.

    rule = (limit, pivots, begin): those of the first members, by id hash, are left out up to number `begin`.
    """
    n, total = len(id_hashes), 0
    for k in range(len(starts) - 1):
        bucket = members[starts[k] : starts[k + 1]]
        for i in range(rule[2], put_firsts_first(bucket, id_hashes, rule)):
            for j in range(i + 1, len(bucket)):
                out[total] = min(bucket[i], bucket[j]) * n + max(bucket[i], bucket[j])
                total += 1
    return total


@jit
def keep_apart(packed, n, labels):
    """Those of the packed pairs whose documents have different labels."""
    kept, total = np.empty(len(packed), np.int64), 0
    for pair in packed:
        left = U64(pair) // U64(n)
        kept[total] = pair
        total += np.int64(labels[left] != labels[U64(pair) - left * U64(n)])
    return kept[:total]


@jit
def count_by_label(packed, n, labels, counts):
    """Adds the number of packed pairs whose left document has each label to counts."""
    for pair in packed:
        counts[labels[U64(pair) // U64(n)]] += 1


@jit
def left_labels(packed, n, labels):
    """The label of the left document of each packed pair."""
    found = np.empty(len(packed), labels.dtype)
    for p in range(len(packed)):
        found[p] = labels[U64(packed[p]) // U64(n)]
    return found


@jit
def without_sorted(values, others):
    """The values that are not among the others; both are sorted, each value once."""
    kept, total, j = np.empty(len(values), values.dtype), 0, 0
    for value in values:
        while j < len(others) and others[j] < value:
            j += 1
        kept[total] = value
        total += np.int64(j == len(others) or others[j] != value)
    return kept[:total]
