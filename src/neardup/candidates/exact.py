"""Exact candidates: every pair that reaches the threshold and no other, from features alone.

Two matchers give the same pairs: `partitions` (SpotSigs: length partitions and pruned inverted lists) and `prefix`
(the least features of each document in one order, as in PPJoin). Both work on distinct feature sets, ordered by size:
the first document with a set represents the others. τ is a fraction of whole numbers everywhere.
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
from neardup.sorted_sets import run_starts
from neardup.thresholds import as_fraction

MOST = 2**31 - 1  # documents, and features of a document: products with the threshold stay in 64 bits


@dataclass(frozen=True)
class FeatureSets:
    """Distinct feature sets, ranked by (size, number), over the features of all documents."""

    offsets: Offsets
    hashes: Hashes
    weights: NDArray[np.float32]  # empty if all are 1
    representatives: Numbers  # of each document the first with the same features
    documents: Numbers  # the document of each rank
    sizes: Numbers  # the size of each rank: Σ weights
    sketches: Hashes  # of each rank: the parities of its features in 128 slots

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def document_sizes(self) -> Numbers:
        """The size of each document, by number."""
        sizes = np.zeros(len(self.representatives), np.int64)
        sizes[self.documents] = self.sizes
        return sizes[self.representatives]

    @property
    def arrays(self) -> tuple[Hashes, NDArray[np.float32], Offsets]:
        """Hashes, weights and offsets, as kernels take them."""
        return self.hashes, self.weights, self.offsets


@dataclass(frozen=True)
class MatcherCounts:
    """The work of a matcher."""

    computed: Numbers  # similarity computations by rank
    visits: int  # members of inverted lists visited
    details: dict[str, int]  # other counts of the matcher


@dataclass(frozen=True)
class JoinedPairs:
    """Pairs of ranks with their overlap."""

    left: Numbers
    right: Numbers
    shared: Numbers
    work: MatcherCounts


MatchFunction = Callable[[FeatureSets, Fraction, int], JoinedPairs]


class EveryPair:
    """Candidates among which no pair is missed, and none is below the threshold."""

    def probability(self, similarity: float) -> float:
        """1: no pair is missed."""
        return 1.0

    def reach(self, recall: float) -> float:
        """1: pairs below the threshold are not searched."""
        return 1.0


@dataclass(frozen=True)
class Exact(EveryPair):
    """Candidates that need no verification; the result does not depend on the `matcher`."""

    matcher: Literal["auto", "prefix", "partitions"] = "auto"
    level: Literal["features"] = "features"
    distribution: ClassVar[Distribution] = "prefix"
    truncates: ClassVar[bool] = True
    decides: ClassVar[str] = "multi-set jaccard"  # … of sets if features have no weights

    def pairs(self, features: Features, threshold: float, threads: int = 1, first: int = 0) -> Pairs:
        """All pairs of documents whose Jaccard similarity reaches the threshold, with the evidence."""
        found = exact_pairs(features, threshold, self.matcher, threads)
        return found.take(between(found.left, found.right, first))

    def links(
        self, features: Features, threshold: float, threads: int, id_hashes: Hashes, most: int, first: int = 0
    ) -> tuple[Pairs, int]:
        """Pairs that connect similar documents, and the number of truncated posting lists.

        Documents with equal features are linked to the one of the smallest id hash. A frequent feature pairs a
        document only with the `most` documents nearest in size (then in id hash): linear in its posting list.
        The matcher `partitions` truncates no posting list.
        """
        from neardup.candidates import partitions, prefix

        order = np.argsort(id_hashes, kind="stable")  # the pairs must not depend on the order of the input
        collection = collect(_as_sets(features).take(order))
        limit = check_threshold(threshold)
        if self.matcher == "partitions":
            matches = partitions.match(collection, limit, threads)
        else:
            matches = prefix.match(collection, limit, threads, most)
        found = link(collection, matches)
        found = replace(found, left=order[found.left], right=order[found.right])
        return found.take(between(found.left, found.right, first)), matches.work.details.get("truncated", 0)


def exact_pairs(features: Features, threshold: float, matcher: str = "auto", threads: int = 1) -> Pairs:
    """All pairs of documents that reach the threshold, by (left, right); multi-sets if features have weights."""
    limit = check_threshold(threshold)
    collection = collect(features)
    return expand(collection, choose_matcher(matcher)(collection, limit, threads))


def choose_matcher(name: str) -> MatchFunction:
    """The matcher of this name; 'auto' is `prefix`, which is 4 to 16 times faster for τ from 0.3 to 0.9."""
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
    """The distinct feature sets of documents; features without counts are taken as sets."""
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
    representatives = np.arange(n)
    digests = sketches[:, 2].copy()
    arrays = (features.hashes, weights, features.offsets)
    kernels.exact.collapse_equal(arrays, digests, np.argsort(digests), representatives)
    chosen = np.flatnonzero((sizes > 0) & (representatives == np.arange(n)))
    if sizes.max(initial=0) <= 4 * n + 1000:
        counts = np.zeros(int(sizes.max(initial=0)) + 2, np.int64)
        documents = kernels.exact.order_by_size(sizes, chosen, counts)
    else:
        documents = chosen[np.argsort(sizes[chosen], kind="stable")]
    kept = sketches[documents]
    return FeatureSets(
        features.offsets, features.hashes, weights, representatives, documents, sizes[documents], kept
    )


def _as_sets(features: Features) -> Features:
    if features.weights is not None and not features.distinct:
        raise PlanError("Exact matching needs distinct features: put the stage Counts into the view.")
    return make_distinct(features)


def link(collection: FeatureSets, matches: JoinedPairs) -> Pairs:
    """Pairs of distinct feature sets, and each copy with its representative."""
    size_of = collection.document_sizes
    copies = np.flatnonzero((collection.representatives != np.arange(len(size_of))) & (size_of > 0))
    leaders = collection.representatives[copies]
    x = np.concatenate((collection.documents[matches.left], leaders))
    y = np.concatenate((collection.documents[matches.right], copies))
    shared = np.concatenate((matches.shared, size_of[leaders])).astype(np.float64)
    sizes = size_of.astype(np.float64)
    x, y = np.minimum(x, y), np.maximum(x, y)
    return Pairs(x, y, shared, sizes[x], sizes[y])


def expand(collection: FeatureSets, matches: JoinedPairs) -> Pairs:
    """Pairs of distinct feature sets as pairs of documents, copies included, by (left, right)."""
    size_of = collection.document_sizes
    members = np.flatnonzero(size_of > 0)
    members = members[np.argsort(collection.representatives[members], kind="stable")]
    representatives = collection.representatives[members]
    starts = run_starts(representatives)
    begins, counts = starts[:-1], np.diff(starts)
    begin_of, count_of = np.zeros_like(collection.representatives), np.zeros_like(collection.representatives)
    begin_of[representatives[begins]], count_of[representatives[begins]] = begins, counts

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
    """Every position of a range from a with every one of its partner from b, and the number of the ranges."""
    total = count_a * count_b
    which = np.repeat(np.arange(len(a)), total)
    within = np.arange(len(which)) - np.repeat(np.cumsum(total) - total, total)
    return a[which] + within // count_b[which], b[which] + within % count_b[which], which
