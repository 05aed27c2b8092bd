"""The leaders that texts of a large component reach: each text is compared with all leaders together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neardup.columns import Numbers, Pairs
from neardup.engines.local.hot_components import PIECE, HotComponents, SetMaker
from neardup.thresholds import as_fraction
from neardup.verify.compact_sets import CompactSets, Heads
from neardup.workers import ordered_map

FIRST_BLOCK = 1 << 10  # texts among which the first leaders are found; then twice as many each time …
LARGEST_BLOCK = 1 << 17  # … up to so many


class LeaderSearch:
    """Compares the texts of a component, in their order, with leaders that are found among them."""

    def __init__(self, hot: HotComponents, texts: Numbers, threshold: float) -> None:
        self._hot, self._texts, self._limit = hot, texts, as_fraction(threshold)
        self._kept = hot.kept_sets(texts)
        self._sets: CompactSets | None = self._kept
        self._maker: SetMaker | None = None
        if self._kept is None:
            self._maker = SetMaker(hot.plan, hot.corpus, np.sort(texts), hot.threads)
            self._heads = Heads(self._maker.words)
        else:
            self._heads = Heads(self._kept.bits.shape[1])
        self._leaders = list[int]()

    def blocks(self) -> Iterator[Numbers]:
        """The texts block by block; the sets of a block are in memory until the next."""
        size = FIRST_BLOCK
        for tile in self._tiles():
            start = 0
            while start < len(tile):
                yield tile[start : start + size]
                start, size = start + size, min(2 * size, LARGEST_BLOCK)

    def _tiles(self) -> Iterator[Numbers]:
        if self._maker is None:
            yield self._texts
            return
        tile = np.cumsum(self._maker.bytes_of(self._texts)) // self._hot.corpus.work.memory.tile
        for some in np.split(self._texts, np.flatnonzero(np.diff(tile)) + 1):
            self._sets = None  # before the next ones are made, not after it
            self._sets = self._hot.make(self._maker, np.sort(some))
            yield some

    def add_leader(self, text: int) -> None:
        """One more leader, of the block."""
        assert self._sets is not None
        self._heads.add(self._sets, int(self._hot.row[text]))
        self._leaders.append(text)

    def first_reached(self, texts: Numbers, begin: int) -> tuple[Numbers, Pairs]:
        """For each text of the block the first leader from number `begin` on that it reaches, −1 if none; and the
        evidence of those that reach one."""
        threads = self._hot.threads if len(texts) > PIECE else 1
        step = max(PIECE, -(-len(texts) // (4 * threads)))
        parts = [texts[start : start + step] for start in range(0, len(texts), step)]
        found = list(ordered_map(lambda some: self._first_reached(some, begin), parts, threads))
        first = np.concatenate([np.zeros(0, np.int64), *(places for places, _ in found)])
        return first, Pairs.concatenate([pairs for _, pairs in found])

    def _first_reached(self, texts: Numbers, begin: int) -> tuple[Numbers, Pairs]:
        assert self._sets is not None
        rows = self._hot.row[texts]
        first, shared = self._heads.first_reached(self._sets, rows, begin, self._limit)
        some = np.flatnonzero(first >= 0)
        own, leader = texts[some], np.array(self._leaders, np.int64)[first[some]]
        sizes = self._sets.sizes[rows[some]], self._heads.sizes_of(first[some])
        left_size, right_size = (
            np.where((own < leader) == left, *sizes).astype(np.float64) for left in (True, False)
        )
        pairs = Pairs(
            np.minimum(own, leader),
            np.maximum(own, leader),
            shared[some].astype(np.float64),
            left_size,
            right_size,
        )
        return first, pairs
