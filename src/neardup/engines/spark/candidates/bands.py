"""Candidate pairs from keys: bands, super-shingles, lexicons. The work is linear in the size of a bucket.

Keys are shuffled by table and value, so that a task pairs whole buckets with the local engine's functions. Pairs are
then shuffled by their larger id hash, and duplicates from other tables are dropped.

A hot bucket, one with very many members in a sending task, is split: only the members with the smallest id hashes, from
which pivots are chosen, and the number of the others go to the bucket's task. The deferred members are spread over
other tasks, and the pivots are sent to them in another shuffle. With few tasks, each deferred member goes to the task
of its own id hash, where its pairs go anyway, which saves that shuffle.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.candidates.buckets import BucketCounts, Buckets, all_pairs, bucket_pairs, find_buckets
from neardup.columns import Hashes, Numbers
from neardup.engines.spark.candidates import hot_buckets
from neardup.engines.spark.candidates.hot_buckets import BUCKET_COUNTS, FIRST, PAIRS, REST, PairCollector
from neardup.engines.spark.shuffle import packed_blocks as shuffle
from neardup.engines.spark.shuffle.arrow import Batches, in_arrow, unsigned
from neardup.engines.spark.shuffle.packed_blocks import PackedBlocks, column, part_of, split
from neardup.engines.spark.signatures import DistinctTexts, represented_texts
from neardup.plan import Plan

BLOCK = 1 << 20  # pairs that are made at a time
BUFFER = 64 << 20  # bytes of keys that a task buffers before it sends them
ENTRY = 24  # bytes of a key, an id hash and a place


@dataclass(frozen=True)
class BucketRule:
    """How buckets are paired, and where their keys go."""

    every: bool
    limit: int
    pivots: int
    tables: int
    slices: int  # parts of a table
    tasks: int

    @staticmethod
    def of(plan: Plan, documents: int, tasks: int) -> BucketRule:
        tables: int = plan.candidates.tables  # type: ignore[attr-defined]
        slices = max(-(-tasks // tables), -(-documents * ENTRY // BUFFER))
        return BucketRule(plan.pairs == "all", plan.bucket, plan.pivots, tables, slices, tasks)

    @property
    def heads(self) -> int:
        """The number of members of a hot bucket that go to the bucket's task."""
        return max(self.limit, self.pivots) + 1

    @property
    def hot_size(self) -> int:
        """The number of members in one sending task above which a bucket is hot."""
        return max(hot_buckets.HOT, 2 * self.heads)

    def spread(self, members: Numbers) -> Numbers:
        """The number of tasks for deferred members: sending pivots to them must not cost more than the members."""
        return np.clip(members // 4, min(hot_buckets.SPREAD, self.tasks), self.tasks)

    @property
    def by_member(self) -> bool:
        """Whether deferred members are spread over all tasks, and go to the task of their own id hash."""
        return self.tasks <= hot_buckets.SPREAD

    @property
    def deferred(self) -> int:
        """The first part of deferred members."""
        return self.tables * self.slices


def find_by_keys(plan: Plan, texts: DistinctTexts) -> DataFrame:
    """PAIRS of documents with an equal key in a table, and rows with counts of buckets."""
    tables: int = plan.candidates.tables  # type: ignore[attr-defined]
    tasks = texts.tasks(texts.documents * tables * ENTRY)
    rule = BucketRule.of(plan, texts.documents, tasks)
    keys = shuffle.in_blocks(
        texts.chunks.select("chunk", "representation", "copies"), partial(_key_blocks, rule)
    )
    found = shuffle.in_blocks(shuffle.shuffled(keys, tasks), partial(_pair_blocks, rule))
    if not rule.by_member:
        found = shuffle.in_blocks(shuffle.shuffled(found, tasks), partial(_deferred_pairs, rule))
    return in_arrow(shuffle.shuffled(found, tasks), partial(hot_buckets.distinct_pairs, tasks), PAIRS)


def _key_blocks(rule: BucketRule, batches: Batches) -> PackedBlocks:
    """Blocks of keys, by table and value."""
    buffered: list[tuple[pa.Table, Numbers]] = []
    size = 0
    for batch in batches:
        for representation, places in represented_texts(batch):
            buffered.append((representation, places))
            size += len(places) * ENTRY * rule.tables
            if size > BUFFER:
                yield from _split_keys(rule, buffered)
                buffered, size = [], 0
    if size:
        yield from _split_keys(rule, buffered)


def _split_keys(rule: BucketRule, buffered: list[tuple[pa.Table, Numbers]]) -> PackedBlocks:
    """Blocks of the keys of buffered documents; hot buckets are split."""
    id_hashes = np.concatenate([column(found, "id_hash") for found, _ in buffered])
    places = np.concatenate([places for _, places in buffered])
    for number in range(rule.tables):
        keys = np.concatenate([column(found, f"key{number}") for found, _ in buffered])
        columns: dict[str, Any] = {"key": keys, "id_hash": id_hashes, "place": places}
        if not rule.every:
            deferred = hot_buckets.deferred_members(keys, id_hashes, rule.heads, rule.hot_size)
            if deferred is not None:
                yield from _split_hot_buckets(rule, number, {k: v[deferred] for k, v in columns.items()})
                columns = {name: each[~deferred] for name, each in columns.items()}
        yield from split(columns, number * rule.slices + part_of(columns["key"], rule.slices))


def _split_hot_buckets(rule: BucketRule, number: int, columns: dict[str, Any]) -> PackedBlocks:
    """Blocks of deferred members, and blocks of their numbers for the tasks of their buckets."""
    keys, inverse, counts = np.unique(columns["key"], return_inverse=True, return_counts=True)
    spread = rule.spread(counts)
    deferred = {"key": keys, "id_hash": spread, "place": -counts.astype(np.int64)}
    yield from split(deferred, number * rule.slices + part_of(keys, rule.slices))
    if rule.by_member:
        at = part_of(columns["id_hash"], rule.tasks)
    else:
        at = part_of(columns["key"], rule.tasks) + part_of(columns["id_hash"], spread[inverse])
    tables = np.full(len(at), number, np.int32)
    yield from split({"table": tables, **columns}, rule.deferred + at % rule.tasks)


def _pair_blocks(rule: BucketRule, batches: Batches) -> PackedBlocks:
    """Blocks of pairs by larger id hash, of pivots of hot buckets, and of deferred members."""
    made = _BucketPairs(rule)
    for part, some in shuffle.received(batches).items():
        values = {name: column(some, name) for name in some.column_names}
        if part >= rule.deferred:
            yield part - rule.deferred + rule.tasks, values
        else:
            yield from made.table(part // rule.slices, values["key"], values["id_hash"], values["place"])
    yield from made.rest()


@dataclass
class _BucketPairs:
    """The pairs of a task that are not sent yet, the pivots of its hot buckets, and counts."""

    rule: BucketRule
    counts: BucketCounts = field(default_factory=BucketCounts)
    found: PairCollector = field(default_factory=PairCollector)
    pivots: list[tuple[Numbers, shuffle.Arrays]] = field(default_factory=list)

    def table(self, number: int, keys: Hashes, id_hashes: Numbers, places: Numbers) -> PackedBlocks:
        """Pairs the buckets of a part of a table."""
        rule = self.rule
        if (places < 0).any():
            keys, id_hashes, places, hot = hot_buckets.take_out_hot_buckets(keys, id_hashes, places)
            for bucket in hot:
                self.counts += bucket.pair(rule.pivots, self.found)
                self.pivots.append(bucket.spread_pivots(number, rule.pivots, rule.tasks))
        buckets = find_buckets(keys, np.arange(len(keys)))
        if rule.every:
            yield from self._all(buckets, id_hashes, places)
        else:
            self._some(buckets, id_hashes, places)

    def _all(self, buckets: Buckets, id_hashes: Numbers, places: Numbers) -> PackedBlocks:
        """Collects all pairs, and sends them whenever the buffer is full."""
        self.counts += BucketCounts(len(buckets.sizes), int(buckets.sizes.max(initial=0)))
        for left, right in all_pairs(buckets, BLOCK):
            self.found.add(REST, id_hashes, places, left, right)
            if self.found.size > hot_buckets.BUFFERED_PAIRS // 2:
                yield from hot_buckets.pair_blocks(self.found, self.rule.tasks)
                self.found = PairCollector()

    def _some(self, buckets: Buckets, id_hashes: Numbers, places: Numbers) -> None:
        """Collects the pairs that clusters need."""
        order = unsigned(id_hashes)
        left, right, _ = bucket_pairs(buckets, order, 1, 1)
        self.found.add(FIRST, id_hashes, places, left, right)
        left, right, counts = bucket_pairs(buckets, order, self.rule.limit, self.rule.pivots)
        self.found.add(REST, id_hashes, places, left, right)
        self.counts += counts

    def rest(self) -> PackedBlocks:
        """Blocks of everything that is not sent yet."""
        yield from hot_buckets.pair_blocks(self.found, self.rule.tasks)
        if self.pivots:
            targets = np.concatenate([where for where, _ in self.pivots])
            names = self.pivots[0][1]
            pivots = {name: np.concatenate([each[name] for _, each in self.pivots]) for name in names}
            yield from split(pivots, self.rule.tasks + targets)
        counts = self.counts
        yield from hot_buckets.counts_block(counts.buckets, counts.largest, counts.hot, counts.skipped)


def _deferred_pairs(rule: BucketRule, batches: Batches) -> PackedBlocks:
    """Blocks of pairs, including those of deferred members with their pivots."""
    for part, some in shuffle.received(batches).items():
        found = PairCollector()
        if part == shuffle.COUNTS_PART:
            yield shuffle.COUNTS_PART, {name: column(some, name) for name in some.column_names}
        elif part < rule.tasks:
            found.put({name: column(some, name) for name in hot_buckets.NAMES})
        else:
            hot_buckets.pair_with_pivots(some, found)
        yield from hot_buckets.pair_blocks(found, rule.tasks)


def bucket_counts(metrics: dict[str, Any]) -> BucketCounts:
    """The counts of buckets, from the metrics of the stage."""
    return BucketCounts(*(metrics[name] or 0 for name in ("buckets", "largest", "above", "skipped")))


def candidate_metrics() -> dict[str, Any]:
    """Metrics of the stage: pairs, and counts of buckets."""
    counted = f.col("kind") == BUCKET_COUNTS
    return {
        "pairs": f.sum((~counted).cast("long")),
        "buckets": f.sum(f.when(counted, f.col("left"))),
        "largest": f.max(f.when(counted, f.col("right"))),
        "above": f.sum(f.when(counted, f.col("left_place"))),
        "skipped": f.sum(f.when(counted, f.col("right_place"))),
    }
