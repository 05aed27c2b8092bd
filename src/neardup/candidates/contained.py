"""Pairs by containment: one document has at least the share τ of the other's features.

A prefix filter: sorted from the rarest feature on, a contained document shares one of its first features with each
document that contains it. The prefix is as many features as weigh more than 1 − τ of the document.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from neardup.candidates.exact import EveryPair
from neardup.candidates.prefix import prefix_entries
from neardup.columns import Features, Hashes, Numbers, Pairs, between, make_distinct
from neardup.plan import Distribution
from neardup.sorted_sets import distinct, without
from neardup.verify.containment import Containment

BLOCK = 1 << 22  # pairs measured together


@dataclass(frozen=True)
class Contained(EveryPair):
    """Every pair in which one document contains the other, and no other pair."""

    level: Literal["features"] = "features"
    distribution: ClassVar[Distribution] = "blocks"
    truncates: ClassVar[bool] = True
    decides: ClassVar[str] = "containment"

    def pairs(self, features: Features, threshold: float, threads: int = 1, first: int = 0) -> Pairs:
        """All pairs whose containment reaches the threshold, with the evidence."""
        return self._find(features, threshold, len(features), first)[0]

    def links(
        self, features: Features, threshold: float, threads: int, id_hashes: Hashes, most: int, first: int = 0
    ) -> tuple[Pairs, int]:
        """Pairs with the `most` largest documents of each posting list, and the number of truncated posting lists."""
        return self._find(features, threshold, most, first)

    def _find(self, features: Features, threshold: float, most: int, first: int) -> tuple[Pairs, int]:
        sets = features if features.distinct else make_distinct(features)
        check, found, truncated = Containment(), [], 0
        measured_before = np.zeros(0, np.int64)
        for packed, cut in _candidates(sets, threshold, most):
            truncated += cut
            fresh = without(packed, measured_before)
            measured_before = distinct(measured_before, fresh)
            fresh = fresh[between(fresh // len(sets), fresh % len(sets), first)]
            measured = check.measure(sets, fresh // len(sets), fresh % len(sets))
            found.append(measured.take(check.passes(measured, threshold)))
        return Pairs.concatenate(found), truncated


def _candidates(sets: Features, threshold: float, most: int) -> Iterator[tuple[Numbers, int]]:
    """Packed pairs that share a feature of the prefix of one of them, sorted, in blocks."""
    n = len(sets)
    documents = np.repeat(np.arange(n), sets.sizes)
    weights = np.ones(len(documents)) if sets.weights is None else sets.weights.astype(np.float64)
    sizes = np.bincount(documents, weights, n)
    _, place, df = np.unique(sets.hashes, return_inverse=True, return_counts=True)
    lists = np.lexsort((-sizes[documents], place))  # by feature, the largest documents first
    starts = np.concatenate([[0], np.cumsum(df)])
    slack = 1e-9 * sizes  # rounding must not lose a pair
    first = prefix_entries(sets, df[place], (1 - threshold) * sizes + slack)
    reached = np.minimum(df[place[first]], most)
    cut = int((df[place[first]] > most).sum())
    ends = np.cumsum(reached)
    begin = 0
    while begin < len(first):
        limit = (ends[begin - 1] if begin else 0) + BLOCK
        stop = max(begin + 1, int(np.searchsorted(ends, limit, "right")))
        some, many = first[begin:stop], reached[begin:stop]
        offset = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        other = documents[lists[np.repeat(starts[place[some]], many) + offset]]
        mine = np.repeat(documents[some], many)
        low, high = np.minimum(mine, other), np.maximum(mine, other)
        yield distinct((low * n + high)[(low < high) & (sizes[other] >= sizes[mine])]), cut
        begin, cut = stop, 0
