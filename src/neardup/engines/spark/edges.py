"""Candidate pairs from keys, by the rules of the local engine, in one sorted pass and linear in any bucket.

Keys go to the partition of their table and value and are sorted there by rank. Members of a bucket then follow each
other, the smallest ranks first: the first is the one that all meet, and the pivots of a large bucket are its first
members, whatever partition or order the documents came from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup import kernels
from neardup.candidates.buckets import BucketCounts, Buckets, all_pairs
from neardup.columns import Numbers
from neardup.engines.spark.arrow import (
    Batches,
    begins,
    in_arrow,
    numbers,
    signed,
    sliced,
    table,
    unragged,
    whole_groups,
)
from neardup.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FIRST, REST = 0, 1  # kinds of rows: pairs with the first member, and other pairs
BUCKETS, LIMITED = (
    2,
    3,
)  # … the number of buckets and the largest; those above the limit and the pairs skipped there
SCHEMA = "kind int, left long, right long"
BLOCK = 1 << 20  # pairs that are written at a time


def key_rows(signed_contents: DataFrame) -> DataFrame:
    """One row for each table and content: the table, the key, and whose it is."""

    def work(batches: Batches) -> Batches:
        for batch in batches:
            offsets, keys = unragged(batch.column("keys"), np.uint64)
            width = int(offsets[1] - offsets[0])
            if width == 0:
                continue
            tables = np.tile(np.arange(width, dtype=np.int32), batch.num_rows)
            ranks = np.repeat(numbers(batch, "rank"), width)
            yield from sliced(table({"table": tables, "key": signed(keys), "rank": ranks}))

    wanted = signed_contents.where("present").select("rank", "keys")
    return in_arrow(wanted, work, "table int, key long, rank long")


def find_edges(plan: Plan, contents: DataFrame) -> DataFrame:
    """Rows of candidates, each pair once, the smaller rank left; and counts of buckets, marked as tally."""
    from pyspark.sql import functions as f

    buckets = key_rows(contents).repartition("table", "key").sortWithinPartitions("table", "key", "rank")
    found = in_arrow(buckets, _Pairing(plan.pairs == "all", plan.bucket, plan.pivots), SCHEMA)
    # Counts are few rows with values of their own: they pass through the same aggregate.
    return found.groupBy("left", "right", (f.col("kind") >= BUCKETS).alias("tally")).agg(
        f.min("kind").alias("kind"), f.count("*").alias("times")
    )


def bucket_counts(edges: DataFrame) -> BucketCounts:
    """What was met while pairing."""
    from pyspark.sql import functions as f

    rows = (
        edges.where("tally")
        .groupBy("kind")
        .agg(
            f.sum(f.col("left") * f.col("times")).alias("left"),
            f.max("right").alias("most"),
            f.sum(f.col("right") * f.col("times")).alias("right"),
        )
    )
    found = {row["kind"]: row for row in rows.collect()}  # two rows
    few, hot = found.get(BUCKETS), found.get(LIMITED)
    return BucketCounts(
        few["left"] if few else 0,
        few["most"] if few else 0,
        hot["left"] if hot else 0,
        hot["right"] if hot else 0,
    )


@dataclass(frozen=True)
class _Pairing:
    """Sorted keys to pairs of ranks."""

    every: bool
    limit: int
    pivots: int

    def __call__(self, batches: Batches) -> Batches:
        tally = np.zeros(4, np.int64)  # buckets, largest, above the limit, pairs skipped there
        state: _Open | None = None
        if self.every:
            for group in whole_groups(batches, ("table", "key")):
                yield from self._all(group, tally)
        else:
            for batch in batches:
                state, rows = self._some(batch, state, tally)
                yield from rows
            if state is not None:
                yield from self._closed(state, tally)
        if tally[0]:
            yield _rows(BUCKETS, tally[:1], tally[1:2])
            yield _rows(LIMITED, tally[2:3], tally[3:4])

    def _all(self, group: pa.Table, tally: Numbers) -> Batches:
        """Every pair of every bucket."""
        ranks = group.column("rank").to_numpy()
        starts = begins(group.column("table").to_numpy(), group.column("key").to_numpy())
        sizes = np.diff(starts)
        count(tally, sizes, np.zeros(0, np.int64))
        several = sizes > 1
        members = np.flatnonzero(np.repeat(several, sizes))
        buckets = Buckets(members, np.concatenate(([0], np.cumsum(sizes[several]))))
        for left, right in all_pairs(buckets, BLOCK):
            yield from sliced(_rows(REST, ranks[left], ranks[right]))

    def _some(
        self, batch: pa.RecordBatch, state: _Open | None, tally: Numbers
    ) -> tuple[_Open, list[pa.RecordBatch]]:
        """Pairs of the buckets that end in this batch, and of the one that goes on as far as it is known."""
        tables, keys, ranks = (numbers(batch, name) for name in ("table", "key", "rank"))
        rows: list[pa.RecordBatch] = []
        start = 0
        if state is not None and (tables[0], keys[0]) == state.name:
            other = np.flatnonzero((tables != tables[0]) | (keys != keys[0]))
            start = int(other[0]) if len(other) else len(ranks)
            rows += state.grow(ranks[:start], self)
        if start == len(ranks):
            assert state is not None
            return state, rows
        if state is not None:
            rows += self._closed(state, tally)
        starts = begins(tables[start:], keys[start:]) + start
        rows += self._whole(ranks, starts[:-1], tally)
        last = int(starts[-2])
        state = _Open((tables[last], keys[last]))
        rows += state.grow(ranks[last:], self)
        return state, rows

    def _whole(self, ranks: Numbers, starts: Numbers, tally: Numbers) -> list[pa.RecordBatch]:
        """Pairs of the buckets that begin and end in one batch, by the kernel of the local engine."""
        sizes = np.diff(starts)
        several = sizes > 1
        if not several.any():
            return []
        members = np.flatnonzero(np.repeat(several, sizes)) + starts[0]
        bounds = np.concatenate(([0], np.cumsum(sizes[several])))
        count(tally, sizes, self._each(bounds))
        return [
            _rows(kind, ranks[left], ranks[right])
            for kind, (limit, pivots) in ((FIRST, (1, 1)), (REST, (self.limit, self.pivots)))
            for left, right in [self._fill(members, bounds, limit, pivots)]
        ]

    def _each(self, bounds: Numbers) -> Numbers:
        """Pairs that are skipped in each large bucket."""
        sizes = np.diff(bounds)
        hot = sizes > self.limit
        pairs = kernels.buckets.count_pairs(bounds, self.limit, self.pivots)
        skipped: Numbers = (sizes * (sizes - 1) // 2 - pairs)[hot]
        return skipped

    def _fill(self, members: Numbers, bounds: Numbers, limit: int, pivots: int) -> tuple[Numbers, Numbers]:
        total = int(kernels.buckets.count_pairs(bounds, limit, pivots).sum())
        left, right = np.empty(total, np.int64), np.empty(total, np.int64)
        # Members stand in the order of their ranks: their places are all that the kernel needs to choose pivots.
        places = np.arange(int(members.max(initial=0)) + 1).astype(np.uint64)
        kernels.buckets.fill_pairs(members.copy(), bounds, places, (limit, pivots), (left, right))
        return left, right

    def _closed(self, state: _Open, tally: Numbers) -> list[pa.RecordBatch]:
        """What is left to do when a bucket has ended."""
        if state.size < 2:
            return []
        firsts = min(self.pivots, state.size)
        pairs = firsts * (firsts - 1) // 2 + firsts * (state.size - firsts)
        large = state.size > self.limit
        skipped = np.array([state.size * (state.size - 1) // 2 - pairs] if large else [], np.int64)
        count(tally, np.array([state.size]), skipped)
        if large:
            return []
        i, j = np.triu_indices(state.size, 1)
        return [_rows(REST, state.held[i], state.held[j])]


class _Open:
    """A bucket that may go on in the next batch: its size, and its first members up to the limit."""

    def __init__(self, name: tuple[Any, Any]) -> None:
        self.name, self.size, self.held = name, 0, np.zeros(0, np.int64)

    def grow(self, ranks: Numbers, rule: _Pairing) -> list[pa.RecordBatch]:
        """The pairs that can be told already: all members meet the first; in a large bucket, its pivots."""
        before, was_large = self.size, self.size > rule.limit
        self.size += len(ranks)
        rows = []
        joined = np.concatenate([self.held, ranks])
        first = joined[0]
        newcomers = ranks if before else ranks[1:]
        rows.append(_rows(FIRST, np.full(len(newcomers), first), newcomers))
        if self.size > rule.limit:
            new = len(self.held) if was_large else 0  # those before have met the pivots already
            for place, pivot in enumerate(joined[: rule.pivots]):
                others = joined[max(new, place + 1) :]
                rows.append(_rows(REST, np.full(len(others), pivot), others))
        self.held = joined[: max(rule.limit, rule.pivots)]
        return rows


def count(tally: Numbers, sizes: Numbers, skipped: Numbers) -> None:
    """Adds some buckets to the tally."""
    several = sizes[sizes > 1]
    tally[0] += len(several)
    tally[1] = max(int(tally[1]), int(several.max(initial=0)))
    tally[2] += len(skipped)
    tally[3] += int(skipped.sum())


def _rows(kind: int, left: Any, right: Any) -> pa.RecordBatch:
    return table({"kind": np.full(len(left), kind, np.int32), "left": left, "right": right})
