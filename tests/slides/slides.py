"""The definitions of the slides, in plain Python: what their worked examples are checked with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from itertools import permutations
from math import exp, lgamma, log, log1p, sqrt
from statistics import NormalDist

Column = Sequence[int]  # the 0s and 1s of one document, a row for every shingle


def shingles(text: str, n: int) -> set[tuple[str, ...]]:
    """The runs of n words, as they are written."""
    words = text.split()
    return {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}


def jaccard(left: AbstractSet[object], right: AbstractSet[object]) -> Fraction:
    """The shared share of all elements."""
    return Fraction(len(left & right), len(left | right))


def rows(column: Column) -> set[int]:
    """The rows of a document, from 0."""
    return {i for i, bit in enumerate(column) if bit}


def row_types(left: Column, right: Column) -> tuple[int, int, int, int]:
    """How many rows are of type a (1 1), b (1 0), c (0 1) and d (0 0)."""
    pairs = list(zip(left, right, strict=True))
    return pairs.count((1, 1)), pairs.count((1, 0)), pairs.count((0, 1)), pairs.count((0, 0))


def rank_minhash(column: Column, ranks: Sequence[int]) -> int:
    """The least rank of the document's rows; ranks[i] is the place of row i. The usual convention."""
    return min(ranks[i] for i in rows(column))


def first_position(column: Column, order: Sequence[int]) -> int:
    """The first position whose row the document has; order[p] is the row at position p. The slide's trace."""
    return next(position for position, row in enumerate(order) if column[row])


def first_row(column: Column, ranks: Sequence[int]) -> int:
    """The row itself that comes first: the min-hash as the slides define it in words."""
    return min(rows(column), key=lambda i: ranks[i])


def sketch(column: Column, hashes: Sequence[Callable[[int], int]], numbers: Sequence[int]) -> tuple[int, ...]:
    """The usual sketch: the least hash of the numbers of the document's rows."""
    return tuple(min(h(numbers[i]) for i in rows(column)) for h in hashes)


def position_sketch(column: Column, hashes: Sequence[Callable[[int], int]]) -> tuple[int, ...]:
    """The sketch as the slide's trace reads h: from position to row."""
    return tuple(first_position(column, [h(p) for p in range(len(column))]) for h in hashes)


def estimate(left: Sequence[int], right: Sequence[int]) -> Fraction:
    """The share of agreeing slots."""
    return Fraction(sum(a == b for a, b in zip(left, right, strict=True)), len(left))


def firsts(left: Column, right: Column) -> list[tuple[int, int]]:
    """The first rows of both documents under every permutation of the rows."""
    orders = permutations(range(len(left)))
    return [(first_row(left, ranks), first_row(right, ranks)) for ranks in orders]


def slide_interval(agreeing: int, slots: int, confidence: float) -> tuple[float, float]:
    """The interval as printed: as many standard errors to both sides as leave 1 − confidence in ONE tail."""
    p = agreeing / slots
    half = NormalDist().inv_cdf(confidence) * sqrt(p * (1 - p) / slots)
    return p - half, p + half


def coverage(interval: Callable[[int], tuple[float, float]], p: float, slots: int) -> float:
    """The probability that the interval of a binomial sample holds p, summed over all samples."""
    return sum(binomial(k, slots, p) for k in range(slots + 1) if interval(k)[0] <= p <= interval(k)[1])


def binomial(agreeing: int, slots: int, p: float) -> float:
    """The probability of so many agreeing slots, through logarithms: the coefficients are huge."""
    ways = lgamma(slots + 1) - lgamma(agreeing + 1) - lgamma(slots - agreeing + 1)
    return exp(ways + agreeing * log(p) + (slots - agreeing) * log1p(-p))
