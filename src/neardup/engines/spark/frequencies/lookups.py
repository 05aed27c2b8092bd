"""Frequencies that are too many for every worker: each chunk asks for those of its own features, and is told them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from neardup.engines.spark.frequencies.count import counted_features, in_order
from neardup.engines.spark.shuffle.arrow import Batches, in_arrow
from neardup.engines.spark.shuffle.packed_blocks import (
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
from neardup.engines.spark.signatures import distinct_chunk_texts
from neardup.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def find_lookups(plan: Plan, contents: DataFrame, counts: DataFrame, tasks: int) -> DataFrame:
    """For each chunk the frequencies of the features of its contents, of those that are in `counts`."""
    asked = in_blocks(contents.select("chunk", "names", "text", "wanted"), partial(_questions, plan, tasks))
    known = in_blocks(counts.where("stage >= 0").select("stage", "packed"), partial(_counts, plan, tasks))
    met = in_blocks(shuffled(asked.unionByName(known), tasks), partial(_answers, plan, tasks))
    return in_arrow(shuffled(met, tasks), gathered, GATHERED)


def _questions(plan: Plan, tasks: int, batches: Batches) -> PackedBlocks:
    """Chunks to the features that they ask for, each once, by stage and part."""
    for batch in batches:
        for chunk, _, _, texts in distinct_chunk_texts(batch):
            asked: dict[int, list[Any]] = {number: [] for number in range(len(plan.counts))}
            for _, number, features in counted_features(plan, texts):
                asked[number].append(np.unique(features.hashes))
            for number, parts in asked.items():
                if parts:
                    keys = np.unique(np.concatenate(parts))
                    chunks = np.full(len(keys), chunk, np.int64)
                    yield from split({"key": keys, "chunk": chunks}, number * tasks + part_of(keys, tasks))


def _counts(plan: Plan, tasks: int, batches: Batches) -> PackedBlocks:
    """Parts of tables to where they are asked for."""
    for batch in batches:
        for number, packed in zip(batch.column("stage").to_pylist(), batch.column("packed"), strict=True):
            some = unpack(packed)
            columns = {name: column(some, name) for name in ("key", "count")}
            behind = (len(plan.counts) + number) * tasks
            yield from split(columns, behind + part_of(columns["key"], tasks))


def _answers(plan: Plan, tasks: int, batches: Batches) -> PackedBlocks:
    """What was asked, and what is known, to answers for chunks."""
    came, stages = received(batches), len(plan.counts)
    for part, asked in came.items():
        known = came.get(part + stages * tasks)
        if part >= stages * tasks or known is None:
            continue
        counts = in_order(column(known, "key"), column(known, "count")).of(column(asked, "key"))
        told = counts > 0
        chunks = column(asked, "chunk")[told]
        numbers = np.full(len(chunks), part // tasks, np.int32)
        columns = {"place": chunks << ROW_BITS, "stage": numbers, "key": column(asked, "key")[told]}
        yield from split({**columns, "count": counts[told]}, part_of(chunks, tasks))


def with_lookups(contents: DataFrame, answers: DataFrame | None) -> DataFrame:
    """Chunks with what they were told, or null where every worker knows all."""
    from pyspark.sql import functions as f

    if answers is None:
        return contents.withColumn("known", f.lit(None).cast("binary"))
    return contents.join(answers.select("chunk", f.col("wanted").alias("known")), "chunk", "left")
