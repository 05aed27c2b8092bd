"""Packed blocks: the values of many documents as one binary value, so that Spark shuffles few rows.

One Spark row for each key or pair costs more than the kernels' work on it. A task packs all values for one target part
into one Arrow stream, with the number of the part as shuffle key; the receiving task unpacks whole arrays.

A document's place is the number of its chunk (a row of the first stage) and its row in the chunk, in one integer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from neardup.columns import Hashes, Numbers
from neardup.engines.spark.shuffle.arrow import Batches, in_arrow, table
from neardup.errors import ParameterError
from neardup.sorted_sets import run_starts

PACKED = "part int, packed binary"
COUNTS_PART = -1  # the part of blocks that hold counts instead of documents
ROW_BITS = 16  # low bits of a place: the row in its chunk; the chunk number is above them
OUT_BYTES = 16 << 20  # bytes of blocks that are returned to Spark in one batch
TASK_BYTES = 64 << 20  # bytes of packed blocks that a task should receive
LEAST_BYTES = 4 << 20  # bytes from which on another task is worth starting
PARTITIONS = "spark.neardup.partitions"  # a Spark setting that fixes the number of receiving tasks
BROADCAST_ROWS = 1 << 20  # rows up to which a join is a broadcast join
Arrays = Mapping[str, Any]
PackedBlocks = Iterator[tuple[int, Arrays]]  # target part and columns of each block


def task_count(spark: SparkSession, size: float) -> int:
    """The number of tasks that should receive `size` bytes."""
    given = spark.conf.get(PARTITIONS, None)
    if given:
        if not given.isdigit() or int(given) < 1:
            raise ParameterError(PARTITIONS, "the Spark engine", "a whole number of at least 1", given)
        return int(given)
    worth = min(spark.sparkContext.defaultParallelism, -(-int(size) // LEAST_BYTES))
    return max(1, worth, -(-int(size) // TASK_BYTES))


def pack(columns: Arrays | pa.RecordBatch, compression: str | None = None) -> bytes:
    """Columns of equal length as one Arrow stream."""
    batch = columns if isinstance(columns, pa.RecordBatch) else table(dict(columns))
    sink = pa.BufferOutputStream()
    _write(sink, batch, compression)
    return sink.getvalue().to_pybytes()


def _write(sink: Any, batch: pa.RecordBatch, compression: str | None = None) -> None:
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as stream:
        stream.write_batch(batch)


def unpack(packed: pa.Scalar) -> pa.Table:
    """The inverse of `pack`, without a copy."""
    return pa.ipc.open_stream(packed.as_buffer()).read_all()


def split(columns: Arrays, target: Numbers) -> PackedBlocks:
    """The rows of columns, grouped by target part."""
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
    """Rows of PACKED: the blocks that a step makes of each partition."""

    def work(batches: Batches) -> Batches:
        yield from packed_rows(step(batches))

    return in_arrow(frame, work, PACKED)


def packed_rows(blocks: PackedBlocks) -> Batches:
    """Rows of PACKED, in batches of about OUT_BYTES."""
    parts: list[int] = []
    ends, sink = [0], pa.BufferOutputStream()
    for part, columns in blocks:
        _write(sink, table(dict(columns)))
        parts.append(part)
        ends.append(sink.tell())
        if ends[-1] > OUT_BYTES:
            yield _rows(parts, ends, sink)
            parts, ends, sink = [], [0], pa.BufferOutputStream()
    if parts:
        yield _rows(parts, ends, sink)


def _rows(parts: list[int], ends: list[int], sink: pa.BufferOutputStream) -> pa.RecordBatch:
    """Blocks that were written to one buffer, as rows."""
    buffers = [None, pa.py_buffer(np.array(ends, np.int32)), sink.getvalue()]
    return table(
        {"part": np.array(parts, np.int32), "packed": pa.Array.from_buffers(pa.binary(), len(parts), buffers)}
    )


def shuffled(frame: DataFrame, tasks: int) -> DataFrame:
    """Blocks of one part in one task; parts are spread evenly over tasks."""
    target = f.pmod(f.col("part"), f.lit(tasks))
    # Spark 4.0 has no repartitionById: it hashes part numbers, so two parts may share a task while another is idle.
    send: Any = getattr(frame, "repartitionById", frame.repartition)
    moved: DataFrame = send(tasks, target)
    return moved


def received(batches: Batches) -> dict[int, pa.Table]:
    """The rows of each part that this task received, concatenated."""
    found: dict[int, list[pa.Table]] = {}
    for batch in batches:
        parts = batch.column("part").to_pylist()
        for part, packed in zip(parts, batch.column("packed"), strict=True):
            found.setdefault(part, []).append(unpack(packed))
    return {part: pa.concat_tables(some).combine_chunks() for part, some in sorted(found.items())}


def column(some: pa.Table | pa.RecordBatch, name: str) -> Any:
    """A column without nulls as an array."""
    return some.column(name).to_numpy(zero_copy_only=False)


def part_of(names: Any, parts: int | Numbers) -> Numbers:
    """A part number below `parts` for each value; equal values get equal parts."""
    mixed: Hashes = np.asarray(names).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return ((mixed >> np.uint64(33)) % np.asarray(parts, np.uint64)).astype(np.int64)


# places -------------------------------------------------------------------------------------------


def places_of(chunk: int, rows: Numbers) -> Numbers:
    """The places of rows of a chunk."""
    return (np.int64(chunk) << ROW_BITS) | rows.astype(np.int64)


def by_chunk(frame: DataFrame, work: Callable[[Batches], Iterator[Arrays]], tasks: int) -> DataFrame:
    """ROWS_BY_CHUNK: the rows that `work` yields, grouped by the chunk of their place.

    `work` yields columns, one of them `place`; duplicate rows are dropped.
    """

    def step(batches: Batches) -> PackedBlocks:
        for columns in work(batches):
            yield from split(columns, part_of(np.asarray(columns["place"]) >> ROW_BITS, tasks))

    return in_arrow(shuffled(in_blocks(frame, step), tasks), rows_by_chunk, ROWS_BY_CHUNK)


def distinct_rows(values: dict[str, Any]) -> dict[str, Any]:
    """Rows by ascending place, without duplicates."""
    order = np.lexsort([*(each for name, each in values.items() if name != "place"), values["place"]])
    values = {name: each[order] for name, each in values.items()}
    new = np.ones(len(order), np.bool_)
    if len(order):
        new[1:] = np.any([each[1:] != each[:-1] for each in values.values()], axis=0)
    return {name: each[new] for name, each in values.items()}


ROWS_BY_CHUNK = "chunk long, count long, rows binary"  # rows: a packed block of all rows of the chunk


def rows_by_chunk(batches: Batches) -> Batches:
    """One row of ROWS_BY_CHUNK for each chunk that has any."""
    tables = list(received(batches).values())
    if not tables:
        return
    some = pa.concat_tables(tables)
    values = distinct_rows({name: column(some, name) for name in some.column_names})
    chunks = values["place"] >> ROW_BITS
    starts = run_starts(chunks)
    for start, end in pairwise(starts.tolist()):
        mine = {name: each[start:end] for name, each in values.items()}
        yield pa.RecordBatch.from_pydict(
            {"chunk": [int(chunks[start])], "count": [end - start], "rows": [pack(mine)]}
        )


def join_chunks(chunks: DataFrame, rows: DataFrame, name: str, how: str, broadcast: bool) -> DataFrame:
    """Chunks with the rows of `rows_by_chunk` as column `name`, by a broadcast or a shuffled join."""
    some = rows.where("chunk >= 0").select("chunk", f.col("rows").alias(name))
    return chunks.join(f.broadcast(some) if broadcast else some, "chunk", how)
