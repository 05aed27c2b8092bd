"""A parquet file whose row groups are encoded in several threads, with the bytes that one thread would write.

A parquet writer compresses a column in one thread. So each row group is encoded to memory as a file of its own; the
bodies of these files are written one behind the other, and their footers become one, with offsets that grow by where a
body came to lie. Buffers are used again: encoding to fresh memory took half as much time again. What is written goes
to the disk meanwhile, so that the file is durable soon after its end.
"""

from __future__ import annotations

import os
import struct
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from neardup.documents.footers import COLUMNS, I16, I64, META, ROW_GROUPS, Fields, read_struct, write_struct

MAGIC = b"PAR1"
ROWS = 3  # of FileMetaData
GROUP_OFFSET, ORDINAL = 5, 7  # of RowGroup
CHUNK_OFFSET = 2  # of ColumnChunk
PAGE_OFFSETS = (9, 10, 11)  # of ColumnMetaData: data, index and dictionary pages
LEAST_ROOM = 1 << 20  # bytes of a buffer
SYNC_BYTES = 32 << 20
MOST_THREADS = 4  # each holds a row group and its encoded bytes


class RowGroupWriter:
    """Like `pq.ParquetWriter`; each table becomes a row group. `opened` gives a writer to a stream."""

    def __init__(
        self, path: Path, opened: Callable[[Any], pq.ParquetWriter], schema: pa.Schema, threads: int
    ) -> None:
        self._file, self._opened, self._schema = path.open("wb", buffering=0), opened, schema
        self._threads = min(threads, MOST_THREADS)
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="neardup-encode")
        self._buffers: deque[pa.Buffer] = deque()
        self._encoded: deque[Future[tuple[pa.Buffer, int]]] = deque()
        self._footer: Fields = {}
        self._position = 0
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="neardup-sync")
        self._syncing: Future[None] | None = None
        self._synced = 0  # where the sync begins that comes next

    def write_table(self, table: pa.Table, row_group_size: int) -> None:
        """Append a row group, which is in the file some time later."""
        self._encoded.append(self._pool.submit(self._encode, table, row_group_size))
        if len(self._encoded) >= self._threads:
            self._append(*self._encoded.popleft().result())

    def close(self) -> None:
        """Write the other row groups and the footer."""
        with self._file, self._pool, self._disk:
            if not self._encoded and not self._footer:
                self.write_table(self._schema.empty_table(), 1)
            while self._encoded:
                self._append(*self._encoded.popleft().result())
            footer = write_struct(self._footer)
            self._put(memoryview(footer + struct.pack("<I", len(footer)) + MAGIC))
            if self._syncing is not None:
                self._syncing.result()

    def _encode(self, table: pa.Table, row_group_size: int) -> tuple[pa.Buffer, int]:
        """The bytes of a file of its own: a buffer, and how much of it is used."""
        buffer = self._buffer(LEAST_ROOM + table.nbytes * 5 // 4)
        sink = pa.FixedSizeBufferWriter(buffer)
        try:
            self._write_to(sink, table, row_group_size)
            return buffer, sink.tell()
        except OSError:  # it does not fit: to memory that grows
            growing = pa.BufferOutputStream()
            self._write_to(growing, table, row_group_size)
            buffer = growing.getvalue()
            return buffer, buffer.size

    def _buffer(self, room: int) -> pa.Buffer:
        """A buffer of that size, used before if there is one."""
        try:
            buffer = self._buffers.pop()
        except IndexError:
            return pa.allocate_buffer(room)
        return buffer if buffer.size >= room else pa.allocate_buffer(room)

    def _write_to(self, sink: Any, table: pa.Table, row_group_size: int) -> None:
        with self._opened(sink) as writer:
            if table.num_rows:
                writer.write_table(table, row_group_size=row_group_size)

    def _append(self, buffer: pa.Buffer, size: int) -> None:
        """Write the row group of an encoded file behind the others."""
        piece = memoryview(buffer)[:size]
        end = size - 8 - int(struct.unpack("<I", piece[-8:-4])[0])
        footer, _ = read_struct(bytes(piece[end:-8]), 0)
        start = 0 if not self._position else len(MAGIC)
        groups = footer[ROW_GROUPS][1][1]
        for group in groups:
            _move(group, self._position - start)
        if self._footer:
            known = self._footer[ROW_GROUPS][1][1]
            for ordinal, group in enumerate(groups, len(known)):
                if ORDINAL in group:
                    group[ORDINAL] = (I16, ordinal)
            known += groups
            self._footer[ROWS] = (I64, self._footer[ROWS][1] + footer[ROWS][1])
        else:
            self._footer = footer
        self._put(piece[start:end])
        if buffer.is_mutable:
            self._buffers.append(buffer)

    def _put(self, view: memoryview) -> None:
        self._position += len(view)
        while len(view):
            view = view[self._file.write(view) :]
        if self._position - self._synced >= SYNC_BYTES and (self._syncing is None or self._syncing.done()):
            if self._syncing is not None:
                self._syncing.result()  # an error is told once
            self._syncing, self._synced = self._disk.submit(os.fsync, self._file.fileno()), self._position


def _move(group: Fields, shift: int) -> None:
    """Add the shift to every offset of a row group."""
    _shift(group, GROUP_OFFSET, shift)
    for chunk in group[COLUMNS][1][1]:
        _shift(chunk, CHUNK_OFFSET, shift)
        for name in PAGE_OFFSETS:
            _shift(chunk[META][1], name, shift)


def _shift(fields: Fields, name: int, shift: int) -> None:
    if name in fields and fields[name][1] > 0:  # 0 and -1 mean that there is none
        fields[name] = (I64, fields[name][1] + shift)
