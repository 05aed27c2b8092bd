"""The SpotSigs matcher: optimal length partitions, inverted lists within them, two-dimensional pruning.

Theobald et al., SpotSigs (SIGIR 2008), section 4, with corrected conditions of algorithm 1: `kernels.partitions`
has them with their proofs. τ is the only parameter.

Memory: 44 to 84 bytes for each feature of the partitions in work, one partition for each thread.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from neardup import kernels
from neardup.candidates.exact import FeatureSets, JoinedPairs, MatcherCounts
from neardup.columns import Numbers


def boundaries(limit: Fraction, largest: int) -> Numbers:
    """Where length partitions begin: p₀ = 1, p₁ = 2 …, the last one above the largest size.

    (A) similar sizes L ≤ L' ≤ L/τ lie in the same partition or the next: L ≤ p(k+1) − 1 gives
        L' ≤ ⌊(p(k+1) − 1)/τ⌋ < p(k+2) as long as p(k+2) ≥ ⌊(p(k+1) − 1)/τ⌋ + 1;
    (B) no two sizes of a partition are dissimilar: p(k+1) − 1 ≤ p(k)/τ;
    (C) partitions are as narrow as (A) allows. The least p(k+1) > p(k) for (A) is max(p(k) + 1, ⌊(p(k) − 1)/τ⌋ + 1),
        and it fulfils (B). The recurrence as printed in 4.2, ⌊p(k)/τ⌋ + 1, is the widest that fulfils both.
    """
    p, q = limit.numerator, limit.denominator
    begins = [1]
    while begins[-1] <= largest:
        begins.append(max(begins[-1] + 1, (begins[-1] - 1) * q // p + 1))
    return np.array(begins, np.int64)


def match(
    collection: FeatureSets, limit: Fraction, threads: int = 1, partitions: bool = True, pruning: bool = True
) -> JoinedPairs:
    """All similar pairs of distinct feature sets. Without partitions or pruning: the same pairs at a higher cost."""
    n = len(collection)
    spans = _spans(collection.sizes, limit) if partitions else [(0, n, 0, n)]
    if limit == 1 and partitions and pruning:
        spans = []  # distinct feature sets are never equal
    heavy, rule = max(n // (2 * threads), 1000), (limit, pruning)
    small = [span for span in spans if span[1] - span[0] <= heavy]
    with ThreadPoolExecutor(threads) as pool:
        found = [*pool.map(lambda span: _look_up(collection, _lists(collection, span), span, *rule), small)]
        for span in (span for span in spans if span[1] - span[0] > heavy):
            table = _lists(collection, span)  # a partition with much of the collection: by all threads
            cuts = np.linspace(span[0], span[1], 4 * threads + 1).astype(int).tolist()
            parts = [(a, b, span[2], span[3]) for a, b in pairwise(cuts) if b > a]
            found += pool.map(lambda part, table=table: _look_up(collection, table, part, *rule), parts)
    work = MatcherCounts(
        np.zeros(n, np.int64), sum(part.visits for part in found), {"partitions": len(spans)}
    )
    for part in found:
        work.computed[part.first : part.first + len(part.computed)] += part.computed
    rows = np.concatenate([np.zeros((0, 3), np.int64), *(part.rows for part in found)])
    return JoinedPairs(rows[:, 0], rows[:, 1], rows[:, 2], work)


Span = tuple[int, int, int, int]  # the range of ranks that are looked up, and that of the lists


class SpanPairs(NamedTuple):
    """The pairs and the work of one span."""

    rows: Numbers
    visits: int
    computed: Numbers
    first: int


def _spans(sizes: Numbers, limit: Fraction) -> list[Span]:
    """For each partition with documents: it and the one before it are looked up in its lists."""
    if len(sizes) == 0:
        return []
    places = np.searchsorted(sizes, boundaries(limit, int(sizes[-1]))).tolist()
    firsts = [0, *places[:-2]]  # the beginning of the partition before
    return [
        (before, end, begin, end)
        for before, begin, end in zip(firsts, places[:-1], places[1:], strict=True)
        if end - begin > 0 and end - before > 1
    ]


def _lists(collection: FeatureSets, span: Span) -> object:
    """The inverted lists of the documents that others are looked up in."""
    return kernels.partitions.build_lists(collection.arrays, collection.documents, span[2], span[3])


def _look_up(collection: FeatureSets, table: object, span: Span, limit: Fraction, pruning: bool) -> SpanPairs:
    ranks = (collection.documents, collection.sizes)
    ratio = (limit.numerator, limit.denominator)
    rows, visits, computed = kernels.partitions.look_up(collection.arrays, ranks, table, span, ratio, pruning)
    return SpanPairs(rows, visits, computed, span[0])
