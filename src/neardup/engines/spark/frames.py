"""A run over a DataFrame, and its result as DataFrames."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from functools import cached_property
from typing import TYPE_CHECKING, Any

from neardup.engines.reader import Columns
from neardup.engines.reading import _check_statistics
from neardup.engines.spark.failures import translated
from neardup.engines.spark.meaning import GIVEN_ID, POSITION
from neardup.engines.spark.running import SparkRun
from neardup.engines.spark.session import prepared, require_spark
from neardup.engines.spark.stages import Stages
from neardup.errors import ParameterError
from neardup.plan import Plan
from neardup.statistics import Statistics

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


class Result:
    """What a run on Spark found and decided, as DataFrames over the files of its last stage."""

    def __init__(self, run: SparkRun) -> None:
        self._run = run
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
        """The documents that stay, with the columns that they came with."""
        return self._without(
            self._run.frame.join(self._removed, self._id == self._removed["_removed"], "left_anti")
        )

    @property
    def removed(self) -> DataFrame:
        """The documents that go."""
        return self._without(
            self._run.frame.join(self._removed, self._id == self._removed["_removed"], "left_semi")
        )

    @property
    def annotated(self) -> DataFrame:
        """All documents with keep, cluster, duplicate_of, similarity and containment."""
        from pyspark.sql import functions as f

        wanted = ["keep", "cluster", "duplicate_of", "similarity", "containment"]
        known = self.clusters.select(f.col("id").alias("_known"), *wanted)
        joined = self._run.frame.join(known, self._id == known["_known"], "left").drop("_known")
        return self._without(joined.withColumn("keep", f.coalesce("keep", f.lit(True))))

    @cached_property
    def report(self) -> dict[str, Any]:
        """Counts of what was found, and the seconds of each stage."""
        facts, found = self._run.facts, self._run.found
        report = {
            "digest": self.plan.digest,
            "documents": facts["documents"],
            "kept": facts["documents"] - found["removed"],
            "removed": found["removed"],
            "without_tokens": facts["empty"],
            "exact_copies": self._run.stages.facts("copies")["copies"],
            "clusters": found["clusters"],
            "pairs": found["pairs"],
            "seconds": {name: round(value, 3) for name, value in self._run.stages.seconds.items()},
            "plan": self.plan.to_dict(),
        }
        if not self.plan.joins:
            counts = self._run.counts
            report["buckets"] = {
                "count": counts.buckets,
                "largest": counts.largest,
                "above_limit": counts.hot,
                "pairs_not_compared_there": counts.skipped,
            }
        return report

    @property
    def _id(self) -> Column:
        return self._run.frame[self._run.meaning.id]

    @cached_property
    def _removed(self) -> DataFrame:
        from pyspark.sql import functions as f

        return self.clusters.where("not keep").select(f.col("id").alias("_removed"))

    def _without(self, frame: DataFrame) -> DataFrame:
        return frame.drop(POSITION, GIVEN_ID)


def run(
    frame: DataFrame,
    plan: Plan,
    columns: Columns | None = None,
    work_dir: str | None = None,
    statistics: Statistics | None = None,
) -> Result:
    """The result of a plan over a DataFrame, decided when this returns."""
    require_spark()
    _check_statistics(plan, statistics)
    spark = prepared(frame.sparkSession)
    folder = work_dir or _temporary(str(spark.sparkContext.master))
    with translated(folder):
        stages = Stages(spark, folder, {"plan": plan.digest, "input": fingerprint(frame)})
        started = SparkRun(plan, frame, columns or Columns(), stages, statistics)
        _ = started.result
    return Result(started)


def _temporary(master: str) -> str:
    if not master.startswith("local"):
        raise ParameterError(
            "work_dir", "the Spark engine", f"a folder that all workers of {master} can write to", None
        )
    folder = tempfile.mkdtemp(prefix="neardup-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return f"file://{folder}"


def fingerprint(frame: DataFrame) -> str:
    """A name of the input: its columns, and the files behind it with their sizes and times; or, without files, its
    rows, whatever their order."""
    import hashlib

    from pyspark.sql import functions as f

    known = [frame.schema.json()]
    files = sorted(frame.inputFiles())
    spark = frame.sparkSession
    jvm: Any = spark._jvm
    for name in files:
        path = jvm.org.apache.hadoop.fs.Path(name)
        status = path.getFileSystem(spark._jsc.hadoopConfiguration()).getFileStatus(path)
        known.append(f"{name} {status.getLen()} {status.getModificationTime()}")
    if not files:
        whole = f.xxhash64(f.struct(*[f.col(f"`{name}`").cast("string") for name in frame.columns]))
        row = frame.agg(f.count("*").alias("n"), f.sum(whole.cast("decimal(38,0)")).alias("sum")).first()
        known.append(str(row))
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:16]
