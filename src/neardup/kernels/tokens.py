"""Token hashes of UTF-8 texts: fold case, find boundaries, hash each token.

Three steps over segments of at most 64 kB of one document, so that the buffers stay in the L1 and L2 caches:
1. `fold_text` writes the case-folded bytes and the class of each (OUTSIDE, WORD, SINGLE, EXTEND);
2. `find_boundaries` lists where tokens begin and end, without a branch per byte;
3. `hash_token` reads eight bytes at a time.

Numba widens small integers in arithmetic. Casting back at once (`U8(...)`) lets the loops over bytes compile to
vector instructions: 6 GB/s instead of 0.8 GB/s.

A code point has a class, which says whether it belongs to a word, stands alone, or separates tokens.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.kernels import inline, jit

U8, U32, U64 = np.uint8, np.uint32, np.uint64

# Classes of folded bytes, and of the code points in text/unicode.npz.
OUTSIDE = 0  # belongs to no token
WORD = 1  # continues or begins a word
SINGLE = 2  # begins a token of its own: a symbol, or a character of a script without spaces
EXTEND = 3  # continues the token before it, of any class
IGNORE = 4  # skipped: soft hyphens, joiners, direction marks
KIND = 7  # the bits that hold the class
NOT_NFC = 8  # a text with this code point may have to be normalised
CAPITAL = 16
DIGIT = 32
MARK_SHIFT = 4  # CAPITAL and DIGIT become bits 0 and 1 of a token's marks

WORDS, WHITESPACE, TABLE = 0, 1, 2  # how ASCII is classified; other code points go through the table
RUN = 16  # at least so many ASCII bytes in a row are folded at once, fewer one by one
SEGMENT = 1 << 16  # a document is folded in pieces of about so many bytes


class CodePointTable(NamedTuple):
    """Properties of code points: pages of 256 entries, fold << 8 | flags | class."""

    index: np.ndarray
    pages: np.ndarray


class SegmentBuffers(NamedTuple):
    """Buffers for one segment."""

    folded: np.ndarray
    classes: np.ndarray
    shifted: np.ndarray  # the same memory, one byte earlier
    flags: np.ndarray
    origin: np.ndarray  # the source byte of each folded byte
    bounds: np.ndarray


@inline
def fold_ascii_words(source, folded, classes):
    """Lower case, and the classes of ASCII bytes if tokens are words."""
    for i in range(len(source)):
        c = source[i]
        upper = U8(c - U8(65)) < U8(26)
        digit = U8(c - U8(48)) < U8(10)
        letter = U8(U8(c | U8(32)) - U8(97)) < U8(26)
        symbol = (c == U8(36)) | (c == U8(43)) | (U8(c - U8(60)) < U8(3))  # $ + < = >
        symbol = symbol | (c == U8(94)) | (c == U8(96)) | (c == U8(124)) | (c == U8(126))  # ^ ` | ~
        folded[i] = U8(c + (U8(32) if upper else U8(0)))
        kind = U8(WORD) if letter | digit else (U8(SINGLE) if symbol else U8(OUTSIDE))
        marks = U8((U8(CAPITAL) if upper else U8(0)) | (U8(DIGIT) if digit else U8(0)))
        classes[i] = U8(kind | marks)


@inline
def fold_ascii_spaces(source, folded, classes):
    """Lower case, and the classes of ASCII bytes if white space separates tokens."""
    for i in range(len(source)):
        c = source[i]
        upper = U8(c - U8(65)) < U8(26)
        digit = U8(c - U8(48)) < U8(10)
        space = (c == U8(32)) | (U8(c - U8(9)) < U8(5)) | (U8(c - U8(28)) < U8(4))
        folded[i] = U8(c + (U8(32) if upper else U8(0)))
        marks = U8((U8(CAPITAL) if upper else U8(0)) | (U8(DIGIT) if digit else U8(0)))
        classes[i] = U8((U8(OUTSIDE) if space else U8(WORD)) | marks)


@inline
def load(source, i):
    """The eight bytes at position i, little end first; written byte by byte, compiled to one load."""
    low = U64(source[i]) | U64(source[i + U64(1)]) << U64(8)
    low = low | U64(source[i + U64(2)]) << U64(16) | U64(source[i + U64(3)]) << U64(24)
    high = U64(source[i + U64(4)]) | U64(source[i + U64(5)]) << U64(8)
    high = high | U64(source[i + U64(6)]) << U64(16) | U64(source[i + U64(7)]) << U64(24)
    return U64(low | high << U64(32))


@inline
def ascii_end(source, i):
    """The first position from i on whose byte is not ASCII."""
    size = len(source)
    while i + 8 <= size and load(source, U64(i)) & U64(0x8080808080808080) == U64(0):
        i += 8
    while i < size and source[i] < 128:
        i += 1
    return i


@inline
def decode(source, i):
    """The code point that begins at byte i of valid UTF-8, and its length."""
    c = U32(source[i])
    if c < 0x80:
        return c, 1
    if c < 0xE0:
        return U32((c & U32(0x1F)) << U32(6) | U32(source[i + 1]) & U32(0x3F)), 2
    point = U32((U32(source[i + 1]) & U32(0x3F)) << U32(6) | U32(source[i + 2]) & U32(0x3F))
    if c < 0xF0:
        return U32((c & U32(0x0F)) << U32(12) | point), 3
    point = U32(point << U32(6) | U32(source[i + 3]) & U32(0x3F))
    return U32((c & U32(0x07)) << U32(18) | point), 4


@inline
def encode(point):
    """The code point's UTF-8 bytes in one integer, the first lowest, and how many they are."""
    if point < 0x80:
        return point, 1
    last = U32(0x80 | point & 0x3F)
    if point < 0x800:
        return U32(0xC0 | point >> 6 | last << 8), 2
    last = U32(0x80 | point >> 6 & 0x3F | last << 8)
    if point < 0x10000:
        return U32(0xE0 | point >> 12 | last << 8), 3
    last = U32(0x80 | point >> 12 & 0x3F | last << 8)
    return U32(0xF0 | point >> 18 | last << 8), 4


@jit
def fold_text(source, table, mode, buffers):
    """The number of folded bytes, each with its class and source byte; and whether NFC might change the text."""
    # Arrays leave their tuple here, and helpers take no tuple: Numba would count references per character.
    folded, classes, origin = buffers.folded, buffers.classes, buffers.origin
    index, pages = table.index, table.pages
    i, j, size, risky = 0, 0, len(source), U32(0)
    while i < size:
        stop = i if mode == TABLE else ascii_end(source, i)
        if stop - i >= RUN:
            fold_ascii(source[i:stop], mode, folded[j:], classes[j:])
            if len(origin):
                number_bytes(origin[j : j + stop - i], i)
            j += stop - i
            i = stop
        while i < min(stop + 1, size):  # to the end of the character that is not ASCII
            point, length = decode(source, i)
            entry = pages[index[point >> U32(8)], point & U32(255)]
            risky |= U32(entry & U32(NOT_NFC))
            before = classes[j - 1] if j > 0 else U8(OUTSIDE)
            first, rest = byte_classes(entry, before)
            target = U32(entry >> U32(8))
            encoded, width = encode(target if target != 0 else point)
            for k in range(4):  # always four: the next character overwrites the surplus
                folded[j + k] = U8(encoded >> (8 * k))
                classes[j + k] = rest if k else first
                if len(origin):
                    origin[j + k] = U32(i)
            j += width if entry & KIND != IGNORE else 0
            i += length
    return j, risky != 0


@inline
def fold_ascii(block, mode, folded, classes):
    """Folded bytes and classes of an ASCII block."""
    if mode == WORDS:
        fold_ascii_words(block, folded, classes)
    else:
        fold_ascii_spaces(block, folded, classes)


@inline
def number_bytes(origin, first):
    """Consecutive numbers."""
    for k in range(len(origin)):
        origin[k] = U32(first + k)


@inline
def byte_classes(entry, before):
    """The class of a character's first byte, with its marks, and of the bytes after it."""
    kind = U8(entry & KIND)
    if kind == EXTEND:  # a combining mark joins the character before it; alone it is a word
        joins_word = before & KIND == WORD or before & KIND == OUTSIDE
        kind = U8(WORD if joins_word else EXTEND)
    rest = U8(EXTEND) if kind == SINGLE else kind
    return U8(kind | U8(entry & (CAPITAL | DIGIT))), rest


@inline
def find_boundaries(size, buffers):
    """The number of boundaries in buffers.bounds; buffers.flags is 2 where a token begins, 1 where one ends."""
    classes, flags, bounds = buffers.classes[:size], buffers.flags[:size], buffers.bounds
    previous = buffers.shifted[:size]  # the class before each byte
    for i in range(size):
        before = U8(previous[i] & U8(KIND))
        c = U8(classes[i] & U8(KIND))
        begins = (c == U8(SINGLE)) | ((c == U8(WORD)) & (before != U8(WORD)))
        ends = (c == U8(OUTSIDE)) & (before != U8(OUTSIDE))
        flags[i] = U8(2) if begins else (U8(1) if ends else U8(0))
    count = 0
    for i in range(size):  # no branch: a position that is no boundary is overwritten by the next
        bounds[count] = U32(i)
        count += flags[i] != U8(0)
    bounds[count] = U32(size)
    return count


@inline
def hash_token(folded, begin, end):
    """A 64-bit hash of folded bytes; two tokens of one length up to eight bytes never collide.

    Positions are unsigned, which spares the check for negative indices; eight bytes follow the last one.
    """
    h = U64(end - begin) * U64(0x9E3779B97F4A7C15)
    while end - begin > U64(8):
        h = U64((h ^ load(folded, begin)) * U64(0xD6E8FEB86659FD93))
        h ^= h >> U64(32)
        begin += U64(8)
    last = load(folded, begin) << ((U64(8) - (end - begin)) << U64(3))
    h = U64((h ^ last) * U64(0xD6E8FEB86659FD93))
    h ^= h >> U64(32)
    h = U64(h * U64(0xC2B2AE3D27D4EB4F))
    return U64(h ^ h >> U64(29))


@inline
def segment_end(data, start, stop):
    """Where to cut a long document: behind the last blank within SEGMENT bytes, or the first one after."""
    if stop - start <= SEGMENT:
        return stop
    for i in range(start + SEGMENT - 1, start, -1):
        if data[i] == 32 or data[i] == 10:
            return i + 1
    for i in range(start + SEGMENT, stop):
        if data[i] == 32 or data[i] == 10:
            return i + 1
    return stop


@jit
def longest_segment(data, offsets):
    """The size in bytes of the largest piece that will be folded at once."""
    longest = 0
    for d in range(len(offsets) - 1):
        start, stop = offsets[d], offsets[d + 1]
        while start < stop:
            end = segment_end(data, start, stop)
            longest = max(longest, end - start)
            start = end
    return longest


@jit
def tokenize(data, offsets, table, mode, out):
    """Token offsets per document, and for each whether NFC might change it.

    Fills out = (hashes, positions, marks), which have one entry for each byte of text. Positions and marks may be
    empty arrays, and are then left out.
    """
    hashes, positions, marks = out
    n = len(offsets) - 1
    ends, risky = np.zeros(n + 1, np.int64), np.zeros(n, np.bool_)
    buffers = make_buffers(longest_segment(data, offsets), len(positions) > 0)
    folded, classes, _, flags, origin, bounds = buffers
    total = 0
    for d in range(n):
        start, stop = offsets[d], offsets[d + 1]
        while start < stop:
            cut = segment_end(data, start, stop)
            size, unsure = fold_text(data[start:cut], table, mode, buffers)
            risky[d] |= unsure
            count = find_boundaries(size, buffers)
            for k in range(count):
                begin = U64(bounds[k])
                if flags[begin] == 2:
                    hashes[total] = hash_token(folded, begin, U64(bounds[k + 1]))
                    if len(positions):
                        positions[total] = start - offsets[d] + origin[begin]
                        marks[total] = classes[begin] >> U8(MARK_SHIFT)
                    total += 1
            start = cut
        ends[d + 1] = total
    return ends, risky


@inline
def make_buffers(longest, with_origin):
    """Buffers for segments of up to so many bytes; folding can lengthen them (two bytes become three)."""
    size = longest * 3 // 2 + 64
    classes = np.zeros(size + 1, U8)  # the first is the class before the text: OUTSIDE
    bounds = np.zeros(size + 1, U32)
    origin = np.zeros(size if with_origin else 0, U32)
    return SegmentBuffers(np.zeros(size, U8), classes[1:], classes, np.zeros(size, U8), origin, bounds)
