"""Pairs of ranks as they are collected, and buckets of very many members, which are never in one place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.candidates.buckets import BucketCounts
from neardup.columns import Hashes, Numbers
from neardup.engines.core.rounds import ROUNDS
from neardup.engines.spark.shuffle.arrow import Batches, begins, sliced, table
from neardup.engines.spark.shuffle.packed_blocks import (
    TALLY,
    Arrays,
    PackedBlocks,
    column,
    part_of,
    received,
    split,
)

FIRST = -ROUNDS  # pairs with the first member of a bucket, of the first round; those of later ones follow
REST, EXTRA, COPY = 0, 1, 2  # the other pairs of buckets; pairs that are measured besides; copies
COUNTED = 3  # rows with the counts of buckets: number, largest, above the limit, pairs skipped there
NAMES = ("kind", "left", "right", "left_place", "right_place")
PAIRS = "kind int, left long, right long, left_place long, right_place long"
HELD = 1 << 22  # pairs that wait before repeats are removed
HOT = 128  # members of a bucket in one task from which on most of them wait elsewhere
SPREAD = 32  # tasks in which they do, or more


@dataclass
class Collected:
    """Pairs of ranks with their places, the smaller rank left; repeats are removed now and then."""

    parts: list[dict[str, Any]] = field(default_factory=list)
    size: int = 0
    limit: int = HELD

    def add(self, kind: int, ranks: Numbers, places: Numbers, left: Numbers, right: Numbers) -> None:
        """Pairs of some documents, by their numbers among these."""
        swap = ranks[left] > ranks[right]
        left, right = np.where(swap, right, left), np.where(swap, left, right)
        kinds = np.full(len(left), kind, np.int32)
        values = (kinds, ranks[left], ranks[right], places[left], places[right])
        self.put(dict(zip(NAMES, values, strict=True)))

    def put(self, pairs: dict[str, Any]) -> None:
        """More pairs."""
        self.parts.append(pairs)
        self.size += len(pairs["left"])
        if self.size > self.limit:
            self.parts = [self.distinct()]
            self.size = len(self.parts[0]["left"])
            self.limit = max(HELD, 2 * self.size)

    def distinct(self) -> dict[str, Any]:
        """Each pair once, of the kind that comes first."""
        if not self.parts:
            return {name: np.zeros(0, np.int32 if name == "kind" else np.int64) for name in NAMES}
        pairs = {name: np.concatenate([part[name] for part in self.parts]) for name in NAMES}
        order = np.lexsort((pairs["kind"], pairs["right"], pairs["left"]))
        chosen = order[begins(pairs["left"][order], pairs["right"][order])[:-1]]
        return {name: values[chosen] for name, values in pairs.items()}


def in_rounds(pairs: dict[str, Any]) -> dict[str, Any]:
    """All pairs of some larger ranks, those with first members of buckets in the rounds that the local engine has."""
    first = np.flatnonzero(pairs["kind"] == FIRST)
    first = first[np.lexsort((pairs["left"][first], pairs["right"][first]))]
    starts = begins(pairs["right"][first])
    smaller = np.arange(len(first)) - np.repeat(starts[:-1], np.diff(starts))
    pairs["kind"][first] += np.minimum(smaller, ROUNDS - 1).astype(np.int32)
    return pairs


def overflow(keys: Hashes, ranks: Numbers, heads: int, least: int) -> Any:
    """Which entries are in a bucket of more than `least` and not among its `heads` smallest ranks; None if none is."""
    if len(keys) <= least:
        return None
    order = np.argsort(keys)
    starts = begins(keys[order])
    sizes = np.diff(starts)
    if sizes.max() <= least:
        return None
    waiting = np.zeros(len(keys), np.bool_)
    for k in np.flatnonzero(sizes > least).tolist():
        members = order[starts[k] : starts[k + 1]]
        waiting[members[np.argpartition(ranks[members], heads)[heads:]]] = True
    return waiting


@dataclass(frozen=True)
class HotBucket:
    """A bucket most of whose members wait elsewhere: its smallest ranks, in order, and how many the others are."""

    key: int
    ranks: Numbers
    places: Numbers
    elsewhere: int
    spread: int  # tasks in which they wait

    def pair(self, pivots: int, found: Collected) -> BucketCounts:
        """Collects the pairs of the members that are here."""
        size, some = len(self.ranks) + self.elsewhere, np.arange(len(self.ranks))
        found.add(FIRST, self.ranks, self.places, np.zeros(len(some) - 1, np.int64), some[1:])
        for pivot in range(pivots):
            others = some[pivot + 1 :]
            found.add(REST, self.ranks, self.places, np.full(len(others), pivot), others)
        pairs = pivots * (pivots - 1) // 2 + pivots * (size - pivots)
        return BucketCounts(1, size, 1, size * (size - 1) // 2 - pairs)

    def pivots(self, number: int, count: int) -> Arrays:
        """The pivots of a bucket of table `number`, in the form of members that wait but for a negative table."""
        ranks, places = self.ranks[:count], self.places[:count]
        tables, keys = np.full(len(ranks), -1 - number, np.int32), np.full(len(ranks), self.key, np.uint64)
        return {"table": tables, "key": keys, "rank": ranks, "place": places}

    def told(self, number: int, count: int, tasks: int) -> tuple[Numbers, Arrays]:
        """The same for every task in which members wait, and those tasks."""
        home = int(part_of(np.array([self.key], np.uint64), tasks)[0])
        targets = np.repeat((home + np.arange(self.spread)) % tasks, count)
        rows = {name: np.tile(values, self.spread) for name, values in self.pivots(number, count).items()}
        return targets, rows


def take_hot_buckets(
    keys: Hashes, ranks: Numbers, places: Numbers
) -> tuple[Hashes, Numbers, Numbers, Iterator[HotBucket]]:
    """Entries without those of crowds, and the crowds.

    A negative place says how many members wait elsewhere, and the rank beside it in how many tasks.
    """
    told = places < 0
    names, inverse = np.unique(keys[told], return_inverse=True)
    elsewhere = np.bincount(inverse, -places[told]).astype(np.int64)
    spread = np.zeros(len(names), np.int64)
    np.maximum.at(spread, inverse, ranks[told])
    mine = ~told & np.isin(keys, names)
    some = np.flatnonzero(mine)
    some = some[np.lexsort((ranks[some], keys[some]))]
    starts = np.append(np.searchsorted(keys[some], names), len(some))

    def crowds() -> Iterator[HotBucket]:
        for number, (start, end) in enumerate(pairwise(starts.tolist())):
            who = some[start:end]
            yield HotBucket(
                int(names[number]), ranks[who], places[who], int(elsewhere[number]), int(spread[number])
            )

    rest = ~told & ~mine
    return keys[rest], ranks[rest], places[rest], crowds()


def meet_pivots(some: pa.Table, found: Collected) -> None:
    """Collects the pairs of the members that have waited with the pivots of their crowds."""
    tables, keys, ranks, places = (column(some, name) for name in ("table", "key", "rank", "place"))
    pivot = tables < 0
    numbers = np.where(pivot, -1 - tables, tables)
    order = np.lexsort((ranks, ~pivot, keys, numbers))  # bucket by bucket, its pivots first
    starts = begins(numbers[order], keys[order])
    for start, end in pairwise(starts.tolist()):
        bucket = order[start:end]
        count = int(pivot[bucket].sum())
        members = bucket[count:]
        for place, one in enumerate(bucket[:count].tolist()):
            pivots = np.full(len(members), one)
            found.add(REST, ranks, places, pivots, members)
            if place == 0:
                found.add(FIRST, ranks, places, pivots, members)


def sent(found: Collected, tasks: int) -> PackedBlocks:
    """Pairs for the part of their larger rank."""
    pairs = found.distinct()
    yield from split(pairs, part_of(pairs["right"], tasks))


def tally(buckets: int = 0, largest: int = 0, above: int = 0, skipped: int = 0) -> PackedBlocks:
    """What a task has counted of buckets, if it is anything."""
    counts = (buckets, largest, above, skipped)
    if any(counts):
        yield TALLY, {name: np.array([count]) for name, count in zip(NAMES[1:], counts, strict=True)}


def finished(tasks: int, batches: Batches) -> Batches:
    """Pairs, each once; those of members that wait in the part of their rank are made here."""
    found = Collected()
    for part, some in received(batches).items():
        if part == TALLY:
            counts = {name: column(some, name) for name in NAMES[1:]}
            yield table({"kind": np.full(len(some), COUNTED, np.int32), **counts})
        elif part < tasks:
            found.put({name: column(some, name) for name in NAMES})
        else:
            meet_pivots(some, found)
    yield from sliced(table(in_rounds(found.distinct())))
