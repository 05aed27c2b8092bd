"""A run on Spark, from a DataFrame of documents to decisions, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.engines.core.represent import needs_distinct_texts_first
from neardup.engines.spark import decide
from neardup.engines.spark.candidate_components import Labelling, label_pairs, labelling, relabelled
from neardup.engines.spark.candidates.bands import candidate_metrics
from neardup.engines.spark.candidates.find import find_candidates
from neardup.engines.spark.candidates.hot_buckets import BUCKET_COUNTS, COPY
from neardup.engines.spark.components import components
from neardup.engines.spark.copies import copy_metrics, copy_pairs, find_copies, refuse_ids
from neardup.engines.spark.documents import read_documents, text_problems
from neardup.engines.spark.empty import empty_metrics, find_empty
from neardup.engines.spark.frequencies.lookups import with_lookups
from neardup.engines.spark.frequencies.stages import statistics_of
from neardup.engines.spark.io.columns import DocumentColumns
from neardup.engines.spark.io.problems import InputProblems, ProblemCounts
from neardup.engines.spark.session.failures import translated
from neardup.engines.spark.shuffle.packed_blocks import BROADCAST_ROWS, join_chunks, task_count
from neardup.engines.spark.shuffle.side_files import (
    FOLDER,
    SideFileIndex,
    SideFiles,
    check_side_files,
    side_folder,
)
from neardup.engines.spark.shuffle.stages import Stages
from neardup.engines.spark.signatures import (
    DistinctTexts,
    copies_without_features,
    represent_distinct_texts,
    representation_metrics,
)
from neardup.engines.spark.verify import evidence_metrics, payload_columns, verify, verify_side_files
from neardup.errors import NoDocuments
from neardup.plan import Plan
from neardup.statistics import Statistics

ROW_BYTES = 32  # shuffled bytes of a document or a pair without text


@dataclass(frozen=True)
class VerifiedPairs:
    """Measured candidate pairs by component or cluster, their number, and the column that the check compared."""

    verified: DataFrame
    count: int
    payload: DataFrame


class SparkRun:
    """A run; each stage is computed once, when it is first used."""

    def __init__(
        self,
        plan: Plan,
        frame: DataFrame,
        columns: DocumentColumns,
        stages: Stages,
        statistics: Statistics | None = None,
        input_problems: InputProblems | None = None,
    ) -> None:
        self.plan, self.frame, self.columns, self.stages = plan, frame, columns, stages
        self.given, self.input_problems = statistics, input_problems or InputProblems()
        self.broadcasts: list[Any] = []

    def finish(self, clean: bool) -> None:
        """Computes all stages and frees broadcast variables; with `clean`, removes the side files too."""
        try:
            _ = self.result, self.problems, self.empty
        finally:
            for variable in self.broadcasts:
                variable.destroy()
            if clean:
                self.stages.clear(FOLDER)

    def side_files(self, stage: str, compression: str | None = None) -> SideFiles:
        """The side files of a stage, in a folder without leftovers of an interrupted run."""
        self.stages.clear(f"{FOLDER}/{stage}")
        folder = side_folder(self.stages.folder)
        return SideFiles(None if folder is None else f"{folder}/{stage}", compression)

    def _check_side_files(self, stage: DataFrame) -> None:
        """Raises unless the side files of a resumed stage are what was written, if a later stage is missing."""
        if side_folder(self.stages.folder) is None or self.stages.done("clusters"):
            return
        with translated(self.stages.folder):
            check_side_files(stage, "text", "attributes", "features")

    def broadcast(self, value: Any) -> Any:
        """A broadcast variable, which `finish` destroys."""
        self.broadcasts.append(self.frame.sparkSession.sparkContext.broadcast(value))
        return self.broadcasts[-1]

    def tasks(self, size: float) -> int:
        """The number of tasks that should receive `size` bytes."""
        return task_count(self.stages.spark, size)

    # documents ----------------------------------------------------------------------------------

    @cached_property
    def documents(self) -> DataFrame:
        """All documents, in chunks."""
        names = ("documents", "without_tokens", "without_features", "bytes")
        metrics = {name: f.sum(name) for name in names}
        metrics["chunks_with_problems"] = f.count("problems")

        def make() -> DataFrame:
            # Compression pays off on a network, not on a local disk.
            local = str(self.frame.sparkSession.sparkContext.master).startswith("local")
            side_files = self.side_files("documents", None if local else "lz4")
            return read_documents(self.plan, self.frame, self.columns, side_files, self.input_problems)

        resumed = self.stages.done("documents")
        made = self.stages.stage("documents", make, metrics)
        if resumed:
            self._check_side_files(made)
        if not self.metrics["documents"]:
            raise NoDocuments(["DataFrame"])
        return made

    @cached_property
    def index(self) -> Any:
        """The broadcast index of texts and attributes in side files; None if they are in the rows."""
        if side_folder(self.stages.folder) is None:
            return None
        return self.broadcast(SideFileIndex.of(self.documents, "text", "attributes"))

    @cached_property
    def problems(self) -> ProblemCounts:
        """Problems with texts, in the form of the local engine's report."""
        if self.metrics["chunks_with_problems"]:
            return text_problems(self.documents)
        return {"total": 0, "counts": {}, "first": []}

    @cached_property
    def without_features(self) -> int:
        """The number of documents with tokens and no features."""
        if not needs_distinct_texts_first(self.plan):
            return self.metrics["without_features"]
        texts = int(self.stages.metrics("signatures")["without_features"])
        if not texts or not self.stages.metrics("copies")["copies"]:
            return texts
        return texts + copies_without_features(self._representations(self.plan, ""), self.copies)

    @property
    def metrics(self) -> dict[str, int]:
        """The metrics of the stage `documents`."""
        return self.stages.metrics("documents")

    @cached_property
    def copies(self) -> DataFrame:
        """The copies in each chunk; raises if an id is used by more than one document."""
        documents = self.documents
        tasks = self.tasks(2 * ROW_BYTES * self.metrics["documents"])
        found = self.stages.stage("copies", lambda: find_copies(documents, tasks), copy_metrics())
        if self.stages.metrics("copies")["repeated_ids"]:
            refuse_ids(documents)
        return found

    def distinct_texts(self, chunks: DataFrame) -> DataFrame:
        """Chunks with a column `copies`: the documents to leave out, null if the chunk has none."""
        copies, metrics = self.copies, self.stages.metrics("copies")
        count = self.metrics["documents"] - metrics["distinct_texts"]
        if not count:
            return chunks.withColumn("copies", f.lit(None).cast("binary"))
        return join_chunks(chunks, copies, "copies", "left", count <= BROADCAST_ROWS)

    # candidates and verified pairs -----------------------------------------------------------------

    def _representations(self, plan: Plan, prefix: str) -> DataFrame:
        """The representation of each distinct text, in chunks."""
        if plan is self.plan and not needs_distinct_texts_first(plan):
            return self.distinct_texts(self.documents.select("chunk", "representation"))

        def make() -> DataFrame:
            statistics, lookups = statistics_of(self, plan, prefix)
            chunks = with_lookups(self.distinct_texts(self.documents), lookups)
            return represent_distinct_texts(plan, chunks, statistics, self.side_files(prefix + "signatures"))

        resumed = self.stages.done(prefix + "signatures")
        made = self.stages.stage(prefix + "signatures", make, representation_metrics())
        if resumed:
            self._check_side_files(made)
        return made.withColumn("copies", f.lit(None).cast("binary"))

    def match(self, plan: Plan, prefix: str = "", copies: bool = True) -> VerifiedPairs:
        """Verified candidate pairs, by component or cluster."""
        chunks = self._representations(plan, prefix)
        candidates = self._candidates(plan, chunks, prefix)
        pairs = candidates.where(f"kind != {BUCKET_COUNTS}")
        count = self.stages.metrics(prefix + "candidates")["pairs"]
        if copies and self.stages.metrics("copies")["copies"]:
            pairs = pairs.unionByName(copy_pairs(self.copies, COPY))
            count += self.stages.metrics("copies")["copies"]
        payload = self._payload(plan, chunks)
        label = labelling(count) if self._in_side_files(plan) else None
        name = prefix + "candidate-components"
        labelled = pairs.coalesce(1) if label else label_pairs(pairs, count, self.stages.stage, name)

        def make() -> DataFrame:
            return self._verified(plan, labelled, payload, count, label)

        made = self.stages.stage(prefix + "verified", make, evidence_metrics())
        if self.stages.metrics(prefix + "verified")["pairs_in_parts"]:
            labels = components(made.where("passed and not whole"), self.stages.stage, prefix + "labels")
            made = relabelled(made, labels)
        return VerifiedPairs(made, count, payload)

    def _candidates(self, plan: Plan, chunks: DataFrame, prefix: str) -> DataFrame:
        joins_features = plan.candidates.level == "features"
        features = self.stages.metrics(prefix + "signatures")["features"] if joins_features else 0
        texts = DistinctTexts(chunks, self.metrics["documents"], features, self.tasks)
        return self.stages.stage(
            prefix + "candidates", lambda: find_candidates(plan, texts), candidate_metrics()
        )

    def _payload(self, plan: Plan, chunks: DataFrame) -> DataFrame:
        """The column that the check compares, in chunks."""
        first = payload_columns(plan)[0]
        if first == "text":
            return self.documents.select("chunk", f.col("text").alias("packed"))
        if self._in_side_files(plan):
            return chunks.select("chunk", "features")
        name = "features" if first == "hashes" else "representation"
        return chunks.select("chunk", f.col(name).alias("packed"))

    def _in_side_files(self, plan: Plan) -> bool:
        """Whether the check compares texts or features that are in side files."""
        stored = plan.check.level != "none" and payload_columns(plan)[0] != "slots"
        return stored and side_folder(self.stages.folder) is not None

    def _verified(
        self, plan: Plan, pairs: DataFrame, payload: DataFrame, count: int, label: Labelling | None = None
    ) -> DataFrame:
        """Measured pairs; the number of tasks follows from `count`, as each pair reads about one document."""
        tasks = self.tasks(self.metrics["bytes"] / max(1, self.metrics["documents"]) * count)
        if self._in_side_files(plan):
            texts = payload_columns(plan)[0] == "text"
            index = self.index if texts else self.broadcast(SideFileIndex.of(payload, "features"))
            return verify_side_files(plan, pairs, label, index, tasks)
        return verify(plan, pairs, payload, count, tasks, self.tasks(2 * ROW_BYTES * count))

    # decisions ----------------------------------------------------------------------------------

    @cached_property
    def result(self) -> DataFrame:
        """The decision on each document in a cluster, and all reported pairs."""
        found = self.match(self.plan)
        metrics, tasks = decide.decision_metrics(), self.tasks(4 * ROW_BYTES * found.count)

        def make(verified: DataFrame) -> DataFrame:
            blocks = decide.measured_blocks(verified, tasks)
            if self.index is None:
                members = decide.member_blocks(verified, self.documents, found.count, tasks)
                blocks = blocks.unionByName(members)
            return decide.decided(self.plan, blocks, self.columns.id_type, self.index, tasks)

        made = self.stages.stage("clusters", lambda: make(found.verified), metrics)
        self.decision_metrics = self.stages.metrics("clusters")
        verified, rounds = found.verified, 0
        while self.decision_metrics["missing"]:  # linkage, and one leader after the other, may ask for pairs
            rounds += 1
            verified = verified.unionByName(self._missing(made, found.payload, rounds))
            name = f"clusters-{rounds}"
            made = self.stages.stage(name, partial(make, verified), metrics)
            self.decision_metrics = self.stages.metrics(name)
        return made

    def _missing(self, made: DataFrame, payload: DataFrame, number: int) -> DataFrame:
        """The evidence of pairs that decisions asked for."""
        count = self.decision_metrics["missing"]
        return self.stages.stage(
            f"missing-verified-{number}",
            lambda: self._verified(self.plan, decide.missing_pairs(made), payload, count),
        )

    @cached_property
    def empty(self) -> DataFrame | None:
        """id and duplicate_of of the documents without a token that are removed; None if none is."""
        if self.plan.keep.empty == "keep" or not self.metrics["without_tokens"]:
            return None
        find = partial(find_empty, self.plan, self.documents, self.columns.id_type)
        return self.stages.stage("empty", find, empty_metrics())
