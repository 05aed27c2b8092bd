"""The article of each page of a batch: blocks, their features and scores, and the text of the chosen blocks.

No Python runs between one page and the next. The working memory of the scan is made once for a batch; only what the
pages need of it is touched.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels import borrowing, inline, jit
from neardup.kernels.blocks import (
    CHARS,
    EXCLUDED,
    FRESH,
    LINK,
    SHORT,
    describe,
    inherit,
    measure,
    weigh_containers,
    weighted_sums,
)
from neardup.kernels.markup import END, MOST_BLOCKS, MOST_ELEMENTS, START, scan
from neardup.kernels.references import decode_references
from neardup.kernels.surroundings import FEATURES, surround
from neardup.kernels.tags import NO_END_TAG, WRITTEN

U8 = np.uint8

PASSES = 2  # of the second model, each by the scores of the one before
WRAPPER = 0.5  # an element with a larger share of the page's text is a wrapper, whatever its name
ENOUGH = 200  # characters: if less is found, the best blocks are taken although they score low …
MARGIN = 1.0  # … down to this much below the best one
UNLINKED = 0.3  # a smaller share outside links is a list of links; the spaces of links count as outside
PART = 0.1  # less than ENOUGH, and less than this share of the page, is no article


@jit
def score(features, attributes, elements, first, second):
    """The score of each block: the first model's, corrected PASSES times by what they say of its surroundings.

    No surroundings lift a block that is nearly all links: menus stand right beside articles.
    """
    known = weighted_sums(features, first)
    own = weighted_sums(features, second[FEATURES:])
    weights = np.append(second[:FEATURES], 0.0)
    around = np.empty((len(features), FEATURES), np.float64)
    scores = known
    for _ in range(PASSES):
        surround(scores, attributes, elements, around)
        scores = own + weighted_sums(around, weights)
    for b in range(len(scores)):
        if attributes[b, LINK] > 1 - UNLINKED:
            scores[b] = min(scores[b], known[b])
    return scores


@jit
def choose(scores, attributes):
    """Whether each block is in the article: those with a score above 0, each text once.

    If they are next to nothing, the model does not fit the page: its best blocks are taken. A list of links is none.
    """
    n = len(scores)
    chosen = np.zeros(n, np.bool_)
    plain = total = 0.0
    best = -np.inf
    for b in range(n):
        if attributes[b, FRESH] > 0:
            plain += attributes[b, CHARS] * (1 - attributes[b, LINK])
            chosen[b] = scores[b] > 0
            total += attributes[b, CHARS] * chosen[b]
            if attributes[b, CHARS] >= SHORT:
                best = max(best, scores[b])
    if best > -np.inf and total < min(ENOUGH, 0.1 * plain):
        for b in range(n):
            chosen[b] |= attributes[b, FRESH] > 0 and scores[b] > best - MARGIN
    total = unlinked = 0.0
    for b in range(n):
        if chosen[b]:
            total += attributes[b, CHARS]
            unlinked += attributes[b, CHARS] * (1 - attributes[b, LINK])
    if unlinked < UNLINKED * total:
        chosen[:] = False
    return chosen


@jit
def judge(text, blocks, elements, model):
    """Whether each block of a page is in its article."""
    tag_bits, masks, first, second = model
    attributes = np.empty((len(blocks), 10), np.float64)
    features = np.empty((len(blocks), len(first) - 1), np.float64)
    measure(text, blocks, attributes)
    inside = inherit(elements, attributes, tag_bits, masks, WRAPPER)
    containers = weigh_containers(blocks, elements, attributes, inside, tag_bits, masks[EXCLUDED])
    describe(blocks, elements, attributes, inside, containers, tag_bits, features)
    return choose(score(features, attributes, elements, first, second), attributes)


@inline
def is_blank(code):
    """Whether a code point is white space for `str.strip`."""
    if code < 0x1680:
        return code == 32 or 9 <= code <= 13 or 28 <= code <= 31 or code == 0x85 or code == 0xA0
    wide = code == 0x2028 or code == 0x2029 or code == 0x202F or code == 0x205F or code == 0x3000
    return code == 0x1680 or 0x2000 <= code <= 0x200A or wide


@inline
def is_inside(c):
    """Whether a byte is not the first of its character."""
    return U8(c & U8(0xC0)) == U8(0x80)


@borrowing
def strip(out, start, stop):
    """Where the text between begins and ends without white space around it."""
    while start < stop:
        end = start + 1
        while end < stop and is_inside(out[end]):
            end += 1
        if not is_blank(code_at(out, start, end)):
            break
        start = end
    while start < stop:
        last = stop - 1
        while last > start and is_inside(out[last]):
            last -= 1
        if not is_blank(code_at(out, last, stop)):
            break
        stop = last
    return start, stop


@inline
def code_at(out, start, stop):
    """The code point of the character between; of four bytes any that is no white space."""
    c = np.int64(out[start])
    if stop == start + 1:
        return c
    if stop == start + 2:
        return (c & 31) << 6 | np.int64(out[start + 1]) & 63
    if stop == start + 3:
        return (c & 15) << 12 | (np.int64(out[start + 1]) & 63) << 6 | np.int64(out[start + 2]) & 63
    return np.int64(0x10000)


@borrowing
def place(out, start, stop, to):
    """Moves a text, stripped, to the left; returns its end and its number of characters."""
    start, stop = strip(out, start, stop)
    chars = 0
    for k in range(stop - start):
        c = out[start + k]
        out[to + k] = c
        chars += not is_inside(c)
    return to + stop - start, chars


@jit
def extract(data, offsets, table, model, references, out, ends, found):
    """Writes the text of each page to out: its article, or all its text where it has none (`found` says which).

    `ends` is where each text ends.
    """
    largest = np.diff(offsets).max()
    tags = largest // 3 + 3  # of three bytes, but for the last one; the page itself is an element, too
    blocks = np.empty((min(tags, MOST_BLOCKS), 6), np.int64)
    elements = np.empty((min(tags, MOST_ELEMENTS), 6), np.int64)
    state = np.zeros(NO_END_TAG + 256, np.int64)
    text = np.empty(largest + 1, np.uint8)
    begin = 0
    for p in range(len(ends)):
        page = data[offsets[p] : offsets[p + 1]]
        many, around = scan(page, table, text, blocks, elements, state)
        at = begin
        if many < MOST_BLOCKS:
            chosen = judge(text, blocks[:many], elements[:around], model)
            for b in range(many):
                if chosen[b]:
                    at = decode_references(text[blocks[b, START] : blocks[b, END]], references, out, at)
                    out[at] = U8(10)
                    at += 1
        end, chars = place(out, begin, at, begin)
        found[p] = True
        if chars < ENOUGH:
            at = decode_references(text[: state[WRITTEN]], references, out, end)
            stop, every = place(out, end, at, end)
            if chars < PART * every:
                found[p] = False
                end, _ = place(out, end, stop, begin)
        ends[p] = begin = end
