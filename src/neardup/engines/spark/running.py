"""A run on Spark from a DataFrame of documents to the decisions, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from neardup.candidates.buckets import BucketCounts
from neardup.engines.populations import first_plan, population_column
from neardup.engines.reading import Columns
from neardup.engines.signing import needs_contents_first
from neardup.engines.spark.components import components
from neardup.engines.spark.deciding import (
    cluster_members,
    cluster_rows,
    clusters_of,
    decided,
    labelled_pairs,
    pairs_of,
    wanted_pairs,
)
from neardup.engines.spark.documents import Meaning, read_documents, sign_contents
from neardup.engines.spark.edges import FIRST, bucket_counts, find_edges
from neardup.engines.spark.failures import translated
from neardup.engines.spark.stages import Stages
from neardup.engines.spark.statistics import (
    collected,
    count_frequencies,
    labelled_groups,
    named_groups,
    owners_of,
)
from neardup.engines.spark.verification import payload_columns, verify
from neardup.errors import InputError
from neardup.plan import Plan
from neardup.statistics import Statistics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Matched:
    """What the matching found: measured pairs, those that count and those that need not, and clusters of contents."""

    evidence: DataFrame  # left, right, shared, left_size, right_size, passed, spare
    labels: DataFrame  # rank, label
    payload: DataFrame  # what the check looks at of each content


class SparkRun:
    """A run; each stage is made when it is asked for, and once."""

    def __init__(
        self,
        plan: Plan,
        frame: DataFrame,
        columns: Columns,
        stages: Stages,
        statistics: Statistics | None = None,
    ) -> None:
        self.plan, self.frame, self.stages, self.given = plan, frame, stages, statistics
        self.meaning = Meaning.of(plan, frame, columns)

    # documents ----------------------------------------------------------------------------------

    @cached_property
    def documents(self) -> DataFrame:
        """Every document by its rank, which no other has."""
        made = self.stages.stage("ids", lambda: read_documents(self.plan, self.frame, self.meaning))
        self.stages.fact("checked", lambda: self._check_ids(made))
        return made

    def _check_ids(self, documents: DataFrame) -> dict[str, int]:
        """Refuses ids that occur twice, and different ids with one rank; counts documents."""
        from pyspark.sql import functions as f

        facts = documents.agg(
            f.count("*").alias("n"), f.sum((f.col("tokens") == 0).cast("long")).alias("empty")
        )
        row = facts.first()
        if row is None or not row["n"]:
            raise InputError("There are no documents in the DataFrame.")
        again = documents.groupBy("rank").agg(f.count("*").alias("n"), f.countDistinct("id").alias("ids"))
        bad = again.where("n > 1")
        first = bad.limit(3).collect()
        if first:
            shown = (
                documents.where(f.col("rank").isin([each["rank"] for each in first])).select("id").distinct()
            )
            names = ", ".join(repr(each["id"]) for each in shown.limit(3).collect())
            if all(each["ids"] > 1 for each in first):
                raise InputError(
                    f"The ids {names} have one 64-bit hash: change one of them by a letter and run again."
                )
            raise InputError(
                f"{bad.count():,} ids stand for more than one document, {names} among them: choose another id "
                "column, or make the ids unique"
            )
        return {"documents": row["n"], "without_tokens": row["empty"]}

    @cached_property
    def copies(self) -> DataFrame:
        """Documents that are exact copies, with the one that stands for their content."""
        from pyspark.sql import functions as f

        def find() -> DataFrame:
            some = self.documents.where("tokens > 0").select("rank", "digest_a", "digest_b")
            same = some.groupBy("digest_a", "digest_b").agg(
                f.min("rank").alias("content"), f.count("*").alias("n")
            )
            joined = some.join(same.where("n > 1"), ["digest_a", "digest_b"])
            return joined.where("rank != content").select("rank", "content")

        return self.stages.stage("copies", find)

    @cached_property
    def contents(self) -> DataFrame:
        """One document of each content that has tokens."""
        return self.documents.where("tokens > 0").join(self.copies.select("rank"), "rank", "left_anti")

    # frequencies --------------------------------------------------------------------------------

    def _statistics(self, plan: Plan, prefix: str) -> Any:
        """The frequencies that the plan asks for, where every worker can see them; None if it asks for none."""
        if not plan.counts:
            return None
        spark = self.frame.sparkSession
        if plan is self.plan and self.given is not None:
            return spark.sparkContext.broadcast(self.given)
        owners = owners_of(self.documents)
        groups = self._groups(plan, owners)
        counts = self.stages.stage(prefix + "statistics", lambda: count_frequencies(plan, owners, groups))

        def population() -> int:
            if groups is None:
                return self.documents.select("digest_a", "digest_b").distinct().count()
            return groups.select("group_number").distinct().count()

        number = self.stages.fact(prefix + "population", population)
        with translated("the statistics"):
            return spark.sparkContext.broadcast(collected(plan, counts, number))

    def _groups(self, plan: Plan, owners: DataFrame) -> DataFrame | None:
        if population_column(plan) is not None:
            return named_groups(plan, owners)
        if plan.population != "clusters":
            return None
        first = first_plan(plan)
        return labelled_groups(owners, self._match(first, "first-").labels)

    # matching -----------------------------------------------------------------------------------

    def _signed(self, plan: Plan, prefix: str) -> DataFrame:
        """What the plan sees of each content."""
        if plan is self.plan and not needs_contents_first(plan):
            return self.contents

        def make() -> DataFrame:
            return sign_contents(plan, self.contents, self._statistics(plan, prefix))

        return self.stages.stage(prefix + "signatures", make)

    def _match(self, plan: Plan, prefix: str = "") -> Matched:
        """Candidates, verified, and the clusters that they make."""
        signed = self._signed(plan, prefix)
        payload = self.documents if payload_columns(plan) == ["text"] else signed
        edges = self._edges(plan, signed, prefix)
        pairs = edges.where("not tally")
        measured = self.stages.stage(prefix + "verified", lambda: self._verified(plan, pairs, payload))
        if plan.pairs == "all" or plan.clustering.kind == "leaders" or plan.joins:
            from pyspark.sql import functions as f

            evidence = measured.withColumn("spare", f.lit(False))
        else:
            evidence = self._needed(measured, prefix)
        passed = evidence.where("passed and not spare")
        labels = components(passed, self.stages.stage, prefix + "labels")
        return Matched(evidence, labels, payload)

    def _edges(self, plan: Plan, signed: DataFrame, prefix: str) -> DataFrame:
        if plan.joins:
            from neardup.engines.spark.joins import find_joined

            return self.stages.stage(prefix + "edges", lambda: find_joined(plan, signed))
        return self.stages.stage(prefix + "edges", lambda: find_edges(plan, signed))

    def _verified(self, plan: Plan, pairs: DataFrame, payload: DataFrame) -> DataFrame:
        return verify(plan, pairs, payload).join(pairs.select("left", "right", "kind"), ["left", "right"])

    def _needed(self, measured: DataFrame, prefix: str) -> DataFrame:
        """Pairs, where those of one cluster of the first round are spare: they cannot change the clusters."""
        from pyspark.sql import functions as f

        first = measured.where((f.col("kind") == FIRST) & f.col("passed"))
        labels = components(first, self.stages.stage, prefix + "first-labels")
        mine = labels.select(f.col("rank").alias("left"), f.col("label").alias("mine"))
        theirs = labels.select(f.col("rank").alias("right"), f.col("label").alias("theirs"))
        both = measured.join(mine, "left", "left").join(theirs, "right", "left")
        joined = f.coalesce(f.col("mine") == f.col("theirs"), f.lit(False))
        return both.withColumn("spare", joined & (f.col("kind") != FIRST)).drop("mine", "theirs")

    # decisions ----------------------------------------------------------------------------------

    @cached_property
    def result(self) -> DataFrame:
        """What became of each document in a cluster, and all pairs that are reported."""
        from pyspark.sql import functions as f

        names = ["left", "right", "shared", "left_size", "right_size", "spare"]

        def make() -> DataFrame:
            matched = self._match(self.plan)
            members = self.stages.stage(
                "members", lambda: cluster_members(matched.labels, self.copies, self.documents)
            )
            inside = labelled_pairs(matched.evidence.select(*names), matched.labels)
            rows = cluster_rows(members, inside)
            missing = self.stages.stage("wanted", lambda: wanted_pairs(self.plan, rows))
            more = self.stages.stage("wanted-verified", lambda: verify(self.plan, missing, matched.payload))
            more = labelled_pairs(more.withColumn("spare", f.lit(True)).select(*names), matched.labels)
            kind = dict(self.documents.dtypes)["id"]
            return decided(self.plan, cluster_rows(members, inside.unionByName(more)), kind)

        return self.stages.stage("clusters", make)

    @property
    def clusters(self) -> DataFrame:
        """id, cluster, leader, keep, duplicate_of, similarity, containment, size, weakest_link."""
        return clusters_of(self.result)

    @property
    def pairs(self) -> DataFrame:
        """left, right, similarity, containment, reason, bridge."""
        return pairs_of(self.result)

    @property
    def counts(self) -> BucketCounts:
        """What was met while pairing buckets."""
        edges = self.stages.spark.read.parquet(f"{self.stages.folder}/edges")
        return bucket_counts(edges)
