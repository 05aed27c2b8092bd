"""Pairs of fingerprints within a Hamming distance, exactly: sorted tables (Manku et al.) or popcount shards.

A pair that differs in at most k bits agrees in at least b − k of any b blocks of bits. Each choice of b − k blocks is
a table: fingerprints sorted by those bits, compared within runs of equal keys. (The thesis' "64/d lists" is complete
only with at least k + 1 blocks.) Bits are distributed over blocks by how evenly they are set, and a run that is still
long is searched on its own with the bits that vary in it: skewed fingerprints stay far from quadratic.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import comb, floor
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.candidates.exact import products
from neardup.candidates.hamming_cost import TableLayout, choose_layout
from neardup.columns import Hashes, Numbers, Pairs, Signatures
from neardup.errors import ParameterError
from neardup.plan import Distribution
from neardup.signatures.sign_bits import bit_agreement
from neardup.sorted_sets import run_starts
from neardup.thresholds import as_fraction

RUN = 4096  # longer runs of equal keys are joined by themselves …
DEPTH = 4  # … down to so many levels
DIGIT = 16  # bits of a key in one pass of the radix sort
ROOM = 1 << 20  # pairs that the kernel writes in one call

Order = NDArray[np.uint32]
DistancePairs = tuple[Numbers, Numbers, Numbers]  # left, right, distance


def to_columns(slots: NDArray[np.uint32]) -> Hashes:
    """Fingerprints as columns of 64-bit words: words × documents."""
    wide = slots.astype(np.uint64)
    return np.ascontiguousarray((wide[:, ::2] | wide[:, 1::2] << np.uint64(32)).T)


@dataclass(frozen=True)
class Hamming:
    """Every pair whose fingerprints agree in enough of their bits, and no other.

    within  the number of bits in which a pair may differ; None: as many as the plan's threshold allows
    kind    the search, with the same result: tables, shards, or auto (the cheaper one)
    exact   the number of last bits, reserved for a field, that must be equal
    """

    bits: int = 64
    within: int | None = None
    kind: Literal["auto", "tables", "shards"] = "auto"
    exact: int = 0
    level: ClassVar[Literal["signatures"]] = "signatures"
    distribution: ClassVar[Distribution] = "hamming"

    @property
    def decides(self) -> str:
        """The measure that makes a pair: equal bits if the plan's threshold is a share of them, else the distance."""
        return "equal bits" if self.within is None else "distance"

    def distance(self, threshold: float) -> int:
        """The largest number of different bits of a pair."""
        return floor(self.bits * (1 - as_fraction(threshold))) if self.within is None else self.within

    def pairs(
        self, signatures: Signatures, threshold: float, threads: int = 1, spanning: bool = False
    ) -> Pairs:
        """All pairs, or a spanning subset with the same components, with the evidence."""
        documents = np.flatnonzero(signatures.present)
        columns = to_columns(signatures.slots[documents])
        left, right, apart = self._search(columns, self.distance(threshold), threads, spanning)
        equal = (self.bits - apart).astype(np.float64)
        half = (self.bits + equal) / 2
        return Pairs(documents[left], documents[right], equal, half, half)

    def _search(self, columns: Hashes, distance: int, threads: int, spanning: bool) -> DistancePairs:
        """The pairs of all fingerprints, or of each group with equal last bits."""
        found = []
        for some in _equal_last(columns, self.bits, self.exact):
            part = np.ascontiguousarray(columns[:, some]) if self.exact else columns
            left, right, apart = near_pairs(
                part, distance, kind=self.kind, threads=threads, spanning=spanning
            )
            found.append((some[left], some[right], apart))
        left, right, apart = _stacked(found)
        order = np.lexsort((right, left))
        return left[order], right[order], apart[order]

    def probability(self, similarity: float) -> float:
        """1 for a share of equal bits; for a cosine the probability that few enough signs differ."""
        if self.within is None:
            return 1.0
        equal = bit_agreement(similarity)
        chances = [
            comb(self.bits, d) * equal ** (self.bits - d) * (1 - equal) ** d for d in range(self.within + 1)
        ]
        return min(1.0, sum(chances))

    def reach(self, recall: float) -> float:
        """1: pairs below the threshold are not searched."""
        return 1.0


def _equal_last(columns: Hashes, bits: int, last: int) -> Iterator[Numbers]:
    """Groups of two or more fingerprints with equal last bits; one group of all if `last` is 0."""
    if last == 0:
        yield np.arange(columns.shape[1])
        return
    mask = [((1 << bits) - (1 << (bits - last))) >> (64 * word) & (2**64 - 1) for word in range(len(columns))]
    groups = _equal_groups(columns & np.array(mask, np.uint64)[:, None])
    for begin, count in zip(groups.begins.tolist(), groups.counts.tolist(), strict=True):
        if count > 1:
            yield np.sort(groups.order[begin : begin + count])


def near_pairs(
    columns: Hashes, distance: int, *, kind: str = "auto", threads: int = 1, spanning: bool = False
) -> DistancePairs:
    """All pairs of fingerprints (words × documents) that differ in at most `distance` bits, by (left, right).

    With `spanning`, pairs that other pairs already connect may be missing: all pairs of thousands of equal
    fingerprints would not fit into memory.
    """
    if distance < 0:
        raise ParameterError("distance", "Hamming search", "a whole number of at least 0", distance)
    if columns.shape[1] >= 1 << 32:
        raise ParameterError("fingerprints", "Hamming search", "fewer than 2³²", columns.shape[1])
    left, right, apart = _Join(distance, kind, spanning).run(columns, threads, 0)
    left, right = np.minimum(left, right), np.maximum(left, right)
    order = np.lexsort((right, left))
    return left[order], right[order], apart[order]


def run_pairs(
    columns: Hashes, starts: Numbers, distance: int, earlier: Hashes, spanning: bool = False
) -> DistancePairs:
    """The pairs inside runs of adjacent fingerprints, but for those that agree under an earlier mask."""
    runs = np.repeat(np.arange(len(starts) - 1, dtype=np.uint32), np.diff(starts))
    order = np.arange(columns.shape[1], dtype=np.uint32)
    return _Join(distance, "auto", spanning).runs(columns, runs, order, earlier, 0)


@dataclass(frozen=True)
class _Join:
    distance: int
    kind: str
    spanning: bool

    def run(self, columns: Hashes, threads: int, depth: int) -> DistancePairs:
        """All pairs, unordered, left and right possibly swapped."""
        if columns.shape[1] < 2:
            return _nothing()
        kind = "shards" if depth >= DEPTH else self.kind
        layout = choose_layout(columns, self.distance, kind)
        if layout is None:
            return self._distinct_shards(columns)
        with ThreadPoolExecutor(max(1, threads)) as pool:
            tables = range(len(layout.keys))
            parts = list(pool.map(lambda table: self._table(columns, layout, table, depth), tables))
        return _stacked(parts)

    def _distinct_shards(self, columns: Hashes) -> DistancePairs:
        """Shards of the distinct fingerprints; equal ones need no comparison."""
        groups = _equal_groups(columns)
        if len(groups.begins) == columns.shape[1]:
            return self._shards(columns)
        found = self._shards(np.ascontiguousarray(columns[:, groups.first]))
        return groups.expanded(np.arange(columns.shape[1]), found, own=True, star=self.spanning)

    def _shards(self, columns: Hashes) -> DistancePairs:
        """Brute force over fingerprints with a similar number of ones, which differs by at most the distance."""
        ones = np.empty(columns.shape[1], np.uint32)
        kernels.hamming.count_columns(columns, ones)
        order = np.argsort(ones, kind="stable").astype(np.uint32)
        ends = np.empty(len(order), np.uint32)
        kernels.hamming.window_ends(ones[order], min(self.distance, 1 << 30), ends)
        return self._spans(columns, order, ends, np.zeros((0, len(columns)), np.uint64))

    def _table(self, columns: Hashes, layout: TableLayout, table: int, depth: int) -> DistancePairs:
        """The pairs that no earlier table finds."""
        keys, order = sort_by_bits(columns, layout.keys[table])
        return self.runs(columns, keys, order, layout.masks[:table], depth)

    def runs(self, columns: Hashes, keys: Order, order: Order, earlier: Hashes, depth: int) -> DistancePairs:
        """The pairs of equal keys that agree under none of the earlier masks."""
        ends = np.empty(len(order), np.uint32)
        large = np.empty((len(order) // RUN + 1, 2), np.int64)
        count = kernels.hamming.run_ends(keys, order, RUN, ends, large)
        parts = [self._spans(columns, order, ends, earlier)]
        for begin, end in large[:count].tolist():
            parts.append(self._long_run(columns, order[begin:end].astype(np.int64), earlier, depth))
        return _stacked(parts)

    def _spans(self, columns: Hashes, order: Order, ends: Order, earlier: Hashes) -> DistancePairs:
        """Pairs of positions in which the second lies in the span of the first, as document numbers."""
        ordered = np.zeros((len(columns), len(order) + kernels.hamming.LANES), np.uint64)
        kernels.hamming.gather_columns(columns, order, ordered)
        parent = np.arange(len(order) if self.spanning else 0)
        room = max(ROOM if len(order) > RUN else 4 * len(order), len(order))
        out = (np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64))
        parts, place = [], 0
        while place < len(order):
            place, found = kernels.hamming.join_spans(
                ordered, ends, place, self.distance, earlier, parent, out
            )
            left, right = order[out[0][:found]], order[out[1][:found]]
            parts.append((left.astype(np.int64), right.astype(np.int64), out[2][:found].copy()))
        return _stacked(parts)

    def _long_run(self, columns: Hashes, members: Numbers, earlier: Hashes, depth: int) -> DistancePairs:
        """The pairs of a long run of equal keys: equal fingerprints are grouped, the groups searched by other bits."""
        whole = np.ascontiguousarray(columns[:, members])
        groups = _equal_groups(whole)
        chosen = members[groups.first]
        left, right, apart = self.run(np.ascontiguousarray(whole[:, groups.first]), 1, depth + 1)
        different = columns[:, chosen[left]] ^ columns[:, chosen[right]]
        fresh = np.ones(len(left), np.bool_)
        for mask in earlier:
            fresh &= (different & mask[:, None]).any(axis=0)
        left, right, apart = left[fresh], right[fresh], apart[fresh]
        # The first table has found pairs of equal fingerprints.
        return groups.expanded(members, (left, right, apart), own=len(earlier) == 0, star=self.spanning)


@dataclass(frozen=True)
class _Groups:
    """Groups of equal fingerprints: members by group, the beginning of each group, and its size."""

    order: Numbers
    begins: Numbers
    counts: Numbers

    @property
    def first(self) -> Numbers:
        """One member of each group."""
        return self.order[self.begins]

    def expanded(self, members: Numbers, found: DistancePairs, own: bool, star: bool) -> DistancePairs:
        """Pairs of groups as pairs of members; and the pairs inside groups, all or with the first only."""
        a, b, apart = found
        ones = np.ones_like(self.counts) if star else self.counts
        left, right, which = products(self.begins[a], ones[a], self.begins[b], ones[b])
        parts = [(self.order[left], self.order[right], apart[which])]
        if own:
            several = np.flatnonzero(self.counts > 1)
            begin, count = self.begins[several], self.counts[several]
            i, j, _ = products(begin, np.ones_like(count) if star else count, begin, count)
            below = i < j
            i, j = self.order[i[below]], self.order[j[below]]
            parts.append((i, j, np.zeros(len(i), np.int64)))
        left, right, apart = _stacked(parts)
        return members[left], members[right], apart


def _equal_groups(columns: Hashes) -> _Groups:
    order = np.lexsort(columns[::-1])
    starts = run_starts(*columns[:, order])
    return _Groups(order, starts[:-1], np.diff(starts))


def sort_by_bits(columns: Hashes, bits: Numbers) -> tuple[Order, Order]:
    """The key of each fingerprint, made of some of its bits; and the fingerprints in the order of their keys."""
    n = columns.shape[1]
    keys, order = np.empty(n, np.uint32), np.arange(n, dtype=np.uint32)
    kernels.hamming.block_keys(columns, bits, keys)
    spare = np.empty(n, np.uint32)
    for shift in range(0, len(bits), DIGIT):
        width = min(DIGIT, len(bits) - shift)
        counts = np.zeros((1 << width) + 1, np.int64)
        digit = np.uint32((1 << width) - 1)
        kernels.hamming.order_by_digit(keys, np.uint32(shift), digit, order, counts, spare)
        order, spare = spare, order
    return keys, order


def _nothing() -> DistancePairs:
    none = np.zeros(0, np.int64)
    return none, none, none


def _stacked(parts: list[DistancePairs]) -> DistancePairs:
    if not parts:
        return _nothing()
    left, right, apart = (np.concatenate(column) for column in zip(*parts, strict=True))
    return left, right, apart


@dataclass(frozen=True)
class HammingIndex:
    """Fingerprints in sorted tables that new fingerprints are looked up in."""

    columns: Hashes
    distance: int
    layout: TableLayout  # one table with an empty key if brute force costs less
    tables: tuple[tuple[Numbers, Order], ...]  # the beginning of each key, and the documents by key

    @staticmethod
    def of(columns: Hashes, distance: int, most: int = 22) -> HammingIndex:
        """Tables for searches within a distance; their keys have at most so many bits."""
        layout = choose_layout(columns, distance, "auto", most, single=True)
        layout = layout or TableLayout([np.zeros(0, np.int64)], np.zeros((1, len(columns)), np.uint64))
        tables = []
        for bits in layout.keys:
            keys, order = sort_by_bits(columns, bits)
            counts = np.bincount(keys, minlength=1 << len(bits))
            tables.append((np.append(0, np.cumsum(counts)), order))
        return HammingIndex(columns, distance, layout, tuple(tables))

    def search(self, queries: Hashes) -> DistancePairs:
        """The documents within the distance of each query (words × queries): query, document, distance."""
        query, document, apart = _stacked(
            [part for table in range(len(self.tables)) for part in self._look_up(table, queries)]
        )
        order = np.lexsort((document, apart, query))
        return query[order], document[order], apart[order]

    def _look_up(self, table: int, queries: Hashes) -> Iterator[DistancePairs]:
        """The pairs that this table finds and no earlier one."""
        keys = np.empty(queries.shape[1], np.uint32)
        kernels.hamming.block_keys(queries, self.layout.keys[table], keys)
        room = max(ROOM, int(np.diff(self.tables[table][0]).max(initial=0)))
        out = (np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64))
        earlier, query = self.layout.masks[:table], 0
        while query < len(keys):
            query, found = kernels.hamming.probe(
                self.columns, self.tables[table], (queries, keys), query, self.distance, earlier, out
            )
            yield out[0][:found].copy(), out[1][:found].copy(), out[2][:found].copy()
