"""The prefix matcher: documents that reach τ = p / q share one of their first features, in any order of all features.

Documents have ranks, by (size, number). An *entry* is a feature in a document's prefix. Entries are scattered into
parts by their hash, so that equal ones meet in a table that fits the nearest cache; there each learns which entries
of lower rank it has to meet.

The order of features is (class, hash). A class is read from a small table: 0 for features that seem rare, more for
those that occur often, which then come last and seldom belong to a prefix. Classes may be wrong: any order is exact.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit
from neardup.kernels.exact import overlap

U8, U32, U64 = np.uint8, np.uint32, np.uint64
SPREAD = 0x9E3779B97F4A7C15
FIRST = 1 << 31  # marks the first member of a list


@jit
def sample_features(hashes, offsets, step, counts):
    """How many features every step-th document has; they are counted in a table by their lower bits."""
    last = U64(len(counts) - 1)
    total = 0
    for d in range(0, len(offsets) - 1, step):
        for i in range(offsets[d], offsets[d + 1]):
            counts[hashes[i] & last] += 1
        total += offsets[d + 1] - offsets[d]
    return total


@jit
def select_prefixes(arrays, ranks, classes, limit, starts, span, out):
    """Writes the prefix of each document span[0] … span[1] to out = (hashes, rests, weights, counts by rank).

    A prefix is the first features by (class, hash) of weight at least L − ⌈τL⌉ + 1; rests are the weights behind each.
    A similar document of size L' with τL ≤ L' ≤ L shares at least τ (L + L') / (1 + τ) ≥ τL with it. What lies behind
    the prefix weighs less than that: the first feature that both share cannot lie there.
    """
    hashes, weights, offsets = arrays
    to_hashes, to_rests, to_weights, to_counts = out
    p, q = limit
    last = U64(len(classes) - 1)
    weighted = len(weights) > 0
    for d in range(span[0], span[1]):
        r = ranks[d]
        if r < 0:
            continue
        begin, end = U64(offsets[d]), U64(offsets[d + 1])
        size = np.int64(end - begin)
        if weighted:
            size = np.int64(0)
            for i in range(begin, end):
                size += np.int64(weights[i])
        rest, behind = (
            size,
            (p * size + q - 1) // q - 1,
        )  # the prefix ends as soon as no more than this is behind
        e = U64(starts[r])
        level, following = U8(0), U8(255)
        while rest > behind:
            i = begin
            while (i < end) & (rest > behind):
                h = hashes[i]
                c = classes[h & last]
                if c == level:
                    w = np.int64(weights[i]) if weighted else np.int64(1)
                    rest -= w
                    to_hashes[e] = h
                    to_rests[e] = U32(rest)
                    if weighted:
                        to_weights[e] = U32(w)
                    e += U64(1)
                elif (c > level) & (c < following):
                    following = c
                i += U64(1)
            level, following = following, U8(255)
        to_counts[r] = np.int64(e) - starts[r]


@inline
def part_of(h, shift):
    """The part that a hash belongs to."""
    return U64(U64(h * U64(SPREAD)) >> shift)


@jit
def count_parts(hashes, starts, counts, span, shift, sizes):
    """Adds the number of entries in each part, of ranks span[0] … span[1]."""
    for r in range(span[0], span[1]):
        for e in range(starts[r], starts[r] + counts[r]):
            sizes[part_of(hashes[e], shift)] += 1


@jit
def scatter(hashes, starts, counts, span, shift, places, out):
    """Writes entries to their parts, out = (hashes, rank << 32 | entry), each part by ascending rank."""
    to_hashes, to_owners = out
    for r in range(span[0], span[1]):
        for e in range(starts[r], starts[r] + counts[r]):
            place = places[part_of(hashes[e], shift)]
            to_hashes[place] = hashes[e]
            to_owners[place] = U64(r) << U64(32) | U64(e)
            places[part_of(hashes[e], shift)] = place + 1


@jit
def link_entries(parts, bounds, span, rests, weights, sizes, limit, out):
    """Lists of equal features in parts span[0] … span[1]: how many (entry, member) visits they mean, and for whom.

    out = (members, member rests, member weights, stops, long): lists of the entries that others must be able to
    meet, by ascending rank, the first of each marked FIRST; for each entry the place behind the last member that it
    has to meet, or 0 (place 0 is never used); and `long`, where lists of more than 8 members leave their length's
    logarithm in the table of classes.

    A document of size L is met by longer ones only. It shares at least 2τL / (1 + τ) with those that are similar, so
    only the shorter prefix counts for it, what lies before and in the entry: rest + weight ≥ ⌈2τL / (1 + τ)⌉.
    """
    hashes, owners = parts
    members, member_rests, member_weights, stops, long = out
    p, q = limit
    widest = np.int64(0)
    for k in range(span[0], span[1]):
        widest = max(widest, bounds[k + 1] - bounds[k])
    bits = 3
    while (1 << bits) < 2 * widest:
        bits += 1
    last = U64((1 << bits) - 1)
    table = np.zeros(1 << bits, np.int32)  # 1 + the number of the first entry of a hash
    group = np.empty(widest, np.int32)
    counts, cursors, highest = np.empty(widest, np.int32), np.empty(widest, np.int64), np.empty(widest, U32)
    visits = np.int64(0)
    for k in range(span[0], span[1]):
        begin, size = bounds[k], bounds[k + 1] - bounds[k]
        table[:] = 0
        for i in range(size):
            h = hashes[begin + i]
            s = U64(h * U64(SPREAD)) >> U64(20) & last
            while (table[s] != 0) & (hashes[begin + max(table[s] - 1, 0)] != h):
                s = (s + U64(1)) & last
            if table[s] == 0:
                table[s] = i + 1
                counts[i] = 0
            group[i] = table[s] - 1
            counts[group[i]] += 1
        place = begin + 1
        for i in range(size):
            g = group[i]
            if counts[g] < 2:
                continue
            if g == i:
                cursors[i] = -place - 1  # reserved, still empty
                place += counts[i]
                if counts[i] > 8:
                    note_length(long, hashes[begin + i], counts[i])
            r, e = owners[begin + i] >> U64(32), owners[begin + i] & U64(0xFFFFFFFF)
            own = sizes[r]
            c = cursors[g]
            if c >= 0 and q * sizes[highest[g]] >= p * own:  # else even the longest member is too short
                stops[e] = c
                visits += min(c, counts[g])
            w = np.int64(weights[e]) if len(weights) else np.int64(1)
            if (p + q) * (np.int64(rests[e]) + w) >= 2 * p * own:
                at = c if c >= 0 else -c - 1
                members[at] = U32(r) | (U32(0) if c >= 0 else U32(FIRST))
                member_rests[at] = rests[e]
                if len(weights):
                    member_weights[at] = weights[e]
                cursors[g] = at + 1
                highest[g] = U32(r)
    return visits


@inline
def note_length(long, h, count):
    """Raises the class of a feature to the logarithm of its list's length."""
    level = U8(0)
    while count > 4:
        count >>= 1
        level += U8(1)
    s = h & U64(len(long) - 1)
    long[s] = max(long[s], level)


@jit
def meet(arrays, collection, entries, lists, limit, span):
    """Pairs (lower rank, rank, shared) of ranks span[0] … span[1], the visits, and similarities computed by rank.

    collection = (documents, sizes by rank); entries = (starts, counts, rests, weights, stops);
    lists = (members, rests, weights). At a common feature all that both share before it has been added up (both
    prefixes are complete up to there), so that the overlap is at most
    what has been added up + the lesser of what is behind it in either.
    """
    hashes, weights, offsets = arrays
    documents, sizes = collection
    starts, counts, rests, entry_weights, stops = entries
    members, member_rests, member_weights = lists
    p, q = limit
    weighted = len(weights) > 0
    so_far = np.zeros(span[1], np.int32)  # of each lower rank; -1: too little
    touched, computed = np.empty(span[1], U32), np.zeros(span[1] - span[0], np.int64)
    pairs, total, visits = np.empty((64, 3), np.int64), 0, 0
    for r in range(span[0], span[1]):
        size = sizes[r]
        met = 0
        for e in range(starts[r], starts[r] + counts[r]):
            m = np.int64(stops[e])
            more = m > 0
            while more:
                m -= 1
                more = members[m] < U32(FIRST)
                other = members[m] & U32(FIRST - 1)
                if q * sizes[other] < p * size:
                    break  # the members before it are shorter still
                visits += 1
                if so_far[other] == 0:
                    touched[met] = other
                    met += 1
                elif so_far[other] < 0:
                    continue
                w = np.int64(1)
                if weighted:
                    w = np.int64(min(entry_weights[e], member_weights[m]))
                reached = so_far[other] + w
                behind = np.int64(min(rests[e], member_rests[m]))
                enough = (p + q) * (reached + behind) >= p * (size + sizes[other])
                so_far[other] = reached if enough else -1
        for k in range(met):
            other = touched[k]
            if so_far[other] > 0:
                computed[r - span[0]] += 1
                needed = (p * (size + sizes[other]) + p + q - 1) // (p + q)
                a, b = documents[other], documents[r]
                shared = overlap(hashes, weights, offsets, a, b, (sizes[other], size), needed)
                if shared >= 0:
                    if total == len(pairs):
                        pairs = np.concatenate((pairs, np.empty_like(pairs)))
                    pairs[total, 0], pairs[total, 1], pairs[total, 2] = other, r, shared
                    total += 1
            so_far[other] = 0
    return pairs[:total].copy(), visits, computed
