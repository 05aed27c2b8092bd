"""Exact candidates: every pair that reaches the threshold and no other, from features alone.

Two matchers answer the same question: `partitions` (SpotSigs: length partitions and pruned inverted lists) and
`prefix` (the least features of each document in one order, as in the PPJoin family). Both work on contents:
documents with equal features are one, ordered by size. τ is a fraction of whole numbers everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Features, Hashes, Numbers, Offsets, Pairs, between, make_distinct
from neardup.errors import ParameterError, PlanError
from neardup.plan import Distribution
from neardup.thresholds import as_fraction

MOST = (
    2**31 - 1
)  # so large may a document be, and so many may they be: products with the threshold stay in 64 bits


@dataclass(frozen=True)
class FeatureSets:
    """Different contents, ordered by (size, number), over the features of all documents."""

    offsets: Offsets
    hashes: Hashes
    weights: NDArray[np.float32]  # empty where all are 1
    content: Numbers  # of each document the one that stands for it: the first with the same features
    documents: Numbers  # the document of each rank
    sizes: Numbers  # the size of each rank: Σ weights
    sketches: Hashes  # of each rank: the parities of its features in 128 slots

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def arrays(self) -> tuple[Hashes, NDArray[np.float32], Offsets]:
        """What kernels read features from."""
        return self.hashes, self.weights, self.offsets


@dataclass(frozen=True)
class MatcherCounts:
    """What a matcher did."""

    computed: Numbers  # similarity computations, by the rank of the content that was looked up
    visits: int  # members of inverted lists that were looked at
    details: dict[str, int]  # what else the matcher counts

    @property
    def computations(self) -> int:
        """Similarity computations in all."""
        return int(self.computed.sum())


@dataclass(frozen=True)
class JoinedPairs:
    """Pairs of ranks with what they share."""

    left: Numbers
    right: Numbers
    shared: Numbers
    work: MatcherCounts


MatchFunction = Callable[[FeatureSets, Fraction, int], JoinedPairs]


@dataclass(frozen=True)
class Exact:
    """Candidates that need no verification; `matcher` is how they are found and changes nothing else."""

    matcher: Literal["auto", "prefix", "partitions"] = "auto"
    level: Literal["features"] = "features"
    distribution: ClassVar[Distribution] = "prefix"
    truncates: ClassVar[bool] = True
    decides: ClassVar[str] = "multi-set jaccard"  # … of sets where features have no weights

    def pairs(self, features: Features, threshold: float, threads: int = 1, first: int = 0) -> Pairs:
        """All pairs of documents whose Jaccard similarity reaches the threshold, with the evidence."""
        found = exact_pairs(features, threshold, self.matcher, threads)
        return found.take(between(found.left, found.right, first))

    def links(
        self, features: Features, threshold: float, threads: int, ranks: Hashes, most: int, first: int = 0
    ) -> tuple[Pairs, int]:
        """Pairs that connect what is similar, and how often members of a crowd were not compared.

        Documents of equal features are linked to the one of the smallest rank. A feature of a crowd brings a
        document together with the `most` that are nearest in size (then in rank) only: linear in the crowd.
        """
        from neardup.candidates.prefix import match

        order = np.argsort(ranks, kind="stable")  # which members are met must not depend on the input's order
        collection = collect(_as_sets(features).take(order))
        matches = match(collection, check_threshold(threshold), threads, most)
        found = link(collection, matches)
        found = replace(found, left=order[found.left], right=order[found.right])
        return found.take(between(found.left, found.right, first)), matches.work.details.get("cuts", 0)

    def probability(self, similarity: float) -> float:
        """Nothing that is asked for is missed."""
        return 1.0

    def reach(self, recall: float) -> float:
        """The evidence ends at the threshold, whatever that is: nothing is found by chance below it."""
        return 1.0


def exact_pairs(features: Features, threshold: float, matcher: str = "auto", threads: int = 1) -> Pairs:
    """All pairs of documents that reach the threshold, by (left, right); multi-sets where features have weights."""
    limit = check_threshold(threshold)
    collection = collect(features)
    return expand(collection, choose_matcher(matcher)(collection, limit, threads))


def choose_matcher(name: str) -> MatchFunction:
    """The matcher of this name; 'auto' is `prefix`, which measured 4 to 16 times faster for τ from 0.3 to 0.9."""
    from neardup.candidates import partitions, prefix

    known: dict[str, MatchFunction] = {
        "auto": prefix.match,
        "prefix": prefix.match,
        "partitions": partitions.match,
    }
    if name not in known:
        raise ParameterError("matcher", "exact candidates", "one of " + ", ".join(map(repr, known)), name)
    return known[name]


def check_threshold(threshold: float) -> Fraction:
    """The threshold as a fraction above 0 and up to 1."""
    if not 0 < threshold <= 1 or as_fraction(threshold) == 0:
        raise ParameterError("threshold", "exact candidates", "above 0 and up to 1", threshold)
    return as_fraction(threshold)


def collect(features: Features) -> FeatureSets:
    """The different contents of documents that have features; occurrences that were not counted make sets."""
    features = _as_sets(features)
    none = np.zeros(0, np.float32)
    weights = none if features.weights is None else features.weights
    n = len(features)
    sizes, sketches = np.zeros(n, np.int64), np.zeros((n, 3), np.uint64)
    if not kernels.exact.summarise(features.hashes, weights, features.offsets, sizes, sketches):
        raise PlanError(
            "Exact matching needs whole weights of at least 1, such as those of the stage Counts."
        )
    if n > MOST or sizes.max(initial=0) > MOST // 2:
        raise PlanError(f"Exact matching takes at most {MOST:,} documents of at most {MOST // 2:,} features.")
    if len(weights) and int(sizes.sum()) == int(features.offsets[-1] - features.offsets[0]):
        weights = none  # all are 1
    content = np.arange(n)
    digests = sketches[:, 2].copy()
    arrays = (features.hashes, weights, features.offsets)
    kernels.exact.collapse_equal(arrays, digests, np.argsort(digests), content)
    chosen = np.flatnonzero((sizes > 0) & (content == np.arange(n)))
    if sizes.max(initial=0) <= 4 * n + 1000:
        counts = np.zeros(int(sizes.max(initial=0)) + 2, np.int64)
        documents = kernels.exact.order_by_size(sizes, chosen, counts)
    else:
        documents = chosen[np.argsort(sizes[chosen], kind="stable")]
    kept = sketches[documents]
    return FeatureSets(features.offsets, features.hashes, weights, content, documents, sizes[documents], kept)


def _as_sets(features: Features) -> Features:
    if features.weights is not None and not features.distinct:
        raise PlanError(
            "Exact matching needs features that are distinct: put the stage Counts into the view."
        )
    return make_distinct(features)


def link(collection: FeatureSets, matches: JoinedPairs) -> Pairs:
    """Pairs of contents, and each copy of a content with the document that stands for it."""
    size_of = np.zeros(len(collection.content), np.int64)
    size_of[collection.documents] = collection.sizes
    copies = np.flatnonzero(
        (collection.content != np.arange(len(size_of))) & (size_of[collection.content] > 0)
    )
    leaders = collection.content[copies]
    x = np.concatenate((collection.documents[matches.left], leaders))
    y = np.concatenate((collection.documents[matches.right], copies))
    shared = np.concatenate((matches.shared, size_of[leaders])).astype(np.float64)
    sizes = size_of[collection.content].astype(np.float64)
    x, y = np.minimum(x, y), np.maximum(x, y)
    return Pairs(x, y, shared, sizes[x], sizes[y])


def expand(collection: FeatureSets, matches: JoinedPairs) -> Pairs:
    """Pairs of contents as pairs of documents, copies included, by (left, right)."""
    size_of = np.zeros(len(collection.content), np.int64)
    size_of[collection.documents] = collection.sizes
    size_of = size_of[collection.content]
    members = np.flatnonzero(size_of > 0)
    members = members[np.argsort(collection.content[members], kind="stable")]
    owners = collection.content[members]
    begins = np.flatnonzero(np.append(True, owners[1:] != owners[:-1])) if len(owners) else owners
    counts = np.diff(np.append(begins, len(owners)))
    begin_of, count_of = np.zeros_like(collection.content), np.zeros_like(collection.content)
    begin_of[owners[begins]], count_of[owners[begins]] = begins, counts

    a, b = collection.documents[matches.left], collection.documents[matches.right]
    left, right, which = products(begin_of[a], count_of[a], begin_of[b], count_of[b])
    copies = begins[counts > 1]
    own_begin, own_count = copies, counts[counts > 1]
    i, j, own = products(own_begin, own_count, own_begin, own_count)
    below = i < j
    x = members[np.concatenate((left, i[below]))]
    y = members[np.concatenate((right, j[below]))]
    shared = np.concatenate((matches.shared[which], size_of[members[own_begin]][own[below]]))
    x, y = np.minimum(x, y), np.maximum(x, y)
    order = np.lexsort((y, x))
    x, y = x[order], y[order]
    sizes = size_of.astype(np.float64)
    return Pairs(x, y, shared[order].astype(np.float64), sizes[x], sizes[y])


def products(a: Numbers, count_a: Numbers, b: Numbers, count_b: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Every place of a group from a with every one of its partner from b, and the number of the groups."""
    total = count_a * count_b
    which = np.repeat(np.arange(len(a)), total)
    within = np.arange(len(which)) - np.repeat(np.cumsum(total) - total, total)
    return a[which] + within // count_b[which], b[which] + within % count_b[which], which
