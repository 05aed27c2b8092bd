"""Files as a DataFrame: parquet by Spark itself, every other format by neardup's readers, one task for a file.

A column with the position of each document is added, and one with an id where documents have none that Spark can
hold: the name of their file and their number in it, as in the local engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

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
from neardup.engines.spark.io.columns import GIVEN_ID, POSITION
from neardup.engines.spark.io.parquet import FILE, is_for_spark, read_parquet
from neardup.engines.spark.io.problems import ProblemCounts, joined_problems, no_documents, problem_counts
from neardup.engines.spark.io.types import is_integer, storable, stored
from neardup.engines.spark.shuffle.arrow import Batches
from neardup.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Loaded:
    """The documents of all sources, and what their readers complain about once they have been read."""

    frame: DataFrame
    sources: Sequence[Source]
    told: Callable[[], list[ProblemCounts]]  # of each source, as far as it has been read

    @property
    def problems(self) -> ProblemCounts:
        """Bad records, as in the report of the local engine."""
        return joined_problems(self.told())


@dataclass(frozen=True)
class Names:
    """The column of texts; the column of ids of each source, or None where it has none."""

    text: str
    ids: list[str | None]

    @property
    def id(self) -> str | None:
        """The one column of ids that all sources have."""
        return self.ids[0] if len(set(self.ids)) == 1 else None


def load(
    spark: SparkSession,
    sources: Sequence[Source],
    columns: InputColumns,
    strict: bool = False,
    by_spark: bool = True,
) -> Loaded:
    """The documents of all sources; `by_spark` says whether Spark may read files itself, if it can."""
    schema = unified_schema(sources)
    if not schema.names:
        raise no_documents(sources, _complaints(sources, strict))
    names = _names(sources, columns)
    _check_names(schema.names)
    if by_spark and len(set(names.ids)) == 1 and is_for_spark(sources, schema, names.id):
        problems = Problems(strict=strict)
        frame = read_parquet(spark, sources, names.id, problems)
        return Loaded(frame, sources, lambda: [problem_counts(problems)])
    return _by_readers(spark, sources, schema, names, strict)


def _complaints(sources: Sequence[Source], strict: bool) -> ProblemCounts:
    """What is wrong with sources in which no column could be found."""
    problems = Problems(strict=strict)
    for source in sources:
        for _ in source.read([], problems):
            pass
        if problems.first:
            break
    return problem_counts(problems)


def _names(sources: Sequence[Source], columns: InputColumns) -> Names:
    """What the columns mean; a source in which nothing could be read has a say in nothing."""
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
            f"The texts are in column {texts[0]!r} of some files and in {texts[1]!r} of others, which the Spark "
            "engine does not bring together: name one that all have with --text-column, or rename it."
        )
    usual = known[0][1] if known else columns.id
    return Names(
        texts[0] if texts else columns.text or "text", [each[1] if each else usual for each in found]
    )


def _check_names(names: Sequence[str]) -> None:
    """Refuses columns that a DataFrame cannot have."""
    taken = {POSITION, GIVEN_ID} & set(names)
    if taken:
        raise InputError(
            f"The input has a column {taken.pop()!r}, a name that neardup uses itself: rename it."
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"The input has more than one column {twice[0]!r}, which parquet files of Spark cannot hold: rename one."
        )


def _by_readers(
    spark: SparkSession, sources: Sequence[Source], schema: pa.Schema, names: Names, strict: bool
) -> Loaded:
    from pyspark.sql.pandas.types import from_arrow_schema

    found = spark.sparkContext.accumulator({}, _by_source())
    every, number = list(sources), _numbers(spark, len(sources))
    plain = pa.schema([pa.field(each.name, storable(each.type)) for each in schema])
    given = (
        names.id is None
        or not is_integer(schema.field(names.id).type)
        or _has_nameless(number, every, names.id)
    )
    extra = [pa.field(POSITION, pa.int64())] + ([pa.field(GIVEN_ID, pa.string())] if given else [])
    reading = Reading(schema, pa.schema([*plain, *extra]), names, given)

    def work(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column("number").to_pylist():
                problems = Problems(strict=strict)
                yield from reading.read(every[number], number, problems)
                found.add({number: problem_counts(problems)})

    frame = number.mapInArrow(work, from_arrow_schema(reading.wanted))

    def told() -> list[ProblemCounts]:
        if len(found.value) < len(every):  # a run that goes on need not have read them again
            frame.count()
        return [each for _, each in sorted(found.value.items())]

    return Loaded(frame, sources, told)


def _numbers(spark: SparkSession, count: int) -> DataFrame:
    numbers = spark.createDataFrame([(number,) for number in range(count)], "number long")
    return numbers.repartition(count, "number")


def _by_source() -> Any:
    """How words on sources are added: the last one on each, so that nothing counts twice that is read twice."""
    from pyspark.accumulators import AccumulatorParam

    def zero(self: Any, value: Any) -> Any:
        return {}

    def add(self: Any, value1: Any, value2: Any) -> Any:
        return {**value1, **value2}

    return type("BySource", (AccumulatorParam,), {"zero": zero, "addInPlace": add})()


def _has_nameless(numbers: DataFrame, sources: list[Source], identity: str) -> bool:
    """Whether some documents have no id: all ids are texts then. Integers must be known before the first is read."""

    def work(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column("number").to_pylist():
                read = sources[number].read([identity], Problems())
                missing = sum(each.columns.column(0).null_count for each in read)
                yield pa.RecordBatch.from_pydict({"missing": pa.array([missing], pa.int64())})

    return bool(numbers.mapInArrow(work, "missing long").where("missing > 0").limit(1).count())


@dataclass(frozen=True)
class Reading:
    """How a source becomes rows of the DataFrame."""

    schema: pa.Schema  # of all sources
    wanted: pa.Schema  # of the DataFrame
    names: Names
    given: bool  # whether ids have a column of their own

    def read(self, source: Source, number: int, problems: Problems) -> Batches:
        """The documents of one source."""
        for batch in self._batches(source, number, problems):
            rows: pa.RecordBatch = fitted(batch.columns, None, self.schema)
            arrays = [
                stored(column, self.wanted.field(place).type) for place, column in enumerate(rows.columns)
            ]
            arrays.append(pa.array(number * FILE + batch.numbers.astype(np.int64)))
            if self.given:
                arrays.append(document_ids(batch, self.names.ids[number], problems).cast(pa.string()))
            yield pa.RecordBatch.from_arrays(arrays, schema=self.wanted)

    def _batches(self, source: Source, number: int, problems: Problems) -> Iterator[Batch]:
        """All columns. A parquet file is read for texts and ids first: where these are damaged is no document."""
        if source.format != "parquet":
            yield from source.read(None, problems)
            return
        wanted = [name for name in (self.names.text, self.names.ids[number]) if name is not None]
        for _ in source.read(wanted, problems):
            pass
        known = tuple(f"damaged column: {name} of row group" for name in wanted)

        def late(problem: Problem) -> None:
            if not problem.reason.startswith(known):
                problems.add_late(problem)

        yield from source.read(None, Problems(sink=late))
