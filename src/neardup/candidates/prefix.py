"""The prefix matcher: similar documents share one of their first features, and only those are compared.

Prefix, length and positional filters as in the PPJoin family (Xiao et al., Efficient Similarity Joins for Near
Duplicate Detection, WWW 2008), for sets and multi-sets; `kernels.prefix` has the proofs. There is no parameter but τ.
Features come in the order (class, hash): a class is a coarse document frequency. It is first estimated from a
sample, and raised for features with long lists, while that pays. A feature of every document comes last in that
order, and is in the prefix of a document only if it has hardly any other.

Memory: 32 bytes for each entry of a prefix (36 for multi-sets), which are about 1 − τ of the features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.candidates.exact import FeatureSets, JoinedPairs, MatcherCounts
from neardup.columns import Features, Hashes, Numbers
from neardup.errors import PlanError

TABLE_BITS = 20  # classes: a megabyte, which fits a core's cache
PART = 8192  # entries that share one small table
ROUNDS = 4
LONG_LISTS = 4  # visits per entry above which another order is tried

Classes = NDArray[np.uint8]


@dataclass(frozen=True)
class PrefixLists:
    """Entries of all prefixes by rank, and the inverted lists of their features."""

    starts: Numbers
    counts: Numbers
    rests: NDArray[np.uint32]
    weights: NDArray[np.uint32]
    stops: NDArray[np.uint32]
    lists: Hashes  # rows (member, weight)
    visits: int  # members that will be visited, at most
    long: Classes  # higher classes for features with long lists

    @property
    def total(self) -> int:
        """The number of entries."""
        return int(self.counts.sum())


def match(collection: FeatureSets, limit: Fraction, threads: int = 1, most: int = 0) -> JoinedPairs:
    """All similar pairs of distinct feature sets; with `most`, lists are truncated (see `kernels.prefix.meet`)."""
    n = len(collection)
    if n < 2 or limit == 1:  # distinct feature sets are never equal
        none = np.zeros(0, np.int64)
        return JoinedPairs(none, none, none, MatcherCounts(np.zeros(n, np.int64), 0, {}))
    with ThreadPoolExecutor(threads) as pool:
        run = PrefixJoin(collection, (limit.numerator, limit.denominator), threads, pool)
        classes = estimate_classes(collection)
        prefixes, rounds = run.prefixes(classes), 1
        while prefixes.visits > LONG_LISTS * prefixes.total and rounds < ROUNDS:
            raised = np.maximum(classes, prefixes.long)
            if np.array_equal(raised, classes):
                break
            again = run.prefixes(raised)
            rounds += 1
            better = again.visits < 0.7 * prefixes.visits
            if again.visits < prefixes.visits:
                classes, prefixes = raised, again
            if not better:
                break
        found = run.meet(prefixes, most)
    rows = np.concatenate([rows for rows, *_ in found])
    work = MatcherCounts(
        np.concatenate([computed for _, _, computed, _ in found]),
        sum(visits for _, visits, _, _ in found),
        {"entries": prefixes.total, "rounds": rounds, "truncated": sum(truncated for *_, truncated in found)},
    )
    return JoinedPairs(rows[:, 0], rows[:, 1], rows[:, 2], work)


def estimate_classes(collection: FeatureSets) -> Classes:
    """Classes from the features of a sample of documents: 0 if the count is no higher than by chance."""
    total = int(collection.offsets[-1] - collection.offsets[0])
    size = 1 << min(max((total // 16).bit_length(), 8), TABLE_BITS)
    counts = np.zeros(size, np.uint32)
    step = max(total // size, 1)
    sampled = kernels.prefix.sample_features(collection.hashes, collection.offsets, step, counts)
    usual = 4 + 4 * sampled // size
    ratio = np.arange(int(counts.max(initial=0)) // usual + 1)
    levels = np.ceil(np.log2(ratio + 1)).astype(np.uint8)  # the number of binary digits
    return levels[counts // usual]


def ranges(total: int, pieces: int) -> Iterable[tuple[int, int]]:
    """Consecutive ranges of about equal size up to the total."""
    return pairwise(np.linspace(0, total, pieces + 1).astype(np.int64).tolist())


def prefix_entries(sets: Features, frequencies: Numbers, room: NDArray[Any]) -> Numbers:
    """The entries of each document's prefix: from the rarest on, while those before weigh no more than its room."""
    documents = np.repeat(np.arange(len(sets)), sets.sizes)
    order = np.lexsort((sets.hashes, frequencies, documents))
    weights = np.ones(len(order)) if sets.weights is None else sets.weights[order].astype(np.float64)
    before = np.cumsum(weights) - weights
    full = sets.sizes > 0
    before -= np.repeat(before[sets.offsets[:-1][full]], sets.sizes[full])
    return order[before <= room[documents[order]]]


@dataclass(frozen=True)
class PrefixJoin:
    """The steps of a match, each spread over threads."""

    collection: FeatureSets
    limit: tuple[int, int]
    threads: int
    pool: ThreadPoolExecutor

    def spread(self, function: Callable[[tuple[int, int]], Any], total: int, pieces: int) -> list[Any]:
        """The results of the function for consecutive ranges up to the total, in order."""
        return [*self.pool.map(function, ranges(total, pieces))]

    def prefixes(self, classes: Classes) -> PrefixLists:
        """The prefixes in the order of these classes."""
        c = self.collection
        p, q = self.limit
        ranks = np.full(len(c.representatives), -1, np.int64)
        ranks[c.documents] = np.arange(len(c))
        room = np.minimum(np.diff(c.offsets)[c.documents], c.sizes - (p * c.sizes + q - 1) // q + 1)
        starts = np.cumsum(room) - room
        total = int(room.sum())
        if total >= 2**32:
            raise PlanError(
                "Exact matching has too many features at once: raise the threshold, or match in parts."
            )
        hashes, rests = np.empty(total, np.uint64), np.empty(total, np.uint32)
        weights = np.empty(total if len(c.weights) else 0, np.uint32)
        counts = np.zeros(len(c), np.int64)
        out = (starts, hashes, rests, weights, counts)
        select = kernels.prefix.select_prefixes
        self.spread(
            lambda span: select(c.arrays, ranks, c.sizes, classes, self.limit, span, out),
            len(c.representatives),
            4 * self.threads,
        )
        parts, bounds = self.scatter(hashes, starts, counts)
        del hashes
        stops = np.zeros(total, np.uint32)  # 0: no member before it
        longs = [np.zeros_like(classes) for _ in range(self.threads)]
        link = kernels.prefix.link_entries

        def link_parts(task: tuple[Classes, tuple[int, int]]) -> int:
            long, span = task
            entries = (rests, weights, stops)
            visits: int = link(parts, bounds, span, entries, c.sizes, self.limit, long)
            return visits

        tasks: Iterable[Any] = zip(longs, ranges(len(bounds) - 1, self.threads), strict=True)
        visits = sum(self.pool.map(link_parts, tasks))
        long = np.maximum.reduce(longs)
        return PrefixLists(starts, counts, rests, weights, stops, parts, visits, long)

    def scatter(self, hashes: Any, starts: Numbers, counts: Numbers) -> tuple[Any, Numbers]:
        """Entries by part, each part by ascending rank, and where parts begin."""
        total = int(counts.sum())
        bits = max(total // PART, 2).bit_length()
        shift = np.uint64(64 - bits)
        pieces = self.threads
        sizes = np.zeros((pieces, 1 << bits), np.int64)
        spans = [*enumerate(ranges(len(counts), pieces))]
        count, write = kernels.prefix.count_parts, kernels.prefix.scatter
        [*self.pool.map(lambda s: count(hashes, starts, counts, s[1], shift, sizes[s[0]]), spans)]
        places = (np.cumsum(sizes.T).reshape(sizes.T.shape) - sizes.T).T.astype(np.uint64)
        bounds = np.append(places[0].astype(np.int64), total)
        out = np.empty((total, 2), np.uint64)
        [*self.pool.map(lambda s: write(hashes, starts, counts, s[1], shift, places[s[0]], out), spans)]
        return out, bounds

    def meet(self, prefixes: PrefixLists, most: int = 0) -> list[tuple[Numbers, int, Numbers, int]]:
        """The pairs of ranges of ranks, the visits, the similarities computed, and the truncated lists."""
        c = self.collection
        entries = (prefixes.starts, prefixes.counts, prefixes.rests, prefixes.weights, prefixes.stops)
        ranks = (c.documents, c.sizes, c.sketches)
        meet = kernels.prefix.meet
        pieces = 1 if self.threads == 1 else 8 * self.threads
        return self.spread(
            lambda span: meet(c.arrays, ranks, entries, prefixes.lists, self.limit, span, most),
            len(c),
            pieces,
        )
