"""The evidence of each removed document: its similarity and relation to the document that it duplicates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Numbers, Pairs
from neardup.engines.core.leaders import packed
from neardup.plan import Plan
from neardup.sorted_sets import order_of
from neardup.verify.relation import COPY, UNKNOWN, RelationNumbers, relations, swapped

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RemovalEvidence:
    """What is known of each member and its other."""

    similarity: Floats  # 1 for copies, NaN where a member has no other
    containment: Floats
    relation: RelationNumbers
    direct: NDArray[np.bool_]  # whether they are copies or reach the threshold


def look_up(
    plan: Plan, measured: Pairs, representative: Numbers, members: Numbers, others: Numbers
) -> RemovalEvidence:
    """The measured similarity of each member with its other, and how it relates to it."""
    n = len(representative)
    similarity, containment = np.full(len(members), np.nan), np.full(len(members), np.nan)
    has = others >= 0
    copy = has & (representative[members] == representative[others])
    similarity[copy] = containment[copy] = 1.0
    relation = np.where(copy, COPY, UNKNOWN).astype(np.int8)
    direct = copy.copy()
    rest = np.flatnonzero(has & ~copy)
    if len(rest) and len(measured):
        known = packed(measured.left, measured.right, n)
        order = order_of(known)
        own = representative[members[rest]]
        asked = packed(own, representative[others[rest]], n)
        known = known[order]
        at = np.minimum(np.searchsorted(known, asked), len(known) - 1)
        found = known[at] == asked  # all of them, unless nothing was measured
        rest, own, pairs = rest[found], own[found], measured.take(order[at[found]])
        similarity[rest], containment[rest] = pairs.similarity, pairs.containment
        numbers = relations(pairs, plan.check, plan.threshold)
        relation[rest] = np.where(own == pairs.left, numbers, swapped(numbers))
        direct[rest] = plan.check.passes(pairs, plan.threshold)
    return RemovalEvidence(similarity, containment, relation, direct)
