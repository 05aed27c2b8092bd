"""The similarity of pairs, measured on features that are made again for the documents concerned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from neardup import kernels
from neardup.columns import Features, Numbers, Pairs, Signatures, make_distinct
from neardup.engines.core.represent import portions
from neardup.engines.local.read import Corpus
from neardup.plan import Plan
from neardup.sorted_sets import distinct
from neardup.workers import ordered_map

TILE_BYTES = 4 << 20  # features that a thread holds, or twice as many
LARGE_TILE_BYTES = 32 << 20  # … of each side of a comparison within a family that does not fit a tile
HUB = 16  # pairs of a document that many others are compared with


class Measurer:
    """Measures pairs of documents, exactly or by estimate as the plan says."""

    def __init__(self, plan: Plan, corpus: Corpus, threads: int) -> None:
        self.plan, self.corpus, self.threads = plan, corpus, threads

    @property
    def needs_texts(self) -> bool:
        """Whether documents must be looked at again; kept signatures may be all that the check asks for."""
        return self.plan.check.level == "features" or self.plan.check_view is not None

    def measure(self, left: Numbers, right: Numbers) -> Pairs:
        """The evidence of any pairs; features of a bounded number of documents are held at a time."""
        if len(left) == 0:
            return Pairs.concatenate([])
        if not self.needs_texts:
            return self.plan.check.measure(self.corpus.signatures, left, right)
        tile = _tiles(self.corpus, left, right)
        order = np.lexsort((tile[right], tile[left]))
        left, right = left[order], right[order]
        code = tile[left] * (int(tile.max()) + 1) + tile[right]
        starts = np.append(np.flatnonzero(np.diff(code, prepend=-1)), len(code))
        parts = []
        for start, stop in pairwise(starts.tolist()):
            some = distinct(left[start:stop], right[start:stop])
            parts.append(self.holding(some)(left[start:stop], right[start:stop]))
        return Pairs.concatenate(parts)

    def holding(self, numbers: Numbers) -> Callable[[Numbers, Numbers], Pairs]:
        """A measure for pairs among some documents (in ascending order), whose features it holds."""
        features = features_of(self.plan, self.corpus, numbers, self.threads)
        values = self._signed(features)

        def measure(left: Numbers, right: Numbers) -> Pairs:
            a, b = np.searchsorted(numbers, left), np.searchsorted(numbers, right)
            step = max(1 << 12, -(-len(left) // (4 * self.threads)))
            some = [slice(start, start + step) for start in range(0, len(left), step)]
            parts = ordered_map(
                lambda part: self.plan.check.measure(values, a[part], b[part]), some, self.threads
            )
            joined = Pairs.concatenate(list(parts))
            return replace(joined, left=left, right=right)

        return measure

    def _signed(self, features: Features) -> Features | Signatures:
        """What the check compares: the features, or signatures that were not kept."""
        view = self.plan.check_view
        if self.plan.check.level == "features" or view is None or view.signature is None:
            return features
        return view.signature(features)


def _tiles(corpus: Corpus, left: Numbers, right: Numbers) -> Numbers:
    """For each document the tile that it is compared in, documents that are compared with each other together.

    What a crowd is compared with comes first, in as few tiles as may be: each of the crowd is then looked at once
    or twice, and not once for every tile that one of its many partners lies in.
    """
    n = len(corpus)
    concerned, labels = families(n, left * n + right)
    hub = (np.bincount(left, minlength=n) + np.bincount(right, minlength=n))[concerned] > HUB
    order = np.lexsort((labels, ~hub))
    size = np.cumsum(corpus.features[concerned[order]] * 8)
    tile = np.zeros(n, np.int64)
    tile[concerned[order]] = size // LARGE_TILE_BYTES
    return tile


def families(n: int, *codes: Numbers) -> tuple[Numbers, Numbers]:
    """The documents of some pairs, and a label for each: equal where pairs connect them."""
    labels, among = np.arange(n), np.zeros(n, np.bool_)
    for some in codes:
        kernels.graph.join_packed(labels, among, some)
    concerned = np.flatnonzero(among)
    place = np.zeros(n, np.int64)
    place[concerned] = np.arange(len(concerned))
    return concerned, place[labels[concerned]]


def features_of(plan: Plan, corpus: Corpus, numbers: Numbers, threads: int) -> Features:
    """The distinct features of some documents that the check looks at, made again from their texts."""
    view = plan.check_view or plan.view

    def work(some: Numbers) -> Features:
        tokens = plan.text(corpus.spool.read(some), details=view.details)
        return make_distinct(view.represent(tokens, corpus.statistics))

    return Features.concatenate(list(ordered_map(work, portions(corpus.spool, numbers), threads)))
