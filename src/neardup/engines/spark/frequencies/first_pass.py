"""The clusters of a first run that count once where frequencies are counted, as `engines.families` has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup.columns import Texts
from neardup.engines.core import template_groups as families
from neardup.engines.core.represent import cut
from neardup.engines.spark.components import components
from neardup.engines.spark.frequencies.count import told
from neardup.engines.spark.shuffle.arrow import Batches, in_arrow, numbers, table
from neardup.engines.spark.shuffle.packed_blocks import ROW_BITS, Arrays, by_chunk, column, unpack
from neardup.engines.spark.shuffle.side_files import read_side_file
from neardup.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Stage = Callable[..., "DataFrame"]


def labelled(verified: DataFrame, stage: Stage) -> DataFrame:
    """The documents of clusters: rank, place, label."""
    from pyspark.sql import functions as f

    passed = verified.where("passed")
    labels = components(passed, stage, "first-labels-of-all")
    sides = [
        passed.select(f.col(side).alias("rank"), f.col(f"{side}_place").alias("place"))
        for side in ("left", "right")
    ]
    return sides[0].unionByName(sides[1]).distinct().join(labels, "rank")


def by_chunks(labels: DataFrame, tasks: int) -> DataFrame:
    """For each chunk the places and labels of its documents that are in a cluster."""

    def work(batches: Batches) -> Iterator[Arrays]:
        for batch in batches:
            yield {name: numbers(batch, name) for name in ("place", "label")}

    return by_chunk(labels.select("place", "label"), work, tasks)


def finds_template_groups(plan: Plan) -> bool:
    """Whether the plan can tell copies of a story from pages that share a frame."""
    return families.phrase_weight(plan.view).around > 0


def own_shares(plan: Plan, contents: DataFrame, labels: DataFrame, statistics: Any, tasks: int) -> DataFrame:
    """Label and share of own text of the documents by which each cluster is judged: those of the smallest ranks."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    each = Window.partitionBy("label")
    ranked = labels.withColumn("number", f.row_number().over(each.orderBy("rank")))
    ranked = ranked.withColumn("members", f.count("*").over(each))
    some = ranked.where(f"number <= {families.LOOKED_AT} and members >= {families.FEWEST}")
    wanted = by_chunks(some, tasks).select("chunk", "wanted")
    chunks = contents.select("chunk", "text", "known").join(wanted, "chunk")
    return in_arrow(chunks, _Looking(plan, statistics), "label long, share double")


@dataclass(frozen=True)
class _Looking:
    """Chunks, and which documents are looked at, to their shares of own text."""

    plan: Plan
    statistics: Any  # a broadcast variable

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            for packed, wanted, answers in zip(
                *(batch.column(name) for name in ("text", "wanted", "known")), strict=True
            ):
                some, known = unpack(wanted), told(self.plan, self.statistics.value, answers)
                rows = pa.array(column(some, "place") & ((1 << ROW_BITS) - 1))
                texts = read_side_file(packed).column("text").chunk(0).take(rows)
                shares = [
                    families.own_shares(self.plan.view, self.plan.text(part), known)
                    for _, part in cut(Texts.from_arrow(texts))
                ]
                yield table({"label": column(some, "label"), "share": np.concatenate(shares)})


def without_template_groups(labels: DataFrame, shares: DataFrame) -> DataFrame:
    """Labels, but for those of families, whose members count each."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    each = Window.partitionBy("label")
    ranked = shares.withColumn("number", f.row_number().over(each.orderBy("share")) - 1)
    ranked = ranked.withColumn("middle", f.floor(f.count("*").over(each) / 2))
    own = ranked.where(f.col("number") == f.col("middle")).where(f.col("share") > families.OWN_SHARE)
    return labels.join(own.select("label"), "label", "left_anti")
