"""Pairs of a least cosine, pruned by norms: shared features are met from the rarest to the most frequent.

By Cauchy and Schwarz, what two documents share from some feature on is at most the product of their norms from
there on. So features behind which too little is left start no pair and are not in the lists, two documents that meet
too late are no pair, and a pair is given up as soon as the rest cannot bring it to the least cosine. Survivors
are multiplied in full, in the order of the hashes, as everywhere else. (D. Anastasiu and G. Karypis, L2AP, 2014.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neardup.kernels import jit
from neardup.kernels.overlap import similar

MET, GIVEN_UP = 1, 2
SLACK = 1e-5  # of the bounds, more than rounding to 32 bits takes from them: no pair is lost


class UnitLists(NamedTuple):
    """Inverted lists of the features that may start a pair, of documents of norm 1."""

    offsets: np.ndarray  # of each document's entries, the rarest feature first
    own: np.ndarray  # their weights
    rest: np.ndarray  # the squared norm of the document from here on, this feature included
    starts: np.ndarray  # of each entry: where its partners begin in the lists
    ends: np.ndarray  # … and where they end
    documents: np.ndarray  # the lists, concatenated
    weights: np.ndarray  # of their entries
    rests: np.ndarray  # … and the squared norms of their documents from there on


@jit
def sum_behind(weights, offsets, rest):
    """Fills in, for each entry of a document, the sum of the squared weights from there on."""
    for d in range(len(offsets) - 1):
        total = 0.0
        for i in range(offsets[d + 1] - 1, offsets[d] - 1, -1):
            total += weights[i] * weights[i]
            rest[i] = np.float32(total)


@jit
def meet(lists, row, scratch, least):
    """The number of documents that a row meets early enough; those given up are marked in `used`."""
    totals, used, touched = scratch
    count = 0
    for i in range(lists.offsets[row], lists.offsets[row + 1]):
        w, rest = np.float64(lists.own[i]), np.float64(lists.rest[i])
        behind = rest - w * w
        for p in range(lists.starts[i], lists.ends[i]):
            b, other = lists.documents[p], np.float64(lists.rests[p])
            if used[b] == 0:
                if rest * other < least * least - SLACK:
                    continue
                used[b] = MET
                totals[b] = 0.0
                touched[count] = b
                count += 1
            elif used[b] == GIVEN_UP:
                continue
            v = np.float64(lists.weights[p])
            totals[b] += w * v
            lack = least - totals[b]
            if lack > 0 and behind * (other - v * v) < lack * lack - SLACK:
                used[b] = GIVEN_UP
    return count


@jit
def close_pairs(lists, features, rows, scratch, rule, found):
    """Pairs of rows[0] … rows[1] that reach rule.least: (rows that are done, pairs written, pairs multiplied).

    Stops before a row for which `found` might not have room.
    """
    hashes, weights, offsets = features
    totals, used, touched = scratch
    size, multiplied = 0, 0
    for row in range(rows[0], rows[1]):
        if size + len(totals) > len(found.left):
            return row, size, multiplied
        count = meet(lists, row, scratch, rule.least)
        touched[:count].sort()
        for k in range(count):
            b = touched[k]
            kept = used[b] == MET
            used[b] = 0
            if not kept:
                continue
            multiplied += 1
            shared = 0.0
            i, i_end = np.uint64(offsets[row]), np.uint64(offsets[row + 1])
            j, j_end = np.uint64(offsets[b]), np.uint64(offsets[b + 1])
            while (i < i_end) & (j < j_end):
                x, y = hashes[i], hashes[j]
                if x == y:
                    shared += np.float64(weights[i]) * np.float64(weights[j])
                i += np.uint64(x <= y)
                j += np.uint64(y <= x)
            if similar(shared, rule.sizes[row], rule.sizes[b], rule) >= rule.least:
                found.left[size] = row
                found.right[size] = b
                found.shared[size] = shared
                size += 1
    return rows[1], size, multiplied
