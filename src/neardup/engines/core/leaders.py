"""Leaders: inside each component of verified pairs, the documents that stay, and which of them each other one repeats.

In the order of the keep policy the best document of a component leads, and every other one that reaches the threshold
with it follows it; the best of those that are left leads next. A pair that nobody has compared is measured, so that
no document follows another without evidence of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from neardup.clusters.graph import leaders
from neardup.columns import Numbers, Pairs
from neardup.engines.core.large_components import LargeComponents, search_of
from neardup.plan import Plan
from neardup.sorted_sets import order_of, run_starts

Measure = Callable[[Numbers, Numbers], Pairs]
LEADERS = 64  # of a component that are compared with all it has left; then only measured pairs count
LARGE = 4096  # texts of a component that are compared with all leaders together


def packed(left: Numbers, right: Numbers, n: int) -> Numbers:
    """One integer for each unordered pair."""
    return np.minimum(left, right) * n + np.maximum(left, right)


def tiles_of(measure: Measure, texts: Numbers) -> Iterator[tuple[Numbers, Measure]]:
    """The texts in tiles, in their order, and a measure for the pairs of each with leaders.

    A measure that has `tiles` keeps what it has made of a tile's texts until the next tile; with any other one all
    texts are one tile.
    """
    tiles = getattr(measure, "tiles", None)
    if tiles is None:
        yield texts, measure
    else:
        yield from tiles(texts)


def lead(
    plan: Plan, order: Numbers, labels: Numbers, evidence: Pairs, measure: Measure
) -> tuple[Numbers, Pairs]:
    """For each document its leader, itself where it leads; and the evidence with the pairs that were measured here.

    `order` has the place of each representative of a distinct text in the order of the keep policy, and -1 for every
    other document; `labels` the component of each.
    """
    return _Leading(plan, order, labels, evidence).run(measure)


class _Leading:
    """What is known while leaders are found, tile by tile.

    Whether a document leads depends on the documents before it alone, so that one tile is finished before the next
    begins: the features of a document are made once, however many leaders it is compared with.
    """

    def __init__(self, plan: Plan, order: Numbers, labels: Numbers, evidence: Pairs) -> None:
        self.plan, self.order, self.labels = plan, order, labels
        self.n, self.evidence = len(order), [evidence]
        known = packed(evidence.left, evidence.right, self.n)
        by_pair = order_of(known)
        self.known = known[by_pair]
        self.reached = plan.check.passes(evidence, plan.threshold)[by_pair]
        self.leader = np.arange(self.n)
        self.heads: list[int] = []  # of the component that a tile ends in: the next tile may continue it

    def run(self, measure: Measure) -> tuple[Numbers, Pairs]:
        texts = np.flatnonzero(self.order >= 0)
        texts = texts[np.bincount(self.labels[texts], minlength=self.n)[self.labels[texts]] > 1]
        texts = texts[np.lexsort((self.order[texts], self.labels[texts]))]
        texts, left = self._search_large(texts, measure)
        left += [self._tile(tile, tiled) for tile, tiled in tiles_of(measure, texts)]
        rest = np.concatenate([texts[:0], *left])
        if len(rest):
            self.leader[rest] = self._by_evidence(rest)[rest]
        return self.leader, Pairs.concatenate(self.evidence)

    def _search_large(self, texts: Numbers, measure: Measure) -> tuple[Numbers, list[Numbers]]:
        """Find the leaders of large components; the texts of other components, and what is left of the large ones."""
        starts, done = run_starts(self.labels[texts]), np.zeros(len(texts), np.bool_)
        large = LargeComponents(self.leader, LEADERS)
        for number in np.flatnonzero(np.diff(starts) >= LARGE).tolist():
            part = slice(starts[number], starts[number + 1])
            with search_of(measure, texts[part], self.plan.threshold) as search:
                if search is None:
                    break
                large.find(search)
            done[part] = True
        if done.any():
            pairs = Pairs.concatenate(large.evidence)
            self.evidence.append(pairs.take(~self._find(packed(pairs.left, pairs.right, self.n))[0]))
            if (count := getattr(measure, "count", None)) is not None:
                count(large, self.labels, self.known)
        return texts[~done], large.left

    def _find(self, asked: Numbers) -> tuple[NDArray[np.bool_], Numbers]:
        """Which packed pairs were measured before, and the place of each of them."""
        place = np.minimum(np.searchsorted(self.known, asked), len(self.known) - 1)
        found = self.known[place] == asked if len(self.known) else np.zeros(len(asked), np.bool_)
        return found, place

    def _tile(self, texts: Numbers, measure: Measure) -> Numbers:
        """Find the leaders of texts; what is left of components that have too many."""
        if not len(texts):
            return texts
        begun, last = self.labels[texts[0]], self.labels[texts[-1]]
        earlier = self.heads if self.heads and self.labels[self.heads[0]] == begun else []
        self.heads = list(earlier) if begun == last else []
        for number in range(LEADERS):
            if not len(texts):
                break
            first = np.diff(self.labels[texts], prepend=-1) != 0
            heads = texts[first]
            again = number < len(earlier) and self.labels[texts[0]] == begun
            if again:  # a leader of the tile before leads texts of this one too
                heads[0] = earlier[number]
            if self.labels[texts[-1]] == last and not (again and begun == last):
                self.heads.append(int(heads[-1]))
            heads = heads[np.cumsum(first) - 1]
            texts = self._without_followers(texts[heads != texts], heads[heads != texts], measure)
        return texts

    def _without_followers(self, others: Numbers, heads: Numbers, measure: Measure) -> Numbers:
        follows = self._reach(others, heads, measure)
        self.leader[others[follows]] = heads[follows]
        return others[~follows]

    def _reach(self, others: Numbers, heads: Numbers, measure: Measure) -> NDArray[np.bool_]:
        """Whether each document reaches the threshold with the head beside it."""
        asked = packed(others, heads, self.n)
        found, place = self._find(asked)
        result = np.zeros(len(asked), np.bool_)
        result[found] = self.reached[place[found]]
        new = np.sort(asked[~found])
        if len(new) and self.plan.check.level != "none":
            more = measure(new // self.n, new % self.n)
            passed = more.take(self.plan.check.passes(more, self.plan.threshold))
            self.evidence.append(passed)  # no decision asks for the others: nearly all, in a hot bucket
            result[~found] = np.isin(asked[~found], packed(passed.left, passed.right, self.n))
        return result

    def _by_evidence(self, texts: Numbers) -> Numbers:
        """The leaders of texts by the pairs that were measured before."""
        among = np.zeros(self.n, np.bool_)
        among[texts] = True
        left, right = self.known // self.n, self.known % self.n
        inside = self.reached & among[left] & among[right]
        order = np.concatenate([texts[np.argsort(self.order[texts])], np.flatnonzero(~among)])
        return leaders(self.n, left[inside], right[inside], order)
