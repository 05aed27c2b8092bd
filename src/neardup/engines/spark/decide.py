"""Clusters and decisions: one task decides all clusters of a component with the local engine's functions.

Measured pairs, and the attributes of their documents, are shuffled by component. If the decisions on a block need a
pair that is not measured, the result has that pair instead of decisions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.engines.core.identity import id_digests
from neardup.engines.core.report import LARGEST, RemovalCounts, lowest_of
from neardup.engines.spark import cluster_block
from neardup.engines.spark.candidates.hot_buckets import COPY, EXTRA, NAMES
from neardup.engines.spark.cluster_block import (
    BY_LEADERS,
    CLUSTER,
    MISSING,
    PAIR,
    PLACES,
    SUMMARY,
    ClusterBlock,
)
from neardup.engines.spark.shuffle import packed_blocks as shuffle
from neardup.engines.spark.shuffle.arrow import Batches, in_arrow
from neardup.engines.spark.shuffle.packed_blocks import BROADCAST_ROWS, ROW_BITS, Arrays, PackedBlocks, column
from neardup.engines.spark.shuffle.side_files import SideFileIndex, read_side_file
from neardup.plan import Plan


def decided(plan: Plan, blocks: DataFrame, id_type: str, index: Any, tasks: int) -> DataFrame:
    """Rows of clusters and pairs (see `clusters_of` and `pairs_of`), and of pairs that are not measured yet.

    `blocks` has measured pairs, and members unless there is an index of side files to read them from.
    """
    ids = ", ".join(f"{name} {id_type}" for name in "abcd")
    numbers = "x double, y double, z double, flag boolean, size long, relation string, reason string"
    schema = f"kind int, {ids}, {numbers}, component long, {', '.join(f'{name} long' for name in PLACES)}"
    return in_arrow(shuffle.shuffled(blocks, tasks), partial(_decide_blocks, plan, tasks, index), schema)


def measured_blocks(verified: DataFrame, tasks: int) -> DataFrame:
    """Blocks of measured pairs, by component."""
    return shuffle.in_blocks(verified, partial(_evidence_blocks, tasks))


def member_blocks(verified: DataFrame, documents: DataFrame, count: int, tasks: int) -> DataFrame:
    """Blocks of members of clusters with their attributes, by component, for attributes in rows."""
    requested = shuffle.by_chunk(verified.where("passed").select("component", *NAMES), _members, tasks)
    chunks = documents.select("chunk", "attributes")
    joined = shuffle.join_chunks(chunks, requested, "requested", "inner", 2 * count <= BROADCAST_ROWS)
    return shuffle.in_blocks(joined, partial(_attribute_blocks, tasks))


def decision_metrics() -> dict[str, Any]:
    """Metrics of the stage: unmeasured pairs, verified pairs of distinct texts, rows of pairs, clusters, removals."""
    row = f.col("kind") == CLUSTER
    return {
        "missing": f.sum((f.col("kind") == MISSING).cast("long")),
        "verified": f.sum(f.when(f.col("kind") == SUMMARY, f.col("size"))),
        "pairs": f.sum((f.col("kind") == PAIR).cast("long")),
        "clusters": f.sum((row & (f.col("a") == f.col("b"))).cast("long")),
        "removed": f.sum((row & ~f.col("flag")).cast("long")),
        "copies": f.sum((row & (f.col("reason") == "copy")).cast("long")),
        "by_chain": f.sum((row & (f.col("reason") == "chain")).cast("long")),
        "by_cluster": f.sum((row & (f.col("reason") == "cluster")).cast("long")),
        "unverified": f.sum((row & (f.col("reason") == "unverified")).cast("long")),
        "spared": f.sum(f.when(f.col("kind") == SUMMARY, f.col("x")).cast("long")),
        "large_components": f.sum(f.when(f.col("kind") == SUMMARY, f.col("y")).cast("long")),
        "compared": f.sum(f.when(f.col("kind") == SUMMARY, f.col("z")).cast("long")),
        "by_leaders": f.sum(f.when(f.col("kind") == SUMMARY, f.col(BY_LEADERS))),
    }


def removal_counts(
    plan: Plan, metrics: dict[str, Any], empty: int, summary: DecisionSummary
) -> RemovalCounts:
    """What removals rest on: by the metrics of the stage, its summary, and the removed documents without a token."""
    names = ("copies", "by_chain", "by_cluster", "unverified")
    copies, chain, cluster, unverified = (metrics[name] for name in names)
    return RemovalCounts(
        copies,
        metrics["removed"] - copies - chain - cluster - unverified,
        chain,
        cluster,
        lowest_similarity=None if summary.lowest is None else summary.lowest["similarity"],
        kept_without_direct_evidence=metrics["spared"],
        empty=empty,
        unverified=unverified,
        lowest=summary.lowest,
        apart=summary.apart,
        lowest_apart=summary.lowest_apart,
        removed_by_leaders=metrics["by_leaders"] + empty if plan.clustering.kind == "components" else None,
    )


def missing_pairs(result: DataFrame) -> DataFrame:
    """The pairs that are not measured yet, as labelled pairs."""
    kind = f.lit(EXTRA).alias("kind")
    label = [f.col("component").alias("part"), f.lit(False).alias("whole")]
    return result.where(f"kind = {MISSING}").select("component", *label, kind, *PLACES)


def clusters_of(result: DataFrame, plan: Plan) -> DataFrame:
    """id, cluster, leader, keep, duplicate_of, similarity, containment, relation, evidence, size, and
    weakest_link, with average and complete linkage merge_height."""
    names = cluster_block.CLUSTER_NAMES | {"z": plan.clustering.height}
    return _renamed(result.where(f"kind = {CLUSTER}"), names)


def pairs_of(result: DataFrame, plan: Plan) -> DataFrame:
    """left, right, similarity, containment, relation, reason, bridge and, with a model, probability."""
    with_model = getattr(plan.check, "curve", None) is not None
    names = cluster_block.PAIR_NAMES | ({"z": "probability"} if with_model else {})
    return _renamed(result.where(f"kind = {PAIR}"), names)


@dataclass(frozen=True)
class DecisionSummary:
    """What the report says of clusters, as in the local engine, from the summary of each block."""

    largest: list[dict[str, Any]]
    lowest: dict[str, Any] | None
    apart: int
    lowest_apart: dict[str, Any] | None


def decision_summary(result: DataFrame) -> DecisionSummary:
    """The largest clusters, and the documents that are least similar to what they duplicate."""
    rows = result.where(f"kind = {SUMMARY}").select("reason").collect()
    blocks = [json.loads(row["reason"]) for row in rows]
    return DecisionSummary(
        _largest([cluster for block in blocks for cluster in block["largest"]]),
        lowest_of(block["lowest"] for block in blocks),
        sum(block["apart"] for block in blocks),
        lowest_of(block["lowest_apart"] for block in blocks),
    )


def _largest(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if not found:
        return []
    id_hashes = id_digests(pa.array([cluster["cluster"] for cluster in found]))[:, 0]
    order = np.lexsort((id_hashes, [-cluster["size"] for cluster in found]))
    return [found[k] for k in order[:LARGEST].tolist()]


def _renamed(rows: DataFrame, names: dict[str, str]) -> DataFrame:
    return rows.select(*(f.col(place).alias(name) for place, name in names.items()))


def _members(batches: Batches) -> Iterator[Arrays]:
    """Place, id_hash, representative and component of the documents of pairs."""
    for batch in batches:
        yield from _sides({name: column(batch, name) for name in ("component", *NAMES)})


def _sides(values: Arrays) -> Iterator[Arrays]:
    """The left and the right documents of pairs."""
    of_right = np.where(values["kind"] == COPY, values["left"], values["right"])
    for side, representative in (("left", values["left"]), ("right", of_right)):
        yield {
            "place": values[f"{side}_place"],
            "id_hash": values[side],
            "representative": representative,
            "component": values["component"],
        }


def _attribute_blocks(tasks: int, batches: Batches) -> PackedBlocks:
    """Blocks of requested members with their attributes, by component."""
    for batch in batches:
        for packed, requested in zip(batch.column("attributes"), batch.column("requested"), strict=True):
            some = shuffle.unpack(requested)
            values: dict[str, Any] = {name: column(some, name) for name in some.column_names}
            rows = pa.array(values["place"] & ((1 << ROW_BITS) - 1))
            attributes = read_side_file(packed)
            for name in attributes.column_names:
                values[name] = attributes.column(name).take(rows).combine_chunks()
                if isinstance(values[name], pa.ChunkedArray):
                    values[name] = values[name].chunk(0)
            yield from shuffle.split(values, shuffle.part_of(values["component"], tasks))


def _evidence_blocks(tasks: int, batches: Batches) -> PackedBlocks:
    """Blocks of measured pairs, by component."""
    for batch in batches:
        names = ("component", *NAMES, *cluster_block.MEASURED, "passed")
        values = {name: column(batch, name) for name in names}
        yield from shuffle.split(values, tasks + shuffle.part_of(values["component"], tasks))


def _decide_blocks(plan: Plan, tasks: int, index: Any, batches: Batches) -> Batches:
    """Decisions on the clusters of each part."""
    parts = shuffle.received(batches)
    for part, pairs in parts.items():
        if part < tasks:
            continue
        members = parts.get(part - tasks) if index is None else _read_members(index.value, pairs)
        if members is not None:
            measured = pairs.filter(pa.array(column(pairs, "kind") != COPY))
            yield from ClusterBlock.of(plan, members, measured).decided()


def _read_members(index: SideFileIndex, pairs: pa.Table) -> pa.Table | None:
    """The members of clusters of measured pairs, with attributes from side files; None if no pair passed."""
    passed = pairs.filter(pairs.column("passed"))
    sides = list(_sides({name: column(passed, name) for name in ("component", *NAMES)}))
    members = {name: np.concatenate([side[name] for side in sides]) for name in sides[0]}
    members = shuffle.distinct_rows(members)
    if not len(members["place"]):
        return None
    attributes = index.rows("attributes", members["place"])
    return pa.table({**members, **{name: attributes.column(name) for name in attributes.column_names}})
