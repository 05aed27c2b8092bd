"""Files as a DataFrame: parquet by Spark itself, every other format by neardup's readers, one task for a file.

A column with the position of each document is added, and one with an id where documents have none: the name of
their file and their number in it, as in the local engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup.documents import Problems, Source, choose_columns, document_ids, fitted, unified_schema
from neardup.engines.reader import Columns
from neardup.engines.spark.arrow import Batches
from neardup.engines.spark.meaning import GIVEN_ID, POSITION
from neardup.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILE = 1 << 40  # positions of a file begin at its number times this


@dataclass(frozen=True)
class Loaded:
    """The documents of all sources, and what their readers complain about once they have been read."""

    frame: DataFrame
    problems: Any  # an accumulator of dictionaries, or None where Spark reads by itself

    @property
    def counts(self) -> dict[str, int]:
        """Bad records by their kind."""
        total: dict[str, int] = {}
        for kinds in (self.problems.value if self.problems is not None else {}).values():
            for kind, count in kinds.items():
                total[kind] = total.get(kind, 0) + count
        return total


def load(spark: SparkSession, sources: Sequence[Source], columns: Columns, strict: bool = False) -> Loaded:
    """The documents of all sources."""
    names = list(dict.fromkeys(name for source in sources for name in source.names()))
    _, identity = choose_columns(names, text=columns.text, id=columns.id, source="the input")
    taken = {POSITION, GIVEN_ID} & set(names)
    if taken:
        raise InputError(
            f"The input has a column {taken.pop()!r}, a name that neardup uses itself: rename it."
        )
    if all(source.format == "parquet" for source in sources):
        return Loaded(_parquet(spark, sources, identity), None)
    return _by_readers(spark, sources, identity, strict)


def _parquet(spark: SparkSession, sources: Sequence[Source], identity: str | None) -> DataFrame:
    from pyspark.sql import functions as f

    paths = [Path(source.path).absolute().as_uri() for source in sources]  # type: ignore[attr-defined]
    frame = spark.read.option("mergeSchema", str(len(paths) > 1).lower()).parquet(*paths)
    known = spark.createDataFrame(
        [
            (path, number, source.name)
            for number, (path, source) in enumerate(zip(paths, sources, strict=True))
        ],
        "_neardup_path string, _neardup_number long, _neardup_source string",
    )
    found = frame.select(
        "*",
        f.col("_metadata.file_path").alias("_neardup_path"),
        f.col("_metadata.row_index").alias("_neardup_row"),
    )
    found = found.join(f.broadcast(known), "_neardup_path")
    found = found.withColumn(POSITION, f.col("_neardup_number") * FILE + f.col("_neardup_row"))
    if identity is None:
        name = f.concat("_neardup_source", f.lit(":"), (f.col("_neardup_row") + 1).cast("string"))
        found = found.withColumn(GIVEN_ID, name)
    return found.drop("_neardup_path", "_neardup_row", "_neardup_number", "_neardup_source")


def _by_readers(spark: SparkSession, sources: Sequence[Source], identity: str | None, strict: bool) -> Loaded:
    from pyspark.sql.pandas.types import from_arrow_schema

    found = spark.sparkContext.accumulator({}, _by_source())

    stored = unified_schema(sources)
    plain = pa.schema([pa.field(each.name, _storable(each.type)) for each in stored])
    extra = [pa.field(POSITION, pa.int64())] + ([] if identity else [pa.field(GIVEN_ID, pa.string())])
    wanted = pa.schema([*plain, *extra])
    every = list(sources)

    def work(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column("number").to_pylist():
                problems = Problems(strict=strict)
                yield from _read(every[number], number, stored, wanted, identity, problems)
                found.add({number: dict(problems.counts)})

    numbers = spark.createDataFrame([(number,) for number in range(len(every))], "number long")
    frame = numbers.repartition(len(every), "number").mapInArrow(work, from_arrow_schema(wanted))
    return Loaded(frame, found)


def _by_source() -> Any:
    """How counts of sources are added: the last word on each, so that nothing counts twice that is read twice."""
    from pyspark.accumulators import AccumulatorParam

    def zero(self: Any, value: Any) -> Any:
        return {}

    def add(self: Any, value1: Any, value2: Any) -> Any:
        return {**value1, **value2}

    return type("BySource", (AccumulatorParam,), {"zero": zero, "addInPlace": add})()


def _read(
    source: Source,
    number: int,
    stored: pa.Schema,
    wanted: pa.Schema,
    identity: str | None,
    problems: Problems,
) -> Batches:
    """The documents of one source."""
    for batch in source.read(None, problems):
        rows: pa.RecordBatch = fitted(batch.columns, None, stored)
        arrays: list[Any] = [
            _cast(rows.column(each.name), each.type) for each in wanted if each.name in rows.schema.names
        ]
        arrays.append(pa.array(number * FILE + batch.numbers.astype(np.int64)))
        if identity is None:
            arrays.append(document_ids(batch, None).cast(pa.string()))
        yield pa.RecordBatch.from_arrays(arrays, schema=wanted)


def _storable(found: pa.DataType) -> pa.DataType:
    """The type in which Spark holds a column."""
    if pa.types.is_null(found) or pa.types.is_uint64(found) or pa.types.is_large_string(found):
        return pa.string()
    return found


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return column if column.type == kind else column.cast(kind)
