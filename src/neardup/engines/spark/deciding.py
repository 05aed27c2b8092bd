"""Clusters and what stays of them, by the local engine's own code: a cluster is decided where its rows come together.

The members of clusters are looked up in their chunks, and sent with the measured pairs to the task of their family.
Where the decisions ask for a pair that nobody has measured, nothing is decided there: the pair is named instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup.clusters.graph import components
from neardup.columns import Numbers, Pairs
from neardup.engines.deciding import decide
from neardup.engines.local import Run, Settings
from neardup.engines.matching import Matches
from neardup.engines.progress import Progress
from neardup.engines.reading import Columns as InputColumns
from neardup.engines.reading import Corpus
from neardup.engines.spark.arrow import Batches, in_arrow, numbers, sliced, table, unsigned
from neardup.engines.spark.crowds import COPY, EXTRA, FIRST, NAMES
from neardup.engines.spark.parcels import (
    FEW,
    PARCEL,
    ROW_BITS,
    Columns,
    beside,
    by_chunk,
    column,
    part_of,
    posted,
    received,
    shuffled,
    split,
    unpack,
)
from neardup.engines.tables import cluster_table, pair_tables
from neardup.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CLUSTER, PAIR, MISSING = 0, 1, 2  # rows of the result
MEASURED = ("shared", "left_size", "right_size")
PLACES = ("left", "right", "left_place", "right_place")


def decided(
    plan: Plan, verified: DataFrame, documents: DataFrame, id_type: str, count: int, tasks: int
) -> DataFrame:
    """Rows of clusters and of pairs, see `clusters_of` and `pairs_of`; and of pairs that must still be measured."""
    wanted = by_chunk(verified.where("passed").select("family", *NAMES), _members, tasks)
    chunks = documents.select("chunk", "facts")
    facts = in_arrow(beside(chunks, wanted, "inner", 2 * count <= FEW), _Facts(tasks), PARCEL)
    pairs = in_arrow(verified.where(f"kind != {COPY}"), _Evidence(tasks), PARCEL)
    ids = ", ".join(f"{name} {id_type}" for name in "abcd")
    numbers = "x double, y double, z double, flag boolean, size long, reason string"
    schema = f"kind int, {ids}, {numbers}, family long, {', '.join(f'{name} long' for name in PLACES)}"
    return in_arrow(shuffled(facts.unionByName(pairs), tasks), _Deciding(plan, tasks), schema)


def result_facts() -> dict[str, Any]:
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


def _members(batches: Batches) -> Iterator[Columns]:
    """The documents of pairs that passed: place, rank, content and family of each."""
    for batch in batches:
        values = {name: numbers(batch, name) for name in ("family", *NAMES)}
        content = np.where(values["kind"] == COPY, values["left"], values["right"])
        for side, whose in (("left", values["left"]), ("right", content)):
            yield {
                "place": values[f"{side}_place"],
                "rank": values[side],
                "content": whose,
                "family": values["family"],
            }


@dataclass(frozen=True)
class _Facts:
    """Chunks, and which members they have, to parcels of members."""

    tasks: int

    def __call__(self, batches: Batches) -> Batches:
        yield from posted(self._parcels(batches))

    def _parcels(self, batches: Batches) -> Iterator[tuple[int, Columns]]:
        for batch in batches:
            for packed, wanted in zip(batch.column("facts"), batch.column("wanted"), strict=True):
                some = unpack(wanted)
                values: dict[str, Any] = {name: column(some, name) for name in some.column_names}
                rows = pa.array(values["place"] & ((1 << ROW_BITS) - 1))
                facts = unpack(packed)
                for name in facts.column_names:
                    values[name] = facts.column(name).take(rows).combine_chunks()
                    if isinstance(values[name], pa.ChunkedArray):
                        values[name] = values[name].chunk(0)
                yield from split(values, part_of(values["family"], self.tasks))


@dataclass(frozen=True)
class _Evidence:
    """Measured pairs to parcels."""

    tasks: int

    def __call__(self, batches: Batches) -> Batches:
        yield from posted(self._parcels(batches))

    def _parcels(self, batches: Batches) -> Iterator[tuple[int, Columns]]:
        for batch in batches:
            names = ("family", "kind", "left", "right", *MEASURED, "passed")
            values = {name: numbers(batch, name) for name in names}
            yield from split(values, self.tasks + part_of(values["family"], self.tasks))


@dataclass(frozen=True)
class _Deciding:
    """Members and measured pairs of whole clusters to decisions."""

    plan: Plan
    tasks: int

    def __call__(self, batches: Batches) -> Batches:
        came = received(batches)
        for part, members in came.items():
            if part < self.tasks:
                portion = Portion.of(self.plan, members, came.get(part + self.tasks))
                yield from portion.decided()


class _Input:
    """Stands for the sources where a message names them."""

    name = "input"


class _Unmeasured(Exception):
    """The decisions ask for pairs, by codes, that nobody has measured."""

    def __init__(self, codes: Numbers) -> None:
        super().__init__()
        self.codes = codes


@dataclass(frozen=True)
class Portion:
    """Whole clusters, as a small corpus for the local engine's code."""

    plan: Plan
    corpus: Corpus
    members: pa.Table
    content: Numbers
    evidence: Pairs
    spare: Pairs

    @staticmethod
    def of(plan: Plan, members: pa.Table, pairs: pa.Table | None) -> Portion:
        """The clusters of a task; documents in the order of the input where there is one."""
        order = np.lexsort((column(members, "rank"), column(members, "position")))
        members = members.take(pa.array(order)).combine_chunks()
        ranks = column(members, "rank")
        by_rank = np.argsort(ranks)

        def place(values: Any) -> Numbers:
            return by_rank[np.searchsorted(ranks, values, sorter=by_rank)]

        corpus = Corpus(
            sources=[_Input()],  # type: ignore[list-item]
            columns=InputColumns(),
            work=None,  # type: ignore[arg-type]
            ids=members.column("id").combine_chunks(),
            ranks=unsigned(ranks),
            digests=np.zeros((len(ranks), 2), np.uint64),
            lengths=column(members, "length"),
            values=members.column("value").combine_chunks() if "value" in members.column_names else None,
            text_column=None,
        )
        evidence, spare = _evidence(plan, pairs, np.sort(ranks), place)
        return Portion(plan, corpus, members, place(column(members, "content")), evidence, spare)

    def decided(self) -> Batches:
        """What became of each document, and the pairs that are reported; or the pairs that are to be measured."""
        n = len(self.corpus)
        known = self.spare.left * n + self.spare.right
        order = np.argsort(known)

        def look_up(left: Numbers, right: Numbers) -> Pairs:
            codes = left * n + right
            if not np.isin(codes, known).all():
                raise _Unmeasured(codes[~np.isin(codes, known)])
            return self.spare.take(order[np.searchsorted(known, codes, sorter=order)])

        try:
            run = self._run(look_up)
        except _Unmeasured as missing:
            yield from self._missing(missing.codes // n, missing.codes % n)
            return
        yield from _result(cluster_table(run), CLUSTER)
        for found in pair_tables(run):
            yield from _result(found, PAIR)

    def _run(self, measure: Any) -> Run:
        matches = Matches(self.content, self.evidence, self.plan.reach)
        decisions = decide(self.plan, self.corpus, matches, Progress(), 1, measure)
        return Run(self.plan, Settings(threads=1), self.corpus, matches, decisions, Progress())

    def _missing(self, left: Numbers, right: Numbers) -> Batches:
        ranks, places, families = (column(self.members, name) for name in ("rank", "place", "family"))
        swap = ranks[left] > ranks[right]
        left, right = np.where(swap, right, left), np.where(swap, left, right)
        columns = {"left": ranks[left], "right": ranks[right], "left_place": places[left]}
        columns |= {"right_place": places[right], "family": families[left]}
        yield from _rows(MISSING, len(left), {name: pa.array(v) for name, v in columns.items()}, self.corpus.ids.type)


def _kind_of(plan: Plan) -> str:
    """Which similarity the counts of a pair are for."""
    return {"cosine": "cosine", "containment": "containment"}.get(plan.check.measures, "jaccard")


def _evidence(plan: Plan, pairs: pa.Table | None, members: Numbers, place: Any) -> tuple[Pairs, Pairs]:
    """The measured pairs of members that count, and those that were measured besides.

    Pairs of documents that the first pairs of buckets have joined count only if they are asked for, as in the local
    engine, which does not measure them.
    """
    if pairs is None:
        return Pairs.concatenate([]), Pairs.concatenate([])
    values = {name: column(pairs, name) for name in pairs.column_names}
    inside = np.isin(values["left"], members) & np.isin(values["right"], members)
    values = {name: each[inside] for name, each in values.items()}
    spare = values["kind"] == EXTRA
    if not (plan.pairs == "all" or plan.clustering.kind == "leaders" or plan.joins):
        left, right = (np.searchsorted(members, values[side]) for side in ("left", "right"))
        first = (values["kind"] == FIRST) & values["passed"]
        labels = components(len(members), left[first], right[first])
        spare |= (labels[left] == labels[right]) & (values["kind"] != FIRST)
    measured = _pairs(values, place, _kind_of(plan))
    return measured.take(~spare), measured.take(spare)


def _pairs(values: dict[str, Any], place: Any, kind: str) -> Pairs:
    """Measured pairs by the numbers of their documents, the smaller one left."""
    left, right = place(values["left"]), place(values["right"])
    shared, mine, theirs = (values[name] for name in MEASURED)
    swap = left > right
    return Pairs(
        np.minimum(left, right),
        np.maximum(left, right),
        shared,
        np.where(swap, theirs, mine),
        np.where(swap, mine, theirs),
        kind,
    )


CLUSTER_NAMES = "a id, b cluster, c leader, d duplicate_of, x similarity, y containment, z weakest_link, flag keep, size size"
PAIR_NAMES = "a left, b right, x similarity, y containment, flag bridge, reason reason"


def _result(found: pa.Table, kind: int) -> Batches:
    """Rows of a result in the one form that all kinds have."""
    names = dict(pair.split() for pair in (CLUSTER_NAMES if kind == CLUSTER else PAIR_NAMES).split(", "))
    columns = {place: found.column(name).combine_chunks() for place, name in names.items()}
    yield from _rows(kind, len(found), columns, found.schema.field(0).type)


def _rows(kind: int, n: int, columns: dict[str, Any], ids: pa.DataType) -> Batches:
    types = {"kind": pa.int32(), **dict.fromkeys("abcd", ids), **dict.fromkeys("xyz", pa.float64())}
    types |= {"flag": pa.bool_(), "size": pa.int64(), "reason": pa.string()}
    types |= dict.fromkeys(("family", *PLACES), pa.int64())
    filled = {name: columns.get(name, pa.nulls(n, what)) for name, what in types.items()}
    filled["kind"] = pa.array(np.full(n, kind, np.int32))
    for batch in pa.table(filled).to_batches():
        yield from sliced(batch)
