"""The fingerprint of a DataFrame, by which a resumed run recognises its input."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.errors import InputError, ParameterError

SCANS = ("LogicalRelation", "DataSourceV2Relation")


def require_frame(frame: Any) -> None:
    """Raises for anything but a Spark DataFrame, and for one that Spark calls nondeterministic."""
    if not hasattr(frame, "sparkSession"):
        raise ParameterError("frame", "neardup.spark", "a DataFrame of Spark", type(frame).__name__)
    if hasattr(frame, "_jdf") and not _is_deterministic(frame):
        raise InputError(
            "The DataFrame is nondeterministic (rand, uuid, …), and neardup reads it more than once: write it to "
            "storage and read it from there, or persist() it."
        )


def _is_deterministic(frame: DataFrame) -> bool:
    """Whether Spark computes the same rows each time, from storage or from its cache."""
    new: Any = frame.select("*")._jdf  # of a frame, Spark caches the answer
    return bool(new.queryExecution().withCachedData().deterministic())


def fingerprint(frame: DataFrame, columns: DataFrame) -> str:
    """A digest of the input: of its files with sizes and times, or else of its rows in any order."""
    known = [columns.schema.json(), *(_files(frame) if _is_scan(frame) else [_checksum(columns)])]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:16]


def _is_scan(frame: DataFrame) -> bool:
    """Whether the frame is an unmodified scan of files."""
    plan: Any = frame._jdf.queryExecution().analyzed()
    while plan.getClass().getSimpleName() == "SubqueryAlias":
        plan = plan.child()
    return plan.getClass().getSimpleName() in SCANS and bool(frame.inputFiles())


def _files(frame: DataFrame) -> list[str]:
    spark: Any = frame.sparkSession
    known = []
    for name in sorted(frame.inputFiles()):
        path = spark._jvm.org.apache.hadoop.fs.Path(spark._jvm.java.net.URI(name))
        status = path.getFileSystem(spark._jsc.hadoopConfiguration()).getFileStatus(path)
        known.append(f"{name} {status.getLen()} {status.getModificationTime()}")
    return known


def _checksum(frame: DataFrame) -> str:
    """The number of rows, and the sum of their hashes."""
    columns = [f.col(name).cast("string") for name in frame.columns]
    whole = f.xxhash64(*columns, *(column.isNull() for column in columns))  # xxhash64 skips nulls
    row = frame.agg(f.count("*").alias("n"), f.sum(whole.cast("decimal(38,0)")).alias("sum")).first()
    return str(row)
