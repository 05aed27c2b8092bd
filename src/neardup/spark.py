"""`dedup` and `pairs` over Spark DataFrames, with the plans, kernels and results of the local engine.

from neardup import spark

result = spark.dedup(frame, threshold=0.8, work_dir="hdfs:///runs/first")
result.kept.write.parquet("hdfs:///clean")
"""

from __future__ import annotations

import os
from typing import Any

from neardup.engines.core.documents import InputColumns
from neardup.engines.core.expected_share import ExpectedShare
from neardup.engines.core.guard import check_guard
from neardup.engines.spark.session.session import make_session, require_spark
from neardup.engines.spark.session.start import SparkError
from neardup.errors import ParameterError
from neardup.plan import Plan
from neardup.plans import make_plan, with_statistics
from neardup.statistics import Statistics

require_spark()  # reports a missing or old pyspark in one line, before the engine imports it

from pyspark.sql import DataFrame  # noqa: E402

from neardup.engines.spark.io.frames import SparkResult, run  # noqa: E402

__all__ = ["SparkError", "SparkResult", "dedup", "make_session", "pairs"]


def dedup(
    frame: DataFrame,
    plan: Plan | None = None,
    *,
    text_column: str | None = None,
    id_column: str | None = None,
    html: bool | None = None,
    work_dir: str | os.PathLike[str] | None = None,
    statistics: Statistics | str | os.PathLike[str] | None = None,
    df_unit: str | None = None,
    guard: bool | None = None,
    expect_removed: float | tuple[float, float] | None = None,
    **options: Any,
) -> SparkResult:
    """Near-duplicates among the rows of a DataFrame, computed when this returns.

    Give a plan (`neardup.make_plan`), or a method and its options as to `neardup.dedup`. `work_dir` is a folder that
    all workers can write to, on any storage that Spark supports; a run with the same plan and input resumes from its
    complete stages. Without `work_dir`, which only local mode allows, stages are in a temporary folder. `guard` and
    `expect_removed` are those of `neardup.dedup`: documents of a run whose removals look wrong are not handed out.
    """
    if plan is not None and options:
        raise ParameterError("plan", "spark.dedup", "given alone, without method or options", sorted(options))
    check_guard(guard)
    plan, known = with_statistics(plan or make_plan(**options), statistics, df_unit)
    columns, expected = InputColumns(text_column, id_column, html), ExpectedShare.of(expect_removed)
    return run(frame, plan, columns, work_dir, known, guard=guard, expected=expected)


def pairs(frame: DataFrame, plan: Plan | None = None, **options: Any) -> DataFrame:
    """All near-duplicate pairs among the rows of a DataFrame; the options are those of `dedup`."""
    if plan is not None:
        return dedup(frame, plan.with_(pairs="all"), **options).pairs
    return dedup(frame, **{"pairs": "all", "clusters": "components", **options}).pairs
