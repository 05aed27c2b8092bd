"""Clusters and what stays of them, by the local engine's own code: a cluster is decided where its rows come together.

The members of clusters are looked up in their chunks, and sent with the measured pairs to the task of their family.
Where the decisions ask for a pair that nobody has measured, nothing is decided there: the pair is named instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup.engines.spark.candidates.hot_buckets import COPY, EXTRA, NAMES
from neardup.engines.spark.cluster_block import CLUSTER, MEASURED, MISSING, PAIR, PLACES, ClusterBlock
from neardup.engines.spark.shuffle.arrow import Batches, in_arrow, numbers
from neardup.engines.spark.shuffle.packed_blocks import (
    FEW,
    ROW_BITS,
    Arrays,
    PackedBlocks,
    beside,
    by_chunk,
    column,
    distinct_rows,
    in_blocks,
    part_of,
    received,
    shuffled,
    split,
    unpack,
)
from neardup.engines.spark.shuffle.side_files import SideFileIndex, read_side_file
from neardup.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def decided(plan: Plan, parcels: DataFrame, id_type: str, index: Any, tasks: int) -> DataFrame:
    """Rows of clusters and of pairs, see `clusters_of` and `pairs_of`; and of pairs that must still be measured.

    `parcels` are those of measured pairs, and of members, which are looked up here if there is an index.
    """
    ids = ", ".join(f"{name} {id_type}" for name in "abcd")
    numbers = "x double, y double, z double, flag boolean, size long, reason string"
    schema = f"kind int, {ids}, {numbers}, family long, {', '.join(f'{name} long' for name in PLACES)}"
    return in_arrow(shuffled(parcels, tasks), partial(_deciding, plan, tasks, index), schema)


def measured_blocks(verified: DataFrame, tasks: int) -> DataFrame:
    """Measured pairs, for the task of their family."""
    return in_blocks(verified, partial(_evidence, tasks))


def member_blocks(verified: DataFrame, documents: DataFrame, count: int, tasks: int) -> DataFrame:
    """Members of clusters, for the task of their family, where each chunk has to be asked for them."""
    wanted = by_chunk(verified.where("passed").select("family", *NAMES), _members, tasks)
    chunks = documents.select("chunk", "facts")
    return in_blocks(beside(chunks, wanted, "inner", 2 * count <= FEW), partial(_facts, tasks))


def decision_metrics() -> dict[str, Any]:
    """What is remembered of the decisions."""
    from pyspark.sql import functions as f

    row = f.col("kind") == CLUSTER
    return {
        "missing": f.sum((f.col("kind") == MISSING).cast("long")),
        "pairs": f.sum((f.col("kind") == PAIR).cast("long")),
        "clusters": f.sum((row & (f.col("a") == f.col("b"))).cast("long")),
        "removed": f.sum((row & ~f.col("flag")).cast("long")),
    }


def missing_pairs(result: DataFrame) -> DataFrame:
    """The pairs that must still be measured, as labelled pairs."""
    from pyspark.sql import functions as f

    kind = f.lit(EXTRA).alias("kind")
    label = [f.col("family").alias("part_of_it"), f.lit(False).alias("whole")]
    return result.where(f"kind = {MISSING}").select("family", *label, kind, *PLACES)


def clusters_of(result: DataFrame) -> DataFrame:
    """id, cluster, leader, keep, duplicate_of, similarity, containment, size, weakest_link."""
    names = "a id, b cluster, c leader, flag keep, d duplicate_of, x similarity, y containment, size size, "
    names += "z weakest_link"
    return _named(result.where(f"kind = {CLUSTER}"), names)


def pairs_of(result: DataFrame) -> DataFrame:
    """left, right, similarity, containment, reason, bridge."""
    names = "a left, b right, x similarity, y containment, reason reason, flag bridge"
    return _named(result.where(f"kind = {PAIR}"), names)


def _named(rows: DataFrame, names: str) -> DataFrame:
    from pyspark.sql import functions as f

    return rows.select(*[f.col(pair.split()[0]).alias(pair.split()[1]) for pair in names.split(", ")])


def _members(batches: Batches) -> Iterator[Arrays]:
    """The documents of pairs that passed: place, rank, content and family of each."""
    for batch in batches:
        yield from _sides({name: numbers(batch, name) for name in ("family", *NAMES)})


def _sides(values: Arrays) -> Iterator[Arrays]:
    """The left and the right documents of pairs."""
    content = np.where(values["kind"] == COPY, values["left"], values["right"])
    for side, whose in (("left", values["left"]), ("right", content)):
        yield {
            "place": values[f"{side}_place"],
            "rank": values[side],
            "content": whose,
            "family": values["family"],
        }


def _facts(tasks: int, batches: Batches) -> PackedBlocks:
    """Chunks, and which members they have, to parcels of members."""
    for batch in batches:
        for packed, wanted in zip(batch.column("facts"), batch.column("wanted"), strict=True):
            some = unpack(wanted)
            values: dict[str, Any] = {name: column(some, name) for name in some.column_names}
            rows = pa.array(values["place"] & ((1 << ROW_BITS) - 1))
            facts = read_side_file(packed)
            for name in facts.column_names:
                values[name] = facts.column(name).take(rows).combine_chunks()
                if isinstance(values[name], pa.ChunkedArray):
                    values[name] = values[name].chunk(0)
            yield from split(values, part_of(values["family"], tasks))


def _evidence(tasks: int, batches: Batches) -> PackedBlocks:
    """Measured pairs to parcels."""
    for batch in batches:
        names = ("family", *NAMES, *MEASURED, "passed")
        values = {name: numbers(batch, name) for name in names}
        yield from split(values, tasks + part_of(values["family"], tasks))


def _deciding(plan: Plan, tasks: int, index: Any, batches: Batches) -> Batches:
    """Members and measured pairs of whole clusters to decisions."""
    came = received(batches)
    for part, pairs in came.items():
        if part < tasks:
            continue
        members = came.get(part - tasks) if index is None else _looked_up(index.value, pairs)
        if members is not None:
            yield from ClusterBlock.of(plan, members, pairs.filter(_measured(pairs))).decided()


def _measured(pairs: pa.Table) -> pa.Array:
    return pa.array(column(pairs, "kind") != COPY)


def _looked_up(index: SideFileIndex, pairs: pa.Table) -> pa.Table | None:
    """The members of the clusters of measured pairs, with their facts."""
    passed = pairs.filter(pairs.column("passed"))
    sides = list(_sides({name: column(passed, name) for name in ("family", *NAMES)}))
    members = {name: np.concatenate([side[name] for side in sides]) for name in sides[0]}
    members = distinct_rows(members)
    if not len(members["place"]):
        return None
    facts = index.rows("facts", members["place"])
    return pa.table({**members, **{name: facts.column(name) for name in facts.column_names}})
