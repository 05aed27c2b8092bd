"""The tokens of a text joined to one string of bytes, which is equal for texts with equal tokens and for no others.

The folded bytes of a text mostly are this string already: one byte stands for what separates two tokens. Eight bytes
at a time are copied where nothing has to be left out or put in between.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit
from neardup.kernels.tokens import (
    KIND,
    OUTSIDE,
    SINGLE,
    WORD,
    fold_text,
    load,
    longest_segment,
    make_buffers,
    segment_end,
)

U8, U64 = np.uint8, np.uint64

SEPARATOR = 0xFF  # no byte of UTF-8
DROP, SEPARATE = 1, 3  # a byte that is left out; one that a separator has to precede: both odd


@inline
def mark_changes(size, folded, classes, previous, flags):
    """Has separators stand where no token is, and fills flags with what else distinguishes a byte."""
    for i in range(size):
        before = U8(previous[i] & U8(KIND))
        c = U8(classes[i] & U8(KIND))
        outside = c == U8(OUTSIDE)
        begins = (c == U8(SINGLE)) | ((c == U8(WORD)) & (before != U8(WORD)))
        drop = outside & (before == U8(OUTSIDE))
        flags[i] = U8(SEPARATE) if begins & (before != U8(OUTSIDE)) else (U8(DROP) if drop else U8(0))
        folded[i] = U8(SEPARATOR) if outside else folded[i]


@inline
def store(target, i, word):
    """Writes the eight bytes of a word; written byte by byte, compiled to one store."""
    for k in range(8):
        target[i + U64(k)] = U8(word >> U64(8 * k))


@inline
def zero_bytes(word):
    """How many of the lowest bytes of a word are 0, where the lowest bit of every other byte is 1."""
    if word == U64(0):
        return U64(8)
    lowest = word & (~word + U64(1))
    return U64((lowest - U64(1) & U64(0x0101010101010101)) * U64(0x0101010101010101)) >> U64(56)


@inline
def copy_tokens(size, folded, flags, out, at):
    """The position in out behind the tokens of a segment; up to eight bytes behind it are overwritten."""
    i = U64(0)
    while i < size:
        store(out, at, load(folded, i))
        copied = zero_bytes(load(flags, i))
        if i + copied >= size:  # what flags and folded bytes have behind is left of a longer segment
            return at + (size - i)
        at, i = at + copied, i + copied
        if copied < U64(8):
            separated = U64(flags[i] == U8(SEPARATE))
            out[at] = U8(SEPARATOR)
            at += separated
            out[at] = folded[i]
            at, i = at + separated, i + U64(1)
    return at


@jit
def join_tokens(data, offsets, table, mode, out):
    """Where the joined tokens of each text end in out, and for each text whether NFC might change it.

    Out has two bytes for each byte of text, and eight more.
    """
    n = len(offsets) - 1
    ends, risky = np.zeros(n + 1, np.int64), np.zeros(n, np.bool_)
    buffers = make_buffers(longest_segment(data, offsets), False)
    folded, classes, previous, flags = buffers.folded, buffers.classes, buffers.shifted, buffers.flags
    at = U64(0)
    for d in range(n):
        start, stop = offsets[d], offsets[d + 1]
        while start < stop:
            cut = segment_end(data, start, stop)
            size, unsure = fold_text(data[start:cut], table, mode, buffers)
            risky[d] |= unsure
            mark_changes(size, folded, classes, previous, flags)
            at = copy_tokens(U64(size), folded, flags, out, at)
            start = cut
        if at > U64(ends[d]) and out[at - U64(1)] == U8(SEPARATOR):
            at -= U64(1)
        ends[d + 1] = at
    return ends, risky
