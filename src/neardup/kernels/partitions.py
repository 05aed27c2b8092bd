"""The SpotSigs matcher: inverted lists of one length partition, and documents looked up in them.

Documents are ranked by (size, number). With τ = p / q, a pair of sizes L ≤ L' is similar iff its overlap o fulfils
o / (L + L' − o) ≥ τ, that is (p + q) o ≥ p (L + L').
"""

from __future__ import annotations

import numpy as np

from neardup.kernels import jit
from neardup.kernels.exact import overlap, part_of  # touch this file when they change (cache)
from neardup.kernels.sets import first_from

U64 = np.uint64


@jit
def find_key(keys, starts, h, shift):
    """The slot of a hash, or the empty slot where it belongs; starts is -1 in empty slots."""
    last = U64(len(keys) - 1)
    s = part_of(h, shift)  # its home slot
    while (starts[s] >= 0) & (keys[s] != h):
        s = (s + U64(1)) & last
    return s


@jit
def build_lists(arrays, documents, first, last):
    """Inverted lists of ranks first … last: (keys, starts, counts, members), members of a list by ascending rank."""
    hashes, _, offsets = arrays
    total = 0
    for r in range(first, last):
        total += offsets[documents[r] + 1] - offsets[documents[r]]
    bits = 4
    while (1 << bits) < 2 * total:
        bits += 1
    shift = U64(64 - bits)
    keys, starts = np.empty(1 << bits, U64), np.full(1 << bits, -1, np.int64)
    counts = np.zeros(1 << bits, np.int32)
    for r in range(first, last):
        for i in range(offsets[documents[r]], offsets[documents[r] + 1]):
            s = find_key(keys, starts, hashes[i], shift)
            keys[s] = hashes[i]
            starts[s] = 0
            counts[s] += 1
    place = 0
    for s in range(len(keys)):
        if starts[s] == 0:
            starts[s] = place
            place += counts[s]
    members = np.empty(total, np.int32)
    for r in range(first, last):
        for i in range(offsets[documents[r]], offsets[documents[r] + 1]):
            s = find_key(keys, starts, hashes[i], shift)
            members[starts[s]] = r
            starts[s] += 1
    for s in range(len(keys)):
        if starts[s] >= 0:
            starts[s] -= counts[s]
    return keys, starts, counts, members


@jit
def find_lists(arrays, d, table, inside, found):
    """The number of lists of document d; found gets (length << 32 | index of the feature in d), unordered.

    Also returns the weight of features without a list, or whose list has d alone.
    """
    hashes, weights, offsets = arrays
    keys, starts, counts, _ = table
    bits = 0
    while (1 << bits) < len(keys):
        bits += 1
    count, begin = 0, offsets[d]
    alone = np.int64(0)
    for i in range(begin, offsets[d + 1]):
        s = find_key(keys, starts, hashes[i], U64(64 - bits))
        if counts[s] > inside:
            found[count] = U64(counts[s]) << U64(32) | U64(i - begin)
            count += 1
        else:
            alone += np.int64(weights[i]) if len(weights) else np.int64(1)
    return count, alone


@jit
def look_up(arrays, collection, table, span, limit, prune):
    """Pairs (rank, higher rank, shared) of ranks span[0] … span[1] with members of the lists.

    Also returns the members visited, and the similarities computed for each rank.

    collection = (documents, sizes by rank); span[2] … span[3] are the ranks in the lists. Only members of a higher
    rank are tried, L' ≥ L: a pair is found when its document of lower rank is looked up.

    Let δ1 be the weight of d's features whose lists are done. A member d' that is in none of them shares none of these
    features (its partition's lists are complete), so its overlap with d is at most L − δ1, and its similarity at most
    (L − δ1) / (L + L' − (L − δ1)) = (L − δ1) / (L' + δ1). Hence
    (a) d' is impossible if (L − δ1) q < p (L' + δ1). Members are sorted by L': all that follow are impossible too.
    (b) if (a) holds for L' = L, or the least L' of the lists, it holds for all: d is done. For L' = L this is
        δ1 > L (1 − τ) / (1 + τ).
    With δ1 = 0, (a) is the length bound (2), (6): L / L' < τ. A member met once, similar or not, is never tried again.
    """
    hashes, weights, offsets = arrays
    documents, sizes = collection
    keys, starts, counts, members = table
    p, q = limit
    bits = 0
    while (1 << bits) < len(keys):
        bits += 1
    met = np.full(span[3] - span[2], -1, np.int32)
    longest = np.int64(1)
    for r in range(span[0], span[1]):
        longest = max(longest, offsets[documents[r] + 1] - offsets[documents[r]])
    found = np.empty(longest, U64)
    computed = np.zeros(span[1] - span[0], np.int64)
    pairs, total, visits = np.empty((64, 3), np.int64), 0, 0
    for r in range(span[0], span[1]):
        d, size = documents[r], sizes[r]
        least = sizes[max(r, span[2])]
        if prune and size * q < p * least:  # (b) before any list
            continue
        lists, done = find_lists(arrays, d, table, 1 if r >= span[2] else 0, found)
        if prune and (size - done) * q < p * (least + done):  # (b): often before the lists are sorted
            continue
        found[:lists].sort()  # the least frequent first
        for k in range(lists):
            if prune and (size - done) * q < p * (least + done):  # (b)
                break
            i = offsets[d] + np.int64(found[k] & U64(0xFFFFFFFF))
            s = find_key(keys, starts, hashes[i], U64(64 - bits))
            stop = starts[s] + counts[s]
            for m in range(first_from(members, starts[s], stop, r + 1), stop):
                visits += 1
                other = members[m]
                if prune and (size - done) * q < p * (sizes[other] + done):  # (a)
                    break
                if met[other - span[2]] == r:
                    continue
                met[other - span[2]] = r
                computed[r - span[0]] += 1
                both = size + sizes[other]
                needed = (p * both + p + q - 1) // (p + q)
                shared = overlap(hashes, weights, offsets, d, documents[other], (size, sizes[other]), needed)
                if shared >= 0:
                    if total == len(pairs):
                        more = np.empty((2 * total, 3), np.int64)
                        more[:total] = pairs
                        pairs = more
                    pairs[total, 0], pairs[total, 1], pairs[total, 2] = r, other, shared
                    total += 1
            done += np.int64(weights[i]) if len(weights) else np.int64(1)
    return pairs[:total].copy(), visits, computed
