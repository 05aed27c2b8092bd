"""Which contents are near-duplicates: candidates from keys, verified in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from neardup.candidates.buckets import (
    BucketCounts,
    Buckets,
    all_pairs,
    count_all,
    find_buckets,
    packed_bucket_pairs,
)
from neardup.candidates.copies import collapse
from neardup.clusters.graph import complete_groups, components
from neardup.columns import Features, Numbers, Pairs, Signatures
from neardup.engines.core.compare import Measurer, families
from neardup.engines.core.progress import Progress
from neardup.engines.core.rounds import (
    BLOCK_PAIRS,
    ComponentGroup,
    PackedPairs,
    blocks,
    component_groups,
    in_rounds,
)
from neardup.engines.local.checkpoint.verified import Rounds, Verified
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.matches import Matches, TableKeys
from neardup.engines.local.read import Corpus
from neardup.plan import FeatureJoin, Plan, SignatureJoin
from neardup.sorted_sets import without
from neardup.workers import ordered_map

MOST_LINKS = 64  # members of a list that a document meets in a join for clusters


class Matcher:
    """Finds candidates among some contents and verifies them."""

    def __init__(
        self,
        plan: Plan,
        corpus: Corpus,
        matches: Matches,
        keys: TableKeys,
        progress: Progress,
        threads: int,
        work: Workspace | None = None,
    ) -> None:
        self.plan, self.corpus, self.matches, self.progress = plan, corpus, matches, progress
        self.verified = Verified(work)
        self.keys, self.threads = keys, threads
        self.measurer = Measurer(plan, corpus, threads)

    def run(self) -> Pairs:
        """All verified pairs of contents that are at least as similar as the evidence reaches down."""
        if self.plan.joins:
            return self._once(self._joined if self.plan.candidates.level == "features" else self._near)
        return self._every_pair() if self.plan.pairs == "all" else self._what_clusters_need()

    def _once(self, join: Callable[[], Pairs]) -> Pairs:
        """What a join finds, or what it found in an earlier run."""
        for done in self.verified.earlier():
            self.matches.candidates, self.matches.cuts = done.measured, done.joined
            return done.pairs
        found = join()
        return self.verified.add(Rounds(found, self.matches.candidates, self.matches.cuts)).pairs

    def _verify(self, left: Numbers, right: Numbers) -> Pairs:
        """The pairs that reach the floor."""
        self.matches.candidates += len(left)
        with self.progress.stage("verify", len(left)):
            measured = self.measurer.measure(left, right)
        return measured.take(self.plan.check.passes(measured, self.matches.floor))

    def _buckets(self, table: int) -> Buckets:
        return find_buckets(self.keys.of(table), self.keys.owners)

    def _joined(self) -> Pairs:
        """Every pair that the join over all features finds, or those of them that clusters need."""
        contents, plan = self.corpus.contents, self.plan
        assert contents is not None
        joining: FeatureJoin = plan.candidates  # type: ignore[assignment]
        ranks, every = (
            self.corpus.ranks[contents.owners],
            plan.pairs == "all" or plan.clustering.kind == "leaders",
        )

        def join(features: Features, places: Numbers, first: int) -> tuple[Pairs, int]:
            if every:
                return joining.pairs(features, self.matches.floor, self.threads, first), 0
            return joining.links(features, self.matches.floor, self.threads, ranks[places], MOST_LINKS, first)

        with self.progress.stage("join"):
            found, self.matches.cuts = contents.join(self.corpus.work, join)
        self.matches.candidates += len(found)
        left, right = contents.owners[found.left], contents.owners[found.right]
        return replace(found, left=np.minimum(left, right), right=np.maximum(left, right))

    def _near(self) -> Pairs:
        """Every pair that the join over all signatures finds; or as many as clusters need."""
        plan, kept = self.plan, self.corpus.signatures
        joining: SignatureJoin = plan.candidates  # type: ignore[assignment]
        assert kept is not None
        decided = plan.check.measures == plan.candidates.decides and plan.check_view is None
        spanning = decided and plan.pairs == "clusters" and plan.clustering.kind == "components"
        # In the order of ids: which pairs span a cluster must not depend on the order of the input.
        owners = self.keys.owners[np.argsort(self.corpus.ranks[self.keys.owners])]
        some = Signatures(kept.slots[owners], kept.present[owners])
        with self.progress.stage("join"):
            found = joining.pairs(some, self.matches.floor, self.threads, spanning)
        left, right = owners[found.left], owners[found.right]
        left, right = np.minimum(left, right), np.maximum(left, right)
        if not decided:
            return self._verify(left, right)
        self.matches.candidates += len(found)
        return replace(found, left=left, right=right)

    # pairs="clusters" ---------------------------------------------------------------------------

    def _what_clusters_need(self) -> Pairs:
        """The evidence that decides which contents belong together, linear in the size of a bucket.

        In rounds, each without the pairs whose documents those before have joined. A document meets the members of
        the smallest rank of its buckets, in a large family one after the other; then follow the other pairs of the
        buckets (with a few more members only, if they are large).
        """
        stars, rest = self._pairs_of_tables()
        rest = without(rest, stars)
        relatives = families(len(self.corpus), stars, rest)
        rounds = in_rounds(self.corpus, stars, rest, relatives)
        del stars, rest
        found = []
        with self.progress.stage("verify", sum(map(len, rounds))):
            portions = list(component_groups(self.corpus, rounds, relatives))
            # Portions that fit are independent of each other: each thread takes one from its features to its
            # clusters. A family that is too large for that is compared tile by tile, with all threads.
            small = [family for family in portions if family.fits]
            large = [family for family in portions if not family.fits]
            found += [self._counted(done) for done in self.verified.earlier()]
            known = len(found)
            for done in ordered_map(self._one_portion, small[known:], self.threads):
                found.append(self._counted(self.verified.add(done)))
            for family in large[max(0, known - len(small)) :]:
                done = self._rounds(family, self.measurer.measure)
                found.append(self._counted(self.verified.add(done)))
        return Pairs.concatenate(found)

    def _one_portion(self, family: ComponentGroup) -> Rounds:
        alone = Measurer(self.plan, self.corpus, threads=1)
        return self._rounds(family, alone.holding(family.documents) if alone.needs_texts else alone.measure)

    def _counted(self, done: Rounds) -> Pairs:
        self.matches.candidates += done.measured
        self.matches.joined += done.joined
        self.progress.advance(done.measured + done.joined)
        return done.pairs

    def _pairs_of_tables(self) -> tuple[Numbers, Numbers]:
        """Codes of the pairs of all buckets, sorted and each once: with the first member, and all that are wanted."""

        def pair(table: int) -> tuple[Numbers, Numbers, BucketCounts]:
            buckets, ranks, n = self._buckets(table), self.corpus.ranks, len(self.corpus)
            first = packed_bucket_pairs(buckets, ranks, n, 1, 1)[0]
            others, counts = packed_bucket_pairs(buckets, ranks, n, self.plan.bucket, self.plan.pivots)
            first.sort()
            others.sort()
            return first, others, counts

        most = len(self.corpus) ** 2
        tables, first, rest = self.keys.tables, PackedPairs(most), PackedPairs(most)
        with self.progress.stage("candidates", tables):
            sorters = self.corpus.work.memory.sorters(len(self.corpus), self.threads)
            for stars, others, counts in ordered_map(pair, range(tables), sorters, ahead=1):
                first.add(stars)
                rest.add(others)
                self.matches.counts += counts
                self.progress.advance(1)
        return first.taken(), rest.taken()

    def _rounds(self, family: ComponentGroup, measure: Callable[[Numbers, Numbers], Pairs]) -> Rounds:
        """What the pairs of a family are worth, as far as it matters.

        Skipping a pair whose documents are in one cluster already cannot change the clusters. Small clusters
        are then measured completely, below the threshold too, so that their weakest link is exact.
        """
        n, plan, measured, joined = len(self.corpus), self.plan, 0, 0
        done = Pairs.concatenate([])
        for codes in family.rounds:
            wanted = codes
            if len(done) and plan.clustering.kind != "leaders":  # a leader must meet every candidate itself
                labels = self._labels(family, done)
                wanted = np.concatenate([self._apart(family, labels, some) for some in blocks(codes)])
            done = Pairs.concatenate([done, self._measured(wanted, measure)])
            measured, joined = measured + len(wanted), joined + len(codes) - len(wanted)
        if plan.clustering.kind == "leaders" or plan.check.level == "none":
            return Rounds(done, measured, joined)
        inside = complete_groups(family.documents, self._labels(family, done), plan.clustering.complete, n)
        inside = without(np.sort(inside), np.sort(done.left * n + done.right))
        return Rounds(Pairs.concatenate([done, measure(inside // n, inside % n)]), measured, joined)

    def _measured(self, codes: Numbers, measure: Callable[[Numbers, Numbers], Pairs]) -> Pairs:
        """Those of the pairs that reach the floor."""
        n, found = len(self.corpus), []
        for some in blocks(codes):
            measured = measure(some // n, some % n)
            found.append(measured.take(self.plan.check.passes(measured, self.matches.floor)))
        return Pairs.concatenate(found)

    def _apart(self, family: ComponentGroup, labels: Numbers, codes: Numbers) -> Numbers:
        """Those of the pairs whose documents are in different clusters."""
        n = len(self.corpus)
        left, right = (np.searchsorted(family.documents, some) for some in (codes // n, codes % n))
        return codes[labels[left] != labels[right]]

    def _labels(self, family: ComponentGroup, pairs: Pairs) -> Numbers:
        """For each document of a family its cluster, by the pairs that reach the threshold."""
        passed = pairs.take(self.plan.check.passes(pairs, self.plan.threshold))
        left, right = (np.searchsorted(family.documents, some) for some in (passed.left, passed.right))
        return components(len(family.documents), left, right)

    # pairs="all" --------------------------------------------------------------------------------

    def _every_pair(self) -> Pairs:
        """Every pair of every bucket."""
        tables = self.keys.tables
        with self.progress.stage("count candidates", tables):
            total = sum(count_all(self._buckets(table)) for table in range(tables))
        if total > 10 * len(self.corpus):
            size = f"{total:,} candidates of {len(self.corpus):,} documents"
            room = f"; pairs that are found take 40 bytes of memory each, {40 * total >> 20:,} MB at the most"
            self.progress.note(f"pairs=all compares up to {size}{room}")
        found = [self._counted(done) for done in self.verified.earlier()]
        for left, right in islice(self._blocks(), len(found), None):
            found.append(self.verified.add(Rounds(self._verify(left, right), len(left))).pairs)
        return Pairs.concatenate(found)

    def _blocks(self) -> Iterator[tuple[Numbers, Numbers]]:
        """Table by table; a pair that met in an earlier table is left out, so none need be remembered."""
        waiting: list[tuple[Numbers, Numbers]] = []
        for table in range(self.keys.tables):
            buckets = self._buckets(table)
            sizes = buckets.sizes
            self.matches.counts += BucketCounts(len(sizes), int(sizes.max(initial=0)))
            for left, right in all_pairs(buckets, BLOCK_PAIRS):
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
            a, b = self.keys.at(earlier, left, right)
            fresh &= a != b
        return fresh


def _joined(parts: list[tuple[Numbers, Numbers]]) -> tuple[Numbers, Numbers]:
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def find_matches(plan: Plan, corpus: Corpus, progress: Progress, threads: int) -> Matches:
    """Copies, candidates and verified pairs of a corpus; of the keys, what `rethreshold` may need is kept."""
    with progress.stage("copies"):
        content = collapse(corpus.digests, corpus.ranks, corpus.tokens > 0)
    owners = np.flatnonzero(corpus.present & (content == np.arange(len(corpus))))
    assert corpus.keys is not None
    tables = 0 if plan.joins else plan.candidates.tables  # type: ignore[attr-defined]
    keys = TableKeys(owners, tables, corpus.keys.key)
    matches = Matches(content, Pairs.concatenate([]), plan.reach)
    matches.pairs = Matcher(plan, corpus, matches, keys, progress, threads, corpus.work).run()
    matches.large = keys.only(_in_large_clusters(plan, matches.pairs, len(corpus)))
    return matches


def find_more(plan: Plan, corpus: Corpus, matches: Matches, progress: Progress, threads: int) -> Matches:
    """The matches for a higher threshold: large clusters, whose inner pairs were skipped, are matched again."""
    if (
        matches.cuts and matches.large is not None
    ):  # a join that met not all members of a crowd: at a higher threshold it meets others
        again = Matches(matches.content, Pairs.concatenate([]), plan.threshold)
        return replace(again, pairs=Matcher(plan, corpus, again, matches.large, progress, threads).run())
    if matches.large is None or len(matches.large.owners) == 0:
        return matches
    more = Matches(matches.content, Pairs.concatenate([]), matches.floor)
    found = Matcher(plan, corpus, more, matches.large, progress, threads).run()
    n = len(corpus)
    new = ~np.isin(found.left * n + found.right, matches.pairs.left * n + matches.pairs.right)
    return replace(matches, pairs=Pairs.concatenate([found.take(new), matches.pairs]))


def _in_large_clusters(plan: Plan, pairs: Pairs, n: int) -> Numbers:
    """The contents of clusters of which not all pairs were measured."""
    if plan.pairs == "all" or plan.check.level == "none" or plan.candidates.level == "features":
        return np.zeros(0, np.int64)
    passed = pairs.take(plan.check.passes(pairs, plan.threshold))
    labels = components(n, passed.left, passed.right)
    return np.flatnonzero(np.bincount(labels, minlength=n)[labels] > plan.clustering.complete)
