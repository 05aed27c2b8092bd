"""Parcels: the values of many documents in one row of bytes, so that Spark moves bytes and our kernels see arrays.

A row for each key or pair costs Spark more than our work on it. So a task packs what is meant for one place into
one value, an Arrow stream, and writes the place beside it; Spark shuffles those few rows; the task that receives them
unpacks whole arrays. Documents lie in chunks, rows of the first stage, and are found again by their place there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup.columns import Hashes, Numbers
from neardup.engines.spark.shuffle.arrow import Batches, in_arrow, table
from neardup.errors import ParameterError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PACKED = "part int, packed binary"
TALLY = -1  # the part of parcels that hold counts and no documents
ROW_BITS = 16  # of a place: the row in its chunk; the chunk is above
OUT_BYTES = 16 << 20  # of parcels that are handed to Spark together
TASK_BYTES = 64 << 20  # of packed values that a task should receive
LEAST_BYTES = 4 << 20  # … for which a task is worth starting
PARTITIONS = "spark.neardup.partitions"  # a setting: so many tasks receive parcels, whatever the size
FEW = 1 << 20  # rows that every worker may see
Arrays = Mapping[str, Any]
PackedBlocks = Iterator[tuple[int, Arrays]]  # the part that each is for


def task_count(spark: SparkSession, size: float) -> int:
    """How many tasks should receive values of so many bytes."""
    given = spark.conf.get(PARTITIONS, None)
    if given:
        if not given.isdigit() or int(given) < 1:
            raise ParameterError(PARTITIONS, "the Spark engine", "a whole number of at least 1", given)
        return int(given)
    worth = min(spark.sparkContext.defaultParallelism, -(-int(size) // LEAST_BYTES))
    return max(1, worth, -(-int(size) // TASK_BYTES))


def pack(columns: Arrays | pa.RecordBatch, compression: str | None = None) -> bytes:
    """Columns of equal length as bytes."""
    batch = columns if isinstance(columns, pa.RecordBatch) else table(dict(columns))
    sink = pa.BufferOutputStream()
    _write(sink, batch, compression)
    return sink.getvalue().to_pybytes()


def _write(sink: Any, batch: pa.RecordBatch, compression: str | None = None) -> None:
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as stream:
        stream.write_batch(batch)


def unpack(packed: pa.Scalar) -> pa.Table:
    """What was packed, over the same memory."""
    return pa.ipc.open_stream(packed.as_buffer()).read_all()


def split(columns: Arrays, target: Numbers) -> PackedBlocks:
    """The rows of some columns by their target."""
    if len(target) == 0:
        return
    order = np.argsort(target, kind="stable")
    parts, starts = np.unique(target[order], return_index=True)
    ends = np.append(starts[1:], len(target))
    if len(parts) == 1:
        yield int(parts[0]), dict(columns)
        return
    moved = {
        name: values.take(pa.array(order)) if isinstance(values, pa.Array) else values[order]
        for name, values in columns.items()
    }
    for part, start, end in zip(parts.tolist(), starts.tolist(), ends.tolist(), strict=True):
        yield part, {name: values[start:end] for name, values in moved.items()}


def in_blocks(frame: DataFrame, step: Callable[[Batches], PackedBlocks]) -> DataFrame:
    """Rows of PACKED: what a step makes of the batches of each partition."""

    def work(batches: Batches) -> Batches:
        yield from packed_rows(step(batches))

    return in_arrow(frame, work, PACKED)


def packed_rows(parcels: PackedBlocks) -> Batches:
    """Rows of PACKED, some megabytes at a time."""
    parts: list[int] = []
    ends, sink = [0], pa.BufferOutputStream()
    for part, columns in parcels:
        _write(sink, table(dict(columns)))
        parts.append(part)
        ends.append(sink.tell())
        if ends[-1] > OUT_BYTES:
            yield _rows(parts, ends, sink)
            parts, ends, sink = [], [0], pa.BufferOutputStream()
    if parts:
        yield _rows(parts, ends, sink)


def _rows(parts: list[int], ends: list[int], sink: pa.BufferOutputStream) -> pa.RecordBatch:
    """Parcels that were written one behind the other."""
    buffers = [None, pa.py_buffer(np.array(ends, np.int32)), sink.getvalue()]
    return table(
        {"part": np.array(parts, np.int32), "packed": pa.Array.from_buffers(pa.binary(), len(parts), buffers)}
    )


def shuffled(frame: DataFrame, tasks: int) -> DataFrame:
    """Parcels of one part in one task, parts spread evenly."""
    from pyspark.sql import functions as f

    target = f.pmod(f.col("part"), f.lit(tasks))
    # Spark 4.0 has no direct way: there parts that are alike may share a task, and another has none.
    send: Any = getattr(frame, "repartitionById", frame.repartition)
    moved: DataFrame = send(tasks, target)
    return moved


def received(batches: Batches) -> dict[int, pa.Table]:
    """All that came for each part of a task, in memory."""
    found: dict[int, list[pa.Table]] = {}
    for batch in batches:
        parts = batch.column("part").to_pylist()
        for part, packed in zip(parts, batch.column("packed"), strict=True):
            found.setdefault(part, []).append(unpack(packed))
    return {part: pa.concat_tables(some).combine_chunks() for part, some in sorted(found.items())}


def column(some: pa.Table, name: str) -> Any:
    """A column as an array."""
    return some.column(name).to_numpy()


def part_of(names: Any, parts: int | Numbers) -> Numbers:
    """A part for each name, of so many, equal ones alike; names are hashes, or a few bits beside one."""
    mixed: Hashes = np.asarray(names).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return ((mixed >> np.uint64(33)) % np.asarray(parts, np.uint64)).astype(np.int64)


# places -------------------------------------------------------------------------------------------


def places_of(chunk: int, rows: Numbers) -> Numbers:
    """The places of rows of a chunk."""
    return (np.int64(chunk) << ROW_BITS) | rows.astype(np.int64)


def by_chunk(frame: DataFrame, work: Callable[[Batches], Iterator[Arrays]], tasks: int) -> DataFrame:
    """Rows (chunk, count, wanted): what `work` says of places, one row for each chunk that has any.

    `work` gives columns of which one is `place`; of rows that are equal in all of them one is kept.
    """

    def step(batches: Batches) -> PackedBlocks:
        for columns in work(batches):
            yield from split(columns, part_of(np.asarray(columns["place"]) >> ROW_BITS, tasks))

    return in_arrow(shuffled(in_blocks(frame, step), tasks), gathered, GATHERED)


def distinct_rows(values: dict[str, Any]) -> dict[str, Any]:
    """Rows by ascending place; of those that are equal one."""
    order = np.lexsort([*(each for name, each in values.items() if name != "place"), values["place"]])
    values = {name: each[order] for name, each in values.items()}
    new = np.ones(len(order), np.bool_)
    if len(order):
        new[1:] = np.any([each[1:] != each[:-1] for each in values.values()], axis=0)
    return {name: each[new] for name, each in values.items()}


GATHERED = "chunk long, count long, wanted binary"


def gathered(batches: Batches) -> Batches:
    """One row for each chunk."""
    tables = list(received(batches).values())
    if not tables:
        return
    some = pa.concat_tables(tables)
    values = distinct_rows({name: column(some, name) for name in some.column_names})
    chunks = values["place"] >> ROW_BITS
    starts = np.append(np.flatnonzero(np.diff(chunks, prepend=-2)), len(chunks))
    for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        mine = {name: each[start:end] for name, each in values.items()}
        yield pa.RecordBatch.from_pydict(
            {"chunk": [int(chunks[start])], "count": [end - start], "wanted": [pack(mine)]}
        )


def beside(chunks: DataFrame, wanted: DataFrame, how: str, few: bool) -> DataFrame:
    """Chunks with what is wanted of them; where that is little, it goes to the chunks and they stay where they are."""
    from pyspark.sql import functions as f

    some = wanted.where("chunk >= 0").select("chunk", "wanted")
    return chunks.join(f.broadcast(some) if few else some, "chunk", how)
