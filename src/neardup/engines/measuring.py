"""The similarity of pairs, measured on features that are made again for the documents concerned."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from neardup.clusters.graph import components
from neardup.columns import Features, Numbers, Pairs
from neardup.engines.reading import CHUNK, Corpus
from neardup.engines.workers import ordered_map
from neardup.plan import Plan
from neardup.verify.jaccard import make_distinct

TILE_BYTES = 4 << 20  # features that a thread holds, or twice as many
LARGE_TILE_BYTES = 32 << 20  # … of each side of a comparison within a family that does not fit a tile


class Measurer:
    """Measures pairs of documents, exactly or by estimate as the plan says."""

    def __init__(self, plan: Plan, corpus: Corpus, threads: int) -> None:
        self.plan, self.corpus, self.threads = plan, corpus, threads

    def measure(self, left: Numbers, right: Numbers) -> Pairs:
        """The evidence of any pairs; features of a bounded number of documents are held at a time."""
        if len(left) == 0:
            return Pairs.concatenate([])
        if self.plan.check.level != "features":
            return self.plan.check.measure(self.corpus.signatures, left, right)
        tile = _tiles(self.corpus, left, right)
        order = np.lexsort((tile[right], tile[left]))
        left, right = left[order], right[order]
        code = tile[left] * (int(tile.max()) + 1) + tile[right]
        starts = np.append(np.flatnonzero(np.diff(code, prepend=-1)), len(code))
        parts = []
        for start, stop in pairwise(starts.tolist()):
            some = np.unique(np.concatenate([left[start:stop], right[start:stop]]))
            parts.append(self.holding(some)(left[start:stop], right[start:stop]))
        return Pairs.concatenate(parts)

    def holding(self, numbers: Numbers) -> Callable[[Numbers, Numbers], Pairs]:
        """A measure for pairs among some documents (in ascending order), whose features it holds."""
        features = features_of(self.plan, self.corpus, numbers, self.threads)

        def measure(left: Numbers, right: Numbers) -> Pairs:
            a, b = np.searchsorted(numbers, left), np.searchsorted(numbers, right)
            step = max(1 << 12, -(-len(left) // (4 * self.threads)))
            portions = [slice(start, start + step) for start in range(0, len(left), step)]
            parts = ordered_map(
                lambda part: self.plan.check.measure(features, a[part], b[part]), portions, self.threads
            )
            joined = Pairs.concatenate(list(parts))
            return Pairs(left, right, joined.shared, joined.left_size, joined.right_size)

        return measure


def _tiles(corpus: Corpus, left: Numbers, right: Numbers) -> Numbers:
    """For each document the tile that it is compared in, documents that are compared with each other together."""
    concerned, labels = families(len(corpus), left, right)
    order = np.argsort(labels, kind="stable")
    size = np.cumsum(corpus.features[concerned[order]] * 8)
    tile = np.zeros(len(corpus), np.int64)
    tile[concerned[order]] = size // LARGE_TILE_BYTES
    return tile


def families(n: int, left: Numbers, right: Numbers) -> tuple[Numbers, Numbers]:
    """The documents of some pairs, and a label for each: equal where pairs connect them."""
    concerned = np.unique(np.concatenate([left, right]))
    place = np.full(n, -1, np.int64)
    place[concerned] = np.arange(len(concerned))
    return concerned, components(len(concerned), place[left], place[right])


def features_of(plan: Plan, corpus: Corpus, numbers: Numbers, threads: int) -> Features:
    """The distinct features of some documents, made again from their texts."""
    sizes = corpus.spool.offsets[numbers + 1] - corpus.spool.offsets[numbers]
    chunk = np.cumsum(sizes) // CHUNK
    portions = np.split(numbers, np.flatnonzero(np.diff(chunk)) + 1)

    def work(some: Numbers) -> Features:
        return make_distinct(plan.view.look(plan.text(corpus.spool.read(some), details=plan.view.details)))

    offsets = np.zeros(len(numbers) + 1, np.int64)
    hashes = np.empty(int(corpus.features[numbers].sum()), np.uint64)  # distinct ones are at most as many
    done = 0
    for part in ordered_map(work, portions, threads):
        stop = done + len(part)
        offsets[done + 1 : stop + 1] = part.offsets[1:] + offsets[done]
        hashes[offsets[done] : offsets[stop]] = part.hashes
        done = stop
    return Features(offsets, hashes[: offsets[-1]], distinct=True)
