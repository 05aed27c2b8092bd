"""Leaders: inside each component of verified pairs, the documents that stay, and which of them each other one repeats.

In the order of the keep policy the best document of a component leads, and every other one that reaches the threshold
with it follows it; the best of those that are left leads next. A pair that nobody has compared is measured, so that
no document follows another without evidence of its own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from neardup.clusters.graph import leaders
from neardup.columns import Numbers, Pairs
from neardup.plan import Plan

Measure = Callable[[Numbers, Numbers], Pairs]
LEADERS = 64  # of a component that are compared with all it has left; then only measured pairs count


def packed(left: Numbers, right: Numbers, n: int) -> Numbers:
    """One integer for each unordered pair."""
    return np.minimum(left, right) * n + np.maximum(left, right)


def lead(
    plan: Plan, order: Numbers, labels: Numbers, evidence: Pairs, measure: Measure
) -> tuple[Numbers, Pairs]:
    """For each document its leader, itself where it leads; and the evidence with the pairs that were measured here.

    `order` has the place of each representative of a distinct text in the order of the keep policy, and -1 for every
    other document; `labels` the component of each.
    """
    return _Round(plan, order, labels, evidence, measure).run()


class _Round:
    """The state between two leaders of a component."""

    def __init__(
        self, plan: Plan, order: Numbers, labels: Numbers, evidence: Pairs, measure: Measure
    ) -> None:
        self.plan, self.order, self.labels, self.measure = plan, order, labels, measure
        self.n, self.evidence = len(order), [evidence]
        known = packed(evidence.left, evidence.right, self.n)
        by_pair = np.argsort(known)
        self.known = known[by_pair]
        self.reached = plan.check.passes(evidence, plan.threshold)[by_pair]

    def run(self) -> tuple[Numbers, Pairs]:
        leader = np.arange(self.n)
        texts = np.flatnonzero(self.order >= 0)
        texts = texts[np.bincount(self.labels[texts], minlength=self.n)[self.labels[texts]] > 1]
        texts = texts[np.lexsort((self.order[texts], self.labels[texts]))]
        for _ in range(LEADERS):
            first = np.diff(self.labels[texts], prepend=-1) != 0
            if first.all():
                return leader, Pairs.concatenate(self.evidence)
            others, heads = texts[~first], texts[first][np.cumsum(first) - 1][~first]
            follows = self._reach(others, heads)
            leader[others[follows]] = heads[follows]
            texts = others[~follows]
        leader[texts] = self._by_evidence(texts)[texts]
        return leader, Pairs.concatenate(self.evidence)

    def _reach(self, others: Numbers, heads: Numbers) -> NDArray[np.bool_]:
        """Whether each document reaches the threshold with the head beside it."""
        asked = packed(others, heads, self.n)
        place = np.minimum(np.searchsorted(self.known, asked), len(self.known) - 1)
        found = self.known[place] == asked if len(self.known) else np.zeros(len(asked), np.bool_)
        result = np.zeros(len(asked), np.bool_)
        result[found] = self.reached[place[found]]
        new = np.sort(asked[~found])
        if len(new) and self.plan.check.level != "none":
            more = self.measure(new // self.n, new % self.n)
            self.evidence.append(more)
            passed = more.take(self.plan.check.passes(more, self.plan.threshold))
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
