"""The similarity of pairs, measured where the documents of a pair come together.

Chunks learn which of their documents are wanted where, and send there what the check looks at of them, once: texts,
features where frequencies were counted, or signatures. The pairs go there too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup.clusters.graph import complete_groups
from neardup.columns import Features, Numbers, Pairs, Signatures, Texts, make_distinct
from neardup.engines.core.represent import cut, needs_distinct_texts_first
from neardup.engines.local.checkpoint.spill import matrix
from neardup.engines.spark.candidates.hot_buckets import COPY, EXTRA, NAMES, PAIRS
from neardup.engines.spark.shuffle.arrow import Batches, in_arrow, numbers, sliced, table, unpack_features
from neardup.engines.spark.shuffle.packed_blocks import (
    FEW,
    Arrays,
    PackedBlocks,
    beside,
    by_chunk,
    column,
    in_blocks,
    part_of,
    received,
    shuffled,
    split,
    unpack,
)
from neardup.engines.spark.shuffle.side_files import SideFileIndex, read_side_file, rows_at
from neardup.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PORTION = 64 << 20  # bytes of documents that are sent together
TILE = 16 << 20  # bytes of documents whose features are held together
EVIDENCE = (
    f"family long, whole boolean, {PAIRS}, shared double, left_size double, right_size double, passed boolean"
)
LABELS = ("family", "part_of_it", "whole")
Label = Callable[[Batches], Batches]


def evidence_metrics() -> dict[str, Any]:
    """What is remembered of the stage: pairs of families that are not decided as one."""
    from pyspark.sql import functions as f

    return {"apart": f.sum((~f.col("whole")).cast("long"))}


def payload_columns(plan: Plan) -> list[str]:
    """What the check looks at of a document."""
    if plan.check.level == "signatures" and plan.check_view is None:
        return ["slots", "present"]
    return ["hashes", "weights"] if needs_distinct_texts_first(plan) else ["text"]


def verify_side_files(plan: Plan, pairs: DataFrame, label: Label | None, index: Any, tasks: int) -> DataFrame:
    """The evidence of pairs, by so many tasks, which look up texts or features themselves.

    `label` gives the pairs their families, if they have none; `index` is a broadcast variable.
    """

    def step(batches: Batches) -> PackedBlocks:
        return _pairs(tasks, label(batches) if label else batches)

    moved = shuffled(in_blocks(pairs, step), tasks)
    return in_arrow(moved, partial(_measuring, plan, tasks, index), EVIDENCE)


def verify(plan: Plan, pairs: DataFrame, payload: DataFrame, count: int, tasks: int, names: int) -> DataFrame:
    """The evidence of labelled pairs, and whether each reaches the threshold; copies pass as they are.

    `payload` has chunks: (chunk, packed), with `payload_columns` among what is packed. So many `tasks` measure, and
    `names` tasks look up where documents are.
    """
    from pyspark.sql import functions as f

    if plan.check.level == "none":
        unknown = [f.lit(float("nan")).alias(name) for name in ("shared", "left_size", "right_size")]
        return pairs.drop("part_of_it").select("*", *unknown, f.lit(True).alias("passed"))
    wanted = by_chunk(pairs.where(f.col("kind") != COPY), partial(_wanted, tasks), names)
    sent = in_blocks(beside(payload, wanted, "inner", 2 * count <= FEW), partial(_sending, plan, tasks))
    named = in_blocks(pairs, partial(_pairs, tasks))
    return in_arrow(
        shuffled(named.unionByName(sent), tasks), partial(_measuring, plan, tasks, None), EVIDENCE
    )


def _wanted(tasks: int, batches: Batches) -> Iterator[Arrays]:
    """Pairs to the places of their documents, and the task that each is wanted by."""
    for batch in batches:
        task = part_of(numbers(batch, "part_of_it"), tasks)
        for side in ("left", "right"):
            yield {
                "place": numbers(batch, f"{side}_place"),
                "rank": numbers(batch, side),
                "task": task,
            }


def _pairs(tasks: int, batches: Batches) -> PackedBlocks:
    """Pairs to parcels, for the task that measures them."""
    for batch in batches:
        values = {name: numbers(batch, name) for name in (*LABELS, *NAMES)}
        yield from split(values, part_of(values["part_of_it"], tasks))


def _sending(plan: Plan, tasks: int, batches: Batches) -> PackedBlocks:
    """Chunks, and what is wanted of them, to parcels of documents."""
    for batch in batches:
        for packed, wanted in zip(batch.column("packed"), batch.column("wanted"), strict=True):
            some, stored = unpack(wanted), read_side_file(packed)
            places, task = column(some, "place"), column(some, "task")
            ranks = column(some, "rank")
            for start, end in pairwise(_portions(stored, len(places)).tolist()):
                chosen = rows_at(stored, places[start:end]).select(payload_columns(plan)).combine_chunks()
                columns = {name: chosen.column(name).chunk(0) for name in chosen.column_names}
                own = {"place": places[start:end], "rank": ranks[start:end]}
                yield from split({**own, **columns}, tasks + task[start:end])


def _portions(stored: pa.Table, number: int) -> Numbers:
    """Where portions of so many documents begin and end: one may be wanted in very many places."""
    each = max(1, int(PORTION * len(stored) // max(stored.nbytes, 1)))
    return np.append(np.arange(0, number, each), number)


def _measuring(plan: Plan, tasks: int, index: Any, batches: Batches) -> Batches:
    """Pairs and their documents to evidence; of small clusters of whole families all pairs are measured."""
    came = received(batches)
    for part, pairs in came.items():
        if part >= tasks:
            continue
        values = {name: column(pairs, name) for name in (*LABELS, *NAMES)}
        copy = values["kind"] == COPY
        yield from sliced(_copies({name: each[copy] for name, each in values.items()}))
        values = {name: each[~copy] for name, each in values.items()}
        if len(values["left"]):
            documents = came[part + tasks] if index is None else _looked_up(plan, index.value, values)
            yield from _measured(plan, values, documents)


def _looked_up(plan: Plan, index: SideFileIndex, pairs: dict[str, Any]) -> pa.Table:
    """What the check looks at of the documents of some pairs."""
    both, ranks = (np.concatenate([pairs[f"left{what}"], pairs[f"right{what}"]]) for what in ("_place", ""))
    places, first = np.unique(both, return_index=True)
    wanted = payload_columns(plan)
    found = index.rows("text" if wanted == ["text"] else "features", places)
    return pa.table({"place": places, "rank": ranks[first], **{name: found.column(name) for name in wanted}})


def _measured(plan: Plan, pairs: dict[str, Any], documents: pa.Table) -> Batches:
    """The pairs of a task, in tiles whose documents have features of some megabytes."""
    ranks = column(documents, "rank")
    documents = documents.take(pa.array(np.argsort(ranks)))
    ranks = np.sort(ranks)
    order = np.argsort(pairs["part_of_it"], kind="stable")
    pairs = {name: each[order] for name, each in pairs.items()}
    left, right = (np.searchsorted(ranks, pairs[side]) for side in ("left", "right"))
    for start, end in pairwise(_tiles(pairs["part_of_it"], left, right, documents).tolist()):
        some = {name: each[start:end] for name, each in pairs.items()}
        own, inverse = np.unique(np.concatenate([left[start:end], right[start:end]]), return_inverse=True)
        tile = _Tile(plan, documents.take(pa.array(own)).combine_chunks(), some)
        yield from tile.rows(inverse[: end - start], inverse[end - start :])


def _tiles(groups: Numbers, left: Numbers, right: Numbers, documents: pa.Table) -> Numbers:
    """Where tiles of whole groups begin and end."""
    starts = np.append(np.flatnonzero(np.diff(groups, prepend=groups[0] - 1)), len(groups))
    each = documents.nbytes / max(len(documents), 1)
    number = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    codes = np.unique(np.concatenate([number * len(documents) + side for side in (left, right)]))
    sizes = np.bincount(codes // len(documents), minlength=len(starts) - 1) * each
    tile = (np.cumsum(sizes) // TILE).astype(np.int64)
    return np.append(starts[:-1][np.flatnonzero(np.diff(tile, prepend=-1))], len(groups))


@dataclass(frozen=True)
class _Tile:
    """Documents, by ascending rank, and pairs among them."""

    plan: Plan
    documents: pa.Table
    pairs: dict[str, Any]

    def rows(self, left: Numbers, right: Numbers) -> Batches:
        """The evidence of all pairs, and of those that complete small clusters."""
        values, check = self._values(), self.plan.check
        found = check.measure(values, left, right)
        passed = check.passes(found, self.plan.threshold)
        yield from sliced(evidence_rows(self.pairs, found, passed))
        if self.plan.clustering.kind != "components":
            return
        whole = self.pairs["whole"]
        a, b, family = self._missing(left[whole], right[whole], passed[whole], self.pairs["family"][whole])
        if len(a):
            more = check.measure(values, a, b)
            yield from sliced(
                evidence_rows(self._extra(a, b, family), more, check.passes(more, self.plan.threshold))
            )

    def _missing(
        self, left: Numbers, right: Numbers, passed: Any, family: Numbers
    ) -> tuple[Numbers, Numbers, Numbers]:
        """Pairs of small clusters that are no candidates, by number, with their family."""
        from neardup.clusters.graph import components

        n = len(self.documents)
        of = np.zeros(n, np.int64)
        of[left] = of[right] = family
        labels = components(n, left[passed], right[passed])
        inside = complete_groups(np.arange(n), labels, self.plan.clustering.complete, n)
        codes = np.setdiff1d(inside, left * n + right)
        return codes // n, codes % n, of[codes // n]

    def _extra(self, left: Numbers, right: Numbers, family: Numbers) -> dict[str, Any]:
        ranks, places = (column(self.documents, name) for name in ("rank", "place"))
        kinds = np.full(len(left), EXTRA, np.int32)
        names = {"family": family, "whole": np.ones(len(left), np.bool_), "kind": kinds}
        return {
            **names, "left": ranks[left], "right": ranks[right], "left_place": places[left],
            "right_place": places[right],
        }  # fmt: skip

    def _values(self) -> Features | Signatures:
        """What the check compares."""
        plan, documents = self.plan, self.documents
        if payload_columns(plan)[0] == "slots":
            return Signatures(matrix(documents.column("slots")), column(documents, "present"))
        if payload_columns(plan)[0] == "hashes":
            features = unpack_features(documents.column("hashes"), documents.column("weights"))
        else:
            features = features_of(plan, documents.column("text").combine_chunks())
        view = plan.check_view
        if plan.check.level == "features" or view is None or view.signature is None:
            return features
        return view.signature(features)


def features_of(plan: Plan, texts: Any) -> Features:
    """The distinct features that the check looks at, of texts that need no frequencies."""
    view = plan.check_view or plan.view
    whole = texts.chunk(0) if isinstance(texts, pa.ChunkedArray) else texts
    parts = [
        make_distinct(view.represent(plan.text(part, details=view.details), None))
        for _, part in cut(Texts.from_arrow(whole))
    ]
    return Features.concatenate(parts)


PAIR_COLUMNS = ("family", "whole", *NAMES)


def evidence_rows(pairs: dict[str, Any], found: Pairs, passed: Any) -> pa.RecordBatch:
    """Measured pairs as rows."""
    columns = {name: pairs[name] for name in PAIR_COLUMNS}
    sizes = {"shared": found.shared, "left_size": found.left_size, "right_size": found.right_size}
    return table({**columns, **sizes, "passed": passed})


def _copies(pairs: dict[str, Any]) -> pa.RecordBatch:
    columns = {name: pairs[name] for name in PAIR_COLUMNS}
    one = np.ones(len(pairs["left"]))
    sizes = {"shared": one, "left_size": one, "right_size": one}
    return table({**columns, **sizes, "passed": one.astype(np.bool_)})
