"""Exact matching; a document is a multi-set {hash: frequency}."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

from naive.common import MASK
from naive.sets import intersect_weighted


def summarise(document: Mapping[int, int]) -> tuple[int, int, int]:
    """The size, the parity of the features in each of 128 slots (by the first seven bits), and their sum."""
    parities = 0
    for h in document:
        parities ^= 1 << ((h >> 58) + 64 * (h >> 57 & 1))
    return sum(document.values()), parities, sum(document) & MASK


def collapse_equal(documents: Sequence[Mapping[int, int]]) -> list[int]:
    """For each document the first that is equal to it."""
    return [next(i for i, other in enumerate(documents) if other == document) for document in documents]


def order_by_size(sizes: Sequence[int], chosen: Iterable[int]) -> list[int]:
    """The chosen documents, the smallest first."""
    return sorted(chosen, key=lambda d: (sizes[d], d))


def overlap(a: Mapping[int, int], b: Mapping[int, int], needed: int) -> int:
    """What two documents share, or -1 if that is less than needed."""
    shared = intersect_weighted(a, b)
    return shared if shared >= needed else -1


def exact_pairs(documents: Sequence[Mapping[int, int]], threshold: Fraction) -> list[tuple[int, int, int]]:
    """(left, right, shared) of every pair whose similarity reaches the threshold."""
    found = []
    for (i, a), (j, b) in combinations(enumerate(documents), 2):
        shared, total = intersect_weighted(a, b), (Counter(a) | Counter(b)).total()
        if shared and Fraction(shared, total) >= threshold:
            found.append((i, j, shared))
    return found


def build_lists(documents: Sequence[Mapping[int, int]]) -> dict[int, list[int]]:
    """Of each feature the documents that have it."""
    return {h: [i for i, d in enumerate(documents) if h in d] for h in set().union(*documents)}


def select_prefixes(
    document: Mapping[int, int], classes: Sequence[int], threshold: Fraction
) -> list[tuple[int, int]]:
    """The first features by (class, hash) until less than τL is behind them, each with what is behind it."""
    rest, size = sum(document.values()), sum(document.values())
    found: list[tuple[int, int]] = []
    for h in sorted(document, key=lambda h: (classes[h % len(classes)], h)):
        if rest >= threshold * size:
            rest -= document[h]
            found.append((h, rest))
    return found
