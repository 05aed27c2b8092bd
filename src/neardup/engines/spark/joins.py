"""Candidate pairs of the methods that join all documents: near fingerprints, exact similarity, and others.

Hamming: a table for each choice of blocks of bits that a near pair agrees in; a bucket is joined by the local kernel.
Exact: see `exact`.
Others compare every pair that shares anything, and are meant for thousands of documents: one worker does it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup.candidates.exact import Exact
from neardup.candidates.hamming import Hamming, near_pairs, to_columns
from neardup.columns import Hashes
from neardup.engines.matching import CROWD
from neardup.engines.spark.arrow import (
    Batches,
    begins,
    in_arrow,
    signed,
    unpack_features,
    unragged,
    unsigned,
    whole_groups,
)
from neardup.engines.spark.crowds import COUNTED, FIRST, NAMES
from neardup.engines.spark.exact import LINKS, find_exact, link_rows
from neardup.engines.spark.signatures import content_rows
from neardup.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BUCKET = 4096  # members that a bucket of fingerprints may have on average
MOST_TABLES = 256


def find_joined(plan: Plan, signed_contents: DataFrame, documents: int) -> DataFrame:
    """Rows of candidates as `edges.find_edges` gives them."""
    some = plan.pairs == "clusters" and plan.clustering.kind == "components"
    rows = partial(content_rows, signed_contents)
    if isinstance(plan.candidates, Hamming):
        found = _near(plan, plan.candidates, rows(["slots"]).drop("place"), documents, some)
    elif isinstance(plan.candidates, Exact):
        found = find_exact(plan, rows(["hashes", "weights"]).drop("place"), some)
    else:
        everything = rows(["hashes", "weights"]).drop("place").repartition(1)
        found = in_arrow(everything, _Alone(plan, some), LINKS)
    return _placed(found, rows([]))


def _placed(found: DataFrame, places: DataFrame) -> DataFrame:
    """Pairs of ranks, each once, with the places of their documents; and counts."""
    from pyspark.sql import functions as f

    pairs = found.where(f.col("kind") != COUNTED).select("left", "right").distinct()
    for side in ("left", "right"):
        named = places.select(f.col("rank").alias(side), f.col("place").alias(f"{side}_place"))
        pairs = pairs.join(named, side)
    counts = found.where(f.col("kind") == COUNTED)
    zero = f.lit(0).cast("long")
    cut = [f.col("left").alias("left_place"), f.col("right").alias("right_place")]
    counts = counts.select("kind", zero.alias("left"), zero.alias("right"), *cut)
    return pairs.select(f.lit(FIRST).alias("kind"), *NAMES[1:]).unionByName(counts)


# fingerprints -----------------------------------------------------------------------------------


def _near(plan: Plan, join: Hamming, contents: DataFrame, documents: int, some: bool) -> DataFrame:
    """Every pair of near fingerprints; or as many as connect them, equal ones being one."""
    from pyspark.sql import functions as f

    decided = plan.check.measures == join.decides and plan.check_view is None
    spanning = decided and some
    distance = join.distance(plan.threshold)
    chosen = contents.select("rank", "slots")
    stars = None
    if spanning:
        equal = chosen.groupBy("slots").agg(f.min("rank").alias("first"), f.count("*").alias("n"))
        copies = chosen.join(equal.where("n > 1"), "slots").where("rank != first")
        stars = copies.select(
            f.lit(FIRST).alias("kind"), f.col("first").alias("left"), f.col("rank").alias("right")
        )
        chosen = equal.select(f.col("first").alias("rank"), "slots")
    masks = block_masks(join.bits, distance, documents)
    keys = in_arrow(chosen, _Fingerprints(masks), "table int, key long, rank long, slots binary")
    rows = keys.repartition("table", "key").sortWithinPartitions("table", "key", "rank")
    found = in_arrow(rows, _Nearby(distance, spanning), LINKS)
    return found if stars is None else found.unionByName(stars)


def block_masks(bits: int, distance: int, documents: int) -> Hashes:
    """For each table the bits that its pairs agree in: tables × words.

    Of b blocks, b − distance agree. More blocks make longer keys and more tables: as many as it takes for buckets of
    a size that is worth comparing.
    """
    blocks = min(distance + 1, bits)
    while (
        documents > BUCKET << min(62, bits * (blocks - distance) // blocks)
        and blocks < bits
        and comb(blocks + 1, distance) <= MOST_TABLES
    ):
        blocks += 1
    edges = np.linspace(0, bits, blocks + 1).astype(int)
    masks = []
    for chosen in combinations(range(blocks), max(blocks - distance, 0)):
        wanted = np.zeros(-(-bits // 64) * 64, np.uint8)
        for block in chosen:
            wanted[edges[block] : edges[block + 1]] = 1
        masks.append(np.packbits(wanted, bitorder="little").view(np.uint64))
    return np.stack(masks)


@dataclass(frozen=True)
class _Fingerprints:
    """Fingerprints to a row for each table."""

    masks: Hashes

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            offsets, slots = unragged(batch.column("slots"), np.uint32)
            n = len(offsets) - 1
            columns = to_columns(slots.reshape(n, -1))
            ranks = batch.column("rank")
            for number, mask in enumerate(self.masks):
                key = np.zeros(n, np.uint64)
                for word, wanted in zip(columns, mask, strict=True):
                    key = (key ^ (word & wanted)) * np.uint64(0xD6E8FEB86659FD93)
                    key ^= key >> np.uint64(32)
                which = np.full(n, number, np.int32)
                yield pa.RecordBatch.from_pydict(
                    {
                        "table": pa.array(which),
                        "key": pa.array(signed(key)),
                        "rank": ranks,
                        "slots": batch.column("slots"),
                    }
                )


@dataclass(frozen=True)
class _Nearby:
    """Fingerprints, bucket by bucket, to pairs of near ones."""

    distance: int
    spanning: bool

    def __call__(self, batches: Batches) -> Batches:
        for group in whole_groups(batches, ("table", "key")):
            ranks = group.column("rank").to_numpy()
            _, slots = unragged(group.column("slots"), np.uint32)
            columns = to_columns(slots.reshape(len(group), -1))
            starts = begins(group.column("table").to_numpy(), group.column("key").to_numpy())
            for k in np.flatnonzero(np.diff(starts) > 1).tolist():
                first, last = int(starts[k]), int(starts[k + 1])
                bucket = np.ascontiguousarray(columns[:, first:last])
                left, right, _ = near_pairs(bucket, self.distance, spanning=self.spanning)
                yield from link_rows(ranks[first + left], ranks[first + right])


# whatever one worker does -----------------------------------------------------------------------


@dataclass(frozen=True)
class _Alone:
    """All documents to the pairs that the plan's join finds."""

    plan: Plan
    some: bool

    def __call__(self, batches: Batches) -> Batches:
        parts = list(batches)
        if not parts:
            return
        whole = pa.Table.from_batches(parts)
        order = np.argsort(whole.column("rank").to_numpy())
        whole = whole.take(pa.array(order)).combine_chunks()
        features = unpack_features(whole.column("hashes"), whole.column("weights"))
        ranks = whole.column("rank").to_numpy()
        join: Any = self.plan.candidates
        if self.some:
            found, _ = join.links(features, self.plan.threshold, 1, unsigned(ranks), CROWD)
        else:
            found = join.pairs(features, self.plan.threshold, 1)
        yield from link_rows(ranks[found.left], ranks[found.right])
