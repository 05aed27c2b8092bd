"""A run on Spark from a DataFrame of documents to the decisions, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from neardup.candidates.buckets import BucketCounts
from neardup.engines.core.represent import needs_distinct_texts_first
from neardup.engines.spark.candidate_components import Labelling, label_pairs, labelling, relabelled
from neardup.engines.spark.candidates.bands import ENTRY, bucket_counts, candidate_metrics, find_by_keys
from neardup.engines.spark.candidates.hot_buckets import COPY, COUNTED
from neardup.engines.spark.components import components
from neardup.engines.spark.copies import copy_metrics, copy_pairs, find_copies, refuse_ids
from neardup.engines.spark.decide import (
    clusters_of,
    decided,
    decision_metrics,
    measured_blocks,
    member_blocks,
    missing_pairs,
    pairs_of,
)
from neardup.engines.spark.documents import count_problems, read_documents
from neardup.engines.spark.frequencies.lookups import with_lookups
from neardup.engines.spark.frequencies.stages import statistics_of
from neardup.engines.spark.io.columns import DocumentColumns
from neardup.engines.spark.shuffle.packed_blocks import FEW, beside, task_count
from neardup.engines.spark.shuffle.side_files import NAME as SHELF
from neardup.engines.spark.shuffle.side_files import SideFileIndex, SideFiles, side_folder
from neardup.engines.spark.shuffle.stages import Stages
from neardup.engines.spark.signatures import represent_distinct_texts, representation_metrics
from neardup.engines.spark.verify import evidence_metrics, payload_columns, verify, verify_side_files
from neardup.errors import InputError
from neardup.plan import Plan
from neardup.statistics import Statistics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NAME = 32  # bytes that are sent around of a document, or of a pair, where only names are


@dataclass(frozen=True)
class Matched:
    """What the matching found: measured pairs by family or cluster, and how many; what the check looks at."""

    verified: DataFrame
    count: int
    payload: DataFrame


class SparkRun:
    """A run; each stage is made when it is asked for, and once."""

    def __init__(
        self,
        plan: Plan,
        frame: DataFrame,
        meaning: DocumentColumns,
        stages: Stages,
        statistics: Statistics | None = None,
        strict: bool = False,
    ) -> None:
        self.plan, self.frame, self.meaning, self.stages = plan, frame, meaning, stages
        self.given, self.strict = statistics, strict
        self.sent: list[Any] = []  # to all workers

    def finish(self, clean: bool) -> None:
        """Makes all stages; what only they needed goes, texts included if the folder is of no use to another run."""
        try:
            _ = self.result, self.problems
        finally:
            for variable in self.sent:
                variable.destroy()
            if clean:
                self.stages.clear(SHELF)

    def shelf(self, stage: str, compression: str | None = None) -> SideFiles:
        """Where a stage stores what is large, with nothing in it that a run which was stopped has left."""
        self.stages.clear(f"{SHELF}/{stage}")
        folder = side_folder(self.stages.folder)
        return SideFiles(None if folder is None else f"{folder}/{stage}", compression)

    def send(self, value: Any) -> Any:
        """A variable that every worker can see."""
        self.sent.append(self.frame.sparkSession.sparkContext.broadcast(value))
        return self.sent[-1]

    def tasks(self, size: float) -> int:
        """How many tasks should receive so many bytes."""
        return task_count(self.stages.spark, size)

    # documents ----------------------------------------------------------------------------------

    @cached_property
    def documents(self) -> DataFrame:
        """Every document, in chunks."""
        from pyspark.sql import functions as f

        facts = {name: f.sum(name) for name in ("documents", "empty", "bytes")}
        facts["troubled"] = f.count("problems")

        def make() -> DataFrame:
            # On one machine it takes longer to compress texts than to write them; on a network it does not.
            alone = str(self.frame.sparkSession.sparkContext.master).startswith("local")
            shelf = self.shelf("ids", None if alone else "lz4")
            return read_documents(self.plan, self.frame, self.meaning, shelf, self.strict)

        made = self.stages.stage("ids", make, facts)
        if not self.facts["documents"]:
            raise InputError("There are no documents in the DataFrame.")
        return made

    @cached_property
    def index(self) -> Any:
        """Where texts and facts are, for every worker; None where they are in the rows."""
        if side_folder(self.stages.folder) is None:
            return None
        return self.send(SideFileIndex.of(self.documents, "text", "facts"))

    @cached_property
    def problems(self) -> dict[str, Any]:
        """What was wrong with texts, in the form of the local engine."""
        kinds = count_problems(self.documents) if self.facts["troubled"] else {}
        return {"total": sum(kinds.values()), "kinds": kinds, "first": []}

    @property
    def facts(self) -> dict[str, int]:
        """The numbers of documents, of those without tokens, of bytes of text, and of chunks with bad ones."""
        return self.stages.facts("ids")

    @cached_property
    def copies(self) -> DataFrame:
        """For each chunk its documents that are copies. All ids have been checked when this is there."""
        documents = self.documents
        tasks = self.tasks(2 * NAME * self.facts["documents"])
        found = self.stages.stage("copies", lambda: find_copies(documents, tasks), copy_metrics())
        if self.stages.facts("copies")["twice"]:
            refuse_ids(documents)
        return found

    def contents(self, chunks: DataFrame) -> DataFrame:
        """Chunks with what is to be left out of them: documents whose text another has."""
        from pyspark.sql import functions as f

        copies, known = self.copies, self.stages.facts("copies")
        number = self.facts["documents"] - known["contents"]
        if not number:
            return chunks.withColumn("wanted", f.lit(None).cast("binary"))
        return beside(chunks, copies, "left", number <= FEW)

    # matching -----------------------------------------------------------------------------------

    def _signed(self, plan: Plan, prefix: str) -> DataFrame:
        """What the plan sees of each content, in chunks."""
        if plan is self.plan and not needs_distinct_texts_first(plan):
            return self.contents(self.documents.select("chunk", "seen"))

        def make() -> DataFrame:
            known, answers = statistics_of(self, plan, prefix)
            contents = with_lookups(self.contents(self.documents), answers)
            return represent_distinct_texts(plan, contents, known, self.shelf(prefix + "signatures"))

        from pyspark.sql import functions as f

        made = self.stages.stage(prefix + "signatures", make, representation_metrics())
        return made.withColumn("wanted", f.lit(None).cast("binary"))

    def match(self, plan: Plan, prefix: str = "", copies: bool = True) -> Matched:
        """Candidates, verified, by family or cluster."""
        signed = self._signed(plan, prefix)
        edges = self._edges(plan, signed, prefix)
        pairs = edges.where(f"kind != {COUNTED}")
        count = self.stages.facts(prefix + "edges")["pairs"]
        if copies and self.stages.facts("copies")["copies"]:
            pairs = pairs.unionByName(copy_pairs(self.copies, COPY))
            count += self.stages.facts("copies")["copies"]
        payload = self._payload(plan, signed)
        label = labelling(count) if self._shelved(plan) else None
        labelled = (
            pairs.coalesce(1) if label else label_pairs(pairs, count, self.stages.stage, prefix + "families")
        )

        def make() -> DataFrame:
            return self._verified(plan, labelled, payload, count, label)

        made = self.stages.stage(prefix + "verified", make, evidence_metrics())
        if self.stages.facts(prefix + "verified")["apart"]:
            labels = components(made.where("passed and not whole"), self.stages.stage, prefix + "labels")
            made = relabelled(made, labels)
        return Matched(made, count, payload)

    def _edges(self, plan: Plan, signed: DataFrame, prefix: str) -> DataFrame:
        documents = self.facts["documents"]

        def make() -> DataFrame:
            if plan.joins:
                from neardup.engines.spark.candidates.joins import find_joined

                whole = plan.candidates.level == "features"
                features = self.stages.facts(prefix + "signatures")["features"] if whole else 0
                return find_joined(plan, signed, documents, features, self.tasks)
            tables: int = plan.candidates.tables  # type: ignore[attr-defined]
            return find_by_keys(plan, signed, documents, self.tasks(documents * tables * ENTRY))

        return self.stages.stage(prefix + "edges", make, candidate_metrics())

    def _payload(self, plan: Plan, signed: DataFrame) -> DataFrame:
        """What the check looks at, as chunks."""
        from pyspark.sql import functions as f

        first = payload_columns(plan)[0]
        if first == "text":
            return self.documents.select("chunk", f.col("text").alias("packed"))
        if self._shelved(plan):
            return signed.select("chunk", "features")
        return signed.select("chunk", f.col("features" if first == "hashes" else "seen").alias("packed"))

    def _shelved(self, plan: Plan) -> bool:
        """Whether the check looks at something that is in files."""
        looks = plan.check.level != "none" and payload_columns(plan)[0] != "slots"
        return looks and side_folder(self.stages.folder) is not None

    def _verified(
        self, plan: Plan, pairs: DataFrame, payload: DataFrame, count: int, label: Labelling | None = None
    ) -> DataFrame:
        """So many pairs, measured: by tasks that get about as many documents as there are pairs."""
        tasks = self.tasks(self.facts["bytes"] / max(1, self.facts["documents"]) * count)
        if self._shelved(plan):
            texts = payload_columns(plan)[0] == "text"
            index = self.index if texts else self.send(SideFileIndex.of(payload, "features"))
            return verify_side_files(plan, pairs, label, index, tasks)
        return verify(plan, pairs, payload, count, tasks, self.tasks(2 * NAME * count))

    # decisions ----------------------------------------------------------------------------------

    @cached_property
    def result(self) -> DataFrame:
        """What became of each document in a cluster, and all pairs that are reported."""
        matched = self.match(self.plan)
        facts, tasks = decision_metrics(), self.tasks(4 * NAME * matched.count)

        def make(verified: DataFrame) -> DataFrame:
            parcels = measured_blocks(verified, tasks)
            if self.index is None:
                members = member_blocks(verified, self.documents, matched.count, tasks)
                parcels = parcels.unionByName(members)
            return decided(self.plan, parcels, self.meaning.id_type, self.index, tasks)

        made = self.stages.stage("clusters", lambda: make(matched.verified), facts)
        self.found = self.stages.facts("clusters")
        missing = self.found["missing"]
        if missing:
            more = self.stages.stage(
                "more-verified",
                lambda: self._verified(self.plan, missing_pairs(made), matched.payload, missing),
            )
            made = self.stages.stage("all-clusters", lambda: make(matched.verified.unionByName(more)), facts)
            self.found = self.stages.facts("all-clusters")
        return made

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
        return bucket_counts(self.stages.facts("edges"))
