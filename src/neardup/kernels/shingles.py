"""Hashes of n consecutive tokens."""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit

U64 = np.uint64


@inline
def finish(h):
    """The sum with its low half mixed into its high half; token hashes are well mixed already."""
    h = U64((h ^ h >> U64(32)) * U64(0xD6E8FEB86659FD93))
    return U64(h ^ h >> U64(32))


@inline
def hash_fives(tokens, factors, out):
    """`hash_runs` for five tokens, the usual width, in one pass."""
    a, b, c, d, e = factors[0], factors[1], factors[2], factors[3], factors[4]
    for i in range(len(out)):
        h = U64(U64(tokens[i] * a) + U64(tokens[i + 1] * b))
        h = U64(h + U64(U64(tokens[i + 2] * c) + U64(tokens[i + 3] * d)))
        out[i] = finish(U64(h + U64(tokens[i + 4] * e)))


@inline
def hash_runs(tokens, factors, out):
    """A multilinear hash of each run of len(factors) tokens; the loops compile to vector instructions."""
    for i in range(len(out)):
        out[i] = U64(tokens[i] * factors[0])
    for k in range(1, len(factors)):
        shifted = tokens[k : k + len(out)]
        for i in range(len(out)):
            out[i] = U64(out[i] + U64(shifted[i] * factors[k]))
    for i in range(len(out)):
        out[i] = finish(out[i])


@jit
def shingle(tokens, offsets, factors, hashes):
    """Offsets of the features; `hashes` gets one for each run of tokens, in order, repeats included.

    A document shorter than a run gives one feature of all its tokens, an empty one none.
    """
    n, width = len(offsets) - 1, len(factors)
    ends = np.zeros(n + 1, np.int64)
    for d in range(n):
        document = tokens[offsets[d] : offsets[d + 1]]
        size = len(document)
        count = max(size - width + 1, min(size, 1))
        if width == 5 and size >= 5:
            hash_fives(document, factors, hashes[ends[d] : ends[d] + count])
        else:
            hash_runs(document, factors[: min(size, width)], hashes[ends[d] : ends[d] + count])
        ends[d + 1] = ends[d] + count
    return ends
