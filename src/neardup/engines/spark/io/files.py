"""Input files as a DataFrame: Spark reads parquet itself, neardup's readers read other formats, one task per file.

The DataFrame has a column with the position of each document and, if the ids are missing or of a type that Spark does
not have, a column of ids: file name and number, as in the local engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.accumulators import AccumulatorParam
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from neardup.documents import (
    Batch,
    Problem,
    Problems,
    Source,
    choose_columns,
    document_ids,
    fitted,
    unified_schema,
)
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.report import problem_counts
from neardup.engines.spark.io.columns import GIVEN_ID, POSITION
from neardup.engines.spark.io.parquet import can_spark_read, read_parquet
from neardup.engines.spark.io.problems import FILE, ProblemCounts, joined_problems, no_documents
from neardup.engines.spark.io.types import is_integer, storable, stored
from neardup.engines.spark.shuffle.arrow import Batches
from neardup.errors import InputError


@dataclass(frozen=True)
class LoadedDocuments:
    """The documents of all sources, and the problems that their readers report."""

    frame: DataFrame
    sources: Sequence[Source]
    names: SourceColumns
    source_problems: Callable[[], list[ProblemCounts]]  # for each source

    @cached_property
    def problems(self) -> ProblemCounts:
        """The problems of all sources, as in the local engine's report, after they have been read."""
        return joined_problems(self.source_problems())

    @property
    def id_column(self) -> str | None:
        """The name of a column for assigned ids, after the sources have been read; None if all documents have ids."""
        if None not in self.names.ids and "no id" not in self.problems["counts"]:
            return None
        return "document_id" if any("id" in source.names() for source in self.sources) else "id"


@dataclass(frozen=True)
class SourceColumns:
    """The column of texts, and the column of ids of each source, None if it has none."""

    text: str
    ids: list[str | None]

    @property
    def id(self) -> str | None:
        """The column of ids, if all sources have the same one."""
        return self.ids[0] if len(set(self.ids)) == 1 else None


def load(
    spark: SparkSession,
    sources: Sequence[Source],
    columns: InputColumns,
    strict: bool = False,
    by_spark: bool = True,
) -> LoadedDocuments:
    """The documents of all sources; with `by_spark`, Spark reads the files itself if it supports them."""
    schema = unified_schema(sources)
    if not schema.names:
        raise no_documents(sources, _problems_of(sources, strict))
    names = _names(sources, columns)
    _check_names(schema.names)
    if by_spark and len(set(names.ids)) == 1 and can_spark_read(sources, schema, names.id):
        problems = Problems(strict=strict)
        frame = read_parquet(spark, sources, names.id, problems)
        return LoadedDocuments(frame, sources, names, lambda: [problem_counts(problems)])
    return _by_readers(spark, sources, schema, names, strict)


def _problems_of(sources: Sequence[Source], strict: bool) -> ProblemCounts:
    """The problems of sources in which no column was found."""
    problems = Problems(strict=strict)
    for source in sources:
        for _ in source.read([], problems):
            pass
        if problems.first:
            break
    return problem_counts(problems)


def _names(sources: Sequence[Source], columns: InputColumns) -> SourceColumns:
    """The columns of texts and ids; unreadable sources are ignored."""
    found = [
        choose_columns(source.names(), text=columns.text, id=columns.id, source=source.name)
        if source.names()
        else None
        for source in sources
    ]
    known = [each for each in found if each is not None]
    texts = list(dict.fromkeys(text for text, _ in known))
    if len(texts) > 1:
        raise InputError(
            f"The texts are in column {texts[0]!r} of some files and in {texts[1]!r} of others; the Spark engine "
            "needs one column: name one that all files have with --text-column, or rename it."
        )
    usual = known[0][1] if known else columns.id
    return SourceColumns(
        texts[0] if texts else columns.text or "text", [each[1] if each else usual for each in found]
    )


def _check_names(names: Sequence[str]) -> None:
    """Raises for reserved and for repeated column names."""
    taken = {POSITION, GIVEN_ID} & set(names)
    if taken:
        raise InputError(f"The input has a column {taken.pop()!r}, a name that neardup reserves: rename it.")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"The input has more than one column {twice[0]!r}; Spark cannot write them to parquet: rename one."
        )


def _by_readers(
    spark: SparkSession, sources: Sequence[Source], schema: pa.Schema, names: SourceColumns, strict: bool
) -> LoadedDocuments:
    found = spark.sparkContext.accumulator({}, _LastBySource())
    every, number = list(sources), _numbers(spark, len(sources))
    plain = pa.schema([pa.field(each.name, storable(each.type)) for each in schema])
    adds_ids = (
        names.id is None
        or not is_integer(schema.field(names.id).type)
        or _has_missing_ids(number, every, names.id)
    )
    extra = [pa.field(POSITION, pa.int64())] + ([pa.field(GIVEN_ID, pa.string())] if adds_ids else [])
    reader = SourceReader(schema, pa.schema([*plain, *extra]), names, adds_ids)

    def work(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column("number").to_pylist():
                problems = Problems(strict=strict)
                yield from reader.read(every[number], number, problems)
                found.add({number: problem_counts(problems)})

    frame = number.mapInArrow(work, from_arrow_schema(reader.output))

    def source_problems() -> list[ProblemCounts]:
        if len(found.value) < len(every):  # a resumed run has not read the sources
            frame.count()
        return [each for _, each in sorted(found.value.items())]

    return LoadedDocuments(frame, sources, names, source_problems)


def _numbers(spark: SparkSession, count: int) -> DataFrame:
    numbers = spark.createDataFrame([(number,) for number in range(count)], "number long")
    return numbers.repartition(count, "number")


class _LastBySource(AccumulatorParam[dict[int, ProblemCounts]]):
    """Keeps the last value for each source, so that a source read twice counts once."""

    def zero(self, value: dict[int, ProblemCounts]) -> dict[int, ProblemCounts]:
        return {}

    def addInPlace(self, value1: Any, value2: Any) -> dict[int, ProblemCounts]:
        return {**value1, **value2}


def _has_missing_ids(numbers: DataFrame, sources: list[Source], identity: str) -> bool:
    """Whether a document has no id. Then all ids are strings, and the type must be known before reading."""

    def work(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column("number").to_pylist():
                read = sources[number].read([identity], Problems())
                missing = sum(each.columns.column(0).null_count for each in read)
                yield pa.RecordBatch.from_pydict({"missing": pa.array([missing], pa.int64())})

    return bool(numbers.mapInArrow(work, "missing long").where("missing > 0").limit(1).count())


@dataclass(frozen=True)
class SourceReader:
    """Reads a source into rows of the DataFrame."""

    schema: pa.Schema  # of all sources
    output: pa.Schema  # of the DataFrame
    names: SourceColumns
    adds_ids: bool  # whether the DataFrame has a column of assigned ids

    def read(self, source: Source, number: int, problems: Problems) -> Batches:
        """The documents of one source."""
        for batch in self._batches(source, number, problems):
            rows: pa.RecordBatch = fitted(batch.columns, None, self.schema)
            arrays = [
                stored(column, self.output.field(place).type) for place, column in enumerate(rows.columns)
            ]
            arrays.append(pa.array(number * FILE + batch.numbers.astype(np.int64)))
            if self.adds_ids:
                arrays.append(document_ids(batch, self.names.ids[number], problems).cast(pa.string()))
            yield pa.RecordBatch.from_arrays(arrays, schema=self.output)

    def _batches(self, source: Source, number: int, problems: Problems) -> Iterator[Batch]:
        """Batches with all columns. Parquet texts and ids are read first: rows without them are no documents."""
        if source.format != "parquet":
            yield from source.read(None, problems)
            return
        required = [name for name in (self.names.text, self.names.ids[number]) if name is not None]
        for _ in source.read(required, problems):
            pass
        known = tuple(f"damaged column: {name} of row group" for name in required)

        def late(problem: Problem) -> None:
            if not problem.reason.startswith(known):
                problems.add_late(problem)

        yield from source.read(None, Problems(sink=late))
