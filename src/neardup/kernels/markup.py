"""An HTML page as a sequence of text blocks in a tree of block elements, in one pass over its bytes.

A block is the text between two block-level tags, or two line breaks: a paragraph, a heading, a cell. The tree
has block-level elements only, those that hold text, numbered in the order in which they open; so the blocks inside
an element are a range of block numbers. Time and memory are linear in the page, whatever its markup: the
search for the element that an end tag closes ends after REACH open elements, and if the arrays of elements or blocks
are full, the rest of the text joins the last block.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels import borrowing, inline
from neardup.kernels.tags import (
    BLOCKS,
    DEPTH,
    ELEMENTS,
    GAP,
    HIGHS,
    LINK_DEPTH,
    NO_END_TAG,
    ONES,
    OPEN,
    TAG,
    TAGS,
    WRITTEN,
    below,
    blank_bytes,
    count_bytes,
    find_byte,
    find_comment_end,
    find_end_tag,
    hash_name,
    is_letter,
    is_space,
    look_up,
    read_attributes,
    zero_bytes,
)
from neardup.kernels.tokens import load

U8, U64 = np.uint8, np.uint64

# Properties of a tag: its number in the lowest byte, then flags, then a group: an <li> ends an open <li>.
NUMBER = 255
BLOCK = 1 << 8  # begins a new block of text, and is an element of the tree
VOID = 1 << 9  # has no content
OPAQUE = 1 << 10  # its content is not text: skipped up to the end tag
ANCHOR = 1 << 11
BREAK = 1 << 12
BARRIER = 1 << 13  # end tags and groups do not reach beyond it
PARAGRAPH = 1 << 14  # ends where another block begins
UNNAMED = 1 << 15  # its names are not read: those of <body> describe the page, not its text
GROUP_SHIFT = 16

# Values of state[GAP]: white space between the text so far and the next.
NONE, SPACE, LINE, TWO_LINES = range(4)
REACH = 256  # open elements that are searched for the one that an end tag closes
MOST_BLOCKS = 300_000  # an article has some hundreds; the last one takes the rest of the page
MOST_ELEMENTS = 600_000

# Columns of `blocks`: where its text begins and ends; the innermost element around it; its bytes inside links; the
# number of tags of the page before its beginning, and before its end.
START, END, AROUND, LINKED, TAGS_BEFORE, TAGS_UNTIL = range(6)
# Columns of `elements`: the element around it; the properties of its tag; hint bits; its blocks FIRST … LAST.
# Column STACK is separate: it holds the open elements.
PARENT, KNOWN, HINTS, FIRST, LAST, STACK = range(6)


@borrowing
def scan(data, table, text, blocks, elements, state):
    """The numbers of blocks and elements of a page; element 0 is the page itself."""
    size = len(data)
    elements[0, :] = 0
    state[:] = 0
    state[ELEMENTS] = state[DEPTH] = 1
    i = 0
    while i < size:
        stop = find_byte(data, i, U8(60))
        if stop > i:
            write_text(data, i, stop, text, blocks, elements, state)
        i = stop
        if i < size:
            i = read_markup(data, i, table, text, blocks, elements, state)
    close_elements(blocks, elements, state, 0)
    return state[BLOCKS], state[ELEMENTS]


@borrowing
def read_markup(data, i, table, text, blocks, elements, state):
    """Handles the markup that "<" at i begins; returns the byte after it."""
    size = len(data)
    c = data[i + 1] if i + 1 < size else U8(32)
    if is_letter(c):
        return open_tag(data, i + 1, table, blocks, elements, state)
    if c == U8(47) and i + 2 < size and is_letter(data[i + 2]):
        hash, j = hash_name(data, i + 2, TAG)
        close_tag(look_up(table, hash), blocks, elements, state)
        return read_attributes(data, j, table, state)[0]
    if c == U8(33) and i + 3 < size and data[i + 2] == U8(45) and data[i + 3] == U8(45):
        return find_comment_end(data, i + 2, state)
    if c == U8(33) or c == U8(63) or c == U8(47):  # a doctype, <?xml, </ something that is no name
        return min(size, find_byte(data, i, U8(62)) + 1)
    write_text(data, i, i + 1, text, blocks, elements, state)  # a bare "<"
    return i + 1


@borrowing
def open_tag(data, i, table, blocks, elements, state):
    """Handles a start tag whose name begins at i; returns the byte after it, or after content that is no text."""
    hash, name_end = hash_name(data, i, TAG)
    known = look_up(table, hash)
    after, hints, link = read_attributes(data, name_end, table, state)
    state[TAGS] += 1
    if known & U64(OPAQUE):
        return skip_content(data, after, data[i:name_end], known, table, state)
    if known & U64(ANCHOR) and link:
        state[LINK_DEPTH] = state[DEPTH]
    elif known & U64(BREAK):
        state[GAP] = LINE if state[GAP] < LINE else TWO_LINES
    elif known & U64(BLOCK):
        open_element(known, hints, blocks, elements, state)
    return after


@borrowing
def skip_content(data, i, name, known, table, state):
    """Where the end tag of an element without text begins; if it has none, where the next block-level tag begins.

    The standard would give up the rest of the page. A page that was cut off inside a script loses only the script.
    """
    slot = NO_END_TAG + (known & U64(NUMBER))
    if not state[slot]:
        end = find_end_tag(data, i, name)
        if end >= 0:
            return end
        state[slot] = 1
    size = len(data)
    while True:
        i = find_byte(data, i, U8(60))
        if i >= size:
            return size
        start = i + 2 if i + 1 < size and data[i + 1] == U8(47) else i + 1
        if start < size and is_letter(data[start]):
            hash, _ = hash_name(data, start, TAG)
            if look_up(table, hash) & U64(BLOCK):
                return i
        i += 1


@borrowing
def open_element(known, hints, blocks, elements, state):
    """Puts an element on the stack, after those that it ends without an end tag."""
    end_block(blocks, state)
    top = elements[state[DEPTH] - 1, STACK]
    if elements[top, KNOWN] & PARAGRAPH:
        close_elements(blocks, elements, state, state[DEPTH] - 1)
    group = known >> U64(GROUP_SHIFT)
    if group:
        depth = find_open(elements, state[DEPTH], GROUP_SHIFT, group, False)
        if depth > 0:
            close_elements(blocks, elements, state, depth)
    number = state[ELEMENTS]
    if known & U64(VOID) or number == len(elements):
        return
    elements[number, PARENT] = elements[state[DEPTH] - 1, STACK]
    elements[number, KNOWN] = known
    elements[number, HINTS] = U64(0) if known & U64(UNNAMED) else hints
    elements[number, FIRST] = state[BLOCKS]
    elements[state[DEPTH], STACK] = number
    state[ELEMENTS] += 1
    state[DEPTH] += 1


@borrowing
def find_open(elements, depth, shift, target, through):
    """Where the innermost open element is whose KNOWN >> shift is `target`; 0 if there is none, or a barrier first."""
    for at in range(depth - 1, max(0, depth - 1 - REACH), -1):
        known = U64(elements[elements[at, STACK], KNOWN])
        if known >> U64(shift) == target:
            return at
        if known & U64(BARRIER) and not through:
            return 0
    return 0


@borrowing
def close_tag(known, blocks, elements, state):
    """Handles an end tag; one that closes nothing may still end a block."""
    state[TAGS] += 1
    if known & U64(ANCHOR):
        state[LINK_DEPTH] = 0
    elif known & U64(BLOCK):
        end_block(blocks, state)
        depth = find_open(elements, state[DEPTH], 0, known, known & U64(BARRIER) != 0)
        if depth > 0:
            close_elements(blocks, elements, state, depth)


@borrowing
def close_elements(blocks, elements, state, depth):
    """Takes elements from the stack until so many are left; one without text is forgotten."""
    end_block(blocks, state)
    while state[DEPTH] > depth:
        state[DEPTH] -= 1
        number = elements[state[DEPTH], STACK]
        elements[number, LAST] = state[BLOCKS]
        if elements[number, FIRST] == state[BLOCKS] and number == state[ELEMENTS] - 1 and number > 0:
            state[ELEMENTS] -= 1
    if state[LINK_DEPTH] > state[DEPTH]:
        state[LINK_DEPTH] = 0


@borrowing
def end_block(blocks, state):
    """Ends the block that is being written, if there is one."""
    if state[OPEN]:
        blocks[state[BLOCKS] - 1, END] = state[WRITTEN]
        blocks[state[BLOCKS] - 1, TAGS_UNTIL] = state[TAGS]
        state[OPEN] = 0
    state[GAP] = NONE


@borrowing
def begin_block(text, blocks, elements, state):
    """Begins a block inside the innermost open element; continues the last one if the array is full."""
    end_block(blocks, state)
    if state[WRITTEN] > 0:
        text[state[WRITTEN]] = U8(10)
        state[WRITTEN] += 1
    state[OPEN] = 1
    number = state[BLOCKS]
    if number < len(blocks):
        blocks[number, START] = state[WRITTEN]
        blocks[number, AROUND] = elements[state[DEPTH] - 1, STACK]
        blocks[number, LINKED] = 0
        blocks[number, TAGS_BEFORE] = state[TAGS]
        state[BLOCKS] += 1


@borrowing
def hard_space(data, i, stop):
    """The length of a no-break space at i, written as a reference or a character, or 0."""
    if data[i] == U8(0xC2):
        return 2 if i + 1 < stop and data[i + 1] == U8(0xA0) else 0
    if data[i] != U8(38) or i + 5 >= stop or data[i + 5] != U8(59):  # & … ;
        return 0
    if data[i + 1] == U8(110) and data[i + 2] == U8(98) and data[i + 3] == U8(115) and data[i + 4] == U8(112):
        return 6
    if data[i + 1] == U8(35) and data[i + 2] == U8(49) and data[i + 3] == U8(54) and data[i + 4] == U8(48):
        return 6
    return 0


@inline
def store(out, at, word):
    """Writes eight bytes, little end first; written byte by byte, compiled to one store."""
    out[at], out[at + 1] = word & U64(255), word >> U64(8) & U64(255)
    out[at + 2], out[at + 3] = word >> U64(16) & U64(255), word >> U64(24) & U64(255)
    out[at + 4], out[at + 5] = word >> U64(32) & U64(255), word >> U64(40) & U64(255)
    out[at + 6], out[at + 7] = word >> U64(48) & U64(255), word >> U64(56)


@borrowing
def copy_word(data, i, stop, text, written):
    """Copies a run without white space, & and no-break spaces, whose first byte is copied whatever it is.

    Returns its end in data and in text. Of eight bytes that are copied together, the last ones may be written over.
    """
    if i + 8 <= stop:
        word = load(data, U64(i))
        tested = (word & ~U64(255)) | U64(97)
        while True:
            ends = (
                blank_bytes(tested)
                | zero_bytes(tested ^ U64(38) * ONES)
                | zero_bytes(tested ^ U64(0xC2) * ONES)
            )
            store(text, written, word)
            size = count_bytes(below(ends)) if ends else 8
            i += size
            written += size
            if ends:
                return i, written
            if i + 8 > stop:
                break
            word = tested = load(data, U64(i))
        if i == stop:
            return i, written
        c = data[i]
        if is_space(c) or c == U8(38) or c == U8(0xC2):
            return i, written
    while True:
        text[written] = data[i]
        written += 1
        i += 1
        if i >= stop or is_space(data[i]) or data[i] == U8(38) or data[i] == U8(0xC2):
            return i, written


@borrowing
def skip_space(data, i, stop):
    """The end of the white space at i."""
    while i + 8 <= stop:
        word = load(data, U64(i))
        solid = U64(U64(U64(word & ~HIGHS) + U64(0x5F) * ONES) | word) & HIGHS
        if solid:
            return i + count_bytes(below(solid))
        i += 8
    while i < stop and is_space(data[i]):
        i += 1
    return i


@borrowing
def write_text(data, i, stop, text, blocks, elements, state):
    """Copies text to the open block, white space collapsed; a block begins with the first byte that is not space."""
    while i < stop:
        c = data[i]
        length = 0 if is_space(c) else hard_space(data, i, stop)
        if length or is_space(c):
            state[GAP] = max(state[GAP], SPACE)
            i = i + length if length else skip_space(data, i, stop)
            continue
        if not state[OPEN] or state[GAP] == TWO_LINES:
            begin_block(text, blocks, elements, state)
        elif state[GAP] != NONE:
            text[state[WRITTEN]] = U8(10) if state[GAP] == LINE else U8(32)
            state[WRITTEN] += 1
        state[GAP] = NONE
        first = state[WRITTEN]
        i, state[WRITTEN] = copy_word(data, i, stop, text, first)
        if state[LINK_DEPTH]:
            blocks[state[BLOCKS] - 1, LINKED] += state[WRITTEN] - first
