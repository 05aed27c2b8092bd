"""Which contents are near-duplicates: candidates from keys, verified in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from neardup.candidates.buckets import (
    UNLIMITED,
    BucketCounts,
    Buckets,
    bucket_pairs,
    count_all,
    find_buckets,
    split,
)
from neardup.candidates.copies import collapse
from neardup.clusters.graph import complete_groups, components
from neardup.columns import Numbers, Pairs
from neardup.engines.measuring import TILE_BYTES, Measurer, families
from neardup.engines.progress import Progress
from neardup.engines.reading import Corpus
from neardup.engines.workers import ordered_map
from neardup.plan import Plan

BLOCK_PAIRS = 1 << 22  # pairs that are verified together


@dataclass
class Matches:
    """What the matching found: contents, evidence, and how it was come by."""

    content: Numbers  # for each document the one that stands for its content
    pairs: Pairs  # measured, between contents: at least `floor` similar, or inside a small cluster
    floor: float
    counts: BucketCounts = field(default_factory=BucketCounts)
    candidates: int = 0  # pairs that were measured
    joined: int = 0  # … and that were not, because their documents were in one cluster already


@dataclass(frozen=True)
class Family:
    """Documents that are compared with each other and with nobody else, and the codes of their pairs."""

    documents: Numbers
    first: Numbers
    rest: Numbers
    fits: bool  # their features may be held in memory together


def split_families(corpus: Corpus, first: Numbers, rest: Numbers) -> Iterator[Family]:
    """All pairs, in portions whose features fit into memory; a larger family is a portion of its own."""
    n, codes = len(corpus), np.concatenate([first, rest])
    concerned, labels = families(n, codes // n, codes % n)
    sizes = np.bincount(labels, corpus.features[concerned] * 8, len(concerned))
    ends = np.cumsum(np.where(sizes > TILE_BYTES, 0, sizes))
    portion = (np.maximum(ends - 1, 0) // TILE_BYTES).astype(np.int64)
    large = np.flatnonzero(sizes > TILE_BYTES)
    portion[large] = int(portion.max(initial=0)) + 1 + np.arange(len(large))
    portion = portion[labels]  # of each document concerned
    of_document = np.zeros(n, np.int64)
    of_document[concerned] = portion
    parts = [
        _grouped(concerned, portion),
        *(_grouped(some, of_document[some // n]) for some in (first, rest)),
    ]
    for number in np.unique(portion).tolist():
        documents, mine, others = (_group(part, number) for part in parts)
        fits = bool(corpus.features[documents].sum() * 8 <= 2 * TILE_BYTES)
        yield Family(documents, mine, others, fits)


def _grouped(values: Numbers, portion: Numbers) -> tuple[Numbers, Numbers]:
    """Values in order of their portion, and those portions."""
    order = np.argsort(portion, kind="stable")
    return values[order], portion[order]


def _group(part: tuple[Numbers, Numbers], number: int) -> Numbers:
    """The values of one portion."""
    low, high = np.searchsorted(part[1], [number, number + 1])
    return part[0][low:high]


class Matcher:
    """Finds candidates and verifies them."""

    def __init__(self, plan: Plan, corpus: Corpus, progress: Progress, threads: int) -> None:
        self.plan, self.corpus, self.progress, self.threads = plan, corpus, progress, threads
        self.measurer = Measurer(plan, corpus, threads)
        self.scratch = np.zeros(len(corpus), np.int64)
        with progress.stage("copies"):
            content = collapse(corpus.digests, corpus.ranks, corpus.tokens > 0)
        floor = min(plan.threshold, plan.candidates.reach(plan.recall))
        self.matches = Matches(content, Pairs.concatenate([]), floor)
        self.owners = np.flatnonzero(corpus.present & (content == np.arange(len(corpus))))

    def run(self) -> Matches:
        """All verified pairs of contents that are at least as similar as the evidence reaches down."""
        self.matches.pairs = self._every_pair() if self.plan.pairs == "all" else self._what_clusters_need()
        return self.matches

    def _verify(self, left: Numbers, right: Numbers) -> Pairs:
        """The pairs that reach the floor."""
        self.matches.candidates += len(left)
        with self.progress.stage("verify", len(left)):
            measured = self.measurer.measure(left, right)
        return measured.take(self.plan.check.passes(measured, self.matches.floor))

    def _buckets(self, table: int) -> Buckets:
        return find_buckets(self.corpus.keys[table][self.owners], self.owners)

    # pairs="clusters" ---------------------------------------------------------------------------

    def _what_clusters_need(self) -> Pairs:
        """The evidence that decides which contents belong together, linear in the size of a bucket.

        Every member of a bucket meets the member of the smallest rank; then the other pairs of the bucket (with
        a few more members only, if it is large) follow, unless that first round has joined their documents.
        """
        first = self._pairs_of_tables(1, 1)
        rest = self._pairs_of_tables(self.plan.bucket, self.plan.pivots)
        rest = np.setdiff1d(rest, first, assume_unique=True)
        found = []
        with self.progress.stage("verify", len(first) + len(rest)):
            for family in split_families(self.corpus, first, rest):
                held = family.fits and self.plan.check.level == "features"
                measure = self.measurer.holding(family.documents) if held else self.measurer.measure
                found.append(self._rounds(family, measure))
                self.progress.advance(len(family.first) + len(family.rest))
        return Pairs.concatenate(found)

    def _pairs_of_tables(self, limit: int, pivots: int) -> Numbers:
        """The pairs of all buckets as sorted codes, each once."""

        def pair(table: int) -> tuple[Numbers, BucketCounts]:
            left, right, counts = bucket_pairs(self._buckets(table), self.corpus.ranks, limit, pivots)
            return left * len(self.corpus) + right, counts

        tables, found, total = self.plan.candidates.tables, _Codes(), BucketCounts()
        with self.progress.stage("candidates", tables):
            for codes, counts in ordered_map(pair, range(tables), self.threads):
                found.add(codes)
                total += counts
                self.progress.advance(1)
        self.matches.counts = total
        return found.all()

    def _rounds(self, family: Family, measure: Callable[[Numbers, Numbers], Pairs]) -> Pairs:
        """What the pairs of a family are worth, as far as it matters.

        Skipping a pair whose documents are in one cluster already cannot change the clusters. Small clusters
        are then measured completely, below the threshold too, so that their weakest link is exact.
        """
        n, plan = len(self.corpus), self.plan
        done = measure(family.first // n, family.first % n)
        labels = self._labels(family, done)
        apart = labels[family.rest // n] != labels[family.rest % n]
        self.matches.joined += len(apart) - int(apart.sum())
        rest = family.rest[apart]
        done = Pairs.concatenate([done, measure(rest // n, rest % n)])
        self.matches.candidates += len(done)
        done = done.take(plan.check.passes(done, self.matches.floor))
        if plan.clustering.kind == "leaders" or plan.check.level == "none":
            return done
        labels = self._labels(family, done)
        inside = complete_groups(family.documents, labels[family.documents], plan.clustering.complete, n)
        inside = np.setdiff1d(inside, done.left * n + done.right)
        return Pairs.concatenate([done, measure(inside // n, inside % n)])

    def _labels(self, family: Family, pairs: Pairs) -> Numbers:
        """Clusters of a family's documents by the pairs that reach the threshold; the label is a document."""
        passed = pairs.take(self.plan.check.passes(pairs, self.plan.threshold))
        place = self.scratch
        place[family.documents] = np.arange(len(family.documents))
        local = components(len(family.documents), place[passed.left], place[passed.right])
        place[family.documents] = local
        return place

    # pairs="all" --------------------------------------------------------------------------------

    def _every_pair(self) -> Pairs:
        """Every pair of every bucket."""
        tables = self.plan.candidates.tables
        with self.progress.stage("count candidates", tables):
            total = sum(count_all(self._buckets(table)) for table in range(tables))
        if total > 10 * len(self.corpus):
            size = f"{total:,} candidates of {len(self.corpus):,} documents"
            self.progress.note(f"pairs=all compares up to {size}")
        return Pairs.concatenate([self._verify(left, right) for left, right in self._blocks()])

    def _blocks(self) -> Iterator[tuple[Numbers, Numbers]]:
        """Table by table; a pair that met in an earlier table is left out, so none need be remembered."""
        waiting: list[tuple[Numbers, Numbers]] = []
        for table in range(self.plan.candidates.tables):
            for part in split(self._buckets(table), BLOCK_PAIRS):
                left, right, counts = bucket_pairs(part, self.corpus.ranks, UNLIMITED, 0)
                self.matches.counts += counts
                fresh = self._first_met(table, left, right)
                waiting.append((left[fresh], right[fresh]))
                if sum(len(pair[0]) for pair in waiting) >= BLOCK_PAIRS:
                    yield _joined(waiting)
                    waiting = []
        if waiting:
            yield _joined(waiting)

    def _first_met(self, table: int, left: Numbers, right: Numbers) -> NDArray[np.bool_]:
        """Which pairs have no equal key in an earlier table."""
        fresh = np.ones(len(left), np.bool_)
        for earlier in range(table):
            keys = self.corpus.keys[earlier]
            fresh &= keys[left] != keys[right]
        return fresh


class _Codes:
    """A set of integers that grows; it is sorted now and then, so that repeats do not fill the memory."""

    def __init__(self) -> None:
        self._parts: list[Numbers] = []
        self._size, self._limit = 0, BLOCK_PAIRS

    def add(self, codes: Numbers) -> None:
        self._parts.append(codes)
        self._size += len(codes)
        if self._size > self._limit:
            self._parts = [self.all()]
            self._size = len(self._parts[0])
            self._limit = max(BLOCK_PAIRS, 2 * self._size)

    def all(self) -> Numbers:
        return np.unique(np.concatenate(self._parts)) if self._parts else np.zeros(0, np.int64)


def _joined(parts: list[tuple[Numbers, Numbers]]) -> tuple[Numbers, Numbers]:
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def find_matches(plan: Plan, corpus: Corpus, progress: Progress, threads: int) -> Matches:
    """Copies, candidates and verified pairs of a corpus."""
    return Matcher(plan, corpus, progress, threads).run()
