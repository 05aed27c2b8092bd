"""Candidate pairs of an exact join of features: the prefix filter, in SpotSigs' length partitions.

Documents are shuffled by length partition and by each feature of their prefix (see `candidates/prefix.py`). If only
clusters are asked for, one document stands for all with equal features.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup import kernels
from neardup.candidates.buckets import numbered_rows
from neardup.candidates.exact import check_threshold
from neardup.candidates.partitions import boundaries
from neardup.candidates.prefix import prefix_entries
from neardup.columns import Features, Hashes, Numbers
from neardup.engines.core.rounds import MOST_LINKS
from neardup.engines.spark.candidates import hot_buckets
from neardup.engines.spark.candidates.blocks import CHUNK
from neardup.engines.spark.candidates.hot_buckets import NAMES, PAIRS, REST, PairCollector, counts_block
from neardup.engines.spark.copies import copies_of, pairs_of_copies
from neardup.engines.spark.shuffle import packed_blocks as shuffle
from neardup.engines.spark.shuffle.arrow import Batches, in_arrow, signed, sliced, table, unsigned
from neardup.engines.spark.shuffle.packed_blocks import BROADCAST_ROWS, ROW_BITS, ROWS_BY_CHUNK, PackedBlocks
from neardup.engines.spark.signatures import DistinctTexts, distinct_chunk_features
from neardup.plan import Plan
from neardup.sorted_sets import run_starts

PREFIX = 3000  # bytes of the prefix features of a document, on average
SAMPLE = 16  # one document in 16 is sampled for common features
COMMON = 1 << 16  # features in the list of common ones
BLOCK = 1 << 20  # pairs that are made at a time


def find_by_prefix(plan: Plan, texts: DistinctTexts) -> DataFrame:
    """PAIRS that may reach the threshold: documents with equal features, or with a shared feature in their prefixes."""
    some, tasks = not plan.needs_every_candidate, texts.tasks(texts.documents * PREFIX)
    limit, chunks = check_threshold(plan.threshold), texts.chunks.select(*CHUNK)
    common = common_features(chunks)
    if some:
        equal = equal_features(chunks, tasks)
        chunks = shuffle.join_chunks(chunks, equal, "equal", "left", texts.documents <= BROADCAST_ROWS)
    else:
        chunks = chunks.withColumn("equal", f.lit(None).cast("binary"))
    keys = shuffle.in_blocks(chunks, PrefixBlocks(limit, common, tasks).blocks)
    found = shuffle.in_blocks(
        shuffle.shuffled(keys, tasks), partial(_bucket_pairs, limit, MOST_LINKS if some else 0, tasks)
    )
    return in_arrow(shuffle.shuffled(found, tasks), partial(hot_buckets.distinct_pairs, tasks), PAIRS)


# equal features -----------------------------------------------------------------------------------


def equal_features(chunks: DataFrame, tasks: int) -> DataFrame:
    """ROWS_BY_CHUNK: documents whose features equal those of one with a smaller id hash, in the columns of copies."""
    digests = shuffle.in_blocks(chunks, partial(_digest_blocks, tasks))
    equal = shuffle.in_blocks(shuffle.shuffled(digests, tasks), partial(_equal_blocks, tasks))
    return in_arrow(shuffle.shuffled(equal, tasks), shuffle.rows_by_chunk, ROWS_BY_CHUNK)


def _digest_blocks(tasks: int, batches: Batches) -> PackedBlocks:
    """Blocks of digests of features, by digest."""
    for representation, places, features in distinct_chunk_features(batches):
        weights = _weights(features)
        both = np.empty((len(features.hashes), 2), np.uint64)
        both[:, 0], both[:, 1] = features.hashes, weights.astype(np.uint64)
        digests = np.empty((len(features), 2), np.uint64)
        kernels.digest.digest(both.ravel().view(np.uint8), features.offsets * 16, 2, digests)
        columns = {"digest_a": digests[:, 0].copy(), "digest_b": digests[:, 1].copy()}
        columns |= {"id_hash": shuffle.column(representation, "id_hash"), "place": places}
        columns["tokens"] = np.ones(len(places), np.bool_)
        yield from shuffle.split(columns, shuffle.part_of(columns["digest_a"], tasks))


def _equal_blocks(tasks: int, batches: Batches) -> PackedBlocks:
    for some in shuffle.received(batches).values():
        _, copies = copies_of(some)
        yield from shuffle.split(copies, shuffle.part_of(copies["place"] >> ROW_BITS, tasks))


def _weights(features: Features) -> Any:
    return np.ones(len(features.hashes), np.float32) if features.weights is None else features.weights


# prefixes -----------------------------------------------------------------------------------------


def common_features(chunks: DataFrame) -> tuple[Hashes, Numbers]:
    """The most frequent features of a sample, ascending, and their document frequencies.

    The prefix filter is exact for any order of features; common features last keeps buckets small.
    """
    counted = in_arrow(chunks, _sampled, "key long, count long").groupBy("key")
    summed = counted.agg(f.sum("count").alias("count")).where("count > 1")
    top = summed.orderBy(f.desc("count"), "key").limit(COMMON).toArrow()  # up to 1 MB
    keys, counts = unsigned(top.column("key").to_numpy()), top.column("count").to_numpy()
    order = np.argsort(keys)
    return keys[order], counts[order]


def _sampled(batches: Batches) -> Batches:
    """Document frequencies of features in sampled documents."""
    for representation, _, features in distinct_chunk_features(batches):
        chosen = np.repeat(shuffle.column(representation, "id_hash") % SAMPLE == 0, features.sizes)
        keys, counts = np.unique(features.hashes[chosen], return_counts=True)
        yield from sliced(table({"key": signed(keys), "count": counts.astype(np.int64)}))


@dataclass(frozen=True)
class PrefixBlocks:
    """Makes blocks of prefix features, for the length partition of a document and the next one."""

    limit: Fraction
    common: tuple[Hashes, Numbers]
    tasks: int

    def blocks(self, batches: Batches) -> PackedBlocks:
        """Blocks of prefix features by partition and feature, and of pairs of documents with equal features."""
        for batch in batches:
            for number in range(batch.num_rows):
                row = batch.slice(number, 1)
                equal = row.column("equal")[0]
                left_out = shuffle.unpack(equal) if equal.is_valid else None
                if left_out is not None:
                    pairs = pairs_of_copies(left_out, REST)
                    yield from shuffle.split(pairs, self.tasks + shuffle.part_of(pairs["right"], self.tasks))
                for representation, places, features in distinct_chunk_features(iter([row])):
                    own = np.ones(len(places), np.bool_)
                    if left_out is not None:
                        own = ~np.isin(places, shuffle.column(left_out, "place"))
                    yield from self._entries(shuffle.column(representation, "id_hash"), places, features, own)

    def _entries(self, id_hashes: Numbers, places: Numbers, features: Features, own: Any) -> PackedBlocks:
        """Blocks of the prefix features of documents selected by `own`."""
        sizes = np.zeros(len(features))
        kernels.weighted.sum_weights(features.offsets, _weights(features), False, sizes)
        whole = sizes.astype(np.int64)
        p, q = self.limit.numerator, self.limit.denominator
        room = whole - (p * whole + q - 1) // q
        chosen = prefix_entries(features, self._frequencies(features), room)
        document = np.repeat(np.arange(len(features)), features.sizes)
        chosen = chosen[own[document[chosen]]]
        document, keys = document[chosen], features.hashes[chosen]
        bounds = boundaries(self.limit, int(whole.max(initial=1)))
        parts = np.searchsorted(bounds, whole, "right").astype(np.int64)[document]
        known = {
            "key": keys,
            "size": whole[document],
            "id_hash": id_hashes[document],
            "place": places[document],
        }
        for step in (0, 1):  # indexed and probed in its own partition; probed in the next one
            columns = {"partition": parts + step, **known, "index": np.full(len(document), step == 0)}
            yield from shuffle.split(
                columns, shuffle.part_of(keys + (parts + step).astype(np.uint64), self.tasks)
            )

    def _frequencies(self, features: Features) -> Numbers:
        """The document frequency of each entry in the sample; 0 for features that are not common."""
        known, counts = self.common
        if not len(known):
            return np.zeros(len(features.hashes), np.int64)
        at = np.minimum(np.searchsorted(known, features.hashes), len(known) - 1)
        return np.where(known[at] == features.hashes, counts[at], 0)


# buckets ------------------------------------------------------------------------------------------


def _bucket_pairs(limit: Fraction, most: int, tasks: int, batches: Batches) -> PackedBlocks:
    """Blocks of pairs of similar size in each bucket; a member is paired with at most `most` others, if not 0."""
    found = PairCollector()
    cut = np.zeros(2, np.int64)  # truncated lists, pairs skipped in these
    for part, some in shuffle.received(batches).items():
        values = {name: shuffle.column(some, name) for name in some.column_names}
        if part >= tasks:
            found.put({name: values[name] for name in NAMES})
            continue
        order = np.lexsort([values[name] for name in ("id_hash", "size", "key", "partition")])
        values = {name: each[order] for name, each in values.items()}
        for row, other in _similar_sizes(values, limit, most, cut):
            found.add(REST, values["id_hash"], values["place"], row, other)
    yield from hot_buckets.pair_blocks(found, tasks)
    yield from counts_block(above=int(cut[0]), skipped=int(cut[1]))


def _similar_sizes(
    values: dict[str, Any], limit: Fraction, most: int, cut: Numbers
) -> Iterator[tuple[Numbers, Numbers]]:
    """Pairs of rows in a bucket whose sizes allow the similarity."""
    sizes = values["size"]
    starts = run_starts(values["partition"], values["key"])
    bucket = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    least = -(-limit.numerator * sizes // limit.denominator)  # the smallest size of a similar document
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
