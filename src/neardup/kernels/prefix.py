"""The prefix matcher: documents that reach τ = p / q share one of their first features, in any order of all features.

Documents are ranked by (size, number). An *entry* is a feature in a document's prefix. Entries are scattered into
parts by their hash, so that equal entries meet in a table that fits the L1 cache; the table gives each entry the
entries of lower rank that it is compared with.

The order of features is (class, hash). A class is read from a small table: 0 for features that seem rare, higher for
frequent ones, which then come last and seldom belong to a prefix. Classes may be wrong: any order is exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.kernels import inline, jit
from neardup.kernels.exact import (  # touch this file when they change (cache)
    SPREAD,
    may_share,
    overlap,
    part_of,
)

U8, U32, U64 = np.uint8, np.uint32, np.uint64
FIRST = 1 << 63  # marks the first member of a list
RANK = (1 << 31) - 1  # a member is FIRST? | rank << 32 | the weight behind the feature in its document


@jit
def sample_features(hashes, offsets, step, counts):
    """The number of features of every step-th document; counts them in a table by their lower bits."""
    last = U64(len(counts) - 1)
    total = 0
    for d in range(0, len(offsets) - 1, step):
        for i in range(offsets[d], offsets[d + 1]):
            counts[hashes[i] & last] += 1
        total += offsets[d + 1] - offsets[d]
    return total


@jit
def select_prefixes(arrays, ranks, sizes, classes, limit, span, out):
    """Writes the prefix of each document span[0] … span[1] to out = (starts, hashes, rests, weights, counts).

    Starts, counts and sizes are by rank.
    A prefix is the first features by (class, hash) of weight at least L − ⌈τL⌉ + 1; rests are the weights behind each.
    A similar document of size L' with τL ≤ L' ≤ L shares at least τ (L + L') / (1 + τ) ≥ τL with it. The features
    behind the prefix weigh less than that: the first feature that both share cannot be one of them.
    """
    hashes, weights, offsets = arrays
    starts, to_hashes, to_rests, to_weights, to_counts = out
    p, q = limit
    last = U64(len(classes) - 1)
    weighted = len(weights) > 0
    for d in range(span[0], span[1]):
        r = ranks[d]
        if r < 0:
            continue
        begin, end = U64(offsets[d]), U64(offsets[d + 1])
        size = sizes[r]
        # The prefix ends when no more than this is behind.
        rest, behind = size, max((p * size + q - 1) // q - 1, 0)
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


@jit
def count_parts(hashes, starts, counts, span, shift, sizes):
    """Adds the number of entries in each part, of ranks span[0] … span[1]."""
    for r in range(span[0], span[1]):
        for e in range(U64(starts[r]), U64(starts[r] + counts[r])):
            sizes[part_of(hashes[e], shift)] += 1


@jit
def scatter(hashes, starts, counts, span, shift, places, parts):
    """Writes entries to their parts as rows (hash, rank << 32 | entry), each part by ascending rank."""
    for r in range(span[0], span[1]):
        for e in range(U64(starts[r]), U64(starts[r] + counts[r])):
            k = part_of(hashes[e], shift)
            place = places[k]
            parts[place, 0] = hashes[e]
            parts[place, 1] = U64(r) << U64(32) | e
            places[k] = place + U64(1)


@jit
def link_entries(parts, bounds, span, entries, sizes, limit, long):
    """Makes lists of equal features in parts span[0] … span[1]; returns the number of members that will be visited.

    entries = (rests, weights, stops). The parts are overwritten: a list has the entries that others are compared
    with, by ascending rank, as rows (member, weight). stops[e] becomes the position behind the last member for entry e,
    or 0. Lists of more than 8 members leave the logarithm of their length in the table of classes `long`.

    Only longer documents find a document of size L in a list. Those that are similar share at least 2τL / (1 + τ)
    with it, so that a shorter prefix of it has to be in lists: entries with rest + weight ≥ ⌈2τL / (1 + τ)⌉.
    """
    rests, weights, stops = entries
    p, q = limit
    widest = np.int64(0)
    for k in range(span[0], span[1]):
        widest = max(widest, bounds[k + 1] - bounds[k])
    buffers = make_buffers(widest)
    _, _, chosen, _, group, counts, cursors, highest = buffers
    visits = np.int64(0)
    for k in range(span[0], span[1]):
        begin = bounds[k]
        several = group_equal(parts[begin : bounds[k + 1]], buffers)
        place = begin
        for j in range(several):  # reserve each list, before hashes are overwritten
            i = chosen[j]
            if group[i] == i and counts[i] > 1:
                cursors[i] = -place - 1  # still empty
                place += counts[i]
                note_length(long, parts[begin + i, 0], counts[i])
        for j in range(several):
            i = chosen[j]
            g = group[i]
            if counts[g] < 2:
                continue
            source = buffers.sources[j]
            r, e = source >> U64(32), source & U64(0xFFFFFFFF)
            own = sizes[r]
            c = cursors[g]
            if c >= 0 and q * sizes[highest[g]] >= p * own:  # else even the longest member is too short
                stops[e] = c
                visits += counts[g]
            w = np.int64(weights[e]) if len(weights) else np.int64(1)
            if (p + q) * (np.int64(rests[e]) + w) >= 2 * p * own:
                at = c if c >= 0 else -c - 1
                parts[at, 0] = r << U64(32) | U64(rests[e]) | (U64(0) if c >= 0 else U64(FIRST))
                parts[at, 1] = U64(w)
                cursors[g] = at + 1
                highest[g] = r
    return visits


class PartBuffers(NamedTuple):
    """Buffers for one part."""

    hits: np.ndarray  # the number of hashes of a slot, up to 2
    table: np.ndarray  # 1 + the number of the first entry of a hash
    chosen: np.ndarray  # entries that may not be alone
    sources: np.ndarray  # … and their rank << 32 | entry
    group: np.ndarray  # the first entry that is equal to an entry
    counts: np.ndarray  # at the first entry: how many are equal to it
    cursors: np.ndarray  # at the first entry: the end of the list so far
    highest: np.ndarray  # at the first entry: the last rank in the list


@inline
def make_buffers(widest):
    """Buffers for parts of up to so many entries."""
    bits = 3
    while (1 << bits) < 2 * widest:
        bits += 1
    return PartBuffers(
        np.zeros(4 << bits, U8),
        np.zeros(1 << bits, np.int32),
        np.empty(widest + 1, np.int32),
        np.empty(widest + 1, U64),
        np.empty(widest + 1, np.int32),
        np.empty(widest + 1, np.int32),
        np.empty(widest + 1, np.int64),
        np.empty(widest + 1, U64),
    )


@jit
def group_equal(part, buffers):
    """The number of entries of a part that may have an equal; fills the buffers with them and their groups.

    Most hashes are alone; counting the hits of slots, without a branch, drops nearly all of them.
    """
    hits, table, chosen, sources = buffers.hits, buffers.table, buffers.chosen, buffers.sources
    group, counts = buffers.group, buffers.counts
    hits[:] = 0
    table[:] = 0
    wide, last = U64(len(hits) - 1), U64(len(table) - 1)
    for i in range(len(part)):
        s = U64(part[i, 0] * U64(SPREAD)) >> U64(16) & wide
        hits[s] = U8(min(hits[s] + U8(1), U8(2)))
    several = 0
    for i in range(len(part)):
        chosen[several] = i
        sources[several] = part[i, 1]
        several += hits[U64(part[i, 0] * U64(SPREAD)) >> U64(16) & wide] > U8(1)
    for j in range(several):
        i = chosen[j]
        h = part[i, 0]
        s = U64(h * U64(SPREAD)) >> U64(16) & last
        while (table[s] != 0) and (part[table[s] - 1, 0] != h):
            s = (s + U64(1)) & last
        if table[s] == 0:
            table[s] = i + 1
            counts[i] = 0
        group[i] = table[s] - 1
        counts[group[i]] += 1
    return several


@inline
def note_length(long, h, count):
    """Raises the class of a feature to the logarithm of its list's length, if it has more than 8 members."""
    if count <= 8:
        return
    level = U8(0)
    while count > 4:
        count >>= 1
        level += U8(1)
    s = h & U64(len(long) - 1)
    long[s] = max(long[s], level)


@jit
def meet(arrays, collection, entries, lists, limit, span, most):
    """Pairs (lower rank, rank, shared) of ranks span[0] … span[1]; visits; similarities by rank; truncated lists.

    collection = (documents, sizes, sketches) by rank; entries = (starts, counts, rests, weights, stops);
    lists = rows (member, weight). At a common feature the sum so far has all that both share before it (both
    prefixes are complete up to there), so that the overlap is at most this sum + the lesser of the weights behind it.
    With `most` above 0 an entry is compared with at most so many members of its list, the nearest in rank: enough to
    connect the documents of a long list. The last value returned is the number of entries whose list was truncated.
    """
    hashes, weights, offsets = arrays
    documents, sizes, sketches = collection
    starts, counts, rests, entry_weights, stops = entries
    p, q = limit
    weighted = len(weights) > 0
    so_far = np.zeros(span[1], np.int32)  # shared with each lower rank; -1: cannot reach the limit
    touched, computed = np.empty(span[1], U32), np.zeros(span[1] - span[0], np.int64)
    pairs, total, visits, truncated = np.empty((64, 3), np.int64), 0, 0, 0
    for r in range(span[0], span[1]):
        size = sizes[r]
        met = 0
        for e in range(starts[r], starts[r] + counts[r]):
            m = np.int64(stops[e])
            more, first = m > 0, visits
            while more:
                m -= 1
                member = lists[m, 0]
                more = member < U64(FIRST)
                other = member >> U64(32) & U64(RANK)
                if q * sizes[other] < p * size:
                    break  # the members before it are shorter still
                if most > 0 and visits - first >= most:
                    truncated += 1
                    break
                visits += 1
                if so_far[other] == 0:
                    touched[met] = other
                    met += 1
                elif so_far[other] < 0:
                    continue
                w = np.int64(1)
                if weighted:
                    w = min(np.int64(entry_weights[e]), np.int64(lists[m, 1]))
                reached = so_far[other] + w
                behind = min(np.int64(rests[e]), np.int64(member & U64(0xFFFFFFFF)))
                enough = (p + q) * (reached + behind) >= p * (size + sizes[other])
                so_far[other] = reached if enough else -1
        for k in range(met):
            other = touched[k]
            both = size + sizes[other]
            needed = (p * both + p + q - 1) // (p + q)
            if so_far[other] > 0 and may_share(sketches, other, r, both, needed):
                computed[r - span[0]] += 1
                a, b = documents[other], documents[r]
                shared = overlap(hashes, weights, offsets, a, b, (sizes[other], size), needed)
                if shared >= 0:
                    if total == len(pairs):
                        pairs = np.concatenate((pairs, np.empty_like(pairs)))
                    pairs[total, 0], pairs[total, 1], pairs[total, 2] = other, r, shared
                    total += 1
            so_far[other] = 0
    return pairs[:total].copy(), visits, computed, truncated
