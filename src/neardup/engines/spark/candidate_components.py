"""Candidate components: documents that candidate pairs and copies connect.

One task verifies and decides a small component. The pairs of a large one are verified in parts of one document and up
to 512 of its candidates; its clusters are the components of the pairs that pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup import kernels
from neardup.columns import Numbers
from neardup.engines.core.rounds import ONE_ROUND
from neardup.engines.spark.candidates.hot_buckets import COPY, FIRST, NAMES, PAIRS, REST
from neardup.engines.spark.components import components
from neardup.engines.spark.shuffle.arrow import Batches, in_arrow, sliced, table
from neardup.engines.spark.shuffle.packed_blocks import column
from neardup.sorted_sets import run_starts

FEW_PAIRS = 1 << 22  # pairs that one task labels
LARGE = 4096  # pairs of a component above which it is verified in parts
PART_PAIRS = 512  # pairs of one document in a part
LABELLED = f"component long, part long, whole boolean, {PAIRS}"
Stage = Callable[..., DataFrame]


def label_pairs(pairs: DataFrame, count: int, stage: Stage, name: str) -> DataFrame:
    """LABELLED: pairs with their component, and the part that they are verified in."""
    alone = labelling(count)
    if alone:
        return stage(name, lambda: in_arrow(pairs.coalesce(1), alone, LABELLED))
    labels = components(pairs, stage, f"{name}-labels")
    return stage(name, lambda: _labelled(pairs, labels))


def labelling(count: int) -> Labelling | None:
    """The labelling of pairs by one task; None if they are too many."""
    return Labelling(LARGE, PART_PAIRS, ONE_ROUND) if count <= FEW_PAIRS else None


@dataclass(frozen=True)
class Labelling:
    """Labels all pairs in one task."""

    large: int
    part_pairs: int
    one_round: int

    def __call__(self, batches: Batches) -> Batches:
        parts = [{name: column(batch, name) for name in NAMES} for batch in batches]
        if not parts:
            return
        pairs = {name: np.concatenate([part[name] for part in parts]) for name in NAMES}
        nodes, places = np.unique(np.concatenate([pairs["left"], pairs["right"]]), return_inverse=True)
        n = len(pairs["left"])
        label = kernels.graph.components(len(nodes), places[:n], places[n:])[places[:n]]
        measured = pairs["kind"] != COPY
        size = np.bincount(label, measured, len(nodes))[label]
        pairs["kind"][(size <= self.one_round) & (pairs["kind"] < REST)] = FIRST
        whole = size <= self.large
        part = np.where(whole, nodes[label], self._parts(pairs["left"], whole))
        yield from sliced(table({"component": nodes[label], "part": part, "whole": whole, **pairs}))

    def _parts(self, left: Numbers, whole: Any) -> Numbers:
        """The part of each pair of a large component: up to `part_pairs` pairs with the same left document."""
        parts = np.zeros(len(left), np.int64)
        large = np.flatnonzero(~whole)
        order = large[np.argsort(left[large], kind="stable")]
        starts = run_starts(left[order])
        number = np.arange(len(order)) - np.repeat(starts[:-1], np.diff(starts))
        parts[order] = left[order] + number // self.part_pairs
        return parts


def _labelled(pairs: DataFrame, labels: DataFrame) -> DataFrame:
    """LABELLED for more pairs than one task labels, by joins."""
    component = labels.select(f.col("id_hash").alias("left"), f.col("label").alias("component"))
    joined = pairs.join(component, "left")
    counted = (f.col("kind") != COPY).cast("long")
    sizes = joined.groupBy("component").agg(f.sum(counted).alias("pairs"))
    large = sizes.where(f.col("pairs") > min(LARGE, ONE_ROUND))
    degrees = pairs.where(f.col("kind") != COPY).groupBy("left").count().where(f.col("count") > PART_PAIRS)
    parts = degrees.select("left", f.ceil(f.col("count") / PART_PAIRS).cast("long").alias("parts"))
    joined = joined.join(large, "component", "left").join(parts, "left", "left")
    size = f.coalesce(f.col("pairs"), f.lit(0))
    whole = size <= LARGE
    kind = f.when((size <= ONE_ROUND) & (f.col("kind") < REST), f.lit(FIRST)).otherwise(f.col("kind"))
    own = f.col("left") + f.pmod("right", f.coalesce("parts", f.lit(1)))
    part = f.when(whole, f.col("component")).otherwise(own)
    return joined.select(
        "component", part.alias("part"), whole.alias("whole"), kind.cast("int").alias("kind"), *NAMES[1:]
    )


def relabelled(verified: DataFrame, labels: DataFrame) -> DataFrame:
    """Measured pairs, in large components labelled by cluster and without pairs between clusters."""
    left = labels.select(f.col("id_hash").alias("left"), f.col("label").alias("left_label"))
    right = labels.select(f.col("id_hash").alias("right"), f.col("label").alias("right_label"))
    both = verified.where("not whole").join(left, "left").join(right, "right")
    both = both.where("left_label = right_label").withColumn("component", f.col("left_label"))
    return verified.where("whole").unionByName(both.select(*verified.columns))
