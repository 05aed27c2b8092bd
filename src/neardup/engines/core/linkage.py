"""Average and complete linkage inside each component of verified pairs.

All pairs of a component are measured, so that a merge depends on every pair of the two clusters and not on which pairs
candidates found. A component of too many distinct texts for that is clustered by leaders instead: linear work, and
direct evidence for every document. Exact copies count as one text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from neardup.candidates.buckets import numbered_rows, unranked_pairs
from neardup.clusters.linkage import linkage
from neardup.columns import Hashes, Numbers, Pairs
from neardup.engines.core.leaders import Measure, lead, packed
from neardup.plan import Plan

Floats = NDArray[np.float64]
LINK_PAIRS = 1 << 21  # whose similarities are in memory together, and those of one component more


@dataclass(frozen=True)
class Linked:
    """Clusters of distinct texts, and what was measured for them."""

    cluster: Numbers  # for each document a text that names its cluster; itself where it is in none
    height: Floats  # for each document the similarity of the cluster's last merge: 1 alone, NaN with leaders
    evidence: Pairs  # with all pairs of small components, and those that leaders measured
    large: int  # components that were clustered by leaders


def link(
    plan: Plan, order: Numbers, labels: Numbers, id_hashes: Hashes, evidence: Pairs, measure: Measure
) -> Linked:
    """The clusters inside each component; `order` and `labels` as for leaders, ties broken by id hash."""
    n = len(order)
    cluster, height = np.arange(n), np.ones(n)
    texts = np.flatnonzero(order >= 0)
    size = np.bincount(labels[texts], minlength=n)[labels[texts]]
    large = texts[size > plan.clustering.largest]
    texts = texts[(size > 1) & (size <= plan.clustering.largest)]
    texts = texts[np.lexsort((id_hashes[texts], labels[texts]))]
    found, known = [evidence], _MeasuredPairs(evidence, n)
    for some, sizes in _blocks(texts, labels):
        similarity, more = _similarities(plan, some, sizes, known, measure)
        names, height[some] = linkage(sizes, similarity, plan.threshold, plan.clustering.kind == "complete")
        cluster[some] = some[names]
        found.append(more)
    evidence = Pairs.concatenate(found)
    if len(large):
        only = np.full(n, -1, np.int64)
        only[large] = order[large]
        leader, evidence = lead(plan, only, labels, evidence, measure)
        cluster[large] = leader[large]
        height[large[np.bincount(leader[large], minlength=n)[leader[large]] > 1]] = np.nan
    return Linked(cluster, height, evidence, len(np.unique(labels[large])))


def _blocks(texts: Numbers, labels: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
    """The texts of some components, and the size of each: about LINK_PAIRS pairs at a time."""
    begins = np.append(np.flatnonzero(np.diff(labels[texts], prepend=-1)), len(texts))
    sizes = np.diff(begins)
    pairs = sizes * (sizes - 1) // 2
    number = (np.cumsum(pairs) - pairs) // LINK_PAIRS
    for start, stop in pairwise(np.append(np.flatnonzero(np.diff(number, prepend=-1)), len(sizes)).tolist()):
        yield texts[begins[start] : begins[stop]], sizes[start:stop]


def _similarities(
    plan: Plan, texts: Numbers, sizes: Numbers, known: _MeasuredPairs, measure: Measure
) -> tuple[Floats, Pairs]:
    """The similarities of all pairs of texts of one component, and the measured pairs that the record shows.

    The record shows all pairs of components whose pairs `components` measures too, so that it stays linear.
    """
    group, left, right = _inner_pairs(texts, sizes)
    asked = packed(left, right, known.n)
    similarity, found = known.look_up(asked)
    new = np.flatnonzero(~found)
    new = new[np.argsort(asked[new])]
    more = measure(asked[new] // known.n, asked[new] % known.n)
    order = np.argsort(packed(more.left, more.right, known.n))
    similarity[new] = more.similarity[order]
    return similarity, more.take(order[sizes[group[new]] <= plan.clustering.complete])


def _inner_pairs(texts: Numbers, sizes: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """The group of every pair of texts of one group, and the two texts, in the order that linkage takes."""
    each = sizes * (sizes - 1) // 2
    group, k = next(numbered_rows(each, int(each.sum())))
    i, j = unranked_pairs(k)
    first = (np.cumsum(sizes) - sizes)[group]
    return group, texts[first + i], texts[first + j]


class _MeasuredPairs:
    """The similarities of measured pairs, by packed pair."""

    def __init__(self, pairs: Pairs, n: int) -> None:
        self.n = n
        known = packed(pairs.left, pairs.right, n)
        order = np.argsort(known)
        self.packed, self.similarity = known[order], pairs.similarity[order]

    def look_up(self, asked: Numbers) -> tuple[Floats, NDArray[np.bool_]]:
        """The similarity of each pair, and whether it is known."""
        if not len(self.packed):
            return np.zeros(len(asked)), np.zeros(len(asked), np.bool_)
        place = np.minimum(np.searchsorted(self.packed, asked), len(self.packed) - 1)
        return self.similarity[place], self.packed[place] == asked
