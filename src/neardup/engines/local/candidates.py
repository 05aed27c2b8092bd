"""Candidate pairs: from keys, table by table, or from a join of all features or signatures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from neardup.candidates.bit_bands import ENOUGH, BitBands, Sieve
from neardup.candidates.buckets import (
    BucketCounts,
    Buckets,
    all_pairs,
    count_all,
    find_buckets,
    packed_bucket_pairs,
)
from neardup.columns import Features, Hashes, Numbers, Pairs, Signatures
from neardup.engines.core.progress import Progress
from neardup.engines.core.rounds import (
    BLOCK_PAIRS,
    MOST_LINKS,
    ComponentGroup,
    PackedPairs,
    candidate_components,
    component_groups,
    in_many,
    in_rounds,
)
from neardup.engines.local.read import Corpus
from neardup.plan import FeatureJoin, Plan, SignatureJoin
from neardup.workers import ordered_map


@dataclass(frozen=True)
class TableKeys:
    """The keys of some distinct texts, table by table, in memory or in files."""

    representatives: Numbers
    tables: int
    key: Callable[[int], Hashes]  # of every document, or of the representatives alone
    alone: bool = False

    def of(self, table: int) -> Hashes:
        """The representatives' keys in a table."""
        return self.key(table) if self.alone else self.key(table)[self.representatives]

    def at(self, table: int, *documents: Numbers) -> list[Hashes]:
        """The keys of some representatives in a table."""
        keys = self.key(table)
        return [
            keys[np.searchsorted(self.representatives, some) if self.alone else some] for some in documents
        ]

    def only(self, documents: Numbers) -> TableKeys:
        """The keys of some of the representatives, and of no others, read when they are asked for."""
        return TableKeys(documents, self.tables, lambda table: self.at(table, documents)[0], alone=True)

    def buckets(self, table: int) -> Buckets:
        """Representatives with equal keys in a table."""
        return find_buckets(self.of(table), self.representatives)


def table_keys(plan: Plan, corpus: Corpus, representative: Numbers) -> TableKeys:
    """The keys of the distinct texts that have features; without tables where a join finds candidates."""
    some = np.flatnonzero(corpus.present & corpus.compared & (representative == np.arange(len(corpus))))
    tables = 0 if plan.joins else plan.candidates.tables  # type: ignore[attr-defined]
    assert corpus.keys is not None
    return TableKeys(some, tables, corpus.keys.key)


# pairs="clusters": what decides which documents belong together ----------------------------------------------


def grouped_candidates(
    plan: Plan, corpus: Corpus, keys: TableKeys, floor: float, progress: Progress, threads: int
) -> tuple[list[ComponentGroup], BucketCounts]:
    """Candidate components in groups that fit into memory, with their pairs in rounds: linear in a hot bucket."""
    firsts, others = Rule(1, 1), Rule(plan.bucket, plan.pivots, begin=min(1, plan.pivots))
    few = corpus.features < ENOUGH
    sieved = _sieve(plan, corpus, floor, few)
    if sieved is None:
        [found, more], counts = _pairs_of_tables(corpus, keys, (firsts, others), progress, threads)
        stars = found.taken()
    else:  # components do not depend on the sieve, nor do rounds; it takes pairs out where there are many
        [found], _ = _pairs_of_tables(corpus, keys, (firsts,), progress, threads)
        stars = found.taken()
        others = replace(others, sieve=_sieve(plan, corpus, floor, few | ~in_many(stars, len(corpus))))
        [more], counts = _pairs_of_tables(corpus, keys, (others,), progress, threads)
    rest = more.taken(stars)
    components = candidate_components(len(corpus), stars)  # the first member of a bucket connects all others
    rounds = in_rounds(corpus.id_hashes, stars, rest, components, threads)
    del stars, rest
    if sieved is not None:
        rounds = [_packed(*sieved(*np.divmod(some, len(corpus))), len(corpus)) for some in rounds]
    return list(component_groups(corpus.features, rounds, components)), counts


@dataclass(frozen=True)
class Rule:
    """Which pairs of a bucket are met."""

    limit: int  # members of a bucket of which all pairs are
    pivots: int  # that every member of a larger one meets
    begin: int = 0  # first members whose pairs another rule has
    sieve: Sieve | None = None


def _pairs_of_tables(
    corpus: Corpus, keys: TableKeys, rules: tuple[Rule, ...], progress: Progress, threads: int
) -> tuple[list[PackedPairs], BucketCounts]:
    """Packed pairs of all buckets by each rule; and the counts by the last rule."""
    id_hashes, n = corpus.id_hashes, len(corpus)

    def pairs_of(table: int) -> tuple[list[Numbers], BucketCounts]:
        buckets, found, counts = keys.buckets(table), [], BucketCounts()
        for rule in rules:
            packed, counts = packed_bucket_pairs(
                buckets, id_hashes, rule.limit, rule.pivots, rule.begin, rule.sieve
            )
            packed.sort()
            found.append(packed)
        return found, counts

    known, total = [PackedPairs(n**2, threads) for _ in rules], BucketCounts()
    with progress.stage("candidates", keys.tables):
        sorters = corpus.work.memory.sorters(n, threads)
        for found, counts in ordered_map(pairs_of, range(keys.tables), sorters, ahead=1):
            for pairs, packed in zip(known, found, strict=True):
                pairs.add(packed)
            total += counts
            progress.advance(1)
    return known, total


def _packed(left: Numbers, right: Numbers, n: int) -> Numbers:
    return left * n + right


def _sieve(plan: Plan, corpus: Corpus, floor: float, exempt: NDArray[np.bool_]) -> Sieve | None:
    """What takes pairs out that whole signatures show to be too different, where these are kept."""
    bands, kept = plan.candidates, corpus.signatures
    if not isinstance(bands, BitBands) or kept is None or plan.check_view is not None:
        return None
    return bands.sieve(kept, floor, exempt)


# pairs="all": every pair of every bucket ---------------------------------------------------------------------


def count_candidates(keys: TableKeys) -> int:
    """How many pairs the buckets of all tables have, repeats included."""
    return sum(count_all(keys.buckets(table)) for table in range(keys.tables))


def all_candidates(keys: TableKeys) -> Iterator[tuple[Numbers, Numbers, BucketCounts]]:
    """Every pair once, in blocks, and the counts of the buckets they come from.

    A pair that met in an earlier table is left out there, so that none need be remembered.
    """
    waiting: list[tuple[Numbers, Numbers]] = []
    counts = BucketCounts()
    for table in range(keys.tables):
        buckets = keys.buckets(table)
        sizes = buckets.sizes
        counts += BucketCounts(len(sizes), int(sizes.max(initial=0)))
        for left, right in all_pairs(buckets, BLOCK_PAIRS):
            fresh = _first_met(keys, table, left, right)
            waiting.append((left[fresh], right[fresh]))
            if sum(len(pair[0]) for pair in waiting) >= BLOCK_PAIRS:
                yield *_stacked(waiting), counts
                waiting, counts = [], BucketCounts()
    if waiting:
        yield *_stacked(waiting), counts


def _first_met(keys: TableKeys, table: int, left: Numbers, right: Numbers) -> NDArray[np.bool_]:
    """Which pairs have no equal key in an earlier table."""
    fresh = np.ones(len(left), np.bool_)
    for earlier in range(table):
        a, b = keys.at(earlier, left, right)
        fresh &= a != b
    return fresh


def _stacked(parts: list[tuple[Numbers, Numbers]]) -> tuple[Numbers, Numbers]:
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


# joins -------------------------------------------------------------------------------------------------------


def joined_features(plan: Plan, corpus: Corpus, floor: float, threads: int) -> tuple[Pairs, int]:
    """Every pair that the join over all features finds, or those that clusters need; and posting lists truncated."""
    texts = corpus.distinct_features
    assert texts is not None
    joining: FeatureJoin = plan.candidates  # type: ignore[assignment]
    every = plan.needs_every_candidate
    id_hashes = corpus.id_hashes[texts.representatives]
    referenced = None if corpus.referenced is None else corpus.referenced[texts.representatives]

    def join(features: Features, places: Numbers, first: int) -> tuple[Pairs, int]:
        if referenced is not None:
            features = features.without(referenced[places])
        if every:
            return joining.pairs(features, floor, threads, first), 0
        return joining.links(features, floor, threads, id_hashes[places], MOST_LINKS, first)

    found, truncated = texts.join(corpus.work, join)
    return _numbered(found, texts.representatives), truncated


def joined_signatures(
    plan: Plan, corpus: Corpus, representatives: Numbers, floor: float, threads: int
) -> Pairs:
    """Every pair that the join over all signatures finds; or as many as connect clusters, where it decides alone."""
    kept = corpus.signatures
    joining: SignatureJoin = plan.candidates  # type: ignore[assignment]
    assert kept is not None
    # In the order of id hashes: which pairs span a cluster must not depend on the order of the input.
    ordered = representatives[np.argsort(corpus.id_hashes[representatives])]
    some = Signatures(kept.slots[ordered], kept.present[ordered])
    return _numbered(joining.pairs(some, floor, threads, plan.needs_spanning_pairs), ordered)


def _numbered(found: Pairs, documents: Numbers) -> Pairs:
    """Pairs of places as pairs of documents, the smaller number left."""
    left, right = documents[found.left], documents[found.right]
    swap = left > right  # the sizes go with their documents
    low, high = (np.where(swap, b, a) for a, b in ((left, right), (right, left)))
    sizes = found.left_size, found.right_size
    of_low, of_high = (np.where(swap, b, a) for a, b in (sizes, sizes[::-1]))
    return replace(found, left=low, right=high, left_size=of_low, right_size=of_high)
