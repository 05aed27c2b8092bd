"""Candidate pairs of an exact join of features, by SpotSigs' length partitions.

Documents meet in the features of their prefixes (see `candidates.prefix`) inside length partitions, which with the
feature make the key that parcels are sent by. Where only clusters are asked for, documents of equal features are one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup import kernels
from neardup.candidates.buckets import numbered_rows
from neardup.candidates.exact import check_threshold
from neardup.candidates.partitions import boundaries
from neardup.columns import Features, Hashes, Numbers
from neardup.engines.local.candidates import MOST_LINKS
from neardup.engines.spark.candidates.hot_buckets import NAMES, PAIRS, REST, Collected, finished, sent, tally
from neardup.engines.spark.copies import copies_of
from neardup.engines.spark.shuffle.arrow import Batches, begins, in_arrow, signed, sliced, table, unsigned
from neardup.engines.spark.shuffle.packed_blocks import (
    FEW,
    GATHERED,
    ROW_BITS,
    PackedBlocks,
    column,
    gathered,
    in_blocks,
    part_of,
    received,
    shuffled,
    split,
    unpack,
)
from neardup.engines.spark.signatures import distinct_chunk_features
from neardup.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SAMPLE = 16  # one document in so many is asked which features are common
COMMON = 1 << 16  # features that are known as common
BLOCK = 1 << 20
CHUNK = ("chunk", "seen", "wanted", "features")


def find_by_prefix(plan: Plan, contents: DataFrame, documents: int, some: bool, tasks: int) -> DataFrame:
    """Pairs that may reach the threshold: equal features, and those that share a feature of their prefixes."""
    from pyspark.sql import functions as f

    limit, chunks = check_threshold(plan.threshold), contents.select(*CHUNK)
    common = common_features(chunks)
    if some:
        equal = equal_features(chunks, tasks).select("chunk", f.col("wanted").alias("equal"))
        chunks = chunks.join(f.broadcast(equal) if documents <= FEW else equal, "chunk", "left")
    else:
        chunks = chunks.withColumn("equal", f.lit(None).cast("binary"))
    keys = in_blocks(chunks, Prefixes(limit, common, tasks).parcels)
    found = in_blocks(shuffled(keys, tasks), partial(_meeting, limit, MOST_LINKS if some else 0, tasks))
    return in_arrow(shuffled(found, tasks), partial(finished, tasks), PAIRS)


# equal features -----------------------------------------------------------------------------------


def equal_features(chunks: DataFrame, tasks: int) -> DataFrame:
    """For each chunk its documents that have the features of one with a smaller rank, as in `copies`."""
    named = in_blocks(chunks, partial(_named, tasks))
    met = in_blocks(shuffled(named, tasks), partial(_equal, tasks))
    return in_arrow(shuffled(met, tasks), gathered, GATHERED)


def _named(tasks: int, batches: Batches) -> PackedBlocks:
    """Digests of features for the part where equal ones meet."""
    for seen, places, features in distinct_chunk_features(batches):
        weights = _weights(features)
        both = np.empty((len(features.hashes), 2), np.uint64)
        both[:, 0], both[:, 1] = features.hashes, weights.astype(np.uint64)
        digests = np.empty((len(features), 2), np.uint64)
        kernels.digest.digest(both.ravel().view(np.uint8), features.offsets * 16, 2, digests)
        names = {"digest_a": digests[:, 0].copy(), "digest_b": digests[:, 1].copy()}
        known = np.ones(len(places), np.bool_)
        columns = {**names, "rank": column(seen, "rank"), "place": places, "tokens": known}
        yield from split(columns, part_of(names["digest_a"], tasks))


def _equal(tasks: int, batches: Batches) -> PackedBlocks:
    for some in received(batches).values():
        _, copies = copies_of(some)
        yield from split(copies, part_of(copies["place"] >> ROW_BITS, tasks))


def _weights(features: Features) -> Any:
    return np.ones(len(features.hashes), np.float32) if features.weights is None else features.weights


# prefixes -----------------------------------------------------------------------------------------


def common_features(chunks: DataFrame) -> tuple[Hashes, Numbers]:
    """The features that most documents of a sample have, ascending, and in how many of those each occurs.

    Any order of features keeps prefixes exact; common ones last keeps buckets small.
    """
    from pyspark.sql import functions as f

    counted = in_arrow(chunks, _sampled, "key long, count long").groupBy("key")
    summed = counted.agg(f.sum("count").alias("count")).where("count > 1")
    top = summed.orderBy(f.desc("count"), "key").limit(COMMON).toArrow()  # at most 1 MB
    keys, counts = unsigned(top.column("key").to_numpy()), top.column("count").to_numpy()
    order = np.argsort(keys)
    return keys[order], counts[order]


def _sampled(batches: Batches) -> Batches:
    """How often features occur in some documents."""
    for seen, _, features in distinct_chunk_features(batches):
        chosen = np.repeat(column(seen, "rank") % SAMPLE == 0, features.sizes)
        keys, counts = np.unique(features.hashes[chosen], return_counts=True)
        yield from sliced(table({"key": signed(keys), "count": counts.astype(np.int64)}))


@dataclass(frozen=True)
class Prefixes:
    """Chunks to the features of their documents' prefixes, in their length partition and the next."""

    limit: Fraction
    common: tuple[Hashes, Numbers]
    tasks: int

    def parcels(self, batches: Batches) -> PackedBlocks:
        """Entries for the part of their partition and feature; documents of equal features as pairs."""
        for batch in batches:
            for number in range(batch.num_rows):
                row = batch.slice(number, 1)
                equal = row.column("equal")[0]
                left_out = unpack(equal) if equal.is_valid else None
                if left_out is not None:
                    yield from self._stars(left_out)
                for seen, places, features in distinct_chunk_features(iter([row])):
                    own = np.ones(len(places), np.bool_)
                    if left_out is not None:
                        own = ~np.isin(places, column(left_out, "place"))
                    yield from self._entries(column(seen, "rank"), places, features, own)

    def _stars(self, equal: pa.Table) -> PackedBlocks:
        names = ("content", "rank", "content_place", "place")
        pairs = {name: column(equal, which) for name, which in zip(NAMES[1:], names, strict=True)}
        kinds = np.full(len(equal), REST, np.int32)
        yield from split({"kind": kinds, **pairs}, self.tasks + part_of(pairs["right"], self.tasks))

    def _entries(self, ranks: Numbers, places: Numbers, features: Features, own: Any) -> PackedBlocks:
        """The prefixes of the documents that are their own."""
        sizes = np.zeros(len(features))
        kernels.weighted.sum_weights(features.offsets, _weights(features), False, sizes)
        whole = sizes.astype(np.int64)
        chosen = self._chosen(features, whole)
        owner = np.repeat(np.arange(len(features)), features.sizes)
        chosen = chosen[own[owner[chosen]]]
        owner, keys = owner[chosen], features.hashes[chosen]
        bounds = boundaries(self.limit, int(whole.max(initial=1)))
        parts = np.searchsorted(bounds, whole, "right").astype(np.int64)[owner]
        known = {"key": keys, "size": whole[owner], "rank": ranks[owner], "place": places[owner]}
        for step in (0, 1):  # itself, to be found and to look; and the next partition, to look
            columns = {"partition": parts + step, **known, "index": np.full(len(owner), step == 0)}
            yield from split(columns, part_of(keys + (parts + step).astype(np.uint64), self.tasks))

    def _chosen(self, features: Features, sizes: Numbers) -> Numbers:
        """The entries of the prefixes: from the rarest on, until less is left than a similar document must share."""
        owner = np.repeat(np.arange(len(features)), features.sizes)
        weights = _weights(features).astype(np.int64)
        known, counts = self.common
        kind = np.zeros(len(owner), np.int64)
        if len(known):
            at = np.minimum(np.searchsorted(known, features.hashes), len(known) - 1)
            kind = np.where(known[at] == features.hashes, counts[at], 0)
        order = np.lexsort((features.hashes, kind, owner))
        before = np.cumsum(weights[order]) - weights[order]
        full = features.sizes > 0
        before -= np.repeat(before[features.offsets[:-1][full]], features.sizes[full])
        p, q = self.limit.numerator, self.limit.denominator
        room = sizes - (p * sizes + q - 1) // q
        return order[before <= room[owner[order]]]


# buckets ------------------------------------------------------------------------------------------


def _meeting(limit: Fraction, most: int, tasks: int, batches: Batches) -> PackedBlocks:
    """Members of buckets, the smallest first, to pairs of similar sizes; with at most `most` each, if not 0."""
    found = Collected()
    cut = np.zeros(2, np.int64)  # members whose list was cut, pairs that were left out there
    for part, some in received(batches).items():
        values = {name: column(some, name) for name in some.column_names}
        if part >= tasks:
            found.put({name: values[name] for name in NAMES})
            continue
        order = np.lexsort([values[name] for name in ("rank", "size", "key", "partition")])
        values = {name: each[order] for name, each in values.items()}
        for row, other in _similar_sizes(values, limit, most, cut):
            found.add(REST, values["rank"], values["place"], row, other)
    yield from sent(found, tasks)
    yield from tally(above=int(cut[0]), skipped=int(cut[1]))


def _similar_sizes(
    values: dict[str, Any], limit: Fraction, most: int, cut: Numbers
) -> Iterator[tuple[Numbers, Numbers]]:
    """Pairs of rows of a bucket whose sizes allow the similarity."""
    sizes = values["size"]
    starts = begins(values["partition"], values["key"])
    bucket = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    least = -(-limit.numerator * sizes // limit.denominator)  # of a document that is similar to it
    span = int(sizes.max(initial=0)) + 1
    low = np.searchsorted(bucket * span + sizes, bucket * span + least)
    reach = np.where(values["index"], np.arange(len(sizes)) - low, 0)
    full = int(reach.sum())
    if most:
        cut[0] += int((reach > most).sum())
        reach = np.minimum(reach, most)
    cut[1] += full - int(reach.sum())
    for row, k in numbered_rows(reach, BLOCK):
        yield row, row - 1 - k
