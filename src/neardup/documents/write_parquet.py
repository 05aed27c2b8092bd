"""Parquet out, in row groups of bounded size."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.documents.source import Batch
from neardup.documents.splice import Splicer
from neardup.documents.writers import fitted, full_schema, taken

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ParquetWriter"]

GROUP_BYTES = 8 << 20
GROUP_ROWS = 1 << 20
SYNC_BYTES = 32 << 20

# 275 MB of made-up words, which compress badly, in one column: CPU seconds on one core, size of the file
# (and of news pages of the same size); all but 0.15 s is the codec:
#   zstd 1   1.04 s 135 MB (55)     lz4      0.88 s 209 MB (88)
#   zstd -5  0.69 s 225 MB (85)     snappy   1.22 s 198 MB (99)
#   zstd -7  0.62 s 234 MB (91)     none     0.15 s 275 MB
# What was snappy, for speed, gets a level that is faster still and on real pages smaller too.
CODECS: dict[str, tuple[str, int | None]] = {
    "zstd": ("zstd", 1),
    "zstd-fast": ("zstd", -7),
    "uncompressed": ("none", None),
}


class ParquetWriter:
    """Rows to one parquet file."""

    def __init__(
        self,
        path: Path,
        columns: pa.Schema | Sequence[str],
        extra: pa.Schema | None,
        compression: str | None,
        threads: int = 1,
    ) -> None:
        self._columns, self._extra, self._threads = columns, extra, threads
        self._codec = (compression or "zstd").lower()
        self._schema_out: pa.Schema | None = None
        self._waiting: list[pa.RecordBatch] = []
        self._bytes = self._rows = 0
        self._path = path
        self._groups: RowGroups | ThreadedRowGroups | None = None

    def write(
        self, batch: Batch, rows: NDArray[np.int64] | None = None, extra: pa.RecordBatch | None = None
    ) -> None:
        """Append rows; they reach the file when a row group is full."""
        if rows is not None and not len(rows):
            return
        schema = self._opened(batch.columns.schema)
        if extra is None:
            parts = runs(fitted(batch.columns, None, schema), rows)
        else:
            parts = [fitted(taken(batch.columns, rows), extra, schema)]
        self._waiting += parts
        self._rows += sum(part.num_rows for part in parts)
        self._bytes += (
            batch.columns.nbytes if rows is None else batch.columns.nbytes * len(rows) // len(batch)
        )
        if self._bytes >= GROUP_BYTES or self._rows >= GROUP_ROWS:
            self._flush()

    def _opened(self, found: pa.Schema | None) -> pa.Schema:
        if self._schema_out is None:
            self._schema_out = storable(full_schema(self._schema(found), self._extra))
            kind = RowGroups if self._threads == 1 else ThreadedRowGroups
            self._groups = kind(self._path, self._schema_out, self._codec, self._threads)
        return self._schema_out

    def _schema(self, found: pa.Schema | None) -> pa.Schema:
        if isinstance(self._columns, pa.Schema):
            return self._columns
        known = {} if found is None else {field.name: field for field in found}
        return pa.schema([known.get(name, pa.field(name, pa.string())) for name in self._columns])

    def _flush(self) -> None:
        if self._waiting and self._groups is not None:
            self._groups.add(pa.Table.from_batches(self._waiting, self._schema_out))
        self._waiting, self._bytes, self._rows = [], 0, 0

    def close(self) -> None:
        """Finish the file; one without rows still has its columns."""
        self._opened(None)
        self._flush()
        if self._groups is not None:
            self._groups.close()


class RowGroups:
    """A parquet file, row group after row group."""

    def __init__(self, path: Path, schema: pa.Schema, codec: str, threads: int) -> None:
        self._file = open_parquet(path, schema, codec)

    def add(self, table: pa.Table) -> None:
        """Encode and write a row group."""
        self._file.write_table(table, row_group_size=GROUP_ROWS)

    def close(self) -> None:
        """Write the footer."""
        self._file.close()


class ThreadedRowGroups:
    """The same file, byte for byte, its row groups encoded in several threads and then put together."""

    def __init__(self, path: Path, schema: pa.Schema, codec: str, threads: int) -> None:
        self._schema, self._codec, self._threads = schema, codec, threads
        self._file = path.open("wb")
        self._splicer = Splicer(self._file)
        self._pool = ThreadPoolExecutor(threads + 1, thread_name_prefix="neardup-write")
        self._syncing: Future[None] | None = None
        self._unsynced = 0
        self._rooms: list[pa.Buffer] = []
        self._encoding: deque[Future[tuple[pa.Buffer, int]]] = deque()
        self._empty = True

    def add(self, table: pa.Table) -> None:
        """Have a row group encoded; wait for an earlier one if too many are under way."""
        self._empty = False
        while len(self._encoding) >= self._threads:
            self._write()
        room = self._rooms.pop() if self._rooms else None
        self._encoding.append(self._pool.submit(self._encoded, table, room))

    def _write(self) -> None:
        room, size = self._encoding.popleft().result()
        self._splicer.add(memoryview(room)[:size])
        self._rooms.append(room)
        self._sync(size)

    def _sync(self, written: int) -> None:
        """Have the disk begin with what is written, so that there is little to wait for at the end."""
        self._unsynced += written
        if self._unsynced >= SYNC_BYTES and (self._syncing is None or self._syncing.done()):
            self._syncing = self._pool.submit(os.fsync, self._file.fileno())
            self._unsynced = 0

    def _encoded(self, table: pa.Table, room: pa.Buffer | None) -> tuple[pa.Buffer, int]:
        """A parquet file of one row group in memory that is used again and again, and its size."""
        size = table.nbytes + table.nbytes // 16 + (1 << 20)  # what cannot be compressed grows a little
        if room is None or room.size < size:
            room = pa.allocate_buffer(size)
        sink = pa.FixedSizeBufferWriter(room)
        with open_parquet(sink, self._schema, self._codec) as file:
            if table.num_rows:
                file.write_table(table, row_group_size=GROUP_ROWS)
        return room, sink.tell()

    def close(self) -> None:
        """Write what is under way, and the footer."""
        try:
            if self._empty:
                self.add(self._schema.empty_table())
            while self._encoding:
                self._write()
            self._splicer.close()
        finally:
            self._file.close()
            self._pool.shutdown(cancel_futures=True)


def open_parquet(target: Any, schema: pa.Schema, codec: str) -> pq.ParquetWriter:
    """A writer with settings for long texts."""
    # Statistics of a text column would hold whole documents; ids and numbers have them.
    short = [field.name for field in schema if not _long(field.type)]
    coded = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    compression, level = CODECS.get(codec, (codec, None))
    return pq.ParquetWriter(
        target,
        schema,
        compression=compression,
        compression_level=level,
        use_dictionary=coded,
        write_statistics=short,
        data_page_size=1 << 20,
        write_batch_size=256,  # rows between two looks at the page's size: documents are long
    )


def storable(schema: pa.Schema) -> pa.Schema:
    """The schema with strings for the types that parquet does not have."""
    if _accepted(schema):
        return schema
    fields = [each if _accepted(pa.schema([each])) else each.with_type(pa.string()) for each in schema]
    return pa.schema(fields, metadata=schema.metadata)


def _accepted(schema: pa.Schema) -> bool:
    try:
        pq.ParquetWriter(pa.BufferOutputStream(), schema).close()
    except pa.ArrowException:
        return False
    return True


def runs(columns: pa.RecordBatch, rows: NDArray[np.int64] | None) -> list[pa.RecordBatch]:
    """The rows as slices of the batch, which copy nothing; copied where they are scattered."""
    if rows is None:
        return [columns]
    breaks = np.flatnonzero(np.diff(rows) != 1) + 1
    if len(breaks) > len(rows) // 4:
        return [taken(columns, rows)]
    starts, stops = (
        rows[np.concatenate([[0], breaks])],
        rows[np.concatenate([breaks - 1, [len(rows) - 1]])] + 1,
    )
    return [columns.slice(a, b - a) for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]


def _long(found: Any) -> bool:
    if pa.types.is_dictionary(found):
        return _long(found.value_type)
    return not pa.types.is_primitive(found)
