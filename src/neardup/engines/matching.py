"""Which contents are near-duplicates: candidates from keys, verified in blocks."""

from __future__ import annotations

from collections.abc import Iterator
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
from neardup.clusters.graph import components
from neardup.columns import Numbers, Pairs
from neardup.engines.measuring import measure
from neardup.engines.progress import Progress
from neardup.engines.reading import Corpus
from neardup.engines.workers import ordered_map
from neardup.plan import Plan

BLOCK_PAIRS = 1 << 22  # pairs that are verified together


@dataclass
class Matches:
    """What the matching found: contents, evidence, and how it was come by."""

    content: Numbers  # for each document the one that stands for its content
    pairs: Pairs  # verified, between contents, at least `floor` similar
    floor: float
    counts: BucketCounts = field(default_factory=BucketCounts)
    candidates: int = 0  # pairs that were measured
    joined: int = 0  # … and that were not: their documents were in one cluster already (counted per bucket)


class Matcher:
    """Finds candidates and verifies them."""

    def __init__(self, plan: Plan, corpus: Corpus, progress: Progress, threads: int) -> None:
        self.plan, self.corpus, self.progress, self.threads = plan, corpus, progress, threads
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
            measured = measure(self.plan, self.corpus, left, right, self.progress, self.threads)
        return measured.take(self.plan.check.passes(measured, self.matches.floor))

    def _buckets(self, table: int) -> Buckets:
        return find_buckets(self.corpus.keys[table][self.owners], self.owners)

    # pairs="clusters" ---------------------------------------------------------------------------

    def _what_clusters_need(self) -> Pairs:
        """Two rounds, each linear in the size of a bucket.

        First every member of a bucket meets the member of the smallest rank. Then the other pairs of the bucket
        (with a few more members only, if it is large) whose documents did not end up in one cluster: skipping
        a pair inside a cluster cannot change the clusters.
        """
        plan = self.plan
        first = self._pairs_of_tables(1, 1, None)
        stars = self._verify_codes(first)
        passed = stars.take(plan.check.passes(stars, plan.threshold))
        labels = components(len(self.corpus), passed.left, passed.right)
        rest = self._pairs_of_tables(plan.bucket, plan.pivots, labels)
        return Pairs.concatenate([stars, self._verify_codes(np.setdiff1d(rest, first, assume_unique=True))])

    def _pairs_of_tables(self, limit: int, pivots: int, labels: Numbers | None) -> Numbers:
        """The pairs of all buckets as sorted codes, each once; none whose documents have the same label."""

        def pair(table: int) -> tuple[Numbers, BucketCounts, int]:
            left, right, counts = bucket_pairs(self._buckets(table), self.corpus.ranks, limit, pivots)
            codes = left * len(self.corpus) + right
            if labels is None:
                return codes, BucketCounts(), 0
            apart = labels[left] != labels[right]
            return codes[apart], counts, len(codes) - int(apart.sum())

        tables, found = self.plan.candidates.tables, _Codes()
        with self.progress.stage("candidates", tables):
            for codes, counts, joined in ordered_map(pair, range(tables), self.threads):
                found.add(codes)
                self.matches.counts += counts
                self.matches.joined += joined
                self.progress.advance(1)
        return found.all()

    def _verify_codes(self, codes: Numbers) -> Pairs:
        n, parts = len(self.corpus), []
        for start in range(0, len(codes), BLOCK_PAIRS):
            block = codes[start : start + BLOCK_PAIRS]
            parts.append(self._verify(block // n, block % n))
        return Pairs.concatenate(parts)

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
