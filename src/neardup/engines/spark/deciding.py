"""Clusters and what stays of them, by the local engine's own code: a cluster is decided where its rows come together.

Two passes over clusters, each seen as a whole by one worker: the first names the pairs that are still to be measured
(a removed document with what it duplicates, all pairs of a small cluster); the second decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.columns import Numbers, Pairs
from neardup.engines.deciding import decide
from neardup.engines.local import Run, Settings
from neardup.engines.matching import Matches
from neardup.engines.progress import Progress
from neardup.engines.reading import Columns, Corpus
from neardup.engines.spark.arrow import Batches, in_arrow, sliced, table, unsigned, whole_groups
from neardup.engines.tables import cluster_table, pair_tables
from neardup.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MEMBER, EVIDENCE, SPARE = (
    0,
    1,
    2,
)  # rows of a cluster: documents; pairs that count; pairs that were measured besides
CLUSTER, PAIR = 0, 1  # rows of the result
MEASURED = ("shared", "left_size", "right_size")


def cluster_members(labels: DataFrame, copies: DataFrame, documents: DataFrame) -> DataFrame:
    """Every document that is in a cluster: its label, its content, and what decides whether it stays."""
    from pyspark.sql import functions as f

    own = labels.select("rank", f.col("rank").alias("content"))
    leading = copies.select(f.col("content").alias("rank"), "content")
    members = own.unionByName(leading).distinct().unionByName(copies.select("rank", "content"))
    named = labels.select(f.col("rank").alias("content"), "label")
    members = members.join(named, "content", "left")
    members = members.select("rank", "content", f.coalesce("label", "content").alias("label"))
    facts = [name for name in ("id", "position", "length", "value") if name in documents.columns]
    return documents.select("rank", *facts).join(members, "rank")


def labelled_pairs(evidence: DataFrame, labels: DataFrame) -> DataFrame:
    """Measured pairs whose documents are in one cluster, with its label."""
    from pyspark.sql import functions as f

    mine = labels.select(f.col("rank").alias("left"), "label")
    theirs = labels.select(f.col("rank").alias("right"), f.col("label").alias("other"))
    both = evidence.join(mine, "left").join(theirs, "right")
    return both.where("label = other").drop("other")


def cluster_rows(members: DataFrame, pairs: DataFrame) -> DataFrame:
    """Members and measured pairs of clusters, cluster by cluster."""
    from pyspark.sql import functions as f

    def filled(frame: DataFrame, kind: Column) -> DataFrame:
        missing = [
            f.lit(None).cast(wanted.dataType).alias(wanted.name)
            for wanted in [*members.schema.fields, *pairs.schema.fields]
            if wanted.name not in frame.columns and wanted.name != "spare"
        ]
        return frame.select(
            kind.alias("kind"), *[name for name in frame.columns if name != "spare"], *missing
        )

    rows = filled(members, f.lit(MEMBER)).unionByName(
        filled(pairs, f.when(f.col("spare"), SPARE).otherwise(EVIDENCE))
    )
    return rows.repartition("label").sortWithinPartitions("label")


def wanted_pairs(plan: Plan, rows: DataFrame) -> DataFrame:
    """The pairs that are still to be measured, the smaller rank left."""

    def work(batches: Batches) -> Batches:
        for group in whole_groups(batches, ("label",)):
            small = Portion.of(plan, group)
            left, right = small.missing()
            yield from sliced(table({"left": np.minimum(left, right), "right": np.maximum(left, right)}))

    return in_arrow(rows, work, "left long, right long")


def decided(plan: Plan, rows: DataFrame, id_type: str) -> DataFrame:
    """Rows of clusters and of pairs, see `clusters_of` and `pairs_of`."""

    def work(batches: Batches) -> Batches:
        for group in whole_groups(batches, ("label",)):
            yield from Portion.of(plan, group).decided()

    ids = ", ".join(f"{name} {id_type}" for name in "abcd")
    numbers = "x double, y double, z double, flag boolean, size long, reason string"
    return in_arrow(rows, work, f"kind int, {ids}, {numbers}")


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


class _Input:
    """Stands for the sources where a message names them."""

    name = "input"


@dataclass(frozen=True)
class Portion:
    """Whole clusters, as a small corpus for the local engine's code."""

    plan: Plan
    corpus: Corpus
    content: Numbers
    evidence: Pairs
    spare: Pairs

    @staticmethod
    def of(plan: Plan, group: pa.Table) -> Portion:
        """The clusters of a table; documents in the order of the input where there is one."""
        members = group.filter(pc.equal(group.column("kind"), MEMBER))
        order = np.lexsort((members.column("rank").to_numpy(), members.column("position").to_numpy()))
        members = members.take(pa.array(order))
        ranks = members.column("rank").to_numpy()
        by_rank = np.argsort(ranks)

        def place(values: Any) -> Numbers:
            return by_rank[np.searchsorted(ranks, values, sorter=by_rank)]

        corpus = Corpus(
            sources=[_Input()],  # type: ignore[list-item]
            columns=Columns(),
            work=None,  # type: ignore[arg-type]
            ids=members.column("id").combine_chunks(),
            ranks=unsigned(ranks),
            digests=np.zeros((len(ranks), 2), np.uint64),
            lengths=members.column("length").to_numpy(),
            values=members.column("value").combine_chunks() if "value" in group.column_names else None,
            text_column=None,
        )
        kind = _kind_of(plan)
        evidence, spare = (
            _pairs(group.filter(pc.equal(group.column("kind"), which)), place, kind)
            for which in (EVIDENCE, SPARE)
        )
        return Portion(plan, corpus, place(members.column("content").to_numpy()), evidence, spare)

    def missing(self) -> tuple[Numbers, Numbers]:
        """Ranks of the pairs that the decisions ask for and nobody has measured."""
        asked: list[Numbers] = []
        n = len(self.corpus)

        def note(left: Numbers, right: Numbers) -> Pairs:
            asked.append(left * n + right)
            return Pairs.concatenate([])

        self._run(note)
        codes = np.setdiff1d(asked[0], self.spare.left * n + self.spare.right)
        from neardup.engines.spark.arrow import signed

        ranks = signed(self.corpus.ranks)
        return ranks[codes // n], ranks[codes % n]

    def decided(self) -> Batches:
        """What became of each document, and the pairs that are reported."""
        n = len(self.corpus)
        known = self.spare.left * n + self.spare.right
        order = np.argsort(known)

        def look_up(left: Numbers, right: Numbers) -> Pairs:
            if len(left) == 0:
                return Pairs.concatenate([])
            at = order[np.searchsorted(known, left * n + right, sorter=order)]
            return self.spare.take(at)

        run = self._run(look_up)
        yield from _result(cluster_table(run), CLUSTER)
        for found in pair_tables(run):
            yield from _result(found, PAIR)

    def _run(self, measure: Any) -> Run:
        matches = Matches(self.content, self.evidence, self.plan.reach)
        decisions = decide(self.plan, self.corpus, matches, Progress(), 1, measure)
        return Run(self.plan, Settings(threads=1), self.corpus, matches, decisions, Progress())


def _kind_of(plan: Plan) -> str:
    """Which similarity the counts of a pair are for."""
    return {"cosine": "cosine", "containment": "containment"}.get(plan.check.measures, "jaccard")


def _pairs(rows: pa.Table, place: Any, kind: str) -> Pairs:
    """Measured pairs by the numbers of their documents, the smaller one left."""
    left, right = place(rows.column("left").to_numpy()), place(rows.column("right").to_numpy())
    shared, mine, theirs = (rows.column(name).to_numpy() for name in MEASURED)
    swap = left > right
    return Pairs(
        np.minimum(left, right),
        np.maximum(left, right),
        shared,
        np.where(swap, theirs, mine),
        np.where(swap, mine, theirs),
        kind,
    )


def _result(found: pa.Table, kind: int) -> Batches:
    """Rows of a result in the one form that both kinds have."""
    n = len(found)
    ids = found.schema.field(0).type
    none = {
        "c": pa.nulls(n, ids),
        "d": pa.nulls(n, ids),
        "size": pa.nulls(n, pa.int64()),
        "reason": pa.nulls(n, pa.string()),
    }
    if kind == CLUSTER:
        wanted = "a id, b cluster, c leader, d duplicate_of, x similarity, y containment, z weakest_link, flag keep"
        names = dict(pair.split() for pair in f"{wanted}, size size".split(", "))
    else:
        wanted = "a left, b right, x similarity, y containment, flag bridge, reason reason"
        names = dict(pair.split() for pair in wanted.split(", "))
    columns: dict[str, Any] = {
        "kind": pa.array(np.full(n, kind, np.int32)),
        "z": pa.nulls(n, pa.float64()),
        **none,
    }
    columns |= {place: found.column(name).combine_chunks() for place, name in names.items()}
    order = ["kind", "a", "b", "c", "d", "x", "y", "z", "flag", "size", "reason"]
    for batch in pa.table({name: columns[name] for name in order}).to_batches():
        yield from sliced(batch)
