"""Connected components: which ranks pairs connect, each component named by its smallest rank.

Partitions first reduce their own pairs to a forest. What is left fits one worker for all but the largest graphs, and
is finished there. Larger ones go on by alternating large-star and small-star (Kiveris et al., Connected Components
in MapReduce and Beyond, SoCC 2014) until every component is a star, which is tested exactly; each round is a stage
on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from neardup import kernels
from neardup.columns import Numbers
from neardup.engines.spark.shuffle.arrow import Batches, in_arrow, numbers, sliced, table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SMALL = 1 << 24  # pairs that one worker connects: 16 bytes each, and some working space
Stage = Callable[..., "DataFrame"]


def components(edges: DataFrame, stage: Stage, name: str, small: int | None = None) -> DataFrame:
    """Every rank that a pair (left, right) names, with the label of its component."""
    forest = stage(
        f"{name}-forest", lambda: in_arrow(edges.select("left", "right"), _forest, "left long, right long")
    )
    if forest.count() <= (SMALL if small is None else small):
        alone = forest.repartition(1)
        return stage(name, lambda: in_arrow(alone, _labels, "rank long, label long"))
    return stage(name, lambda: _by_stars(forest, stage, name))


def _connected(batches: Batches) -> tuple[Numbers, Numbers]:
    """The ranks of all pairs, and the smallest rank that each is connected with."""
    parts = [(numbers(batch, "left"), numbers(batch, "right")) for batch in batches]
    if not parts:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    left, right = (np.concatenate(side) for side in zip(*parts, strict=True))
    nodes, places = np.unique(np.concatenate([left, right]), return_inverse=True)
    found = kernels.graph.components(len(nodes), places[: len(left)], places[len(left) :])
    return nodes, nodes[found]


def _forest(batches: Batches) -> Batches:
    """A star for each component of a partition."""
    nodes, labels = _connected(batches)
    other = nodes != labels
    yield from sliced(table({"left": labels[other], "right": nodes[other]}))


def _labels(batches: Batches) -> Batches:
    nodes, labels = _connected(batches)
    yield from sliced(table({"rank": nodes, "label": labels}))


def _by_stars(forest: DataFrame, stage: Stage, name: str) -> DataFrame:
    """Labels by rounds of stars, each a stage of its own, until nobody is both a centre and a member."""
    from pyspark.sql import functions as f

    edges = forest.select(f.greatest("left", "right").alias("node"), f.least("left", "right").alias("centre"))
    number = 0
    while True:
        number += 1
        edges = stage(f"{name}-round-{number}", partial(_round, edges))
        if edges.select("node").intersect(edges.select(f.col("centre").alias("node"))).isEmpty():
            break
    members = edges.select(f.col("node").alias("rank"), f.col("centre").alias("label"))
    return members.unionByName(
        edges.select(f.col("centre").alias("rank"), f.col("centre").alias("label"))
    ).distinct()


def _round(edges: DataFrame) -> DataFrame:
    return small_star(large_star(edges))


def large_star(edges: DataFrame) -> DataFrame:
    """Every node links its larger neighbours to the smallest of its neighbourhood, itself included."""
    from pyspark.sql import functions as f

    both = edges.unionByName(edges.select(f.col("centre").alias("node"), f.col("node").alias("centre")))
    least = (
        both.groupBy("node")
        .agg(f.min("centre").alias("low"))
        .select("node", f.least("node", "low").alias("low"))
    )
    larger = both.where("centre > node").join(least, "node")
    return larger.select(f.col("centre").alias("node"), f.col("low").alias("centre")).distinct()


def small_star(edges: DataFrame) -> DataFrame:
    """Every node links its smaller neighbours, and itself, to the smallest of them."""
    from pyspark.sql import functions as f

    least = edges.groupBy("node").agg(f.min("centre").alias("low"))
    others = edges.join(least, "node").where("centre != low")
    moved = others.select(f.col("centre").alias("node"), f.col("low").alias("centre"))
    return moved.unionByName(least.select("node", f.col("low").alias("centre"))).distinct()
