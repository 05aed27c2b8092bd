"""Sets that have much in common, and packed pairs with labels."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction

from naive.common import Edge


def number_hashes(hashes: Iterable[int]) -> dict[int, int]:
    """The hashes, numbered from 1."""
    return {h: number for number, h in enumerate(hashes, 1)}


def mark_hashes(sets: Sequence[Iterable[int]]) -> dict[int, int]:
    """For each hash a number whose bit s says whether set s has it."""
    marks: dict[int, int] = {}
    for place, hashes in enumerate(sets):
        for h in set(hashes):
            marks[h] = marks.get(h, 0) + 2**place
    return marks


def split_common(hashes: Collection[int], common: Sequence[int]) -> tuple[set[int], list[int]]:
    """The numbers, from 0, of the common hashes that a document has, and its other hashes in order."""
    return {number for number, h in enumerate(common) if h in hashes}, sorted({*hashes} - {*common})


def shared_of_pairs(sets: Sequence[Iterable[int]], pairs: Iterable[Edge]) -> list[int]:
    """How many hashes the sets of each pair have in common."""
    return [len(set(sets[a]) & set(sets[b])) for a, b in pairs]


def first_reached(
    own: Iterable[int], heads: Sequence[Iterable[int]], begin: int, limit: Fraction
) -> tuple[int, int]:
    """The first head from `begin` on whose Jaccard similarity with a set reaches the limit, and what both share."""
    for place, head in enumerate(heads):
        shared, union = set(own) & set(head), set(own) | set(head)
        if place >= begin and shared and Fraction(len(shared), len(union)) >= limit:
            return place, len(shared)
    return -1, 0


def keep_apart(pairs: Iterable[Edge], labels: Sequence[int]) -> list[Edge]:
    """The pairs of different labels."""
    return [(a, b) for a, b in pairs if labels[a] != labels[b]]


def count_by_label(pairs: Iterable[Edge], labels: Sequence[int], most: int) -> list[int]:
    """How many pairs have a left document of each label below `most`."""
    left = [labels[a] for a, _ in pairs]
    return [left.count(label) for label in range(most)]


def left_labels(pairs: Iterable[Edge], labels: Sequence[int]) -> list[int]:
    """The label of the left document of each pair."""
    return [labels[a] for a, _ in pairs]


def without_sorted(values: Iterable[int], others: Iterable[int]) -> list[int]:
    """The values that are not among the others, in order."""
    return sorted({*values} - {*others})
