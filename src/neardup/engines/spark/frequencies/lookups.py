"""Lookups: the document frequencies of each chunk's own features, from tables too large to broadcast."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.engines.spark.frequencies.count import counted_features, sorted_frequencies
from neardup.engines.spark.shuffle import packed_blocks as shuffle
from neardup.engines.spark.shuffle.arrow import Batches, in_arrow
from neardup.engines.spark.shuffle.packed_blocks import ROW_BITS, ROWS_BY_CHUNK, PackedBlocks, column, part_of
from neardup.engines.spark.signatures import distinct_chunk_texts
from neardup.plan import Plan


def find_lookups(plan: Plan, chunks: DataFrame, counts: DataFrame, tasks: int) -> DataFrame:
    """ROWS_BY_CHUNK: the document frequencies of the features of each chunk's distinct texts."""
    texts = chunks.select("chunk", "identity", "text", "copies")
    tables = counts.where("stage >= 0").select("stage", "frequencies")
    requests = shuffle.in_blocks(texts, partial(_request_blocks, plan, tasks))
    blocks = requests.unionByName(shuffle.in_blocks(tables, partial(_count_blocks, plan, tasks)))
    found = shuffle.in_blocks(shuffle.shuffled(blocks, tasks), partial(_lookup_blocks, plan, tasks))
    return in_arrow(shuffle.shuffled(found, tasks), shuffle.rows_by_chunk, ROWS_BY_CHUNK)


def _request_blocks(plan: Plan, tasks: int, batches: Batches) -> PackedBlocks:
    """Blocks of requested features, each once per chunk, by stage and feature."""
    for batch in batches:
        for chunk, _, _, texts in distinct_chunk_texts(batch):
            requested: dict[int, list[Any]] = {number: [] for number in range(len(plan.counts))}
            for _, number, features in counted_features(plan, texts):
                requested[number].append(np.unique(features.hashes))
            for number, parts in requested.items():
                if parts:
                    keys = np.unique(np.concatenate(parts))
                    chunks = np.full(len(keys), chunk, np.int64)
                    yield from shuffle.split(
                        {"key": keys, "chunk": chunks}, number * tasks + part_of(keys, tasks)
                    )


def _count_blocks(plan: Plan, tasks: int, batches: Batches) -> PackedBlocks:
    """Blocks of document frequencies, by stage and feature, in parts above those of requests."""
    for batch in batches:
        for number, packed in zip(
            batch.column("stage").to_pylist(), batch.column("frequencies"), strict=True
        ):
            some = shuffle.unpack(packed)
            columns = {name: column(some, name) for name in ("key", "count")}
            first = (len(plan.counts) + number) * tasks
            yield from shuffle.split(columns, first + part_of(columns["key"], tasks))


def _lookup_blocks(plan: Plan, tasks: int, batches: Batches) -> PackedBlocks:
    """Blocks of the document frequencies of requested features, by chunk."""
    parts, stages = shuffle.received(batches), len(plan.counts)
    for part, requested in parts.items():
        known = parts.get(part + stages * tasks)
        if part >= stages * tasks or known is None:
            continue
        counts = sorted_frequencies(column(known, "key"), column(known, "count")).of(column(requested, "key"))
        found = counts > 0
        chunks = column(requested, "chunk")[found]
        numbers = np.full(len(chunks), part // tasks, np.int32)
        columns = {"place": chunks << ROW_BITS, "stage": numbers, "key": column(requested, "key")[found]}
        yield from shuffle.split({**columns, "count": counts[found]}, part_of(chunks, tasks))


def with_lookups(chunks: DataFrame, lookups: DataFrame | None) -> DataFrame:
    """Chunks with a column `lookups`, null if the whole table is broadcast."""
    if lookups is None:
        return chunks.withColumn("lookups", f.lit(None).cast("binary"))
    return shuffle.join_chunks(chunks, lookups, "lookups", "left", broadcast=False)
