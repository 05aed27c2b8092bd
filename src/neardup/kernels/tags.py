"""One tag of an HTML page: its name, its end, and the hints of its attributes.

Follows the tokeniser of the HTML standard (section 13.2.5) with one exception: if a quote or an element without
markup is never closed, the standard gives up the rest of the page; here the quote ends with its tag.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels import borrowing, inline
from neardup.kernels.tokens import load

U8, U32, U64 = np.uint8, np.uint32, np.uint64

ONES, HIGHS = U64(0x0101010101010101), U64(0x8080808080808080)
HASH_START = 0xCBF29CE484222325  # FNV-1a, 64 bits
HASH_STEP = 0x100000001B3
WORD_STEP = 0xD6E8FEB86659FD93  # of hashes of names, which take eight bytes at a time

# Types of names: the first byte that is hashed, so that one table serves all of them.
NAMES, STYLE, LINK, FLAG, TAG, ATTRIBUTE = 1, 2, 3, 4, 5, 6

# The state of the scan (entries of `state`). The last of them record that a search for a closing quote, or for the end
# of a comment or of an element, has failed: it is not repeated, so a page of unclosed quotes stays linear.
BLOCKS, ELEMENTS, DEPTH, WRITTEN, LINK_DEPTH, GAP, OPEN, TAGS = range(8)
NO_QUOTE, NO_APOSTROPHE, NO_COMMENT_END, NO_END_TAG = 8, 9, 10, 11  # and NO_END_TAG + the number of a tag


@inline
def is_space(c):
    """Whether a byte is white space or a control character."""
    return c <= U8(32)


@inline
def is_letter(c):
    """Whether a byte is an ASCII letter."""
    return U8(U8(c | U8(32)) - U8(97)) < U8(26)


@inline
def to_lower(c):
    """A byte in lower case."""
    return U8(c + U8(32)) if U8(c - U8(65)) < U8(26) else c


@inline
def add_byte(hash, c):
    """The hash of a name with one more byte."""
    return U64((hash ^ U64(c)) * U64(HASH_STEP))


@borrowing
def look_up(table, hash):
    """The value of a hash in an open table of (hash, value), or 0. At least half of its rows are empty: (0, 0)."""
    mask = U64(len(table) - 1)
    slot = (hash ^ hash >> U64(32)) & mask
    while table[slot, 0] != hash and table[slot, 0] != U64(0):
        slot = (slot + U64(1)) & mask
    return table[slot, 1]


@borrowing
def find_byte(data, i, byte):
    """The next position of a byte from i on, or the size of the page; eight bytes at a time."""
    size, pattern = len(data), U64(U64(byte) * ONES)
    while i + 8 <= size:
        zeros = zero_bytes(load(data, U64(i)) ^ pattern)
        if zeros:
            return i + count_bytes(below(zeros))
        i += 8
    while i < size and data[i] != byte:
        i += 1
    return i


@borrowing
def find_comment_end(data, i, state):
    """The byte after the next "-->" from i on; without one, after the next ">"."""
    size = len(data)
    j = size if state[NO_COMMENT_END] else i
    while j < size:
        j = find_byte(data, j, U8(62))  # >
        if j < size and j >= i + 2 and data[j - 1] == U8(45) and data[j - 2] == U8(45):
            return j + 1
        j += 1
    state[NO_COMMENT_END] = 1
    return min(size, find_byte(data, i, U8(62)) + 1)


@borrowing
def find_end_tag(data, i, name):
    """Where "</name" next begins from i on, or -1."""
    size, length = len(data), len(name)
    while True:
        i = find_byte(data, i, U8(60))
        if i + 2 + length > size:
            return -1
        if data[i + 1] == U8(47):
            k = 0
            while k < length and to_lower(data[i + 2 + k]) == to_lower(name[k]):
                k += 1
            after = i + 2 + length
            if k == length and (after == size or not is_letter(data[after])):
                return i
        i += 1


@inline
def word_at(data, i):
    """The eight bytes from i on, little end first; 0 for those behind the end."""
    size = len(data)
    if i + 8 <= size:
        return load(data, U64(i))
    word = U64(0)
    for k in range(i, size):
        word |= U64(data[k]) << U64(8 * (k - i))
    return word


@inline
def zero_bytes(word):
    """A word whose lowest bit set is that of the lowest byte of the given one that is 0; 0 if none is."""
    return U64(U64(word - ONES) & ~word & HIGHS)


@inline
def blank_bytes(word):
    """The same for the lowest byte that is white space or a control character."""
    return U64(U64(word - ONES * U64(33)) & ~word & HIGHS)


@inline
def below(bits):
    """A mask of the bytes before the one with the lowest bit set."""
    return U64(U64(U64(bits & U64(U64(0) - bits)) >> U64(7)) - U64(1))


@inline
def count_bytes(mask):
    """How many bytes a mask has."""
    return np.int64(U64(U64(mask & ONES) * ONES) >> U64(56))


@inline
def add_word(hash, word):
    """The hash of a name with up to eight bytes more, letters in lower case."""
    hash = U64((hash ^ word) * U64(WORD_STEP))
    return U64(hash ^ hash >> U64(32))


@borrowing
def hash_name(data, i, kind):
    """The hash of the lower-case name that begins at i, eight bytes at a time, and the byte after it.

    A name ends before white space, / or >, one of an attribute also before =, except for its first byte.
    """
    hash, equals = U64(HASH_START) ^ U64(kind), U64(61 if kind == ATTRIBUTE else 62) * ONES
    word = word_at(data, i)
    tested = (word & ~U64(255)) | U64(97)
    while True:
        ends = blank_bytes(tested) | zero_bytes(tested ^ U64(47) * ONES)
        ends |= zero_bytes(tested ^ U64(62) * ONES) | zero_bytes(tested ^ equals)
        if ends:
            mask = below(ends)
            return add_word(hash, (word | U64(32) * ONES) & mask), i + count_bytes(mask)
        hash = add_word(hash, word | U64(32) * ONES)
        i += 8
        word = tested = word_at(data, i)


@borrowing
def hint_bits(data, start, stop, kind, table):
    """The hint bits of the words of a class or an id, or of the declarations of a style.

    "articleBody" and "article-body" are two words each; of "display: none;" the letters count, up to the semicolon.
    """
    first = add_byte(U64(HASH_START), U8(kind))
    style = kind == U64(STYLE)
    bits, hash, lower_before = U64(0), first, False
    for i in range(start, stop):
        c = data[i]
        letter, upper = is_letter(c), U8(c - U8(65)) < U8(26)
        ends = c == U8(59) if style else not letter or (upper and lower_before)
        if ends and hash != first:
            bits |= look_up(table, hash)
            hash = first
        if letter:
            hash = add_byte(hash, to_lower(c))
        lower_before = letter and not upper
    return bits | look_up(table, hash)


@borrowing
def value_range(data, i, state):
    """Where the attribute value at i begins and ends, and the byte after it."""
    size = len(data)
    if i < size and (data[i] == U8(34) or data[i] == U8(39)):
        which = NO_QUOTE if data[i] == U8(34) else NO_APOSTROPHE
        stop = size if state[which] else find_byte(data, i + 1, data[i])
        if stop < size:
            return i + 1, stop, stop + 1
        state[which] = 1
    start = i
    while i < size and not is_space(data[i]) and data[i] != U8(62):
        i += 1
    return start, i, i


@borrowing
def read_attributes(data, i, table, state):
    """The byte after a tag whose name ends at i, the hints of its attributes, and whether it is a link."""
    size, bits, link = len(data), U64(0), False
    while i < size and data[i] != U8(62):
        if is_space(data[i]) or data[i] == U8(47):
            i += 1
            continue
        hash, i = hash_name(data, i, ATTRIBUTE)
        while i < size and is_space(data[i]):
            i += 1
        start = stop = i
        if i < size and data[i] == U8(61):
            i += 1
            while i < size and is_space(data[i]):
                i += 1
            start, stop, i = value_range(data, i, state)
        found = look_up(table, hash)
        kind = found & U64(7)
        if kind == U64(LINK):
            link = True
        elif kind == U64(FLAG):
            bits |= found >> U64(8)
        elif kind != U64(0):
            bits |= hint_bits(data, start, stop, kind, table)
    return min(size, i + 1), bits, link
