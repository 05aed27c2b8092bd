"""Attributes and features of each text block of a page, from which the article model scores it.

Text density and link density of a block and of its neighbours (Kohlschütter, Fankhauser and Nejdl, "Boilerplate
detection using shallow text features", WSDM 2010), the text of the container that it shares with other paragraphs
(the idea of Readability), and the hints of tags and names around it.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit
from neardup.kernels.markup import AROUND, END, FIRST, HINTS, KNOWN, LAST, LINKED, NUMBER, PARENT, START
from neardup.kernels.tags import HASH_START, add_byte

U8, U64 = np.uint8, np.uint64

# Columns of `attributes`.
CHARS, LINK, ENDS, MARKS, CAPITALS, DIGITS, FRESH, REPEATED, CONTAINER, PLAIN = range(10)
LONG = 80  # characters: a block of this length is hardly a menu entry
SHORT = 40  # characters: shorter blocks count little for their container, and may be repeated

# Properties of a tag beyond its behaviour: the lowest bits are the type of a block directly inside it …
KIND_BITS = 8  # 0 other, 1 p, 2 li, 3 h1, 4 other heading, 5 cell, 6 quote, 7 caption, 8 control
IN_PARENT = 6  # blocks of kinds 1 … 6 belong to the container around their element
# … and the bits from KIND_BITS on are the contexts of all text inside it.

ALWAYS, BOTH, BOTH_BIT, EXCLUDED = range(4)  # entries of `masks`; the BOTH bits together set the BOTH_BIT

LOCAL = 9  # features: of the block itself,
KINDS = 8  # one for each kind,
CONTEXT = 5  # of its container,
NEIGHBOURS = 6  # of the blocks before and after it


@inline
def closes_sentence(c):
    """Whether an ASCII byte ends a sentence."""
    return c == U8(46) or c == U8(33) or c == U8(63) or c == U8(58)  # . ! ? :


@inline
def ends_wide(first, second, third):
    """Whether three bytes are a character that ends a sentence: … 。 」 ！ ？"""
    if first == U8(0xE2):
        return second == U8(0x80) and third == U8(0xA6)
    if first == U8(0xE3):
        return second == U8(0x80) and (third == U8(0x82) or third == U8(0x8D))
    return first == U8(0xEF) and second == U8(0xBC) and (third == U8(0x81) or third == U8(0x9F))


@jit
def ends_sentence(text, start, stop):
    """Whether a block ends with the end of a sentence, quotes and brackets after it set aside."""
    while stop > start:
        c = text[stop - 1]
        wide = stop - start >= 3 and c >= U8(0x80)
        first, second = (text[stop - 3], text[stop - 2]) if wide else (U8(0), U8(0))
        if c == U8(34) or c == U8(39) or c == U8(41) or c == U8(93):  # " ' ) ]
            stop -= 1
        elif first == U8(0xE2) and second == U8(0x80) and (c == U8(0x9D) or c == U8(0x99)):  # ” ’
            stop -= 3
        elif wide:
            return ends_wide(first, second, c)
        else:
            return closes_sentence(c)
    return False


@jit
def measure(text, blocks, attributes):
    """Fills the columns of `attributes` that need the text: length, links, sentences, and whether it is repeated."""
    n = len(blocks)
    size = 1
    while size < 2 * n:
        size *= 2
    firsts = np.zeros((size, 2), np.int64)  # hash of a text, number of its first block + 1
    for b in range(n):
        start, stop = blocks[b, START], blocks[b, END]
        chars = marks = capitals = digits = 0
        hash = U64(HASH_START)
        for i in range(start, stop):
            c = text[i]
            chars += U8(c & U8(0xC0)) != U8(0x80)
            chars += c >= U8(0xE3)  # a wide character counts twice
            marks += c == U8(46) or c == U8(44) or c == U8(33) or c == U8(63) or c == U8(59)
            capitals += U8(c - U8(65)) < U8(26)
            digits += U8(c - U8(48)) < U8(10)
            hash = add_byte(hash, c)
        attributes[b, CHARS] = chars
        attributes[b, LINK] = min(1.0, blocks[b, LINKED] / max(1, stop - start))
        attributes[b, ENDS] = ends_sentence(text, start, stop)
        attributes[b, MARKS] = min(5.0, 100.0 * marks / max(chars, 20))
        attributes[b, CAPITALS] = min(0.5, capitals / max(chars, 1))
        attributes[b, DIGITS] = min(0.5, digits / max(chars, 1))
        attributes[b, FRESH], attributes[b, REPEATED] = 1, 0
        if chars >= SHORT:
            first = first_with(firsts, hash, b)
            if first != b:
                attributes[b, FRESH] = 0
                attributes[b, REPEATED] = attributes[first, REPEATED] = 1


@jit
def first_with(firsts, hash, number):
    """The first number added with this hash."""
    mask, key = U64(len(firsts) - 1), np.int64(hash >> U64(1))
    slot = (hash ^ hash >> U64(32)) & mask
    while firsts[slot, 1] != 0:
        if firsts[slot, 0] == key:
            return firsts[slot, 1] - 1
        slot = (slot + U64(1)) & mask
    firsts[slot, 0], firsts[slot, 1] = key, number + 1
    return number


@jit
def inherit(elements, attributes, tag_bits, masks, share):
    """The context bits of each element: those of its own tag and names, and of the elements around it.

    An element that holds more than `share` of the page's text keeps only the bits of masks[ALWAYS]: the class of a
    wrapper ("with-sidebar", "menu-open") says nothing about its text.
    """
    before = running_total(attributes, CHARS)
    most = share * before[len(attributes)]
    inside = np.zeros(len(elements), np.uint64)
    for e in range(1, len(elements)):
        own = U64(elements[e, HINTS]) | (tag_bits[elements[e, KNOWN] & NUMBER] >> U64(KIND_BITS))
        if own & masks[BOTH] == masks[BOTH]:
            own |= masks[BOTH_BIT]
        if before[elements[e, LAST]] - before[elements[e, FIRST]] > most:
            own &= masks[ALWAYS]
        inside[e] = inside[elements[e, PARENT]] | own
    return inside


@jit
def running_total(attributes, column):
    """The sum of a column over the blocks before each, and over all."""
    total = np.zeros(len(attributes) + 1, np.float64)
    for b in range(len(attributes)):
        total[b + 1] = total[b] + attributes[b, column]
    return total


@jit
def weigh_containers(blocks, elements, attributes, inside, tag_bits, excluded):
    """For each element the text of the blocks that have it as container: plain text, linked text, all text.

    The container of a paragraph is the element around the paragraph's own. Also fills the last columns of `attributes`:
    PLAIN is text outside links; short blocks count for less, repeated and excluded ones not at all.
    """
    container_text = np.zeros((len(elements), 3), np.float64)
    for b in range(len(blocks)):
        element = blocks[b, AROUND]
        kind = tag_bits[elements[element, KNOWN] & NUMBER] & U64((1 << KIND_BITS) - 1)
        container = elements[element, PARENT] if U64(1) <= kind <= U64(IN_PARENT) else element
        chars, link = attributes[b, CHARS], attributes[b, LINK]
        plain = chars * (1.0 - link) * attributes[b, FRESH]
        if chars < SHORT:
            plain *= 0.25
        if inside[element] & excluded:
            plain = 0.0
        attributes[b, CONTAINER], attributes[b, PLAIN] = container, plain
        container_text[container, 0] += plain
        container_text[container, 1] += chars * link
        container_text[container, 2] += chars
    return container_text


@jit
def describe(blocks, elements, attributes, inside, container_text, tag_bits, features):
    """Fills one row of features for each block: LOCAL, KINDS, one for each bit of `inside`, CONTEXT, NEIGHBOURS."""
    n, bits = len(blocks), features.shape[1] - LOCAL - KINDS - CONTEXT - NEIGHBOURS
    plain = running_total(attributes, PLAIN)
    most = 1.0
    for e in range(len(container_text)):
        most = max(most, container_text[e, 0])
    features[:] = 0
    for b in range(n):
        row, element, container = features[b], blocks[b, AROUND], np.int64(attributes[b, CONTAINER])
        describe_block(attributes[b], row)
        kind = np.int64(tag_bits[elements[element, KNOWN] & NUMBER] & U64((1 << KIND_BITS) - 1))
        if kind:
            row[LOCAL + kind - 1] = 1
        for bit in range(bits):
            row[LOCAL + KINDS + bit] = inside[element] >> U64(bit) & U64(1)
        at, around = LOCAL + KINDS + bits, elements[container, PARENT]
        row[at] = attributes[b, REPEATED]
        row[at + 1] = np.log2(1.0 + container_text[container, 0])
        row[at + 2] = container_text[container, 0] / most
        row[at + 3] = container_text[container, 1] / max(container_text[container, 2], 1.0)
        row[at + 4] = np.sqrt(
            (plain[elements[around, LAST]] - plain[elements[around, FIRST]]) / max(1.0, plain[n])
        )
    at = features.shape[1] - NEIGHBOURS
    for b in range(n - 1):  # length, links and sentence ends of the block before and the block after
        for k, column in enumerate((0, 2, 4)):
            features[b + 1, at + k] = features[b, column]
            features[b, at + 3 + k] = features[b + 1, column]


@inline
def describe_block(attribute, row):
    """The LOCAL features."""
    is_long = attribute[CHARS] >= LONG
    row[0] = np.log2(1.0 + attribute[CHARS])
    row[1] = is_long
    row[2] = attribute[LINK]
    row[3] = attribute[LINK] > 0.8
    row[4] = attribute[ENDS]
    row[5] = attribute[ENDS] * is_long
    row[6] = attribute[MARKS]
    row[7] = attribute[CAPITALS]
    row[8] = attribute[DIGITS]


@jit
def weighted_sums(features, weights):
    """The score of each block: the constant, which is last, and features times weights, added in a fixed order.

    Four blocks at a time: each sum waits for the one before, so that one alone leaves the processor idle.
    """
    n, size = features.shape
    scores = np.full(n, weights[size])
    whole = n - n % 4
    for b in range(0, whole, 4):
        s, t, u, v = weights[size], weights[size], weights[size], weights[size]
        for k in range(size):
            weight = weights[k]
            s += features[b, k] * weight
            t += features[b + 1, k] * weight
            u += features[b + 2, k] * weight
            v += features[b + 3, k] * weight
        scores[b], scores[b + 1], scores[b + 2], scores[b + 3] = s, t, u, v
    for b in range(whole, n):
        for k in range(size):
            scores[b] += features[b, k] * weights[k]
    return scores


@jit
def best_segment(values):
    """The beginning and end of the run with the largest sum; of equal ones the first and shortest.

    (0, 0) if no sum is above 0.
    """
    best, best_start, best_stop = 0.0, 0, 0
    total, start = 0.0, 0
    for i in range(len(values)):
        if total <= 0.0:
            total, start = 0.0, i
        total += values[i]
        if total > best:
            best, best_start, best_stop = total, start, i + 1
    return best_start, best_stop
