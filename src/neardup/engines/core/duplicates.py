"""What each document of a cluster duplicates, if it goes: a document that is near enough.

Linkage may put a document into a cluster whose best document it shares little or nothing with. Such a document is not
removed for it: the best of these stays too, and the others go for it if they are near it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Numbers, Pairs
from neardup.engines.core.leaders import Measure, lead, packed
from neardup.plan import Plan
from neardup.sorted_sets import distinct, without

LEAST = 0.5  # of the threshold, that a removed document of a linked cluster reaches with what it duplicates


@dataclass(frozen=True)
class ClusterLayout:
    """Members in order of cluster and worth: where each member's cluster begins, its place in it, its size."""

    first: Numbers
    place: Numbers
    size: Numbers
    number: Numbers  # 0, 1, 2 … cluster by cluster

    @staticmethod
    def of(labels: Numbers) -> ClusterLayout:
        """The layout of members with these labels, cluster by cluster."""
        begins = np.flatnonzero(np.diff(labels, prepend=-1))
        sizes = np.diff(np.append(begins, len(labels)))
        first = np.repeat(begins, sizes)
        number = np.repeat(np.arange(len(begins)), sizes)
        return ClusterLayout(first, np.arange(len(labels)) - first, np.repeat(sizes, sizes), number)

    def named(self, members: Numbers, places: Numbers) -> Numbers:
        """For each member the one of its cluster that comes first in the order of ids."""
        return members[np.lexsort((places, self.number))[self.first]]


def find_heads(
    plan: Plan, order: Numbers, labels: Numbers, evidence: Pairs, measure: Measure
) -> tuple[Numbers | None, Pairs]:
    """For each text the one of its cluster that it may be removed for, itself if none; and what was measured.

    None: the best of the cluster, for all. `order` and `labels` are those of `lead`.
    """
    if plan.keep.policy == "none":
        heads, evidence = lead(plan, order, labels, evidence, measure)
        return heads, _with_pairs_of_lone(plan, order, labels, heads, evidence, measure)
    if plan.clustering.links:
        return lead(plan.with_(threshold=LEAST * plan.threshold), order, labels, evidence, measure)
    return None, evidence


def duplicates(
    plan: Plan,
    layout: ClusterLayout,
    members: Numbers,
    representative: Numbers,
    heads: Numbers | None,
    evidence: Pairs,
) -> Numbers:
    """What each member that goes duplicates; -1 for those that stay."""
    best, texts = members[layout.first], representative[members]
    if heads is None:
        return np.where(layout.place >= plan.keep.count, best, -1)
    document = np.full(len(representative), -1, np.int64)  # for each text the best document that has it
    document[texts[::-1]] = members[::-1]
    target = document[heads[texts]]
    if plan.keep.policy != "none":
        return np.where((layout.place >= plan.keep.count) & (target != members), target, -1)
    leads = np.flatnonzero(target == members)
    target[leads] = _second(members, target)[leads]
    alone = leads[target[leads] < 0]
    target[alone] = document[_partners(plan, representative, members, evidence)[texts[alone]]]
    return target


def without_indirect(
    duplicate_of: Numbers, direct: NDArray[np.bool_], members: Numbers, representative: Numbers
) -> tuple[Numbers, int]:
    """The same without members that have no evidence of their own, and how many stay for that.

    Of exact copies only the best one stays.
    """
    indirect = np.flatnonzero((duplicate_of >= 0) & ~direct)
    _, first, text = np.unique(representative[members[indirect]], return_index=True, return_inverse=True)
    found = duplicate_of.copy()
    found[indirect] = members[indirect[first[text]]]
    found[indirect[first]] = -1
    return found, len(first)


def _with_pairs_of_lone(
    plan: Plan, order: Numbers, labels: Numbers, heads: Numbers, evidence: Pairs, measure: Measure
) -> Pairs:
    """The evidence with all pairs of texts that no other one goes for: the one that they go for themselves does not
    depend on which pairs were compared before. In components that are too large to be linked, it does.
    """
    n = len(order)
    texts = np.flatnonzero(order >= 0)
    size = np.bincount(labels[texts], minlength=n)[labels]
    texts = texts[(size[texts] > 1) & (size[texts] <= plan.clustering.largest)]
    texts = texts[np.argsort(labels[texts], kind="stable")]
    alone = texts[np.bincount(heads[texts], minlength=n)[texts] == 1]
    alone = alone[heads[alone] == alone]
    if not len(alone) or plan.check.level == "none":
        return evidence
    first = np.searchsorted(labels[texts], labels[alone])
    each = size[alone]
    place = np.repeat(first - np.cumsum(each) + each, each) + np.arange(int(each.sum()))
    pairs = distinct(packed(np.repeat(alone, each), texts[place], n))
    pairs = pairs[pairs // n != pairs % n]
    new = without(pairs, np.sort(packed(evidence.left, evidence.right, n)))
    return Pairs.concatenate([evidence, measure(new // n, new % n)]) if len(new) else evidence


def _second(members: Numbers, target: Numbers) -> Numbers:
    """For each member the best one that goes for the same document as it does itself; -1 if none does."""
    follow = np.flatnonzero(target != members)
    found = np.full(int(members.max(initial=-1)) + 1, -1, np.int64)
    found[target[follow[::-1]]] = members[follow[::-1]]
    return found[members]


def _partners(plan: Plan, representative: Numbers, members: Numbers, evidence: Pairs) -> Numbers:
    """For each text the best other one that reaches the threshold with it, as far as pairs were measured."""
    worth = np.full(len(representative), len(members), np.int64)
    worth[representative[members[::-1]]] = np.arange(len(members))[::-1]
    passed = evidence.take(plan.check.passes(evidence, plan.threshold))
    left, right = np.concatenate([passed.left, passed.right]), np.concatenate([passed.right, passed.left])
    order = np.argsort(-worth[right], kind="stable")  # the best is written last
    found = np.full(len(representative), -1, np.int64)
    found[left[order]] = right[order]
    return found
