"""Large components, whose documents share most of their features: their features are made once, as compact sets.

The sets serve the rounds of candidates and then the search for leaders. Where those of a component are more than memory
has room for, candidates are compared tile by tile, and leaders are found tile by tile.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Features, Numbers, Pairs
from neardup.engines.core.compare import repeated_features
from neardup.engines.core.leaders import Measure
from neardup.engines.local.read import Corpus
from neardup.engines.local.representations import spooled_chunks
from neardup.plan import Plan
from neardup.verify.compact_sets import CommonFeatures, CompactSets, GrowingSets
from neardup.verify.jaccard import Jaccard
from neardup.workers import ordered_map

SAMPLE = 256  # documents of a component that show which features are common
PIECE = 1 << 12  # pairs or documents that a thread compares at a time, at least
SPARE = 1.1  # times the estimated room


class SetMaker:
    """Makes the sets of documents of a component, with the features that are common in a sample of it."""

    def __init__(self, plan: Plan, corpus: Corpus, documents: Numbers, threads: int) -> None:
        self._plan, self._corpus, self._threads = plan, corpus, threads
        sample = documents[:: -(-len(documents) // SAMPLE)]
        features = Features.concatenate(
            [self._features(some) for some in spooled_chunks(corpus.spool, sample)]
        )
        self._common = CommonFeatures(features)
        self.words = self._common.words
        others = len(self._common.split(features).others)
        self._share = SPARE * others / max(1, int(corpus.features[sample].sum()))

    def _features(self, some: Numbers) -> Features:
        return repeated_features(self._plan, self._corpus.spool.read(some), self._corpus.statistics)

    def bytes_of(self, documents: Numbers) -> NDArray[np.floating[Any]]:
        """About how much memory the set of each document takes."""
        found: NDArray[np.floating[Any]] = 8 * (
            self.words + 2 + self._share * self._corpus.features[documents]
        )
        return found

    def make(self, documents: Numbers) -> CompactSets:
        """The sets of some documents, in ascending order."""
        others = int(self._share * self._corpus.features[documents].sum()) + 1
        growing = GrowingSets(len(documents), self.words, others)
        chunks = spooled_chunks(self._corpus.spool, documents)
        for sets in ordered_map(lambda some: self._common.split(self._features(some)), chunks, self._threads):
            growing.add(sets)
        return growing.all


class HotComponents:
    """The sets of large components that fit into memory; those that were made first give way to others."""

    def __init__(self, plan: Plan, corpus: Corpus, threads: int) -> None:
        self.plan, self.corpus, self.threads = plan, corpus, threads
        self.row = np.zeros(0, np.int32)  # of each document in the sets of its component
        self._kept: list[tuple[Numbers, CompactSets]] = []

    @property
    def possible(self) -> bool:
        """Whether the check compares plain sets."""
        return isinstance(self.plan.check, Jaccard)

    def measure(self, documents: Numbers) -> Measure | None:
        """A measure of pairs among the documents of a component (in ascending order); None if there is no room."""
        if not self.possible:
            return None
        maker = SetMaker(self.plan, self.corpus, documents, self.threads)
        size, room = maker.bytes_of(documents).sum(), self.corpus.work.memory.sets
        if size > room:
            return None
        while self._kept and sum(sets.nbytes for _, sets in self._kept) + size > room:
            del self._kept[0]
        sets = self.make(maker, documents)
        self._kept.append((documents, sets))
        return partial(self._measure, sets)

    def make(self, maker: SetMaker, documents: Numbers) -> CompactSets:
        """The sets of some documents, in ascending order, whose rows are then known."""
        if not len(self.row):
            self.row = np.zeros(len(self.corpus), np.int32)
        self.row[documents] = np.arange(len(documents), dtype=np.int32)
        return maker.make(documents)

    def kept_sets(self, texts: Numbers) -> CompactSets | None:
        """The sets of the component that some documents belong to, if they were made and are still there."""
        for documents, sets in self._kept:
            if np.isin(texts[:1], documents)[0] and np.isin(texts, documents).all():
                return sets
        return None

    def _measure(self, sets: CompactSets, left: Numbers, right: Numbers) -> Pairs:
        step = max(PIECE, -(-len(left) // (4 * self.threads)))
        parts = [slice(start, start + step) for start in range(0, len(left), step)]

        def measured(part: slice) -> Pairs:
            a, b = self.row[left[part]], self.row[right[part]]
            shared = sets.shared(a, b).astype(np.float64)
            left_size, right_size = (sets.sizes[rows].astype(np.float64) for rows in (a, b))
            return Pairs(left[part], right[part], shared, left_size, right_size)

        return Pairs.concatenate(list(ordered_map(measured, parts, self.threads)))
