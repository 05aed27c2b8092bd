"""What can be said about each text block of a page: the numbers from which its place in the article is judged.

Text density and link density of a block and of its neighbours (Kohlschütter, Fankhauser and Nejdl, "Boilerplate
detection using shallow text features", WSDM 2010), the text of the container that it shares with other paragraphs
(the idea of Readability), and what tags and names around it suggest.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit
from neardup.kernels.markup import END, FIRST, HINTS, KNOWN, LAST, LINKED, NUMBER, OWNER, PARENT, START
from neardup.kernels.tags import HASH_START, add_byte

U8, U64 = np.uint8, np.uint64

# Columns of `facts`.
CHARS, LINK, ENDS, MARKS, CAPITALS, DIGITS, FRESH, REPEATED, CONTAINER, PLAIN = range(10)
LONG = 80  # characters: a block of so many is hardly a menu entry
SHORT = 40  # characters: shorter blocks count little for their container, and may be said twice

# What is known about a tag beyond its behaviour: the lowest bits say what a block directly inside it is …
KIND_BITS = 8  # 0 other, 1 p, 2 li, 3 h1, 4 other heading, 5 cell, 6 quote, 7 caption, 8 control
IN_PARENT = 6  # blocks of kinds 1 … 6 belong to the container around their element
# … and the bits from KIND_BITS on what any text inside it is in.

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
def measure(text, blocks, facts):
    """Fills the columns of `facts` that need the text: its length, links, sentences, and whether it was said before."""
    n = len(blocks)
    size = 1
    while size < 2 * n:
        size *= 2
    seen = np.zeros((size, 2), np.int64)  # hash of a text, number of its first block + 1
    for b in range(n):
        start, stop = blocks[b, START], blocks[b, END]
        chars = marks = capitals = digits = 0
        hash = U64(HASH_START)
        for i in range(start, stop):
            c = text[i]
            chars += (U8(c & U8(0xC0)) != U8(0x80)) + (c >= U8(0xE3))  # wide characters say twice as much
            marks += c == U8(46) or c == U8(44) or c == U8(33) or c == U8(63) or c == U8(59)
            capitals += U8(c - U8(65)) < U8(26)
            digits += U8(c - U8(48)) < U8(10)
            hash = add_byte(hash, c)
        facts[b, CHARS] = chars
        facts[b, LINK] = min(1.0, blocks[b, LINKED] / max(1, stop - start))
        facts[b, ENDS] = ends_sentence(text, start, stop)
        facts[b, MARKS] = min(5.0, 100.0 * marks / max(chars, 20))
        facts[b, CAPITALS] = min(0.5, capitals / max(chars, 1))
        facts[b, DIGITS] = min(0.5, digits / max(chars, 1))
        facts[b, FRESH], facts[b, REPEATED] = 1, 0
        if chars >= SHORT:
            first = remember(seen, hash, b)
            if first != b:
                facts[b, FRESH] = 0
                facts[b, REPEATED] = facts[first, REPEATED] = 1


@jit
def remember(seen, hash, number):
    """The first number that came with this hash."""
    mask, key = U64(len(seen) - 1), np.int64(hash >> U64(1))
    slot = (hash ^ hash >> U64(32)) & mask
    while seen[slot, 1] != 0:
        if seen[slot, 0] == key:
            return seen[slot, 1] - 1
        slot = (slot + U64(1)) & mask
    seen[slot, 0], seen[slot, 1] = key, number + 1
    return number


@jit
def inherit(elements, facts, tag_bits, masks, share):
    """What the text of each element is in: bits of its own tag and names, and of those around it.

    An element that holds more than `share` of the page's text keeps only the bits of masks[ALWAYS]: the class of a
    wrapper ("with-sidebar", "menu-open") says nothing about what is in it.
    """
    before = running_total(facts, CHARS)
    most = share * before[len(facts)]
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
def running_total(facts, column):
    """The sum of a column over the blocks before each, and over all."""
    total = np.zeros(len(facts) + 1, np.float64)
    for b in range(len(facts)):
        total[b + 1] = total[b] + facts[b, column]
    return total


@jit
def weigh_containers(blocks, elements, facts, inside, tag_bits, excluded):
    """For each element, what the blocks that share it as their container hold: plain text, linked text, all text.

    The container of a paragraph is the element around the paragraph's own. Also fills the last columns of `facts`:
    PLAIN is text outside links, of which short blocks, repeated and excluded ones hold less or none.
    """
    held = np.zeros((len(elements), 3), np.float64)
    for b in range(len(blocks)):
        owner = blocks[b, OWNER]
        kind = tag_bits[elements[owner, KNOWN] & NUMBER] & U64((1 << KIND_BITS) - 1)
        container = elements[owner, PARENT] if U64(1) <= kind <= U64(IN_PARENT) else owner
        chars, link = facts[b, CHARS], facts[b, LINK]
        plain = chars * (1.0 - link) * facts[b, FRESH]
        if chars < SHORT:
            plain *= 0.25
        if inside[owner] & excluded:
            plain = 0.0
        facts[b, CONTAINER], facts[b, PLAIN] = container, plain
        held[container, 0] += plain
        held[container, 1] += chars * link
        held[container, 2] += chars
    return held


@jit
def describe(blocks, elements, facts, inside, held, tag_bits, features):
    """Fills one row of features for each block: LOCAL, KINDS, one for each bit of `inside`, CONTEXT, NEIGHBOURS."""
    n, bits = len(blocks), features.shape[1] - LOCAL - KINDS - CONTEXT - NEIGHBOURS
    plain = running_total(facts, PLAIN)
    most = 1.0
    for e in range(len(held)):
        most = max(most, held[e, 0])
    features[:] = 0
    for b in range(n):
        row, owner, container = features[b], blocks[b, OWNER], np.int64(facts[b, CONTAINER])
        describe_block(facts[b], row)
        kind = np.int64(tag_bits[elements[owner, KNOWN] & NUMBER] & U64((1 << KIND_BITS) - 1))
        if kind:
            row[LOCAL + kind - 1] = 1
        for bit in range(bits):
            row[LOCAL + KINDS + bit] = inside[owner] >> U64(bit) & U64(1)
        at, around = LOCAL + KINDS + bits, elements[container, PARENT]
        row[at] = facts[b, REPEATED]
        row[at + 1] = np.log2(1.0 + held[container, 0])
        row[at + 2] = held[container, 0] / most
        row[at + 3] = held[container, 1] / max(held[container, 2], 1.0)
        row[at + 4] = np.sqrt(
            (plain[elements[around, LAST]] - plain[elements[around, FIRST]]) / max(1.0, plain[n])
        )
    at = features.shape[1] - NEIGHBOURS
    for b in range(n - 1):  # length, links and sentence ends of the block before and the block after
        for k, column in enumerate((0, 2, 4)):
            features[b + 1, at + k] = features[b, column]
            features[b, at + 3 + k] = features[b + 1, column]


@inline
def describe_block(fact, row):
    """The LOCAL features."""
    is_long = fact[CHARS] >= LONG
    row[0] = np.log2(1.0 + fact[CHARS])
    row[1] = is_long
    row[2] = fact[LINK]
    row[3] = fact[LINK] > 0.8
    row[4] = fact[ENDS]
    row[5] = fact[ENDS] * is_long
    row[6] = fact[MARKS]
    row[7] = fact[CAPITALS]
    row[8] = fact[DIGITS]


@jit
def weighted_sums(features, weights):
    """The score of each block: its features times the weights, in one fixed order, and the constant, which is last."""
    n, size = features.shape
    scores = np.full(n, weights[size])
    for b in range(n):
        for k in range(size):
            scores[b] += features[b, k] * weights[k]
    return scores
