"""What the first scores say about the surroundings of each block: its container, its neighbours, the page's article.

A sub-heading, a cell or an entry of a list says little by itself; what is around it tells whether it belongs to the
article. An element's blocks are a range, so that running totals give the sums of every element.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels import jit
from neardup.kernels.blocks import CHARS, CONTAINER, FRESH
from neardup.kernels.markup import FIRST, LAST, PARENT

FEATURES = 7
MOST = 400.0  # characters that a block counts for at most: one long block is not the article
PRIOR = 40.0  # characters of no article that every container has besides its own
MAIN = 0.7  # the innermost element with this share of what is likely is the article's
FADE = 0.5  # a neighbour one block further away counts half
LEAST = 1e-9  # of a weight: a thousand empty blocks leave none
LIMIT = 30.0  # of a score, whatever its size


@jit
def likely(scores, attributes):
    """The probability of each block by its score, and the running totals of characters and of likely characters."""
    n = len(scores)
    chances, chars, totals = np.empty(n), np.zeros(n + 1), np.zeros(n + 1)
    for b in range(n):
        chances[b] = 1.0 / (1.0 + np.exp(-min(max(scores[b], -LIMIT), LIMIT)))
        size = min(attributes[b, CHARS], MOST) * attributes[b, FRESH]
        chars[b + 1] = chars[b] + size
        totals[b + 1] = totals[b] + size * chances[b]
    return chances, chars, totals


@jit
def find_main(elements, totals):
    """The innermost element with most of the likely characters."""
    main, least = 0, MAIN * (totals[len(totals) - 1] + 1.0)
    for e in range(1, len(elements)):
        if elements[e, PARENT] == main and totals[elements[e, LAST]] - totals[elements[e, FIRST]] >= least:
            main = e
    return main


@jit
def surround(scores, attributes, elements, features):
    """Fills a row for each block: its own chance; those of its container and the blocks before and after it;
    the part of the article around its container, and on both sides of it; whether it is inside the main element."""
    n = len(scores)
    chances, chars, totals = likely(scores, attributes)
    all_likely = totals[n] + 1.0
    main = find_main(elements, totals)
    near, weight = 0.0, 1.0
    for b in range(n):
        row, size = features[b], chars[b + 1] - chars[b]
        own = totals[b + 1] - totals[b]
        container = np.int64(attributes[b, CONTAINER])
        around = elements[container, PARENT]
        first, last = elements[container, FIRST], elements[container, LAST]
        row[0] = chances[b]
        row[1] = (totals[last] - totals[first] - own) / (chars[last] - chars[first] - size + PRIOR)
        part = totals[elements[around, LAST]] - totals[elements[around, FIRST]] - own
        row[2] = np.sqrt(max(0.0, part) / all_likely)
        row[3] = near / max(weight, LEAST)
        near, weight = near * FADE + chances[b] * np.sqrt(size), weight * FADE + np.sqrt(size)
        row[5] = np.sqrt(max(0.0, min(totals[b], totals[n] - totals[b + 1])) / all_likely)
        row[6] = elements[main, FIRST] <= b < elements[main, LAST]
    near, weight = 0.0, 1.0
    for b in range(n - 1, -1, -1):
        size = chars[b + 1] - chars[b]
        features[b, 4] = near / max(weight, LEAST)
        near, weight = near * FADE + chances[b] * np.sqrt(size), weight * FADE + np.sqrt(size)
