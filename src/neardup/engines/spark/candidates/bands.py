"""Candidate pairs from keys, by the local engine's own code, linear in any bucket.

Keys go to the part of their table and value, where whole buckets are paired. A pair is sent on to the part of its
larger rank, where it is met by the same pair from other tables, and one of them stays.

A crowd, a bucket with very many members in one task, is not sent to one place. Only its smallest ranks go there,
with the number of the others: they are all that pivots can be chosen from. The others wait in some tasks beside it, the
more the more they are, and the pivots of the bucket are sent to them. So no task sees more of a bucket than its share.
Where there are few tasks a crowd is in all of them, each member in the part of its rank: no third journey is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup.candidates.buckets import BucketCounts, Buckets, all_pairs, bucket_pairs, find_buckets
from neardup.columns import Hashes, Numbers
from neardup.engines.spark.candidates import hot_buckets as crowds
from neardup.engines.spark.candidates.hot_buckets import (
    COUNTED,
    FIRST,
    HELD,
    NAMES,
    PAIRS,
    REST,
    Collected,
    finished,
    meet_pivots,
    overflow,
    sent,
    take_hot_buckets,
    tally,
)
from neardup.engines.spark.shuffle.arrow import Batches, in_arrow, unsigned
from neardup.engines.spark.shuffle.packed_blocks import (
    TALLY,
    Arrays,
    PackedBlocks,
    column,
    in_blocks,
    part_of,
    places_of,
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
        return max(crowds.HOT, 2 * self.heads)

    def spread(self, members: Numbers) -> Numbers:
        """In how many tasks members of a crowd wait: telling those of their pivots must not cost more than they do."""
        return np.clip(members // 4, min(crowds.SPREAD, self.tasks), self.tasks)

    @property
    def at_home(self) -> bool:
        """Whether crowds are in all tasks anyhow: then a member waits in the part of its rank, where its pairs go."""
        return self.tasks <= crowds.SPREAD

    @property
    def waiting(self) -> int:
        """The first part of members that wait for their pivots."""
        return self.tables * self.slices


def find_by_keys(plan: Plan, contents: DataFrame, documents: int, tasks: int) -> DataFrame:
    """Rows of candidates, each pair once, the smaller rank left; and rows with counts of buckets.

    `contents` has chunks: seen, and wanted, which names the documents to leave out, or null.
    """
    rule = Rule.of(plan, documents, tasks)
    keys = in_blocks(contents.select("chunk", "seen", "wanted"), partial(_keys, rule))
    found = in_blocks(shuffled(keys, tasks), partial(_pairing, rule))
    if not rule.at_home:
        found = in_blocks(shuffled(found, tasks), partial(_waiting, rule))
    return in_arrow(shuffled(found, tasks), partial(finished, tasks), PAIRS)


def represented_texts(batch: pa.RecordBatch) -> Iterator[tuple[pa.Table, Numbers]]:
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


def _keys(rule: Rule, batches: Batches) -> PackedBlocks:
    """Chunks to parcels of keys, table by table; crowds in two parts."""
    held: list[tuple[pa.Table, Numbers]] = []
    size = 0
    for batch in batches:
        for seen, places in represented_texts(batch):
            held.append((seen, places))
            size += len(places) * ENTRY * rule.tables
            if size > BUFFER:
                yield from _sent_keys(rule, held)
                held, size = [], 0
    if size:
        yield from _sent_keys(rule, held)


def _sent_keys(rule: Rule, held: list[tuple[pa.Table, Numbers]]) -> PackedBlocks:
    """The keys of some documents."""
    ranks = np.concatenate([column(seen, "rank") for seen, _ in held])
    places = np.concatenate([places for _, places in held])
    for number in range(rule.tables):
        keys = np.concatenate([column(seen, f"key{number}") for seen, _ in held])
        columns: dict[str, Any] = {"key": keys, "rank": ranks, "place": places}
        if not rule.every:
            waiting = overflow(keys, ranks, rule.heads, rule.crowd)
            if waiting is not None:
                yield from _sent_crowds(rule, number, {k: v[waiting] for k, v in columns.items()})
                columns = {name: each[~waiting] for name, each in columns.items()}
        yield from split(columns, number * rule.slices + part_of(columns["key"], rule.slices))


def _sent_crowds(rule: Rule, number: int, columns: dict[str, Any]) -> PackedBlocks:
    """Members of crowds: how many to the place of their bucket, they themselves to tasks beside it."""
    keys, inverse, counts = np.unique(columns["key"], return_inverse=True, return_counts=True)
    spread = rule.spread(counts)
    told = {"key": keys, "rank": spread, "place": -counts.astype(np.int64)}
    yield from split(told, number * rule.slices + part_of(keys, rule.slices))
    if rule.at_home:
        at = part_of(columns["rank"], rule.tasks)
    else:
        at = part_of(columns["key"], rule.tasks) + part_of(columns["rank"], spread[inverse])
    tables = np.full(len(at), number, np.int32)
    yield from split({"table": tables, **columns}, rule.waiting + at % rule.tasks)


def _pairing(rule: Rule, batches: Batches) -> PackedBlocks:
    """Keys to pairs, for the part of the larger rank; pivots of crowds for all parts; members that wait go on."""
    made = _Pairing(rule)
    for part, some in received(batches).items():
        values = {name: column(some, name) for name in some.column_names}
        if part >= rule.waiting:
            yield part - rule.waiting + rule.tasks, values
        else:
            yield from made.table(part // rule.slices, values["key"], values["rank"], values["place"])
    yield from made.rest()


@dataclass
class _Pairing:
    """What a task has paired so far: pairs that were not sent yet, pivots of crowds, and counts."""

    rule: Rule
    counts: BucketCounts = field(default_factory=BucketCounts)
    found: Collected = field(default_factory=Collected)
    told: list[tuple[Numbers, Arrays]] = field(default_factory=list)

    def table(self, number: int, keys: Hashes, ranks: Numbers, places: Numbers) -> PackedBlocks:
        """Pairs the buckets of a part of a table."""
        rule = self.rule
        if (places < 0).any():
            keys, ranks, places, crowded_buckets = take_hot_buckets(keys, ranks, places)
            for crowd in crowded_buckets:
                self.counts += crowd.pair(rule.pivots, self.found)
                self.told.append(crowd.told(number, rule.pivots, rule.tasks))
        buckets = find_buckets(keys, np.arange(len(keys)))
        if rule.every:
            yield from self._all(buckets, ranks, places)
        else:
            self._some(buckets, ranks, places)

    def _all(self, buckets: Buckets, ranks: Numbers, places: Numbers) -> PackedBlocks:
        """Collects all pairs, and sends them now and then."""
        self.counts += BucketCounts(len(buckets.sizes), int(buckets.sizes.max(initial=0)))
        for left, right in all_pairs(buckets, BLOCK):
            self.found.add(REST, ranks, places, left, right)
            if self.found.size > HELD // 2:
                yield from sent(self.found, self.rule.tasks)
                self.found = Collected()

    def _some(self, buckets: Buckets, ranks: Numbers, places: Numbers) -> None:
        """Collects the pairs that clusters need."""
        order = unsigned(ranks)
        left, right, _ = bucket_pairs(buckets, order, 1, 1)
        self.found.add(FIRST, ranks, places, left, right)
        left, right, counts = bucket_pairs(buckets, order, self.rule.limit, self.rule.pivots)
        self.found.add(REST, ranks, places, left, right)
        self.counts += counts

    def rest(self) -> PackedBlocks:
        """What was not sent yet."""
        yield from sent(self.found, self.rule.tasks)
        if self.told:
            targets = np.concatenate([where for where, _ in self.told])
            names = self.told[0][1]
            pivots = {name: np.concatenate([each[name] for _, each in self.told]) for name in names}
            yield from split(pivots, self.rule.tasks + targets)
        counts = self.counts
        yield from tally(counts.buckets, counts.largest, counts.hot, counts.skipped)


def _waiting(rule: Rule, batches: Batches) -> PackedBlocks:
    """Members that wait, and pivots, to pairs; pairs go on."""
    for part, some in received(batches).items():
        found = Collected()
        if part == TALLY:
            yield TALLY, {name: column(some, name) for name in some.column_names}
        elif part < rule.tasks:
            found.put({name: column(some, name) for name in NAMES})
        else:
            meet_pivots(some, found)
        yield from sent(found, rule.tasks)


def bucket_counts(facts: dict[str, Any]) -> BucketCounts:
    """What was met while pairing, from the facts of the stage."""
    return BucketCounts(*(facts[name] or 0 for name in ("buckets", "largest", "above", "skipped")))


def candidate_metrics() -> dict[str, Any]:
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
