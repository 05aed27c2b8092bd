"""The similarity of candidate pairs: one task measures all pairs of a component, or of a part of a large one.

A task reads the texts or features of its documents from side files. On storage without side files, each chunk gets the
list of its requested documents, and sends their texts, features or signatures to the tasks that measure them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.clusters.graph import complete_groups
from neardup.columns import Features, Numbers, Pairs, Signatures, Texts, matrix
from neardup.engines.core.compare import compared_features, compared_values, compares_kept_signatures
from neardup.engines.core.represent import chunks, needs_distinct_texts_first
from neardup.engines.spark.candidates.hot_buckets import COPY, EXTRA, NAMES, PAIRS, pair_columns
from neardup.engines.spark.shuffle import packed_blocks as shuffle
from neardup.engines.spark.shuffle.arrow import Batches, in_arrow, sliced, table, unpack_features
from neardup.engines.spark.shuffle.packed_blocks import BROADCAST_ROWS, Arrays, PackedBlocks, column, part_of
from neardup.engines.spark.shuffle.side_files import SideFileIndex, read_side_file, rows_at
from neardup.plan import Plan
from neardup.sorted_sets import run_starts

SEND_BYTES = 64 << 20  # bytes of documents in one block
TILE = 16 << 20  # bytes of documents whose features are in memory at a time
EVIDENCE = f"component long, whole boolean, {PAIRS}, shared double, left_size double, right_size double, passed boolean"
LABELS = ("component", "part", "whole")
Label = Callable[[Batches], Batches]


def evidence_metrics() -> dict[str, Any]:
    """Metrics of the stage: pairs of components that are verified in parts."""
    return {"pairs_in_parts": f.sum((~f.col("whole")).cast("long"))}


def payload_columns(plan: Plan) -> list[str]:
    """The columns of a document that the check compares."""
    if compares_kept_signatures(plan):
        return ["slots", "present"]
    return ["hashes", "weights"] if needs_distinct_texts_first(plan) else ["text"]


def verify_side_files(plan: Plan, pairs: DataFrame, label: Label | None, index: Any, tasks: int) -> DataFrame:
    """EVIDENCE of pairs, by tasks that read texts or features from side files.

    `label` labels pairs with their components, if they are not labelled; `index` is a broadcast variable.
    """

    def step(batches: Batches) -> PackedBlocks:
        return _pair_blocks(tasks, label(batches) if label else batches)

    moved = shuffle.shuffled(shuffle.in_blocks(pairs, step), tasks)
    return in_arrow(moved, partial(_measure_blocks, plan, tasks, index), EVIDENCE)


def verify(
    plan: Plan, pairs: DataFrame, payload: DataFrame, count: int, tasks: int, request_tasks: int
) -> DataFrame:
    """EVIDENCE of labelled pairs, and whether each reaches the threshold; copies always pass.

    `payload` has the columns chunk and packed, which holds the `payload_columns`. `tasks` tasks measure, and
    `request_tasks` tasks group the requested documents by chunk.
    """
    if plan.check.level == "none":
        unknown = [f.lit(float("nan")).alias(name) for name in ("shared", "left_size", "right_size")]
        return pairs.drop("part").select("*", *unknown, f.lit(True).alias("passed"))
    requested = shuffle.by_chunk(pairs.where(f.col("kind") != COPY), partial(_requests, tasks), request_tasks)
    chunks = shuffle.join_chunks(payload, requested, "requested", "inner", 2 * count <= BROADCAST_ROWS)
    documents = shuffle.in_blocks(chunks, partial(_document_blocks, plan, tasks))
    blocks = shuffle.in_blocks(pairs, partial(_pair_blocks, tasks)).unionByName(documents)
    return in_arrow(shuffle.shuffled(blocks, tasks), partial(_measure_blocks, plan, tasks, None), EVIDENCE)


def _requests(tasks: int, batches: Batches) -> Iterator[Arrays]:
    """Place and id hash of the documents of pairs, and the task that requests each."""
    for batch in batches:
        task = part_of(column(batch, "part"), tasks)
        for side in ("left", "right"):
            yield {"place": column(batch, f"{side}_place"), "id_hash": column(batch, side), "task": task}


def _pair_blocks(tasks: int, batches: Batches) -> PackedBlocks:
    """Blocks of pairs, by part."""
    for batch in batches:
        values = {name: column(batch, name) for name in (*LABELS, *NAMES)}
        yield from shuffle.split(values, part_of(values["part"], tasks))


def _document_blocks(plan: Plan, tasks: int, batches: Batches) -> PackedBlocks:
    """Blocks of requested documents, by task."""
    for batch in batches:
        for packed, requested in zip(batch.column("packed"), batch.column("requested"), strict=True):
            some, stored = shuffle.unpack(requested), read_side_file(packed)
            places, task = column(some, "place"), column(some, "task")
            id_hashes = column(some, "id_hash")
            for start, end in pairwise(_slices(stored, len(places)).tolist()):
                chosen = rows_at(stored, places[start:end]).select(payload_columns(plan)).combine_chunks()
                columns = {name: chosen.column(name).chunk(0) for name in chosen.column_names}
                own = {"place": places[start:end], "id_hash": id_hashes[start:end]}
                yield from shuffle.split({**own, **columns}, tasks + task[start:end])


def _slices(stored: pa.Table, number: int) -> Numbers:
    """Boundaries of slices of `number` requested rows, about SEND_BYTES each: many tasks may request one document."""
    each = max(1, int(SEND_BYTES * len(stored) // max(stored.nbytes, 1)))
    return np.append(np.arange(0, number, each), number)


def _measure_blocks(plan: Plan, tasks: int, index: Any, batches: Batches) -> Batches:
    """EVIDENCE of the pairs of a task, and of all other pairs in small clusters of whole components."""
    parts = shuffle.received(batches)
    for part, pairs in parts.items():
        if part >= tasks:
            continue
        values = {name: column(pairs, name) for name in (*LABELS, *NAMES)}
        copy = values["kind"] == COPY
        yield from sliced(_copies({name: each[copy] for name, each in values.items()}))
        values = {name: each[~copy] for name, each in values.items()}
        if len(values["left"]):
            documents = parts[part + tasks] if index is None else _read_documents(plan, index.value, values)
            yield from _measure_tiles(plan, values, documents)


def _read_documents(plan: Plan, index: SideFileIndex, pairs: dict[str, Any]) -> pa.Table:
    """The documents of pairs, with the columns that the check compares."""
    both = np.concatenate([pairs["left_place"], pairs["right_place"]])
    id_hashes = np.concatenate([pairs["left"], pairs["right"]])
    places, first = np.unique(both, return_index=True)
    names = payload_columns(plan)
    found = index.rows("text" if names == ["text"] else "features", places)
    columns = {name: found.column(name) for name in names}
    return pa.table({"place": places, "id_hash": id_hashes[first], **columns})


def _measure_tiles(plan: Plan, pairs: dict[str, Any], documents: pa.Table) -> Batches:
    """EVIDENCE of the pairs of a task, in tiles of TILE bytes of documents."""
    id_hashes = column(documents, "id_hash")
    documents = documents.take(pa.array(np.argsort(id_hashes)))
    id_hashes = np.sort(id_hashes)
    order = np.argsort(pairs["part"], kind="stable")
    pairs = {name: each[order] for name, each in pairs.items()}
    left, right = (np.searchsorted(id_hashes, pairs[side]) for side in ("left", "right"))
    for start, end in pairwise(_tiles(pairs["part"], left, right, documents).tolist()):
        some = {name: each[start:end] for name, each in pairs.items()}
        own, inverse = np.unique(np.concatenate([left[start:end], right[start:end]]), return_inverse=True)
        tile = _Tile(plan, documents.take(pa.array(own)).combine_chunks(), some)
        yield from tile.rows(inverse[: end - start], inverse[end - start :])


def _tiles(groups: Numbers, left: Numbers, right: Numbers, documents: pa.Table) -> Numbers:
    """Boundaries of tiles of whole groups."""
    starts = run_starts(groups)
    each = documents.nbytes / max(len(documents), 1)
    number = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    packed_pairs = np.unique(np.concatenate([number * len(documents) + side for side in (left, right)]))
    sizes = np.bincount(packed_pairs // len(documents), minlength=len(starts) - 1) * each
    tile = (np.cumsum(sizes) // TILE).astype(np.int64)
    return np.append(starts[:-1][np.flatnonzero(np.diff(tile, prepend=-1))], len(groups))


@dataclass(frozen=True)
class _Tile:
    """Documents by ascending id hash, and pairs of them."""

    plan: Plan
    documents: pa.Table
    pairs: dict[str, Any]

    def rows(self, left: Numbers, right: Numbers) -> Batches:
        """EVIDENCE of the pairs, and of all other pairs in small clusters."""
        values, check = self._values(), self.plan.check
        found = check.measure(values, left, right)
        passed = check.passes(found, self.plan.threshold)
        yield from sliced(evidence_rows(self.pairs, found, passed))
        whole = self.pairs["whole"]
        a, b, component = self._missing(
            left[whole], right[whole], passed[whole], self.pairs["component"][whole]
        )
        if len(a):
            more = check.measure(values, a, b)
            yield from sliced(
                evidence_rows(self._extra(a, b, component), more, check.passes(more, self.plan.threshold))
            )

    def _missing(
        self, left: Numbers, right: Numbers, passed: Any, component: Numbers
    ) -> tuple[Numbers, Numbers, Numbers]:
        """Pairs in small clusters that are no candidates, and their components."""
        from neardup.clusters.graph import components

        n = len(self.documents)
        of = np.zeros(n, np.int64)
        of[left] = of[right] = component
        labels = components(n, left[passed], right[passed])
        inside = complete_groups(np.arange(n), labels, self.plan.clustering.complete, n)
        packed_pairs = np.setdiff1d(inside, left * n + right)
        return packed_pairs // n, packed_pairs % n, of[packed_pairs // n]

    def _extra(self, left: Numbers, right: Numbers, component: Numbers) -> dict[str, Any]:
        id_hashes, places = (column(self.documents, name) for name in ("id_hash", "place"))
        labels = {"component": component, "whole": np.ones(len(left), np.bool_)}
        return labels | pair_columns(EXTRA, id_hashes, places, left, right)

    def _values(self) -> Features | Signatures:
        """The features or signatures that the check compares."""
        plan, documents = self.plan, self.documents
        if payload_columns(plan)[0] == "slots":
            return Signatures(matrix(documents.column("slots")), column(documents, "present"))
        if payload_columns(plan)[0] == "hashes":
            features = unpack_features(documents.column("hashes"), documents.column("weights"))
        else:
            whole = documents.column("text").combine_chunks()
            texts = Texts.from_arrow(whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole)
            features = Features.concatenate(
                [compared_features(plan, part, None) for _, part in chunks(texts)]
            )
        return compared_values(plan, features)


PAIR_COLUMNS = ("component", "whole", *NAMES)


def evidence_rows(pairs: dict[str, Any], found: Pairs, passed: Any) -> pa.RecordBatch:
    """Measured pairs as rows."""
    columns = {name: pairs[name] for name in PAIR_COLUMNS}
    sizes = {"shared": found.shared, "left_size": found.left_size, "right_size": found.right_size}
    return table({**columns, **sizes, "passed": passed})


def _copies(pairs: dict[str, Any]) -> pa.RecordBatch:
    one = np.ones(len(pairs["left"]))
    return evidence_rows(pairs, Pairs(pairs["left"], pairs["right"], one, one, one), one.astype(np.bool_))
