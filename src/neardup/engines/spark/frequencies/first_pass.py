"""The clusters of a first pass, as units of document frequency, without template groups, as in the local engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from neardup.columns import Texts
from neardup.engines.core import template_groups
from neardup.engines.core.represent import chunks as text_chunks
from neardup.engines.spark.components import components
from neardup.engines.spark.frequencies.count import chunk_statistics
from neardup.engines.spark.shuffle import packed_blocks as shuffle
from neardup.engines.spark.shuffle.arrow import Batches, in_arrow, table
from neardup.engines.spark.shuffle.packed_blocks import ROW_BITS, Arrays, by_chunk, column, join_chunks
from neardup.engines.spark.shuffle.side_files import read_side_file
from neardup.plan import Plan

Stage = Callable[..., DataFrame]


def cluster_labels(verified: DataFrame, stage: Stage) -> DataFrame:
    """id_hash, place and cluster label of the documents of verified pairs."""
    passed = verified.where("passed")
    labels = components(passed, stage, "first-cluster-labels")
    sides = [
        passed.select(f.col(side).alias("id_hash"), f.col(f"{side}_place").alias("place"))
        for side in ("left", "right")
    ]
    return sides[0].unionByName(sides[1]).distinct().join(labels, "id_hash")


def labels_by_chunk(labels: DataFrame, tasks: int) -> DataFrame:
    """ROWS_BY_CHUNK: place and label of documents in clusters."""

    def work(batches: Batches) -> Iterator[Arrays]:
        for batch in batches:
            yield {name: column(batch, name) for name in ("place", "label")}

    return by_chunk(labels.select("place", "label"), work, tasks)


def unique_shares(plan: Plan, chunks: DataFrame, labels: DataFrame, statistics: Any, tasks: int) -> DataFrame:
    """Label and share of unique text of sampled documents of each cluster: those with the smallest id hashes."""
    each = Window.partitionBy("label")
    ranked = labels.withColumn("number", f.row_number().over(each.orderBy("id_hash")))
    ranked = ranked.withColumn("members", f.count("*").over(each))
    some = ranked.where(f"number <= {template_groups.SAMPLED} and members >= {template_groups.FEWEST}")
    texts = chunks.select("chunk", "text", "lookups")
    chunks = join_chunks(texts, labels_by_chunk(some, tasks), "requested", "inner", broadcast=False)
    return in_arrow(chunks, partial(_share_rows, plan, statistics), "label long, share double")


def _share_rows(plan: Plan, statistics: Any, batches: Batches) -> Batches:
    """Label and share of unique text of requested documents; `statistics` is a broadcast variable."""
    for batch in batches:
        columns = (batch.column(name) for name in ("text", "requested", "lookups"))
        for packed, requested, lookups in zip(*columns, strict=True):
            some = shuffle.unpack(requested)
            known = chunk_statistics(plan, statistics.value, lookups)
            rows = pa.array(column(some, "place") & ((1 << ROW_BITS) - 1))
            texts = read_side_file(packed).column("text").chunk(0).take(rows)
            shares = [
                template_groups.unique_shares(plan.view, plan.view.represent(plan.text(part), known), known)
                for _, part in text_chunks(Texts.from_arrow(texts))
            ]
            yield table({"label": column(some, "label"), "share": np.concatenate(shares)})


def without_template_groups(labels: DataFrame, shares: DataFrame) -> DataFrame:
    """Labels without those of template groups, whose members count one by one."""
    each = Window.partitionBy("label")
    ranked = shares.withColumn("number", f.row_number().over(each.orderBy("share")) - 1)
    ranked = ranked.withColumn("middle", f.floor(f.count("*").over(each) / 2))
    own = ranked.where(f.col("number") == f.col("middle")).where(
        f.col("share") > template_groups.UNIQUE_SHARE
    )
    return labels.join(own.select("label"), "label", "left_anti")
