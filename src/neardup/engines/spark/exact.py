"""Candidate pairs of an exact join of features, by SpotSigs' length partitions.

Documents meet in the features of their prefixes (see `candidates.prefix`) inside length partitions, which with the
feature make the key of the shuffle. Documents of equal features are one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup import kernels
from neardup.candidates.buckets import numbered_rows
from neardup.candidates.exact import check_threshold
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
from neardup.engines.spark.crowds import COUNTED, FIRST
from neardup.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SAMPLE = 16  # one document in so many is asked which features are common
COMMON = 1 << 16  # features that are known as common
BLOCK = 1 << 20
LINKS = "kind int, left long, right long"


def link_rows(left: Any, right: Any, kind: int = FIRST) -> Batches:
    """Pairs of ranks, the smaller one left."""
    columns = {"left": np.minimum(left, right), "right": np.maximum(left, right)}
    yield from sliced(table({"kind": np.full(len(left), kind, np.int32), **columns}))


def find_exact(plan: Plan, contents: DataFrame, some: bool) -> DataFrame:
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
    found = in_arrow(rows, _Meeting(limit, CROWD if some else 0), LINKS)
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
        tally = np.zeros(2, np.int64)  # members whose list was cut, pairs that were left out there
        for group in whole_groups(batches, ("part", "key")):
            yield from self._pairs(group, tally)
        if tally[0]:
            kind = np.array([COUNTED], np.int32)
            yield table({"kind": kind, "left": tally[:1], "right": tally[1:]})

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
            tally[0] += int((reach > self.most).sum())
            reach = np.minimum(reach, self.most)
        tally[1] += full - int(reach.sum())
        for row, k in numbered_rows(reach, BLOCK):
            yield from link_rows(ranks[row], ranks[row - 1 - k])
