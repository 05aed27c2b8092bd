"""Candidate pairs from keys, by the local engine's own code, linear in any bucket.

Keys go to the part of their table and value, where whole buckets are paired. A pair is sent on to the part of its
larger rank, where it is met by the same pair from other tables, and one of them stays.

A crowd, a bucket with very many members in one task, is not sent to one place. Only its smallest ranks go there,
with the number of the others: they are all that pivots can be chosen from. The others wait in some tasks beside it, the
more the more they are, and the pivots of the bucket are sent to them. So no task sees more of a bucket than its share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup.candidates.buckets import BucketCounts, Buckets, all_pairs, bucket_pairs, find_buckets
from neardup.columns import Numbers
from neardup.engines.spark import crowds
from neardup.engines.spark.arrow import Batches, in_arrow, sliced, table, unsigned
from neardup.engines.spark.crowds import (
    COUNTED,
    FIRST,
    HELD,
    NAMES,
    PAIRS,
    REST,
    Collected,
    crowded,
    in_rounds,
    meet_pivots,
    take_crowds,
)
from neardup.engines.spark.parcels import (
    PARCEL,
    TALLY,
    Columns,
    column,
    part_of,
    places_of,
    posted,
    received,
    shuffled,
    split,
    unpack,
)
from neardup.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BLOCK = 1 << 20  # pairs that are made at a time
BUFFER = 64 << 20  # bytes of keys that a task holds before it sends them
ENTRY = 24  # bytes of a key, a rank and a place


@dataclass(frozen=True)
class Rule:
    """How buckets are paired, and where their keys go."""

    every: bool
    limit: int
    pivots: int
    tables: int
    slices: int  # parts of a table
    tasks: int

    @staticmethod
    def of(plan: Plan, documents: int, tasks: int) -> Rule:
        tables: int = plan.candidates.tables  # type: ignore[attr-defined]
        slices = max(-(-tasks // tables), -(-documents * ENTRY // BUFFER))
        return Rule(plan.pairs == "all", plan.bucket, plan.pivots, tables, slices, tasks)

    @property
    def heads(self) -> int:
        """Members of a crowd, the smallest, that go to the place of their bucket."""
        return max(self.limit, self.pivots) + 1

    @property
    def crowd(self) -> int:
        """Members of a bucket in one task from which on most of them wait elsewhere."""
        return max(crowds.CROWD, 2 * self.heads)

    def spread(self, members: Numbers) -> Numbers:
        """In how many tasks members of a crowd wait: telling those of their pivots must not cost more than they do."""
        return np.clip(members // 4, min(crowds.SPREAD, self.tasks), self.tasks)

    @property
    def waiting(self) -> int:
        """The first part of members that wait for their pivots."""
        return self.tables * self.slices


def find_edges(plan: Plan, contents: DataFrame, documents: int, tasks: int) -> DataFrame:
    """Rows of candidates, each pair once, the smaller rank left; and rows with counts of buckets.

    `contents` has chunks: seen, and wanted, which names the documents to leave out, or null.
    """
    rule = Rule.of(plan, documents, tasks)
    keys = in_arrow(contents.select("chunk", "seen", "wanted"), _Keys(rule), PARCEL)
    found = in_arrow(shuffled(keys, tasks), _Pairing(rule), PARCEL)
    met = in_arrow(shuffled(found, tasks), _Waiting(rule), PARCEL)
    return in_arrow(shuffled(met, tasks), _finished, PAIRS)


def seen_contents(batch: pa.RecordBatch) -> Iterator[tuple[pa.Table, Numbers]]:
    """What was seen of the documents of each chunk that are present and no copies, and their places."""
    for chunk, packed, copies in zip(
        batch.column("chunk").to_pylist(), batch.column("seen"), batch.column("wanted"), strict=True
    ):
        seen = unpack(packed)
        rows = column(seen, "row") if "row" in seen.column_names else np.arange(len(seen))
        places = places_of(chunk, rows)
        chosen = seen.column("present").to_numpy().copy()
        if copies.is_valid:
            chosen &= ~np.isin(places, column(unpack(copies), "place"))
        if not chosen.all():
            seen, places = seen.filter(pa.array(chosen)), places[chosen]
        yield seen, places


@dataclass(frozen=True)
class _Keys:
    """Chunks to parcels of keys, table by table; crowds in two parts."""

    rule: Rule

    def __call__(self, batches: Batches) -> Batches:
        held: list[tuple[pa.Table, Numbers]] = []
        size = 0
        for batch in batches:
            for seen, places in seen_contents(batch):
                held.append((seen, places))
                size += len(places) * ENTRY * self.rule.tables
                if size > BUFFER:
                    yield from posted(self._parcels(held))
                    held, size = [], 0
        if size:
            yield from posted(self._parcels(held))

    def _parcels(self, held: list[tuple[pa.Table, Numbers]]) -> Iterator[tuple[int, Columns]]:
        rule = self.rule
        ranks = np.concatenate([column(seen, "rank") for seen, _ in held])
        places = np.concatenate([places for _, places in held])
        for number in range(rule.tables):
            keys = np.concatenate([column(seen, f"key{number}") for seen, _ in held])
            columns: dict[str, Any] = {"key": keys, "rank": ranks, "place": places}
            if not rule.every:
                waiting = crowded(keys, ranks, rule.heads, rule.crowd)
                if waiting is not None:
                    yield from self._waiting(number, {k: v[waiting] for k, v in columns.items()})
                    columns = {name: each[~waiting] for name, each in columns.items()}
            parts = number * rule.slices + part_of(columns["key"], rule.slices)
            yield from split(columns, parts)

    def _waiting(self, number: int, columns: dict[str, Any]) -> Iterator[tuple[int, Columns]]:
        """Members of crowds: how many to the place of their bucket, they themselves to tasks beside it."""
        rule = self.rule
        keys, inverse, counts = np.unique(columns["key"], return_inverse=True, return_counts=True)
        spread = rule.spread(counts)
        told = {"key": keys, "rank": spread, "place": -counts.astype(np.int64)}
        yield from split(told, number * rule.slices + part_of(keys, rule.slices))
        at = part_of(columns["key"], rule.tasks) + part_of(columns["rank"], spread[inverse])
        parts = rule.waiting + at % rule.tasks
        tables = np.full(len(parts), number, np.int32)
        yield from split({"table": tables, **columns}, parts)


@dataclass(frozen=True)
class _Pairing:
    """Keys to pairs, for the part of the larger rank; pivots of crowds for all parts; members that wait go on."""

    rule: Rule

    def __call__(self, batches: Batches) -> Batches:
        yield from posted(self._parcels(batches))

    def _parcels(self, batches: Batches) -> Iterator[tuple[int, Columns]]:
        rule, counts, found = self.rule, BucketCounts(), Collected()
        told: list[tuple[Numbers, Columns]] = []  # pivots of crowds
        for part, some in received(batches).items():
            if part >= rule.waiting:
                members = {name: column(some, name) for name in some.column_names}
                yield part - rule.waiting + rule.tasks, members
                continue
            number = part // rule.slices
            keys, ranks, places = (column(some, name) for name in ("key", "rank", "place"))
            if (places < 0).any():
                keys, ranks, places, crowded_buckets = take_crowds(keys, ranks, places)
                for crowd in crowded_buckets:
                    counts += crowd.pair(rule.pivots, found)
                    told.append(crowd.told(number, rule.pivots, rule.tasks))
            buckets = find_buckets(keys, np.arange(len(keys)))
            if rule.every:
                counts += BucketCounts(len(buckets.sizes), int(buckets.sizes.max(initial=0)))
                for left, right in all_pairs(buckets, BLOCK):
                    found.add(REST, ranks, places, left, right)
                    if found.size > HELD // 2:
                        yield from _sent(found, rule.tasks)
                        found = Collected()
            else:
                counts += self._some(buckets, ranks, places, found)
        yield from _sent(found, rule.tasks)
        if told:
            targets = np.concatenate([where for where, _ in told])
            pivots = {name: np.concatenate([each[name] for _, each in told]) for name in told[0][1]}
            yield from split(pivots, rule.tasks + targets)
        tally = ([counts.buckets], [counts.largest], [counts.hot], [counts.skipped])
        yield TALLY, {name: np.array(v, np.int64) for name, v in zip(NAMES[1:], tally, strict=True)}

    def _some(self, buckets: Buckets, ranks: Numbers, places: Numbers, found: Collected) -> BucketCounts:
        """Collects the pairs that clusters need."""
        order = unsigned(ranks)
        left, right, _ = bucket_pairs(buckets, order, 1, 1)
        found.add(FIRST, ranks, places, left, right)
        left, right, counts = bucket_pairs(buckets, order, self.rule.limit, self.rule.pivots)
        found.add(REST, ranks, places, left, right)
        return counts


def _sent(found: Collected, tasks: int) -> Iterator[tuple[int, Columns]]:
    """Pairs for the part of their larger rank."""
    pairs = found.distinct()
    yield from split(pairs, part_of(pairs["right"], tasks))


@dataclass(frozen=True)
class _Waiting:
    """Members that wait, and pivots, to pairs; pairs go on."""

    rule: Rule

    def __call__(self, batches: Batches) -> Batches:
        yield from posted(self._parcels(batches))

    def _parcels(self, batches: Batches) -> Iterator[tuple[int, Columns]]:
        for part, some in received(batches).items():
            found = Collected()
            if part == TALLY:
                yield TALLY, {name: column(some, name) for name in some.column_names}
            elif part < self.rule.tasks:
                found.put({name: column(some, name) for name in NAMES})
            else:
                meet_pivots(some, found)
            yield from _sent(found, self.rule.tasks)


def _finished(batches: Batches) -> Batches:
    """Pairs, each once."""
    found = Collected()
    for part, some in received(batches).items():
        if part == TALLY:
            counts = {name: column(some, name) for name in NAMES[1:]}
            yield table({"kind": np.full(len(some), COUNTED, np.int32), **counts})
        else:
            found.put({name: column(some, name) for name in NAMES})
    yield from sliced(table(in_rounds(found.distinct())))


def bucket_counts(facts: dict[str, Any]) -> BucketCounts:
    """What was met while pairing, from the facts of the stage."""
    return BucketCounts(*(facts[name] or 0 for name in ("buckets", "largest", "above", "skipped")))


def edge_facts() -> dict[str, Any]:
    """What is remembered of the stage: pairs, and counts of buckets."""
    from pyspark.sql import functions as f

    counted = f.col("kind") == COUNTED
    return {
        "pairs": f.sum((~counted).cast("long")),
        "buckets": f.sum(f.when(counted, f.col("left"))),
        "largest": f.max(f.when(counted, f.col("right"))),
        "above": f.sum(f.when(counted, f.col("left_place"))),
        "skipped": f.sum(f.when(counted, f.col("right_place"))),
    }
