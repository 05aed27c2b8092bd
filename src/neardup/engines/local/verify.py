"""Candidates to verified pairs: every candidate is compared, on features that are made for the documents concerned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from neardup import kernels
from neardup.candidates.buckets import BucketCounts
from neardup.candidates.copies import collapse
from neardup.clusters.graph import complete_groups, components
from neardup.columns import Numbers, Pairs
from neardup.engines.core.progress import Progress
from neardup.engines.core.rounds import ComponentGroup, blocks
from neardup.engines.local.candidates import (
    TableKeys,
    all_candidates,
    count_candidates,
    grouped_candidates,
    joined_features,
    joined_signatures,
    table_keys,
)
from neardup.engines.local.checkpoint.verified import VerifiedBlock, VerifiedBlocks
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.hot_components import HotComponents
from neardup.engines.local.measure import Measurer
from neardup.engines.local.read import Corpus
from neardup.plan import Plan
from neardup.sorted_sets import without
from neardup.workers import ordered_map

MANY_PAIRS = 1 << 20  # that are worth a warning


@dataclass
class Matches:
    """What candidates and verification found, and how they came by it."""

    representative: Numbers  # for each document the one that stands for its copies
    pairs: Pairs  # measured, between representatives: at least `floor` similar, or inside a small cluster
    floor: float
    counts: BucketCounts = field(default_factory=BucketCounts)
    candidates: int = 0  # pairs that were measured
    inside: int = 0  # further pairs that were measured, inside clusters
    joined: int = 0  # pairs that were not, because their documents were in one cluster already
    truncated: int = 0  # posting lists of a join of which not all members were met
    large: TableKeys | None = None  # of clusters whose inner pairs were skipped
    hot: HotComponents | None = None  # the sets of large components, until decisions are made


def find_matches(plan: Plan, corpus: Corpus, progress: Progress, threads: int) -> Matches:
    """Copies, candidates and verified pairs of a corpus; of the keys, those that `rethreshold` may need are kept."""
    with progress.stage("copies"):
        representative = collapse(corpus.digests, corpus.id_hashes, corpus.compared)
    keys = table_keys(plan, corpus, representative)
    verifier = Verifier(plan, corpus, keys, plan.reach, progress, threads, corpus.work)
    found = verifier.run(representative)
    found.hot = verifier.measurer.hot
    found.large = keys.only(_in_large_clusters(plan, found.pairs, len(corpus)))
    return found


def find_more(plan: Plan, corpus: Corpus, matches: Matches, progress: Progress, threads: int) -> Matches:
    """The matches for a higher threshold: large clusters, whose inner pairs were skipped, are matched once more."""
    large = matches.large
    if large is not None and matches.truncated:  # at a higher threshold a join meets other members of a list
        again = Verifier(plan, corpus, large, plan.threshold, progress, threads).run(matches.representative)
        return _counted_together(again, matches)
    if large is None or len(large.representatives) == 0:
        return matches
    found = Verifier(plan, corpus, large, matches.floor, progress, threads).run(matches.representative)
    n, more = len(corpus), found.pairs
    new = ~np.isin(more.left * n + more.right, matches.pairs.left * n + matches.pairs.right)
    pairs = Pairs.concatenate([more.take(new), matches.pairs])
    return _counted_together(replace(matches, pairs=pairs), found)


def _counted_together(matches: Matches, others: Matches) -> Matches:
    """The matches with the pairs that were measured for the others too."""
    return replace(
        matches, candidates=matches.candidates + others.candidates, inside=matches.inside + others.inside
    )


def _in_large_clusters(plan: Plan, pairs: Pairs, n: int) -> Numbers:
    """The distinct texts of clusters of which not all pairs were measured."""
    if plan.pairs == "all" or plan.check.level == "none" or plan.candidates.level == "features":
        return np.zeros(0, np.int64)
    passed = pairs.take(plan.check.passes(pairs, plan.threshold))
    labels = components(n, passed.left, passed.right)
    return np.flatnonzero(np.bincount(labels, minlength=n)[labels] > plan.clustering.complete)


class Verifier:
    """Compares the candidates among some distinct texts; without a workspace, nothing is kept for a resumed run."""

    def __init__(
        self,
        plan: Plan,
        corpus: Corpus,
        keys: TableKeys,
        floor: float,
        progress: Progress,
        threads: int,
        work: Workspace | None = None,
    ) -> None:
        self.plan, self.corpus, self.keys, self.floor = plan, corpus, keys, floor
        self.progress, self.threads = progress, threads
        self.verified, self.measurer = VerifiedBlocks(work), Measurer(plan, corpus, threads)
        self.place = self.label = np.zeros(
            0, np.int32
        )  # of each document in its group: its place, its cluster

    def run(self, representative: Numbers) -> Matches:
        """The matches: all measured pairs that are at least as similar as the floor."""
        found = Matches(representative, Pairs.concatenate([]), self.floor)
        if self.plan.joins:
            self._joined(found)
        elif self.plan.pairs == "all":
            self._every_pair(found)
        else:
            self._in_rounds(found)
        return found

    def _joined(self, found: Matches) -> None:
        """The pairs that a join finds, or those that it found in an earlier run."""
        done = next(iter(self.verified.earlier()), None) or self.verified.add(self._join())
        found.pairs, found.candidates, found.truncated = done.pairs, done.measured, done.joined

    def _join(self) -> VerifiedBlock:
        with self.progress.stage("join"):
            if self.plan.candidates.level == "features":
                pairs, truncated = joined_features(self.plan, self.corpus, self.floor, self.threads)
                return VerifiedBlock(pairs, len(pairs), truncated)
            some = self.keys.representatives
            pairs = joined_signatures(self.plan, self.corpus, some, self.floor, self.threads)
        measured = pairs if self.plan.join_decides else self._verify(pairs.left, pairs.right)
        return VerifiedBlock(measured, len(pairs))

    def _verify(self, left: Numbers, right: Numbers) -> Pairs:
        """The pairs that reach the floor."""
        with self.progress.stage("verify", len(left)):
            measured = self.measurer.measure(left, right)
        return measured.take(self.plan.check.passes(measured, self.floor))

    def _every_pair(self, found: Matches) -> None:
        """Every pair of every bucket."""
        with self.progress.stage("count candidates", self.keys.tables):
            total = count_candidates(self.keys)
        n = len(self.corpus)
        total = min(total, n * (n - 1) // 2)
        if total > 10 * n and total > MANY_PAIRS:
            self.progress.note(
                f"pairs=all compares up to {total:,} candidates of {n:,} documents; pairs that are "
                f"found take 40 bytes of memory each, {40 * total >> 20:,} MB at the most"
            )
        done = [self._counted(found, block) for block in self.verified.earlier()]
        for number, (left, right, counts) in enumerate(all_candidates(self.keys)):
            found.counts += counts
            if number >= len(done):
                block = VerifiedBlock(self._verify(left, right), len(left))
                done.append(self._counted(found, self.verified.add(block)))
        found.pairs = Pairs.concatenate(done)

    def _in_rounds(self, found: Matches) -> None:
        """The evidence that decides which documents belong together.

        Groups that fit are independent of each other: each thread takes one from its features to its clusters. A
        component that is too large for that is compared tile by tile, with all threads.
        """
        groups, found.counts = grouped_candidates(
            self.plan, self.corpus, self.keys, self.floor, self.progress, self.threads
        )
        small, large = [each for each in groups if each.fits], [each for each in groups if not each.fits]
        self.place, self.label = (np.zeros(len(self.corpus), np.int32) for _ in range(2))
        for group in groups:
            self.place[group.documents] = np.arange(len(group.documents), dtype=np.int32)
        total = sum(len(some) for group in groups for some in group.rounds)
        with self.progress.stage("verify", total):
            done = [self._counted(found, block) for block in self.verified.earlier()]
            known = len(done)
            for block in ordered_map(self._one_group, small[known:], self.threads):
                done.append(self._counted(found, self.verified.add(block)))
            for group in islice(large, max(0, known - len(small)), None):
                block = self._rounds(group, self.measurer.within(group.documents), self.threads)
                done.append(self._counted(found, self.verified.add(block)))
        found.pairs = Pairs.concatenate(done)

    def _counted(self, found: Matches, done: VerifiedBlock) -> Pairs:
        found.candidates += done.measured
        found.joined += done.joined
        found.inside += done.inside
        self.progress.advance(done.measured + done.joined)
        return done.pairs

    def _one_group(self, group: ComponentGroup) -> VerifiedBlock:
        alone = Measurer(self.plan, self.corpus, threads=1)
        return self._rounds(group, alone.holding(group.documents) if alone.needs_texts else alone.measure)

    def _rounds(
        self, group: ComponentGroup, measure: Callable[[Numbers, Numbers], Pairs], threads: int = 1
    ) -> VerifiedBlock:
        """The pairs of a group, measured as far as they matter.

        Skipping a pair whose documents are in one cluster already cannot change the clusters. Small clusters are then
        measured completely, below the threshold too, so that their weakest link is exact.
        """
        n, plan, measured, joined = len(self.corpus), self.plan, 0, 0
        done = Pairs.concatenate([])
        for packed in group.rounds:
            needed = packed
            if len(done) and not plan.needs_every_candidate:
                self.label[group.documents] = self._labels(group, done)
                needed = self._apart(packed, threads)
            done = Pairs.concatenate([done, self._measured(needed, measure)])
            measured, joined = measured + len(needed), joined + len(packed) - len(needed)
        if plan.clustering.kind == "leaders" or plan.check.level == "none":
            return VerifiedBlock(done, measured, joined)
        inside = complete_groups(group.documents, self._labels(group, done), plan.clustering.complete, n)
        inside = without(np.sort(inside), np.sort(done.left * n + done.right))
        done = Pairs.concatenate([done, measure(inside // n, inside % n)])
        return VerifiedBlock(done, measured, joined, len(inside))

    def _measured(self, packed: Numbers, measure: Callable[[Numbers, Numbers], Pairs]) -> Pairs:
        """Those of the pairs that reach the floor."""
        n, found = len(self.corpus), []
        for some in blocks(packed):
            measured = measure(some // n, some % n)
            found.append(measured.take(self.plan.check.passes(measured, self.floor)))
        return Pairs.concatenate(found)

    def _apart(self, packed: Numbers, threads: int) -> Numbers:
        """Those of the pairs whose documents are in different clusters."""
        n, keep_apart = len(self.corpus), kernels.buckets.keep_apart
        parts = ordered_map(lambda some: keep_apart(some, n, self.label), blocks(packed), threads)
        return np.concatenate(list(parts))

    def _labels(self, group: ComponentGroup, pairs: Pairs) -> Numbers:
        """For each document of a group its cluster, by the pairs that reach the threshold."""
        passed = pairs.take(self.plan.check.passes(pairs, self.plan.threshold))
        return components(len(group.documents), self.place[passed.left], self.place[passed.right])
