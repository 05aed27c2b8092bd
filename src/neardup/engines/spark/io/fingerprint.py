"""What a DataFrame is made of: a name by which a later run knows it again."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from neardup.errors import InputError, ParameterError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SCANS = ("LogicalRelation", "DataSourceV2Relation")


def require_frame(frame: Any) -> None:
    """Refuses what is no DataFrame of Spark, and rows that are others each time they are asked for."""
    if not hasattr(frame, "sparkSession"):
        raise ParameterError("frame", "neardup.spark", "a DataFrame of Spark", type(frame).__name__)
    if hasattr(frame, "_jdf") and not _is_lasting(frame):
        raise InputError(
            "The DataFrame is made by something that gives other values each time (rand, uuid, …), and it is read "
            "more than once: write it to storage and read it from there, or persist() it."
        )


def _is_lasting(frame: DataFrame) -> bool:
    """Whether Spark takes the rows for the same each time, as they are in storage or in a cache."""
    found: Any = frame.select("*")._jdf.queryExecution().withCachedData()  # of a new frame: it looks once
    return bool(found.deterministic())


def fingerprint(frame: DataFrame, wanted: DataFrame) -> str:
    """A name of the input: the files that it is read from, with sizes and times; or else its rows, in any order."""
    known = [wanted.schema.json(), *(_files(frame) if _is_scan(frame) else [_checksum(wanted)])]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:16]


def _is_scan(frame: DataFrame) -> bool:
    """Whether the frame has all rows of some files as they are."""
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


def _checksum(wanted: DataFrame) -> str:
    """The number of rows, and the sum of their hashes."""
    from pyspark.sql import functions as f

    columns = [f.col(name).cast("string") for name in wanted.columns]
    whole = f.xxhash64(*columns, *(column.isNull() for column in columns))  # which skips nulls
    row = wanted.agg(f.count("*").alias("n"), f.sum(whole.cast("decimal(38,0)")).alias("sum")).first()
    return str(row)
