"""Distinct k-grams with their counts and positions, and the products of their features for learning."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.kernels import inline, jit
from neardup.kernels.sets import longest_run, spread_sort

U32, U64 = np.uint32, np.uint64


class Occurrences(NamedTuple):
    """Hashes of k-grams in reading order, and marks, and possibly places, of their first tokens."""

    hashes: np.ndarray
    offsets: np.ndarray
    starts: np.ndarray  # the first token of each document
    marks: np.ndarray
    places: np.ndarray  # bits of fields and tags; empty: every token belongs to the text


class GramColumns(NamedTuple):
    """Columns of the distinct k-grams of a document."""

    hashes: np.ndarray
    counts: np.ndarray
    firsts: np.ndarray  # its first position, in tokens
    capitals: np.ndarray  # occurrences whose first token is capitalised
    digits: np.ndarray  # occurrences whose first token begins with a digit
    places: np.ndarray  # the union of the bits of its occurrences


class GramBuffers(NamedTuple):
    """Buffers for one document: an open hash table of its k-grams, and space to sort them."""

    table: np.ndarray
    grams: GramColumns
    ordered: np.ndarray
    runs: np.ndarray


@inline
def find(table, hashes, mask, h):
    """The slot of this hash in the table, or the empty slot where it belongs."""
    place = h & mask
    while table[place] != U32(0) and hashes[table[place] - U32(1)] != h:
        place = (place + U64(1)) & mask
    return place


@jit
def collect(source, d, mask, buffers):
    """The number of distinct k-grams of document d; fills the buffers in the order of first occurrence."""
    table, grams = buffers.table, buffers.grams
    table[: mask + U64(1)] = U32(0)
    found = 0
    shift = source.starts[d] - source.offsets[d]
    for i in range(source.offsets[d], source.offsets[d + 1]):
        h, token = source.hashes[i], i + shift
        place = find(table, grams.hashes, mask, h)
        if table[place] == U32(0):
            grams.hashes[found], grams.counts[found] = h, U32(0)
            grams.firsts[found] = U32(i - source.offsets[d])
            grams.capitals[found], grams.digits[found], grams.places[found] = U32(0), U32(0), U32(0)
            found += 1
            table[place] = U32(found)
        k = table[place] - U32(1)
        mark = source.marks[token]
        grams.counts[k] += U32(1)
        grams.capitals[k] += U32(mark & 1)
        grams.digits[k] += U32((mark >> 1) & 1)
        grams.places[k] |= source.places[token] if len(source.places) else U32(1)
    return found


@jit
def tabulate(source, out):
    """Offsets of each document's distinct k-grams, which are written to `out` in the order of their hashes."""
    n, longest = len(source.offsets) - 1, max(longest_run(source.offsets), 1)
    size = 2
    while size < 2 * longest:
        size *= 2
    room = GramColumns(
        np.empty(longest, U64),
        np.empty(longest, U32),
        np.empty(longest, U32),
        np.empty(longest, U32),
        np.empty(longest, U32),
        np.empty(longest, U32),
    )
    runs = np.zeros(min(size, 1 << 24) + 1, np.int64)
    buffers = GramBuffers(np.zeros(size, U32), room, np.empty(longest, U64), runs)
    ends = np.zeros(n + 1, np.int64)
    for d in range(n):
        size = 2
        while size < 2 * (source.offsets[d + 1] - source.offsets[d]):
            size *= 2
        mask = U64(size - 1)
        found = collect(source, d, mask, buffers)
        spread_sort(room.hashes[:found], buffers.ordered[:found], runs)
        for i in range(found):
            h = buffers.ordered[i]
            k = buffers.table[find(buffers.table, room.hashes, mask, h)] - U32(1)
            at = ends[d] + i
            out.hashes[at], out.counts[at], out.firsts[at] = h, room.counts[k], room.firsts[k]
            out.capitals[at], out.digits[at] = room.capitals[k], room.digits[k]
            out.places[at] = room.places[k]
        ends[d + 1] = ends[d] + found
    return ends


@jit
def multiply_pairs(hashes, values, offsets, left, right, out):
    """Fills out[p] with Σ over shared k-grams g of the products of all features of g in the two documents.

    values[i] holds the features φ of entry i. The weights being λ·φ, the dot product of two documents is the
    quadratic form λᵀ A λ with A = Σ φ(g, left) φ(g, right)ᵀ: computed once, it gives the loss and its gradient
    for any λ. A's upper triangle is stored row by row, the part below the diagonal added to the part above.
    """
    count = values.shape[1]
    total = np.zeros((count, count), values.dtype)
    for p in range(len(left)):
        i, i_end = U64(offsets[left[p]]), U64(offsets[left[p] + 1])
        j, j_end = U64(offsets[right[p]]), U64(offsets[right[p] + 1])
        total[:] = 0
        while (i < i_end) & (j < j_end):
            x, y = hashes[i], hashes[j]
            if x == y:
                for r in range(count):
                    factor = values[i, r]
                    if factor != 0:
                        for c in range(count):
                            total[r, c] += factor * values[j, c]
            i += U64(x <= y)
            j += U64(y <= x)
        at = 0
        for r in range(count):
            out[p, at] = total[r, r]
            at += 1
            for c in range(r + 1, count):
                out[p, at] = total[r, c] + total[c, r]
                at += 1


@jit
def minhash_levels(hashes, levels, offsets, mix, steps, slots):
    """Fills slots[d] with the least values over features (g, 1) … (g, levels[g]) of each of its k-grams.

    Gionis' unary mapping without the long binary vector: level after level, the k-grams that reach it are hashed
    again with the number of the level and take part in the minimum. A slot's value is u·steps[k] + v with the two
    halves of that hash mixed as in `minhash`.
    """
    longest = longest_run(offsets)
    values, strides = np.empty(longest, U32), np.empty(longest, U32)
    for d in range(len(offsets) - 1):
        slots[d, :] = U32(0xFFFFFFFF)
        highest = 0
        for i in range(offsets[d], offsets[d + 1]):
            highest = max(highest, levels[i])
        for level in range(1, highest + 1):
            size = 0
            for i in range(offsets[d], offsets[d + 1]):
                if levels[i] >= level:
                    h = U64((hashes[i] ^ U64(U64(level) * U64(0x9E3779B97F4A7C15))) * U64(0xD6E8FEB86659FD93))
                    h = U64((h ^ h >> U64(32)) * U64(0xC2B2AE3D27D4EB4F))
                    h = U64(h ^ h >> U64(29))
                    values[size] = U32(U32(U32(h >> U64(32)) * mix[0]) + mix[1])
                    strides[size] = U32(U32(U32(h) * mix[2]) + mix[3])
                    size += 1
            for k in range(len(steps)):
                least, step = slots[d, k], steps[k]
                for i in range(size):
                    least = min(least, U32(values[i] + U32(step * strides[i])))
                slots[d, k] = least
