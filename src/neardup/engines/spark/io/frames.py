"""A run over a DataFrame, and its result as DataFrames."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cached_property
from typing import TYPE_CHECKING, Any

import neardup
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.progress import Progress
from neardup.engines.core.represent import check_statistics
from neardup.engines.spark.candidates.find import check_distribution
from neardup.engines.spark.io.columns import GIVEN_ID, KEY, POSITION, numbered, resolve_columns
from neardup.engines.spark.io.fingerprint import fingerprint, require_frame
from neardup.engines.spark.run import SparkRun
from neardup.engines.spark.session.failures import translated
from neardup.engines.spark.session.session import batch_sizes, prepared, require_spark
from neardup.engines.spark.shuffle.stages import Stages, hadoop_path
from neardup.errors import InputError, ParameterError
from neardup.plan import Plan
from neardup.statistics import Statistics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ADDED = ("keep", "cluster", "duplicate_of", "similarity", "containment")  # columns of annotated documents


class SparkResult:
    """The result of a run, as DataFrames over the files of its last stage.

    `kept`, `removed` and `annotated` read the documents from the input again.
    """

    def __init__(self, run: SparkRun, names: list[str]) -> None:
        self._run, self._names = run, names
        self.plan = run.plan

    @cached_property
    def clusters(self) -> DataFrame:
        """id, cluster, leader, keep, duplicate_of, similarity, containment, size, weakest_link."""
        return self._run.clusters

    @cached_property
    def pairs(self) -> DataFrame:
        """left, right, similarity, containment, reason, bridge."""
        return self._run.pairs

    @property
    def kept(self) -> DataFrame:
        """The documents to keep, with their own columns."""
        return self._own_columns(self._run.frame.join(self._removed, KEY, "left_anti"))

    @property
    def removed(self) -> DataFrame:
        """The documents to remove, with their own columns."""
        return self._own_columns(self._run.frame.join(self._removed, KEY, "left_semi"))

    @property
    def annotated(self) -> DataFrame:
        """All documents with keep, cluster, duplicate_of, similarity and containment, which replace their own."""
        from pyspark.sql import functions as f

        known = self.clusters.select(f.col("id").alias(KEY), *ADDED)
        joined = self._run.frame.join(known, KEY, "left")
        return self._own_columns(joined.withColumn("keep", f.coalesce("keep", f.lit(True))), ADDED)

    @cached_property
    def report(self) -> dict[str, Any]:
        """Counts, the seconds of each stage, and the plan."""
        metrics, found, counts = self._run.metrics, self._run.decision_metrics, self._run.counts
        copies = self._run.stages.metrics("copies")["copies"]
        cut = {"posting_lists_truncated": counts.hot} if self.plan.joins else {"above_limit": counts.hot}
        return {
            "neardup": neardup.__version__,
            "digest": self.plan.digest,
            "documents": metrics["documents"],
            "kept": metrics["documents"] - found["removed"],
            "removed": found["removed"],
            "without_tokens": metrics["without_tokens"],
            "exact_copies": copies,
            "clusters": found["clusters"],
            "pairs": {
                "verified": found["pairs"] - copies,
                "candidates": self._run.stages.metrics("candidates")["pairs"],
            },
            "buckets": {
                "count": counts.buckets,
                "largest": counts.largest,
                **cut,
                "pairs_skipped": counts.skipped,
            },
            "problems": self._run.problems,
            "text_bytes": metrics["bytes"],
            "seconds": {name: round(value, 3) for name, value in self._run.stages.progress.seconds.items()},
            "plan": self.plan.to_dict(),
        }

    @cached_property
    def _removed(self) -> DataFrame:
        from pyspark.sql import functions as f

        return self.clusters.where("not keep").select(f.col("id").alias(KEY))

    def _own_columns(self, frame: DataFrame, added: tuple[str, ...] = ()) -> DataFrame:
        """Documents with their own columns under their own names, and the added ones."""
        hidden = (POSITION, GIVEN_ID, *added)
        own = [
            (column, name)
            for column, name in zip(numbered(self._names), self._names, strict=True)
            if name not in hidden
        ]
        chosen = frame.select(*(column for column, _ in own), *added)
        return chosen.toDF(*(name for _, name in own), *added)


def run(
    frame: DataFrame,
    plan: Plan,
    columns: InputColumns | None = None,
    work_dir: str | os.PathLike[str] | None = None,
    statistics: Statistics | None = None,
    strict: bool = False,
    source: str | None = None,
    progress: Progress | None = None,
) -> SparkResult:
    """The result of a plan over a DataFrame, computed when this returns.

    `source` is a digest of the input from a caller that has added positions and ids.
    """
    require_spark()
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
        started = SparkRun(
            plan, table, document_columns, Stages(spark, folder, known, progress), statistics, strict
        )
        started.finish(clean=work_dir is None)
    return SparkResult(started, frame.columns)


def _temporary_folder(master: str) -> str:
    if not master.startswith("local"):
        raise ParameterError(
            "work_dir", "the Spark engine", f"a folder that all workers of {master} can write to", None
        )
    folder = tempfile.mkdtemp(prefix="neardup-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return hadoop_path(folder)
