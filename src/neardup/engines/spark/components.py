"""Connected components of pairs, each labelled by the smallest id hash of its documents.

Each partition first reduces its pairs to a forest. One worker connects forests of up to SMALL edges. Larger ones take
rounds of large-star and small-star (Kiveris et al., Connected Components in MapReduce and Beyond, SoCC 2014), each a
stage on disk, until every component is a star.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup import kernels
from neardup.columns import Numbers
from neardup.engines.spark.shuffle.arrow import Batches, in_arrow, sliced, table
from neardup.engines.spark.shuffle.packed_blocks import column

SMALL = 1 << 24  # edges that one worker connects: 16 bytes each, and working space
Stage = Callable[..., DataFrame]


def components(edges: DataFrame, stage: Stage, name: str, small: int | None = None) -> DataFrame:
    """The id hash of every document in a pair (left, right), and the label of its component."""
    forest = stage(
        f"{name}-forest", lambda: in_arrow(edges.select("left", "right"), _forest, "left long, right long")
    )
    if forest.count() <= (SMALL if small is None else small):
        alone = forest.repartition(1)
        return stage(name, lambda: in_arrow(alone, _labels, "id_hash long, label long"))
    return stage(name, lambda: _by_stars(forest, stage, name))


def _connected(batches: Batches) -> tuple[Numbers, Numbers]:
    """The id hashes of all pairs, and the smallest id hash in the component of each."""
    parts = [(column(batch, "left"), column(batch, "right")) for batch in batches]
    if not parts:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    left, right = (np.concatenate(side) for side in zip(*parts, strict=True))
    nodes, places = np.unique(np.concatenate([left, right]), return_inverse=True)
    found = kernels.graph.components(len(nodes), places[: len(left)], places[len(left) :])
    return nodes, nodes[found]


def _forest(batches: Batches) -> Batches:
    """One star for each component of a partition."""
    nodes, labels = _connected(batches)
    other = nodes != labels
    yield from sliced(table({"left": labels[other], "right": nodes[other]}))


def _labels(batches: Batches) -> Batches:
    nodes, labels = _connected(batches)
    yield from sliced(table({"id_hash": nodes, "label": labels}))


def _by_stars(forest: DataFrame, stage: Stage, name: str) -> DataFrame:
    """Labels after rounds of stars, until no node is both a centre and a member."""
    edges = forest.select(f.greatest("left", "right").alias("node"), f.least("left", "right").alias("centre"))
    number = 0
    while True:
        number += 1
        edges = stage(f"{name}-round-{number}", lambda edges=edges: small_star(large_star(edges)))
        if edges.select("node").intersect(edges.select(f.col("centre").alias("node"))).isEmpty():
            break
    members = edges.select(f.col("node").alias("id_hash"), f.col("centre").alias("label"))
    return members.unionByName(
        edges.select(f.col("centre").alias("id_hash"), f.col("centre").alias("label"))
    ).distinct()


def large_star(edges: DataFrame) -> DataFrame:
    """Links the larger neighbours of every node to the smallest of its neighbours and itself."""
    both = edges.unionByName(edges.select(f.col("centre").alias("node"), f.col("node").alias("centre")))
    least = (
        both.groupBy("node")
        .agg(f.min("centre").alias("low"))
        .select("node", f.least("node", "low").alias("low"))
    )
    larger = both.where("centre > node").join(least, "node")
    return larger.select(f.col("centre").alias("node"), f.col("low").alias("centre")).distinct()


def small_star(edges: DataFrame) -> DataFrame:
    """Links every node and its smaller neighbours to the smallest of these."""
    least = edges.groupBy("node").agg(f.min("centre").alias("low"))
    others = edges.join(least, "node").where("centre != low")
    moved = others.select(f.col("centre").alias("node"), f.col("low").alias("centre"))
    return moved.unionByName(least.select("node", f.col("low").alias("centre"))).distinct()
