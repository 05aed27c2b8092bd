"""Arrow batches in and out of kernels, and 64-bit hashes as signed integers.

Spark has no unsigned integers. A hash is stored as the signed integer of the same order, with its highest bit flipped,
so that min() and sorting in Spark agree with the local engine.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from neardup.columns import Features, Hashes, Numbers

TOP = np.uint64(1 << 63)
OUT_ROWS = 1 << 16  # rows of a batch that is returned to Spark

Batches = Iterator[pa.RecordBatch]


def signed(values: Hashes) -> Numbers:
    """Unsigned integers as signed ones of the same order."""
    return (np.ascontiguousarray(values) ^ TOP).view(np.int64)


def unsigned(values: Numbers) -> Hashes:
    """The inverse of `signed`."""
    return np.ascontiguousarray(values).view(np.uint64) ^ TOP


def in_arrow(frame: DataFrame, function: Callable[[Batches], Batches], schema: str) -> DataFrame:
    """The frame that a function makes of the Arrow batches of each partition; empty batches are skipped."""

    def work(batches: Batches) -> Batches:
        yield from function(each for each in batches if each.num_rows)
        _freeze_imports()

    return frame.mapInArrow(work, schema)


def partition_number() -> int:
    """The number of the partition that this worker processes."""
    task = TaskContext.get()
    return 0 if task is None else task.partitionId()


def _freeze_imports() -> None:
    """Excludes everything imported so far from garbage collection, once per worker.

    Spark's workers collect garbage after every task, and would scan the million objects of compiled kernels each time.
    """
    if not gc.get_freeze_count():
        gc.freeze()


def table(columns: dict[str, Any]) -> pa.RecordBatch:
    """Columns as a batch."""
    return pa.RecordBatch.from_arrays([pa.array(values) for values in columns.values()], list(columns))


def sliced(batch: pa.RecordBatch) -> Batches:
    """A batch in slices of at most OUT_ROWS rows."""
    for start in range(0, batch.num_rows, OUT_ROWS):
        yield batch.slice(start, OUT_ROWS)


def ragged(offsets: Numbers, values: Any) -> pa.Array:
    """One binary value for each document, holding its entries."""
    data = np.ascontiguousarray(values)
    bounds = (offsets * data.itemsize).astype(np.int32)
    return pa.Array.from_buffers(
        pa.binary(), len(offsets) - 1, [None, pa.py_buffer(bounds), pa.py_buffer(data.view(np.uint8))]
    )


def unragged(column: pa.Array, kind: Any) -> tuple[Numbers, Any]:
    """Offsets and entries: the inverse of `ragged`."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if len(column) == 0:
        return np.zeros(1, np.int64), np.zeros(0, kind)
    _, bounds, data = column.buffers()
    offsets = np.frombuffer(bounds, np.int32)[column.offset : column.offset + len(column) + 1].astype(
        np.int64
    )
    raw = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    size = np.dtype(kind).itemsize
    values = np.frombuffer(raw[offsets[0] : offsets[-1]].tobytes(), kind)
    return (offsets - offsets[0]) // size, values


def pack_features(features: Features) -> dict[str, pa.Array]:
    """Features as two binary columns; `weights` is null if they have none."""
    packed = ragged(features.offsets, features.hashes)
    if features.weights is None:
        return {"hashes": packed, "weights": pa.nulls(len(features), pa.binary())}
    return {"hashes": packed, "weights": ragged(features.offsets, features.weights)}


def unpack_features(hashes: pa.Array, weights: pa.Array) -> Features:
    """Distinct features: the inverse of `pack_features`."""
    offsets, values = unragged(hashes, np.uint64)
    known = None if weights.null_count else unragged(weights, np.float32)[1]
    return Features(offsets, values, known, distinct=True)
