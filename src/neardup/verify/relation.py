"""How two documents relate: copies, near-duplicates, one inside the other, a shared passage, or different.

The relation follows from the counts of a verified pair. docs/relations.md has the measurements behind the shares.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Pairs
from neardup.plan import Check

RelationNumbers = NDArray[np.int8]
RELATIONS = ("copy", "near-duplicate", "contains", "contained", "shared passage", "different")
COPY, NEAR_DUPLICATE, CONTAINS, CONTAINED, SHARED_PASSAGE, DIFFERENT = range(len(RELATIONS))
UNKNOWN = -1  # nothing was measured, or only that the threshold is not reached
INSIDE = 0.9  # the least share of the smaller document in the larger one that contains it
WHOLE = 0.8  # … of which the smaller one must leave out more than a fifth: else they are near-duplicates
PASSAGE = 0.1  # the least share of the smaller document that is more than a chance phrase
SHARES = ("jaccard", "multi-set jaccard", "weighted jaccard", "containment")  # counts that can be divided
_SWAPPED = np.array([COPY, NEAR_DUPLICATE, CONTAINED, CONTAINS, SHARED_PASSAGE, DIFFERENT, UNKNOWN], np.int8)


def relations(pairs: Pairs, check: Check, threshold: float) -> RelationNumbers:
    """The relation of each left document to its right one, as a place in RELATIONS or UNKNOWN; none are copies.

    Estimates, vectors and fingerprints show near-duplicates only; without a check nothing is known.
    """
    if check.level == "none":
        return np.full(len(pairs), UNKNOWN, np.int8)
    passed = check.passes(pairs, threshold)
    if check.measures not in SHARES:
        return np.where(passed, NEAR_DUPLICATE, UNKNOWN).astype(np.int8)
    part = threshold if check.measures == "containment" else INSIDE
    larger = np.maximum(pairs.left_size, pairs.right_size)
    share = np.divide(pairs.shared, larger, out=np.zeros(len(pairs)), where=larger > 0)
    contained = pairs.containment
    inside = (contained >= part) & (share < min(WHOLE, part))
    found = np.where(contained >= PASSAGE, SHARED_PASSAGE, DIFFERENT)
    found[passed] = NEAR_DUPLICATE
    side = np.where(pairs.left_size > pairs.right_size, CONTAINS, CONTAINED)
    return np.where(inside, side, found).astype(np.int8)


def swapped(numbers: RelationNumbers) -> RelationNumbers:
    """The relations of the right documents to the left ones."""
    found: RelationNumbers = _SWAPPED[numbers]
    return found
