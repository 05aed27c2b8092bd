"""Candidate pairs of the methods that join all documents: near fingerprints, exact similarity, and others.

Hamming: a table for each choice of blocks of bits that a near pair agrees in; a bucket is joined by the local kernel.
Exact: documents meet in the features of their prefixes (see `candidates.prefix`) inside SpotSigs' length partitions,
    which with the feature make the key of the shuffle. Documents of equal features are one.
Others compare every pair that shares anything, and are meant for thousands of documents: one worker does it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup import kernels
from neardup.candidates.buckets import numbered_rows
from neardup.candidates.exact import Exact, check_threshold
from neardup.candidates.hamming import Hamming, near_pairs, to_columns
from neardup.candidates.partitions import boundaries
from neardup.columns import Features, Hashes, Numbers
from neardup.engines.matching import CROWD
from neardup.engines.spark.arrow import (
    Batches,
    begins,
    in_arrow,
    numbers,
    signed,
    sliced,
    table,
    unpack_features,
    unragged,
    unsigned,
    whole_groups,
)
from neardup.engines.spark.edges import BUCKETS, FIRST, LIMITED
from neardup.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SAMPLE = 16  # one document in so many is asked which features are common
COMMON = 1 << 16  # features that are known as common
BUCKET = 4096  # members that a bucket of fingerprints may have on average
MOST_TABLES = 256
BLOCK = 1 << 20


def find_joined(plan: Plan, contents: DataFrame) -> DataFrame:
    """Rows of candidates as `edges.find_edges` gives them."""
    from pyspark.sql import functions as f

    present = contents.where("present")
    some = plan.pairs == "clusters" and plan.clustering.kind == "components"
    if isinstance(plan.candidates, Hamming):
        found = _near(plan, plan.candidates, present, some)
    elif isinstance(plan.candidates, Exact):
        found = _exact(plan, present, some)
    else:
        found = in_arrow(
            present.select("rank", "hashes", "weights").repartition(1), _Alone(plan, some), PAIRS
        )
    tally = f.col("kind") >= BUCKETS
    return found.groupBy("left", "right", tally.alias("tally")).agg(
        f.min("kind").alias("kind"), f.count("*").alias("times")
    )


PAIRS = "kind int, left long, right long"


def pair_rows(left: Any, right: Any, kind: int = FIRST) -> Batches:
    """Pairs of ranks, the smaller one left."""
    columns = {"left": np.minimum(left, right), "right": np.maximum(left, right)}
    yield from sliced(table({"kind": np.full(len(left), kind, np.int32), **columns}))


# fingerprints -----------------------------------------------------------------------------------


def _near(plan: Plan, join: Hamming, contents: DataFrame, some: bool) -> DataFrame:
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
    masks = block_masks(join.bits, distance, contents.count())
    keys = in_arrow(chosen, _Fingerprints(masks), "table int, key long, rank long, slots binary")
    rows = keys.repartition("table", "key").sortWithinPartitions("table", "key", "rank")
    found = in_arrow(rows, _Nearby(distance, spanning), PAIRS)
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
                yield from pair_rows(ranks[first + left], ranks[first + right])


# exact similarity -------------------------------------------------------------------------------


def _exact(plan: Plan, contents: DataFrame, some: bool) -> DataFrame:
    """Pairs that may reach the threshold: equal features, and those that share a feature of their prefixes."""
    from pyspark.sql import functions as f

    limit = check_threshold(plan.threshold)
    sized = in_arrow(
        contents.select("rank", "hashes", "weights"),
        _summarise,
        "rank long, size long, first long, second long, hashes binary, weights binary",
    )
    if some:  # documents of equal features are linked to the one of the smallest rank, which stands for them
        equal = sized.groupBy("first", "second").agg(f.min("rank").alias("leader"), f.count("*").alias("n"))
        copies = sized.select("rank", "first", "second").join(equal.where("n > 1"), ["first", "second"])
        copies = copies.where("rank != leader")
        stars = copies.select(
            f.lit(FIRST).alias("kind"), f.col("leader").alias("left"), f.col("rank").alias("right")
        )
        sized = sized.join(copies.select("rank"), "rank", "left_anti")
    common = common_features(sized)
    rows = in_arrow(
        sized.select("rank", "size", "hashes", "weights"),
        _Prefixes(limit, common),
        "part int, key long, size long, rank long, index boolean",
    )
    rows = rows.repartition("part", "key").sortWithinPartitions("part", "key", "size", "rank")
    found = in_arrow(rows, _Meeting(limit, CROWD if some else 0), PAIRS)
    return found.unionByName(stars) if some else found


def _summarise(batches: Batches) -> Batches:
    """Documents with their sizes and digests of their features."""
    for batch in batches:
        features = unpack_features(batch.column("hashes"), batch.column("weights"))
        weights = np.ones(len(features.hashes), np.float32) if features.weights is None else features.weights
        sizes = np.zeros(len(features))
        kernels.weighted.sum_weights(features.offsets, weights, False, sizes)
        both = np.empty((len(features.hashes), 2), np.uint64)
        both[:, 0], both[:, 1] = features.hashes, weights.astype(np.uint64)
        digests = np.empty((len(features), 2), np.uint64)
        kernels.digest.digest(both.ravel().view(np.uint8), features.offsets * 16, 2, digests)
        yield pa.RecordBatch.from_pydict(
            {
                "rank": batch.column("rank"),
                "size": pa.array(sizes.astype(np.int64)),
                "first": pa.array(signed(digests[:, 0])),
                "second": pa.array(signed(digests[:, 1])),
                "hashes": batch.column("hashes"),
                "weights": batch.column("weights"),
            }
        )


def common_features(sized: DataFrame) -> tuple[Hashes, Numbers]:
    """The features that most documents of a sample have, ascending, and in how many of those each occurs.

    Any order of features keeps prefixes exact; common ones last keeps buckets small.
    """
    from pyspark.sql import functions as f

    def work(batches: Batches) -> Batches:
        for batch in batches:
            _, hashes = unragged(batch.column("hashes"), np.uint64)
            keys, counts = np.unique(hashes, return_counts=True)
            yield from sliced(table({"key": signed(keys), "count": counts.astype(np.int64)}))

    some = sized.where(f.pmod("rank", f.lit(SAMPLE)) == 0).select("hashes")
    counted = in_arrow(some, work, "key long, count long").groupBy("key").agg(f.sum("count").alias("count"))
    top = counted.where("count > 1").orderBy(f.desc("count"), "key").limit(COMMON).toArrow()  # at most 1 MB
    keys, counts = unsigned(top.column("key").to_numpy()), top.column("count").to_numpy()
    order = np.argsort(keys)
    return keys[order], counts[order]


@dataclass(frozen=True)
class _Prefixes:
    """Documents to a row for each feature of their prefixes, in their length partition and the next."""

    limit: Fraction
    common: tuple[Hashes, Numbers]

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            features = unpack_features(batch.column("hashes"), batch.column("weights"))
            sizes, ranks = numbers(batch, "size"), numbers(batch, "rank")
            chosen = self._chosen(features, sizes)
            owner = np.repeat(np.arange(len(features)), features.sizes)[chosen]
            parts = np.searchsorted(boundaries(self.limit, int(sizes.max(initial=1))), sizes, "right").astype(
                np.int32
            )
            keys = signed(features.hashes[chosen])
            for step in (0, 1):  # itself, to be found and to look; and the next partition, to look
                columns = {
                    "part": parts[owner] + np.int32(step),
                    "key": keys,
                    "size": sizes[owner],
                    "rank": ranks[owner],
                }
                yield from sliced(table({**columns, "index": np.full(len(owner), step == 0)}))

    def _chosen(self, features: Features, sizes: Numbers) -> Numbers:
        """The entries of the prefixes: from the rarest on, until less is left than a similar document must share."""
        owner = np.repeat(np.arange(len(features)), features.sizes)
        weights = (
            np.ones(len(owner), np.int64) if features.weights is None else features.weights.astype(np.int64)
        )
        known, counts = self.common
        at = np.minimum(np.searchsorted(known, features.hashes), max(len(known) - 1, 0))
        kind = (
            np.where(known[at] == features.hashes, counts[at], 0)
            if len(known)
            else np.zeros(len(owner), np.int64)
        )
        order = np.lexsort((features.hashes, kind, owner))
        before = np.cumsum(weights[order]) - weights[order]
        before -= np.repeat(
            before[features.offsets[:-1][features.sizes > 0]], features.sizes[features.sizes > 0]
        )
        p, q = self.limit.numerator, self.limit.denominator
        room = sizes - (p * sizes + q - 1) // q
        return order[before <= room[owner[order]]]


@dataclass(frozen=True)
class _Meeting:
    """Members of buckets, the smallest first, to pairs of similar sizes; with at most `most` each, if not 0."""

    limit: Fraction
    most: int

    def __call__(self, batches: Batches) -> Batches:
        tally = np.zeros(4, np.int64)
        for group in whole_groups(batches, ("part", "key")):
            yield from self._pairs(group, tally)
        if tally[0]:
            yield from sliced(
                table(
                    {
                        "kind": np.array([BUCKETS, LIMITED], np.int32),
                        "left": tally[[0, 2]],
                        "right": tally[[1, 3]],
                    }
                )
            )

    def _pairs(self, group: pa.Table, tally: Numbers) -> Batches:
        sizes, ranks = group.column("size").to_numpy(), group.column("rank").to_numpy()
        found = group.column("index").to_numpy()
        starts = begins(group.column("part").to_numpy(), group.column("key").to_numpy())
        bucket = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        least = -(
            -self.limit.numerator * sizes // self.limit.denominator
        )  # of a document that is similar to it
        span = int(sizes.max(initial=0)) + 1
        low = np.searchsorted(bucket * span + sizes, bucket * span + least)
        reach = np.where(found, np.arange(len(sizes)) - low, 0)
        full = int(reach.sum())
        if self.most:
            tally[2] += int((reach > self.most).sum())
            reach = np.minimum(reach, self.most)
        tally[0] += int((np.diff(starts) > 1).sum())
        tally[1] = max(int(tally[1]), int(np.diff(starts).max(initial=0)))
        tally[3] += full - int(reach.sum())
        for row, k in numbered_rows(reach, BLOCK):
            yield from pair_rows(ranks[row], ranks[row - 1 - k])


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
        yield from pair_rows(ranks[found.left], ranks[found.right])
