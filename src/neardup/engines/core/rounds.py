"""Candidate pairs in the order in which they are compared, so that a hot bucket costs linear work.

A pair travels packed, as the one number left · n + right. A document first meets the member with the smallest id hash
of each of its buckets, in a large component one after the other; the other pairs follow. A pair whose documents an
earlier round has joined need not be compared: it cannot change the clusters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Hashes, Numbers
from neardup.engines.core.progress import release_memory
from neardup.sorted_sets import distinct, made_distinct, order_of, without
from neardup.workers import ordered_map

BLOCK_PAIRS = 1 << 22  # pairs that are compared together
STARS = 1 << 20  # pairs whose rounds a thread finds at a time
RANGES = 16  # of packed pairs that are sorted apart
ROUNDS = 8  # in which a document meets the first members of its buckets; the last one has all that are left
ONE_ROUND = 4096  # pairs of a component that are compared in one round: enough to know which are bridges
TILE_BYTES = 4 << 20  # features that a thread holds, or twice as many
JOIN_BYTES = 256 << 20  # features of a block of a join
MOST_LINKS = 64  # members of a posting list that a document meets in a join for clusters


class PackedPairs:
    """A growing set of packed pairs below `most`; repeats are removed now and then to bound its memory.

    Range by range: only a small part of the whole is sorted and copied at a time.
    """

    def __init__(self, most: int, threads: int = 1) -> None:
        self._threads = threads
        self._bounds = np.arange(1, RANGES) * (most // RANGES + 1)
        self._ranges: list[list[Numbers]] = [[] for _ in range(RANGES)]
        self._size, self._limit = 0, BLOCK_PAIRS

    def add(self, packed: Numbers) -> None:
        """More of them, sorted."""
        parts = np.split(packed, np.searchsorted(packed, self._bounds))
        for known, part in zip(self._ranges, parts, strict=True):
            known.append(part.copy())  # a view would keep all of them in memory
        self._size += len(packed)
        if self._size > self._limit:
            self._remove_repeats()
            self._limit = max(BLOCK_PAIRS, self._size + self._size // 2)

    def _remove_repeats(self, others: Numbers | None = None) -> None:
        parts = [None] * RANGES if others is None else np.split(others, np.searchsorted(others, self._bounds))
        for _ in ordered_map(_without_repeats, zip(self._ranges, parts, strict=True), self._threads, ahead=0):
            pass
        self._size = sum(len(known[0]) for known in self._ranges)
        release_memory()  # of pairs that were there twice, and of tables

    def taken(self, others: Numbers | None = None) -> Numbers:
        """Every pair once, sorted, without others (sorted too); the set is empty afterwards."""
        self._remove_repeats(others)
        whole, start = np.empty(self._size, np.int64), 0
        for known in self._ranges:
            part = known.pop()
            whole[start : start + len(part)] = part
            start += len(part)
        return whole


def _without_repeats(given: tuple[list[Numbers], Numbers | None]) -> None:
    """Replace the parts of a range by one, without repeats and others."""
    known, others = given
    whole = np.concatenate([np.zeros(0, np.int64), *known])
    known.clear()  # before sorting, not after: memory for both may be short
    whole = made_distinct(whole)
    known.append(whole if others is None else without(whole, others))


def blocks(packed: Numbers, size: int = BLOCK_PAIRS) -> Iterator[Numbers]:
    """Some pairs at a time; one empty block if there are none."""
    for start in range(0, max(1, len(packed)), size):
        yield packed[start : start + size]


def candidate_components(n: int, *packed: Numbers) -> tuple[Numbers, Numbers]:
    """The documents of some pairs, and a label for each: equal where pairs connect them."""
    labels, among = np.arange(n), np.zeros(n, np.bool_)
    for some in packed:
        kernels.graph.join_packed(labels, among, some)
    concerned = np.flatnonzero(among)
    place = np.zeros(n, np.int64)
    place[concerned] = np.arange(len(concerned))
    return concerned, place[labels[concerned]]


def star_rounds(smaller: Numbers, larger: Numbers) -> NDArray[np.uint8]:
    """The round of each pair with the first member of a bucket, from 0: the larger document meets smaller ones first.

    Documents are any integers whose order is that of their id hashes.
    """
    names, places = np.unique(np.concatenate([smaller, larger]), return_inverse=True)
    n = max(1, len(names))
    packed = places[: len(smaller)] * n + places[len(smaller) :]
    return _numbered(packed, n, np.arange(n, dtype=np.uint32))


def _numbered(stars: Numbers, n: int, ranks: NDArray[np.uint32], threads: int = 1) -> NDArray[np.uint8]:
    """The round of each packed pair of documents with these ranks."""
    least = kernels.buckets.least_partners(stars, n, ranks, ROUNDS - 1)
    parts = ordered_map(
        lambda some: kernels.buckets.star_rounds(some, n, ranks, least), blocks(stars, STARS), threads
    )
    return np.concatenate(list(parts))


def _ranks(id_hashes: Hashes) -> NDArray[np.uint32]:
    """The place of each id hash among all different ones."""
    order = order_of(id_hashes)
    ranks = np.empty(len(order), np.uint32)
    ranks[order] = np.cumsum(np.diff(id_hashes[order], prepend=id_hashes[order[:1]]) != 0)
    return ranks


def in_rounds(
    id_hashes: Hashes, stars: Numbers, rest: Numbers, components: tuple[Numbers, Numbers], threads: int
) -> list[Numbers]:
    """Packed pairs in rounds: those with the first members of buckets, as each document meets them, then the rest.

    `components` are the documents concerned and the component of each. In a component of few pairs a document meets
    all first members in one round.
    """
    if len(stars) + len(rest) <= ONE_ROUND:
        return [stars, *[stars[:0]] * (ROUNDS - 1), rest]
    n, (concerned, labels) = len(id_hashes), components
    component = np.zeros(n, np.int64)
    component[concerned] = labels
    pairs = np.zeros(max(1, len(concerned)), np.int64)
    for some in (stars, rest):
        kernels.buckets.count_by_label(some, n, component, pairs)
    number = _numbered(stars, n, _ranks(id_hashes), threads)
    several = pairs[component] > ONE_ROUND
    for start in range(0, len(stars), BLOCK_PAIRS):
        part = slice(start, start + BLOCK_PAIRS)
        number[part] *= kernels.buckets.left_labels(stars[part], n, several)
    return [*(stars[number == each] for each in range(ROUNDS)), rest]


def in_many(stars: Numbers, n: int) -> NDArray[np.bool_]:
    """Which of n documents are in components of so many pairs that they are compared in several rounds.

    The pairs with first members connect whatever others do, and are counted alone.
    """
    concerned, labels = candidate_components(n, stars)
    component, found = np.zeros(n, np.int64), np.zeros(n, np.bool_)
    component[concerned] = labels
    pairs = np.zeros(len(concerned), np.int64)
    kernels.buckets.count_by_label(stars, n, component, pairs)
    found[concerned] = pairs[labels] > ONE_ROUND
    return found


@dataclass(frozen=True)
class ComponentGroup:
    """Whole candidate components: documents compared with each other and no others, and their pairs in rounds."""

    documents: Numbers
    rounds: list[Numbers]
    fits: bool  # their features may be in memory together


def component_groups(
    feature_counts: Numbers, rounds: list[Numbers], components: tuple[Numbers, Numbers]
) -> Iterator[ComponentGroup]:
    """The pairs of all rounds, in groups of components whose features fit into a tile; a larger one is alone."""
    n, (concerned, labels) = len(feature_counts), components
    sizes = np.bincount(labels, feature_counts[concerned] * 8, len(concerned))
    ends = np.cumsum(np.where(sizes > TILE_BYTES, 0, sizes))
    group = (np.maximum(ends - 1, 0) // TILE_BYTES).astype(np.int32)
    large = np.flatnonzero(sizes > TILE_BYTES)
    group[large] = int(group.max(initial=0)) + 1 + np.arange(len(large), dtype=np.int32)
    group = group[labels]  # of each document concerned
    if len(group) and (group == group[0]).all():
        fits = bool(feature_counts[concerned].sum() * 8 <= 2 * TILE_BYTES)
        yield ComponentGroup(concerned, rounds, fits)
        return
    of_document = np.zeros(n, np.int32)
    of_document[concerned] = group
    members = _sorted_by(concerned, group)
    parts = [_sorted_by(some, kernels.buckets.left_labels(some, n, of_document)) for some in rounds]
    for number in distinct(group).tolist():
        documents = _of_group(members, number)
        fits = bool(feature_counts[documents].sum() * 8 <= 2 * TILE_BYTES)
        yield ComponentGroup(documents, [_of_group(part, number) for part in parts], fits)


def _sorted_by(values: Numbers, group: NDArray[np.int32]) -> tuple[Numbers, NDArray[np.int32]]:
    """Values in the order of their groups, and the groups."""
    if not len(values) or (group == group[0]).all():
        return values, group
    order = np.argsort(group, kind="stable")
    return values[order], group[order]


def _of_group(part: tuple[Numbers, NDArray[np.int32]], number: int) -> Numbers:
    """The values of one group."""
    low, high = np.searchsorted(part[1], [number, number + 1])
    return part[0][low:high]
