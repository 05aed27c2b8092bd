"""Parquet files that Spark reads itself, if it reads them exactly as the local engine does.

neardup's readers read the others: files behind addresses (Spark would need packages and credentials of its own), files
whose names Spark takes for globs or skips, types that Spark does not have, columns whose type differs between files,
and ids that are neither integers nor strings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from neardup.documents import LIMITS, Problems, Source
from neardup.documents.problems import KEPT_PROBLEMS
from neardup.engines.spark.io.columns import GIVEN_ID, POSITION
from neardup.engines.spark.io.problems import FILE
from neardup.engines.spark.io.types import is_integer, is_native_type
from neardup.remote import is_address

PLAIN = re.compile(r"[A-Za-z0-9_./-]+")  # a path that Spark neither escapes nor expands


def can_spark_read(sources: Sequence[Source], schema: pa.Schema, identity: str | None) -> bool:
    """Whether Spark reads the files exactly as the local engine does, and within its limits."""
    if any(source.format != "parquet" or not source.names() for source in sources):
        return False
    if any(is_address(source.path) for source in sources):  # type: ignore[attr-defined]
        return False
    if any(source.limits != LIMITS for source in sources):  # type: ignore[attr-defined]
        return False
    paths = [_path(source) for source in sources]
    if any(PLAIN.fullmatch(path) is None or Path(path).name.startswith(("_", ".")) for path in paths):
        return False
    if any(name.startswith(("_neardup", "_metadata")) for name in schema.names):
        return False
    same = all(schema.field(each.name).type == each.type for source in sources for each in source.schema())
    return same and all(is_native_type(each.type) for each in schema) and _is_plain_id(schema, identity)


def _path(source: Source) -> str:
    return str(Path(source.path).resolve())  # type: ignore[attr-defined]


def _is_plain_id(schema: pa.Schema, name: str | None) -> bool:
    """Whether ids are integers or strings, which both engines write alike."""
    return (
        name is None
        or is_integer(schema.field(name).type)
        or schema.field(name).type in (pa.string(), pa.large_string())
    )


def read_parquet(
    spark: SparkSession, sources: Sequence[Source], identity: str | None, problems: Problems
) -> DataFrame:
    """The documents of all files with their positions; documents without an id are reported."""
    paths = [_path(source) for source in sources]
    frame = spark.read.option("mergeSchema", str(len(paths) > 1).lower()).parquet(
        *(f"file://{path}" for path in paths)
    )
    known = spark.createDataFrame(
        [
            (path, number, source.name)
            for number, (path, source) in enumerate(zip(paths, sources, strict=True))
        ],
        "_neardup_path string, _neardup_number long, _neardup_source string",
    )
    # Spark writes file:/ or file:/// before a path.
    path = f.regexp_replace("_metadata.file_path", "^file:/+", "/")
    found = frame.select("*", path.alias("_neardup_path"), f.col("_metadata.row_index").alias("_neardup_row"))
    found = found.join(f.broadcast(known), "_neardup_path", "left")
    lost = f.raise_error(f.concat(f.lit("Spark read an unknown file: "), "_neardup_path")).cast("long")
    number = f.when(f.col("_neardup_number").isNull(), lost).otherwise(f.col("_neardup_number"))
    found = found.withColumn(POSITION, number * FILE + f.col("_neardup_row") + 1)
    name = f.concat("_neardup_source", f.lit(":"), (f.col("_neardup_row") + 1).cast("string"))
    if identity is None:
        found = found.withColumn(GIVEN_ID, name)
    elif _report_missing_ids(found, identity, problems):
        found = found.withColumn(GIVEN_ID, f.coalesce(f.col(quoted(identity)).cast("string"), name))
    return found.drop("_neardup_path", "_neardup_row", "_neardup_number", "_neardup_source")


def _report_missing_ids(found: DataFrame, identity: str, problems: Problems) -> bool:
    """Whether documents have no id; these are reported. Spark reads only the id column."""
    missing = found.where(f.col(quoted(identity)).isNull()).select(
        POSITION, "_neardup_source", (f.col("_neardup_row") + 1).alias("number")
    )
    first = missing.orderBy(POSITION).limit(KEPT_PROBLEMS).collect()
    for row in first:
        action = f"named {row['_neardup_source']}:{row['number']}"
        problems.add(row["_neardup_source"], "no id", record=row["number"], action=action)
    if len(first) == KEPT_PROBLEMS:
        problems.counts["no id"] = missing.count()
    return bool(first)


def quoted(name: str) -> str:
    """A column name quoted for SQL."""
    return "`" + name.replace("`", "``") + "`"
