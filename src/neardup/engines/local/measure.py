"""The evidence of pairs of documents, on features that are made for the documents concerned, a part at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Features, GrowingFeatures, Numbers, Pairs, Signatures
from neardup.engines.core.compare import (
    compared_features,
    compared_values,
    compares_kept_signatures,
    compares_view,
)
from neardup.engines.core.leaders import Measure
from neardup.engines.core.rounds import candidate_components
from neardup.engines.local.hot_components import HotComponents
from neardup.engines.local.leader_search import LeaderSearch
from neardup.engines.local.read import Corpus
from neardup.engines.local.representations import spooled_chunks
from neardup.plan import Plan
from neardup.sorted_sets import distinct
from neardup.workers import ordered_map

HUB = 16  # pairs of a document that many others are compared with


class Measurer:
    """Measures pairs of documents, exactly or by estimate as the plan says."""

    def __init__(self, plan: Plan, corpus: Corpus, threads: int, hot: HotComponents | None = None) -> None:
        self.plan, self.corpus, self.threads = plan, corpus, threads
        self.hot = hot or HotComponents(plan, corpus, threads)

    @property
    def needs_texts(self) -> bool:
        """Whether texts must be read a second time; kept signatures may be all that the check compares."""
        return self.plan.check.level != "none" and not compares_kept_signatures(self.plan)

    def measure(self, left: Numbers, right: Numbers) -> Pairs:
        """The evidence of any pairs; features of a bounded number of documents are in memory at a time."""
        if len(left) == 0:
            return Pairs.concatenate([])
        if not self.needs_texts:
            return self.plan.check.measure(self.corpus.signatures, left, right)
        tile = _tiles(self.corpus.features, left, right, self.corpus.work.memory.tile)
        order = np.lexsort((tile[right], tile[left]))
        left, right = left[order], right[order]
        both = tile[left] * (int(tile.max()) + 1) + tile[right]
        starts = np.append(np.flatnonzero(np.diff(both, prepend=-1)), len(both))
        parts = []
        for start, stop in pairwise(starts.tolist()):
            some = distinct(left[start:stop], right[start:stop])
            parts.append(self.holding(some)(left[start:stop], right[start:stop]))
        return Pairs.concatenate(parts)

    def within(self, documents: Numbers) -> Measure:
        """A measure for pairs among some documents, over and over: it keeps features for which there is room."""
        if (measure := self.hot.measure(documents)) is not None:
            return measure
        if not self.needs_texts or self.corpus.features[documents].sum() * 8 > self.corpus.work.memory.tile:
            return self.measure
        return _RememberingMeasure(self, np.full(len(self.corpus), -1, np.int32))

    def search(self, texts: Numbers, threshold: float) -> LeaderSearch | None:
        """A search for the leaders of a large component; None where the check compares no plain sets."""
        return LeaderSearch(self.hot, texts, threshold) if self.hot.possible else None

    def holding(self, numbers: Numbers) -> Measure:
        """A measure for pairs among some documents (in ascending order), whose features stay in memory."""
        values = compared_values(self.plan, self.features_of(numbers))

        def measure(left: Numbers, right: Numbers) -> Pairs:
            a, b = np.searchsorted(numbers, left), np.searchsorted(numbers, right)
            return replace(self.measure_rows(values, a, b), left=left, right=right)

        return measure

    def features_of(self, numbers: Numbers) -> Features:
        """The features that the check compares of some documents (in ascending order)."""
        return features_of(self.plan, self.corpus, numbers, self.threads)

    def measure_rows(self, values: Features | Signatures, a: Numbers, b: Numbers) -> Pairs:
        """The evidence of pairs of rows of what the check compares."""
        step = max(1 << 12, -(-len(a) // (4 * self.threads if self.threads > 1 else 1)))
        some = [slice(start, start + step) for start in range(0, len(a), step)]
        parts = ordered_map(
            lambda part: self.plan.check.measure(values, a[part], b[part]), some, self.threads
        )
        return Pairs.concatenate(list(parts))

    def tiles(self, texts: Numbers) -> Iterator[tuple[Numbers, Measure]]:
        """Texts in tiles, in the given order, each with a measure that keeps features until the next tile."""
        if not self.needs_texts:
            yield texts, self.measure
            return
        row = np.full(len(self.corpus), -1, np.int32)
        tile = np.cumsum(self.corpus.features[texts] * 8) // self.corpus.work.memory.tile
        for some in np.split(texts, np.flatnonzero(np.diff(tile)) + 1):
            remembering = _RememberingMeasure(self, row)
            yield some, remembering
            row[remembering.documents] = -1


class _RememberingMeasure:
    """Measures pairs; the features of each document are made once, when it is first asked for."""

    def __init__(self, measurer: Measurer, row: NDArray[np.int32]) -> None:
        self._measurer, self._row = measurer, row
        self._parts: list[Numbers] = []
        self._features = GrowingFeatures()
        self._values: Features | Signatures | None = None

    @property
    def documents(self) -> Numbers:
        """Those that were asked for."""
        return np.concatenate([np.zeros(0, np.int64), *self._parts])

    def __call__(self, left: Numbers, right: Numbers) -> Pairs:
        """The evidence of the pairs."""
        row, measurer = self._row, self._measurer
        if not len(left):
            return Pairs.concatenate([])
        missing = distinct(left[row[left] < 0], right[row[right] < 0])
        if len(missing):
            row[missing] = len(self._features) + np.arange(len(missing), dtype=np.int32)
            self._parts.append(missing)
            self._features.add(measurer.features_of(missing))
            self._values = compared_values(measurer.plan, self._features.all)
        assert self._values is not None
        found = measurer.measure_rows(self._values, row[left].astype(np.int64), row[right].astype(np.int64))
        return replace(found, left=left, right=right)


def _tiles(feature_counts: Numbers, left: Numbers, right: Numbers, room: int) -> Numbers:
    """For each document the tile that it is compared in, documents that are compared with each other together.

    Documents that many others are compared with come first, in as few tiles as possible: each of the others is then
    represented once or twice, and not once for every tile that one of its many partners is in.
    """
    n = len(feature_counts)
    concerned, labels = candidate_components(n, left * n + right)
    hub = (np.bincount(left, minlength=n) + np.bincount(right, minlength=n))[concerned] > HUB
    order = np.lexsort((labels, ~hub))
    size = np.cumsum(feature_counts[concerned[order]] * 8)
    tile = np.zeros(n, np.int64)
    tile[concerned[order]] = size // room
    return tile


def features_of(plan: Plan, corpus: Corpus, numbers: Numbers, threads: int) -> Features:
    """The distinct features of some documents that the check compares: kept ones, or made from their texts."""

    def features(some: Numbers) -> Features:
        found = None
        if corpus.kept is not None and compares_view(plan):
            found = corpus.kept.features(plan.view, some, corpus.statistics)
        return (
            found
            if found is not None
            else compared_features(plan, corpus.spool.read(some), corpus.statistics)
        )

    return Features.concatenate(list(ordered_map(features, spooled_chunks(corpus.spool, numbers), threads)))
