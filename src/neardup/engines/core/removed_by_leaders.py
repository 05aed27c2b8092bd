"""What `leaders` would remove where components remove documents by chains of pairs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import partial

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Numbers, Pairs
from neardup.engines.core.large_components import LargeComponents, LeaderSearch, search_of
from neardup.engines.core.leaders import Measure, lead, packed, tiles_of
from neardup.plan import Plan
from neardup.sorted_sets import order_of

Mask = NDArray[np.bool_]


class CountedMeasure:
    """A measure that counts the pairs it has compared."""

    def __init__(self, measure: Measure) -> None:
        self._measure, self.compared = measure, 0

    def __call__(self, left: Numbers, right: Numbers) -> Pairs:
        return self._counted(self._measure, left, right)

    def tiles(self, texts: Numbers) -> Iterator[tuple[Numbers, Measure]]:
        """The tiles of the measure, counted."""
        for some, measure in tiles_of(self._measure, texts):
            yield some, partial(self._counted, measure)

    def search(self, texts: Numbers, threshold: float) -> AbstractContextManager[LeaderSearch | None]:
        """The search of the measure, whose pairs `count` counts."""
        return search_of(self._measure, texts, threshold)

    def count(self, found: LargeComponents, labels: Numbers, known: Numbers) -> None:
        """Count the pairs that a search has compared, without known ones."""
        self.compared += found.compared(labels, known)

    def _counted(self, measure: Measure, left: Numbers, right: Numbers) -> Pairs:
        self.compared += len(left)
        return measure(left, right)


class RecordedMeasure:
    """A measure that looks up the pairs that were measured before, and measures the others."""

    def __init__(self, measured: Pairs, n: int, measure: Measure) -> None:
        self._n, self._measure = n, measure
        known = packed(measured.left, measured.right, n)
        order = order_of(known)
        self._known, self._measured = known[order], measured.take(order)

    def __call__(self, left: Numbers, right: Numbers) -> Pairs:
        """The pairs, in any order."""
        return self._looked_up(self._measure, left, right)

    def tiles(self, texts: Numbers) -> Iterator[tuple[Numbers, Measure]]:
        """The tiles of the measure, without pairs that were measured before."""
        for some, measure in tiles_of(self._measure, texts):
            yield some, partial(self._looked_up, measure)

    def search(self, texts: Numbers, threshold: float) -> AbstractContextManager[LeaderSearch | None]:
        """The search of the measure."""
        return search_of(self._measure, texts, threshold)

    def count(self, found: LargeComponents, labels: Numbers, known: Numbers) -> None:
        """Count the pairs that a search has compared, without those that were measured before."""
        if (count := getattr(self._measure, "count", None)) is not None:
            count(found, labels, self._known)

    def _looked_up(self, measure: Measure, left: Numbers, right: Numbers) -> Pairs:
        if not len(self._known):
            return measure(left, right)
        asked = packed(left, right, self._n)
        place = np.minimum(np.searchsorted(self._known, asked), len(self._known) - 1)
        found = self._known[place] == asked
        return Pairs.concatenate([
            self._measured.take(place[found]),
            measure(left[~found], right[~found]),
        ])  # fmt: skip


def removed_by_leaders(
    plan: Plan,
    order: Numbers,
    labels: Numbers,
    representative: Numbers,
    evidence: Pairs,
    measure: Measure,
) -> int:
    """How many documents leaders remove; `order` is that of `lead`, and -1 outside the components to look at.

    With `pairs="all"` every pair that reaches the threshold is measured already, and no other is asked for.
    """
    n = len(order)
    asked = np.zeros(n, np.bool_)
    asked[labels[order >= 0]] = True
    evidence = evidence.take(asked[labels[evidence.left]])
    if plan.pairs == "all":
        measure = _below_threshold
    leader = lead(plan, order, labels, evidence, measure)[0][representative]
    members = np.flatnonzero(asked[labels])
    size = np.bincount(leader[members], minlength=n)
    stay = np.where(size > 1, 0 if plan.keep.policy == "none" else plan.keep.count, size)
    return int(np.maximum(size - stay, 0).sum())


def _below_threshold(left: Numbers, right: Numbers) -> Pairs:
    """No pair: none of those that are asked for reaches the threshold."""
    return Pairs.concatenate([])
