"""Families: documents that candidate pairs and copies connect. A small one is verified and decided in one place.

Pairs of a family that is too large for that are measured group by group, a document and up to 512 that it meets; its
clusters are found among the pairs that passed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from neardup import kernels
from neardup.columns import Numbers
from neardup.engines.core.rounds import ONE_ROUND
from neardup.engines.spark.candidates.hot_buckets import COPY, FIRST, NAMES, PAIRS, REST
from neardup.engines.spark.components import components
from neardup.engines.spark.shuffle.arrow import Batches, begins, in_arrow, numbers, sliced, table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FEW_PAIRS = 1 << 22  # that one task labels
LARGE = 4096  # pairs of a family from which on it is measured in parts
TOGETHER = 512  # documents that one document meets in one place
LABELLED = f"family long, part_of_it long, whole boolean, {PAIRS}"
Stage = Callable[..., "DataFrame"]


def label_pairs(pairs: DataFrame, count: int, stage: Stage, name: str) -> DataFrame:
    """Pairs with the family that they are in, and the part of it that they are measured with."""
    alone = labelling(count)
    if alone:
        return stage(name, lambda: in_arrow(pairs.coalesce(1), alone, LABELLED))
    labels = components(pairs, stage, f"{name}-labels")
    return stage(name, lambda: _labelled(pairs, labels))


def labelling(count: int) -> Labelling | None:
    """How one task labels so many pairs, if they are not too many for it."""
    return Labelling(LARGE, TOGETHER, ONE_ROUND) if count <= FEW_PAIRS else None


@dataclass(frozen=True)
class Labelling:
    """All pairs, in one task, to labelled ones."""

    large: int
    together: int
    one_round: int

    def __call__(self, batches: Batches) -> Batches:
        parts = [{name: numbers(batch, name) for name in NAMES} for batch in batches]
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
        yield from sliced(table({"family": nodes[label], "part_of_it": part, "whole": whole, **pairs}))

    def _parts(self, left: Numbers, whole: Any) -> Numbers:
        """For pairs of large families a name of some pairs with the same left document."""
        parts = np.zeros(len(left), np.int64)
        large = np.flatnonzero(~whole)
        order = large[np.argsort(left[large], kind="stable")]
        starts = begins(left[order])
        number = np.arange(len(order)) - np.repeat(starts[:-1], np.diff(starts))
        parts[order] = left[order] + number // self.together
        return parts


def _labelled(pairs: DataFrame, labels: DataFrame) -> DataFrame:
    """The same for very many pairs, by joins."""
    from pyspark.sql import functions as f

    named = pairs.join(labels.select(f.col("rank").alias("left"), f.col("label").alias("family")), "left")
    counted = (f.col("kind") != COPY).cast("long")
    sizes = named.groupBy("family").agg(f.sum(counted).alias("pairs"))
    large = sizes.where(f.col("pairs") > min(LARGE, ONE_ROUND))
    busy = pairs.where(f.col("kind") != COPY).groupBy("left").count().where(f.col("count") > TOGETHER)
    parts = busy.select("left", f.ceil(f.col("count") / TOGETHER).cast("long").alias("parts"))
    named = named.join(large, "family", "left").join(parts, "left", "left")
    size = f.coalesce(f.col("pairs"), f.lit(0))
    whole = size <= LARGE
    kind = f.when((size <= ONE_ROUND) & (f.col("kind") < REST), f.lit(FIRST)).otherwise(f.col("kind"))
    own = f.col("left") + f.pmod("right", f.coalesce("parts", f.lit(1)))
    part = f.when(whole, f.col("family")).otherwise(own)
    return named.select(
        "family", part.alias("part_of_it"), whole.alias("whole"), kind.cast("int").alias("kind"), *NAMES[1:]
    )


def relabelled(verified: DataFrame, labels: DataFrame) -> DataFrame:
    """Measured pairs, those of large families with the label of their cluster; without those between clusters."""
    from pyspark.sql import functions as f

    mine = labels.select(f.col("rank").alias("left"), f.col("label").alias("mine"))
    theirs = labels.select(f.col("rank").alias("right"), f.col("label").alias("theirs"))
    both = verified.where("not whole").join(mine, "left").join(theirs, "right").where("mine = theirs")
    names = [f.col("mine").alias("family") if name == "family" else f.col(name) for name in verified.columns]
    return verified.where("whole").unionByName(both.select(*names))
