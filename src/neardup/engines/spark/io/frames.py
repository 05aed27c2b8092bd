"""A run over a DataFrame, and its result as DataFrames."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

import neardup
from neardup.candidates.buckets import BucketCounts
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.expected_share import ExpectedShare
from neardup.engines.core.guard import is_guarded
from neardup.engines.core.pair_examples import PairExample
from neardup.engines.core.progress import Progress
from neardup.engines.core.report import RunContext, RunCounts, make_report
from neardup.engines.core.represent import check_statistics
from neardup.engines.core.tables import ANNOTATIONS, REASONS, added_names
from neardup.engines.spark.candidates.bands import bucket_counts
from neardup.engines.spark.candidates.find import check_distribution
from neardup.engines.spark.decide import clusters_of, decision_summary, pairs_of, removal_counts
from neardup.engines.spark.io.columns import GIVEN_ID, KEY, POSITION, numbered, resolve_columns
from neardup.engines.spark.io.fingerprint import fingerprint, require_frame
from neardup.engines.spark.io.problems import InputProblems, ProblemCounts
from neardup.engines.spark.pair_examples import example_pairs
from neardup.engines.spark.run import SparkRun
from neardup.engines.spark.session.failures import translated
from neardup.engines.spark.session.session import batch_sizes, prepared
from neardup.engines.spark.shuffle.stages import Stages, hadoop_path
from neardup.errors import GuardError, InputError, ParameterError
from neardup.plan import Plan
from neardup.statistics import Statistics


class SparkResult:
    """The result of a run, as DataFrames over the files of its last stage.

    `kept`, `removed` and `annotated` read the documents from the input again. If the guard is on and removals look
    wrong, they raise a GuardError; `report["warnings"]`, `pairs` and `clusters` show the evidence.
    """

    def __init__(
        self,
        run: SparkRun,
        names: list[str],
        source: str | None = None,
        guard: bool | None = False,
        expected: ExpectedShare | None = None,
        compare: tuple[str, ...] | None = None,
    ) -> None:
        self._run, self._names, self._source = run, names, source
        self._guarded, self._expected = is_guarded(run.plan, guard, expected), expected
        self._compare = compare
        self.plan = run.plan

    @cached_property
    def clusters(self) -> DataFrame:
        """id, cluster, leader, keep, duplicate_of, similarity, containment, relation, evidence, size, and
        weakest_link, with average and complete linkage merge_height."""
        return clusters_of(self._run.result, self._run.plan)

    @cached_property
    def pairs(self) -> DataFrame:
        """left, right, similarity, containment, relation, reason, bridge and, with a model, probability."""
        return pairs_of(self._run.result, self.plan)

    @property
    def kept(self) -> DataFrame:
        """The documents to keep, with their own columns."""
        return self._own_columns(self._run.frame.join(self._removed, KEY, "left_anti"))

    @property
    def removed(self) -> DataFrame:
        """The documents to remove, with their own columns."""
        return self._own_columns(self._run.frame.join(self._removed, KEY, "left_semi"))

    def removed_with_reasons(self, id_column: str | None = None) -> DataFrame:
        """The documents to remove, with duplicate_of, similarity and evidence as `annotate` adds them."""
        return self._with_added(self._known.where("not keep"), "inner", REASONS, id_column)

    @property
    def annotated(self) -> DataFrame:
        """All documents with keep, cluster, duplicate_of, similarity, containment and evidence."""
        return self.annotate()

    def annotate(self, id_column: str | None = None) -> DataFrame:
        """Annotated documents; with `id_column`, also with the ids that neardup has assigned.

        An added column whose name the documents have begins with neardup_.
        """
        return self._with_added(self._known, "left", ANNOTATIONS, id_column)

    def _with_added(
        self, known: DataFrame, how: str, added: tuple[str, ...], id_column: str | None
    ) -> DataFrame:
        joined = self._run.frame.join(known, KEY, how)
        joined = joined.withColumn("keep", f.coalesce("keep", f.lit(True)))
        if id_column is not None:
            joined, added = joined.withColumn(id_column, f.col(KEY)), (id_column, *added)
        return self._own_columns(joined, added)

    @cached_property
    def _known(self) -> DataFrame:
        """The decision on each document that has one, by KEY."""
        known = self.clusters.select(f.col("id").alias(KEY), *ANNOTATIONS)
        if self._run.empty is None:
            return known
        of_empty = {"keep": f.lit(False), "duplicate_of": f.col("duplicate_of"), "evidence": f.lit("empty")}
        added = [of_empty.get(name, f.lit(None)).alias(name) for name in ANNOTATIONS]
        return known.unionByName(self._run.empty.select(f.col("id").alias(KEY), *added))

    @property
    def problems(self) -> ProblemCounts:
        """Problems with texts, in the form of a report."""
        return self._run.problems

    @property
    def rows(self) -> int:
        """The number of rows of `pairs`."""
        return int(self._run.decision_metrics["pairs"])

    def example_pairs(self) -> tuple[list[PairExample], list[PairExample]]:
        """The closest pairs of distinct texts, and those nearest to the threshold, while stages are there."""
        return example_pairs(self._run.result, self._run.documents)

    @cached_property
    def report(self) -> dict[str, Any]:
        """Counts, the seconds of each stage, and the plan: the keys of the local engine's report."""
        return self.make_report()

    def make_report(
        self,
        inputs: Sequence[str] = (),
        problems: ProblemCounts | None = None,
        files: Sequence[str] = (),
        outside_article: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The report of a run that read these inputs and wrote these files."""
        context = RunContext(
            engine="spark",
            progress=self._run.stages.progress,
            inputs=list(inputs),
            html_text=self._run.columns.html_text,
            outside_article=outside_article,
            problems=problems or self.problems,
            run=self._source,
            expected=self._expected,
            compare=self._compare,
        )
        unknown: dict[str, Any] = dict.fromkeys(  # only of the driver
            ("cpu_seconds", "peak_memory_bytes", "peak_memory_by_stage")
        )
        if self.plan.view.corpus_aware is not None:
            unknown["common_phrases"] = None
        return {**make_report(self.plan, self._counts(), context, list(files)), **unknown}

    def _counts(self) -> RunCounts:
        run, metrics, found = self._run, self._run.metrics, self._run.decision_metrics
        joins, candidates = self.plan.joins, run.stages.metrics("candidates")
        buckets = bucket_counts(candidates)
        summary = decision_summary(run.result)
        empty = 0 if run.empty is None else int(run.stages.metrics("empty")["removed"])
        return RunCounts(
            documents=metrics["documents"],
            removed=found["removed"] + empty,
            without_tokens=metrics["without_tokens"],
            without_features=run.without_features,
            exact_copies=run.stages.metrics("copies")["copies"],
            clusters=found["clusters"],
            largest_clusters=summary.largest,
            verified_pairs=found["verified"],
            candidates=candidates["pairs"],
            compared_for_clusters=found["compared"],
            text_bytes=metrics["bytes"],
            removals=removal_counts(self.plan, found, empty, summary),
            large_components=found["large_components"],
            buckets=BucketCounts() if joins else buckets,
            posting_lists_truncated=buckets.hot if joins else 0,
        )

    @cached_property
    def _removed(self) -> DataFrame:
        return self._known.where("not keep").select(KEY)

    def _own_columns(self, frame: DataFrame, added: tuple[str, ...] = ()) -> DataFrame:
        """Documents with their own columns under their own names, and the added ones."""
        if self._guarded and (wrong := self.report["warnings"]):
            raise GuardError(wrong)
        own = [
            (column, name)
            for column, name in zip(numbered(self._names), self._names, strict=True)
            if name not in (POSITION, GIVEN_ID)
        ]
        names = [name for _, name in own]
        ours = added_names(added, names)
        own = [(column, name) for column, name in own if name not in ours]
        chosen = frame.select(*(column for column, _ in own), *added)
        return chosen.toDF(*(name for _, name in own), *ours)


def run(
    frame: DataFrame,
    plan: Plan,
    columns: InputColumns | None = None,
    work_dir: str | os.PathLike[str] | None = None,
    statistics: Statistics | None = None,
    strict: bool = False,
    source: str | None = None,
    files: Sequence[str] = (),
    progress: Progress | None = None,
    guard: bool | None = False,
    expected: ExpectedShare | None = None,
    compare: tuple[str, ...] | None = None,
) -> SparkResult:
    """The result of a plan over a DataFrame, computed when this returns.

    A caller that has added positions and ids gives `source`, a digest of the run, and the `files` that positions refer
    to. `guard` is that of `dedup`; without it the caller reads the warnings of the report.
    """
    require_frame(frame)
    check_distribution(plan)
    check_statistics(plan, statistics)
    if source is None and {POSITION, GIVEN_ID} & set(frame.columns):
        raise InputError(
            f"The DataFrame has a column {POSITION} or {GIVEN_ID}, a name that neardup reserves: rename it."
        )
    spark = prepared(frame.sparkSession)
    folder = _temporary_folder(str(spark.sparkContext.master)) if work_dir is None else hadoop_path(work_dir)
    table, document_columns = resolve_columns(plan, frame, columns or InputColumns())
    with translated(folder), batch_sizes(spark):
        name = source or fingerprint(frame, table.select(*document_columns.selected))
        known = {
            "version": neardup.__version__,
            "plan": plan.digest,
            "columns": str(document_columns),
            "input": name,
        }
        stages, problems = Stages(spark, folder, known, progress), InputProblems(strict, tuple(files))
        started = SparkRun(plan, table, document_columns, stages, statistics, problems)
        started.finish(clean=work_dir is None)
    return SparkResult(started, frame.columns, source, guard, expected, compare)


def _temporary_folder(master: str) -> str:
    if not master.startswith("local"):
        raise ParameterError(
            "work_dir", "the Spark engine", f"a folder that all workers of {master} can write to", None
        )
    folder = tempfile.mkdtemp(prefix="neardup-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return hadoop_path(folder)
