"""Spot signatures: a hash of an antecedent and of the content words that follow it at a distance.

Two steps: `mark_words` looks every token up in a small table of antecedents and stop words; `chain_words` walks from
each antecedent. The position of the next content word is computed beforehand, so that a walk takes one step for each
word of its chain, however many stop words lie between.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit
from neardup.kernels.sets import longest_run
from neardup.kernels.shingles import finish

U32, U64 = np.uint32, np.uint64
STOP = 1  # the mark of a stop word; bit r + 1 marks an antecedent to which rule r applies
SLOT_SHIFT = 40  # a word's slot comes from the upper bits of its hash


@jit
def fill_table(words, marks, keys, slots):
    """Enters words with their marks into an open table of a power of two of slots; an empty slot has mark 0."""
    last = U64(len(keys) - 1)
    for w in range(len(words)):
        s = (words[w] >> U64(SLOT_SHIFT)) & last
        while slots[s] != 0 and keys[s] != words[w]:
            s = (s + U64(1)) & last
        keys[s] = words[w]
        slots[s] |= marks[w]


@jit
def mark_words(tokens, keys, slots, marks):
    """The number of antecedents; marks[i] gets the mark of token i in the table."""
    last = U64(len(keys) - 1)
    found = 0
    for i in range(len(tokens)):
        t = tokens[i]
        s = (t >> U64(SLOT_SHIFT)) & last
        while (slots[s] != 0) & (keys[s] != t):
            s = (s + U64(1)) & last
        mark = slots[s]
        marks[i] = mark
        found += mark > U32(STOP)
    return found


@inline
def find_content(marks, following):
    """Fills following[i] with the position of the first word from i on that is no stop word, or the document's end."""
    size = len(marks)
    after = size
    following[size] = size
    for k in range(size):
        i = size - 1 - k
        after = after if marks[i] & U32(STOP) else i
        following[i] = after


@jit
def chain_words(tokens, offsets, marks, rules, factors, hashes):
    """Offsets of the signatures, whose hashes are written in reading order; rules = (distances, chain lengths).

    marks[i] belongs to token offsets[0] + i. A chain is cut off at the end of the document; a chain
    without words is no signature.
    """
    distances, lengths = rules
    n = len(offsets) - 1
    following = np.empty(longest_run(offsets) + 1, np.int64)
    ends = np.zeros(n + 1, np.int64)
    total = 0
    for d in range(n):
        begin, size = offsets[d], offsets[d + 1] - offsets[d]
        own = marks[begin - offsets[0] : begin - offsets[0] + size]
        words = tokens[begin : begin + size]
        find_content(own, following)
        for i in range(size):
            mark = own[i] >> U32(STOP)
            r = 0
            while mark != 0:
                if mark & U32(1):
                    h = U64(words[i] * factors[0])
                    found, place = 0, following[min(i + distances[r], size)]
                    while found < lengths[r] and place < size:
                        found += 1
                        h = U64(h + U64(words[place] * factors[found]))
                        place = following[min(place + distances[r], size)]
                    hashes[total] = finish(h)
                    total += found > 0
                mark >>= U32(1)
                r += 1
        ends[d + 1] = total
    return ends
