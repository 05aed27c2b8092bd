"""Rows of candidate pairs, and hot buckets: buckets with too many members for one task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.candidates.buckets import BucketCounts
from neardup.columns import Hashes, Numbers
from neardup.engines.core.rounds import ROUNDS, star_rounds
from neardup.engines.spark.shuffle import packed_blocks as shuffle
from neardup.engines.spark.shuffle.arrow import Batches, sliced, table
from neardup.engines.spark.shuffle.packed_blocks import COUNTS_PART, Arrays, PackedBlocks, column, part_of
from neardup.sorted_sets import run_starts

FIRST = -ROUNDS  # pairs with the first member of a bucket, first round; later rounds count up from here
REST, EXTRA, COPY = 0, 1, 2  # other pairs of buckets; pairs that are no candidates but are measured; copies
BUCKET_COUNTS = 3  # rows with counts of buckets: number, largest, above the limit, pairs skipped in these
NAMES = ("kind", "left", "right", "left_place", "right_place")
PAIRS = "kind int, left long, right long, left_place long, right_place long"
BUFFERED_PAIRS = 1 << 22  # pairs after which duplicates are dropped
HOT = 128  # members in one sending task above which a bucket is hot
SPREAD = 32  # the least number of tasks over which its deferred members are spread


def pair_columns(
    kind: int, id_hashes: Numbers, places: Numbers, left: Numbers, right: Numbers
) -> dict[str, Any]:
    """The columns NAMES of pairs, given as indexes into `id_hashes` and `places`; the smaller id hash is left."""
    swap = id_hashes[left] > id_hashes[right]
    left, right = np.where(swap, right, left), np.where(swap, left, right)
    kinds = np.full(len(left), kind, np.int32)
    values = (kinds, id_hashes[left], id_hashes[right], places[left], places[right])
    return dict(zip(NAMES, values, strict=True))


@dataclass
class PairCollector:
    """Pairs with places, the smaller id hash left; duplicates are dropped whenever the buffer is full."""

    parts: list[dict[str, Any]] = field(default_factory=list)
    size: int = 0
    limit: int = BUFFERED_PAIRS

    def add(self, kind: int, id_hashes: Numbers, places: Numbers, left: Numbers, right: Numbers) -> None:
        """Adds pairs, given as indexes into `id_hashes` and `places`."""
        self.put(pair_columns(kind, id_hashes, places, left, right))

    def put(self, pairs: dict[str, Any]) -> None:
        """Adds rows of pairs."""
        self.parts.append(pairs)
        self.size += len(pairs["left"])
        if self.size > self.limit:
            self.parts = [self.distinct()]
            self.size = len(self.parts[0]["left"])
            self.limit = max(BUFFERED_PAIRS, 2 * self.size)

    def distinct(self) -> dict[str, Any]:
        """Each pair once, with its smallest kind."""
        if not self.parts:
            return {name: np.zeros(0, np.int32 if name == "kind" else np.int64) for name in NAMES}
        pairs = {name: np.concatenate([part[name] for part in self.parts]) for name in NAMES}
        order = np.lexsort((pairs["kind"], pairs["right"], pairs["left"]))
        chosen = order[run_starts(pairs["left"][order], pairs["right"][order])[:-1]]
        return {name: values[chosen] for name, values in pairs.items()}


def in_rounds(pairs: dict[str, Any]) -> dict[str, Any]:
    """Pairs, those with the first member of a bucket assigned to the rounds of the local engine.

    The rows hold all pairs of the larger id hashes that occur in them.
    """
    first = pairs["kind"] == FIRST
    pairs["kind"][first] += star_rounds(pairs["left"][first], pairs["right"][first]).astype(np.int32)
    return pairs


def deferred_members(keys: Hashes, id_hashes: Numbers, heads: int, least: int) -> Any:
    """A mask of members of hot buckets (more than `least`) beyond the `heads` smallest id hashes; None if empty."""
    if len(keys) <= least:
        return None
    order = np.argsort(keys)
    starts = run_starts(keys[order])
    sizes = np.diff(starts)
    if sizes.max() <= least:
        return None
    deferred = np.zeros(len(keys), np.bool_)
    for k in np.flatnonzero(sizes > least).tolist():
        members = order[starts[k] : starts[k + 1]]
        deferred[members[np.argpartition(id_hashes[members], heads)[heads:]]] = True
    return deferred


@dataclass(frozen=True)
class HotBucket:
    """A hot bucket in its own task: its members with the smallest id hashes, in order, and the number of the others."""

    key: int
    id_hashes: Numbers
    places: Numbers
    deferred: int
    spread: int  # tasks that have the deferred members

    def pair(self, pivots: int, found: PairCollector) -> BucketCounts:
        """Collects the pairs of the members in this task; returns the counts of the whole bucket."""
        size, some = len(self.id_hashes) + self.deferred, np.arange(len(self.id_hashes))
        found.add(FIRST, self.id_hashes, self.places, np.zeros(len(some) - 1, np.int64), some[1:])
        for pivot in range(pivots):
            others = some[pivot + 1 :]
            found.add(REST, self.id_hashes, self.places, np.full(len(others), pivot), others)
        pairs = pivots * (pivots - 1) // 2 + pivots * (size - pivots)
        return BucketCounts(1, size, 1, size * (size - 1) // 2 - pairs)

    def pivots(self, number: int, count: int) -> Arrays:
        """The pivots of a bucket of table `number`, in the columns of deferred members, with a negative table."""
        id_hashes, places = self.id_hashes[:count], self.places[:count]
        tables = np.full(len(id_hashes), -1 - number, np.int32)
        keys = np.full(len(id_hashes), self.key, np.uint64)
        return {"table": tables, "key": keys, "id_hash": id_hashes, "place": places}

    def spread_pivots(self, number: int, count: int, tasks: int) -> tuple[Numbers, Arrays]:
        """The tasks that have deferred members, and the pivots for each of them."""
        home = int(part_of(np.array([self.key], np.uint64), tasks)[0])
        targets = np.repeat((home + np.arange(self.spread)) % tasks, count)
        rows = {name: np.tile(values, self.spread) for name, values in self.pivots(number, count).items()}
        return targets, rows


def take_out_hot_buckets(
    keys: Hashes, id_hashes: Numbers, places: Numbers
) -> tuple[Hashes, Numbers, Numbers, Iterator[HotBucket]]:
    """Entries of other buckets, and the hot buckets.

    A row with a negative place holds the number of deferred members of a key, and as id hash the number of their tasks.
    """
    is_count = places < 0
    hot, inverse = np.unique(keys[is_count], return_inverse=True)
    deferred = np.bincount(inverse, -places[is_count]).astype(np.int64)
    spread = np.zeros(len(hot), np.int64)
    np.maximum.at(spread, inverse, id_hashes[is_count])
    is_hot = ~is_count & np.isin(keys, hot)
    some = np.flatnonzero(is_hot)
    some = some[np.lexsort((id_hashes[some], keys[some]))]
    starts = np.append(np.searchsorted(keys[some], hot), len(some))

    def buckets() -> Iterator[HotBucket]:
        for number, (start, end) in enumerate(pairwise(starts.tolist())):
            members = some[start:end]
            counts = int(deferred[number]), int(spread[number])
            yield HotBucket(int(hot[number]), id_hashes[members], places[members], *counts)

    rest = ~is_count & ~is_hot
    return keys[rest], id_hashes[rest], places[rest], buckets()


def pair_with_pivots(some: pa.Table, found: PairCollector) -> None:
    """Collects the pairs of deferred members with the pivots of their buckets."""
    tables, keys, id_hashes, places = (column(some, name) for name in ("table", "key", "id_hash", "place"))
    pivot = tables < 0
    numbers = np.where(pivot, -1 - tables, tables)
    order = np.lexsort((id_hashes, ~pivot, keys, numbers))  # by bucket, pivots first
    starts = run_starts(numbers[order], keys[order])
    for start, end in pairwise(starts.tolist()):
        bucket = order[start:end]
        count = int(pivot[bucket].sum())
        members = bucket[count:]
        for place, one in enumerate(bucket[:count].tolist()):
            pivots = np.full(len(members), one)
            found.add(REST, id_hashes, places, pivots, members)
            if place == 0:
                found.add(FIRST, id_hashes, places, pivots, members)


def pair_blocks(found: PairCollector, tasks: int) -> PackedBlocks:
    """Blocks of pairs, by larger id hash."""
    pairs = found.distinct()
    yield from shuffle.split(pairs, part_of(pairs["right"], tasks))


def counts_block(buckets: int = 0, largest: int = 0, above: int = 0, skipped: int = 0) -> PackedBlocks:
    """One block of counts of buckets, unless all are 0."""
    counts = (buckets, largest, above, skipped)
    if any(counts):
        yield COUNTS_PART, {name: np.array([count]) for name, count in zip(NAMES[1:], counts, strict=True)}


def distinct_pairs(tasks: int, batches: Batches) -> Batches:
    """PAIRS: each pair once, including those of deferred members that this task shuffle.received, and counts."""
    found = PairCollector()
    for part, some in shuffle.received(batches).items():
        if part == COUNTS_PART:
            counts = {name: column(some, name) for name in NAMES[1:]}
            yield table({"kind": np.full(len(some), BUCKET_COUNTS, np.int32), **counts})
        elif part < tasks:
            found.put({name: column(some, name) for name in NAMES})
        else:
            pair_with_pivots(some, found)
    yield from sliced(table(in_rounds(found.distinct())))
