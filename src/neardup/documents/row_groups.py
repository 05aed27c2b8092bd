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
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from neardup.documents.footers import (
    COLUMNS,
    I16,
    I32,
    I64,
    LIST,
    META,
    ROW_GROUPS,
    STRUCT,
    Fields,
    read_struct,
    write_struct,
)
from neardup.documents.late_texts import PLAIN, RLE, LateColumn

MAGIC = b"PAR1"
ROWS = 3  # of FileMetaData
GROUP_UNCOMPRESSED, GROUP_OFFSET, GROUP_COMPRESSED, ORDINAL = 2, 5, 6, 7  # of RowGroup
CHUNK_OFFSET = 2  # of ColumnChunk
TYPE, ENCODINGS, PATH, CODEC, VALUES, UNCOMPRESSED, COMPRESSED = range(1, 8)  # of ColumnMetaData
DATA_OFFSET, ENCODING_STATS = 9, 13
PAGE_OFFSETS = (DATA_OFFSET, 10, 11)  # data, index and dictionary pages
LEAST_ROOM = 1 << 20  # bytes of a buffer
SYNC_BYTES = 32 << 20
MOST_THREADS = 16  # each holds a row group and its encoded bytes
GROUP_ROWS = 1 << 20


@dataclass
class Encoded:
    """A row group as it would stand in a file of its own: what is between the magic bytes, in parts."""

    parts: list[Any]
    footer: Fields
    buffer: pa.Buffer  # that the parts are slices of

    def with_column(self, late: LateColumn) -> Encoded:
        """The same with the texts of a late column instead of what took their place."""
        group = self.footer[ROW_GROUPS][1][1][0]
        chunks = group[COLUMNS][1][1]
        place = next(
            n for n, chunk in enumerate(chunks) if chunk[META][1][PATH][1][1] == [late.name.encode()]
        )
        meta: Fields = chunks[place][META][1]
        start = min(meta[name][1] for name in PAGE_OFFSETS if name in meta and meta[name][1] > 0) - len(MAGIC)
        stop = start + meta[COMPRESSED][1]
        parts, whole, pages = late.encoded()
        size = sum(memoryview(part).nbytes for part in parts)
        grown, added = size - (stop - start), whole - meta[UNCOMPRESSED][1]
        for chunk in chunks:
            if chunk[META][1][DATA_OFFSET][1] > start + len(MAGIC) and chunk is not chunks[place]:
                _move_chunk(chunk, grown)
        known = {name: meta[name] for name in (TYPE, PATH, CODEC, VALUES)}
        counted = {1: (I32, 0), 2: (I32, PLAIN), 3: (I32, pages)}  # of data pages in this encoding
        chunks[place][META] = (
            STRUCT,
            known
            | {
                ENCODINGS: (LIST, (I32, [PLAIN, RLE])),
                UNCOMPRESSED: (I64, whole),
                COMPRESSED: (I64, size),
                DATA_OFFSET: (I64, start + len(MAGIC)),
                ENCODING_STATS: (LIST, (STRUCT, [counted])),
            },
        )
        for name, more in ((GROUP_UNCOMPRESSED, added), (GROUP_COMPRESSED, grown)):
            if name in group:
                group[name] = (I64, group[name][1] + more)
        body = self.parts[0]
        return Encoded([body[:start], *parts, body[stop:]], self.footer, self.buffer)


class Group(Protocol):
    """A row group to be."""

    @property
    def late(self) -> LateColumn | None:
        """A column that is not in the table, but for what takes its place."""

    def table(self, late: LateColumn | None) -> pa.Table:
        """The other columns, or all of them."""


class RowGroupWriter:
    """A parquet file, row group by row group. `opened` gives a writer to a stream."""

    def __init__(self, path: Path, opened: Callable[[Any], pq.ParquetWriter], threads: int) -> None:
        self._file, self._opened = path.open("wb", buffering=0), opened
        self._threads = min(threads, MOST_THREADS)
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="neardup-encode")
        self._buffers: deque[pa.Buffer] = deque()
        self._encoded: deque[Future[Encoded]] = deque()
        self._footer: Fields = {}
        self._position = 0
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="neardup-sync")
        self._syncing: Future[None] | None = None
        self._synced = 0  # where the sync begins that comes next

    def write(self, group: Group) -> None:
        """Append a row group, which is in the file some time later."""
        if self._threads == 1:
            self._append(self._encode(group))
            return
        self._encoded.append(self._pool.submit(self._encode, group))
        while len(self._encoded) > self._threads:  # one more than threads: none waits for the first of them
            self._append(self._encoded.popleft().result())

    def close(self) -> None:
        """Write the other row groups and the footer."""
        with self._file, self._pool, self._disk:
            while self._encoded:
                self._append(self._encoded.popleft().result())
            if not self._footer:
                self._append(self._encode(None))
            footer = write_struct(self._footer)
            self._put([footer + struct.pack("<I", len(footer)) + MAGIC])
            if self._syncing is not None:
                self._syncing.result()

    def _encode(self, group: Group | None) -> Encoded:
        """The row group, as it would stand in a file of its own."""
        late = None if group is None else group.late
        table = None if group is None else group.table(late)
        buffer = self._buffer(LEAST_ROOM + (0 if table is None else table.nbytes * 5 // 4))
        sink = pa.FixedSizeBufferWriter(buffer)
        try:
            self._write_to(sink, table)
            size = sink.tell()
        except OSError:  # it does not fit: to memory that grows
            growing = pa.BufferOutputStream()
            self._write_to(growing, table)
            buffer = growing.getvalue()
            size = buffer.size
        whole = memoryview(buffer)[:size]
        end = size - 8 - int(struct.unpack("<I", whole[-8:-4])[0])
        footer, _ = read_struct(bytes(whole[end:-8]), 0)
        encoded = Encoded([whole[len(MAGIC) : end]], footer, buffer)
        return encoded if late is None else encoded.with_column(late)

    def _write_to(self, sink: Any, table: pa.Table | None) -> None:
        with self._opened(sink) as writer:
            if table is not None:
                writer.write_table(table, row_group_size=GROUP_ROWS)

    def _buffer(self, room: int) -> pa.Buffer:
        """A buffer of that size, used before if there is one."""
        try:
            buffer = self._buffers.pop()
        except IndexError:
            return pa.allocate_buffer(room)
        return buffer if buffer.size >= room else pa.allocate_buffer(room)

    def _append(self, encoded: Encoded) -> None:
        """Write a row group behind the others."""
        if not self._position:
            self._put([MAGIC])
        groups = encoded.footer[ROW_GROUPS][1][1]
        for group in groups:
            _move(group, self._position - len(MAGIC))
        if self._footer:
            known = self._footer[ROW_GROUPS][1][1]
            for ordinal, group in enumerate(groups, len(known)):
                if ORDINAL in group:
                    group[ORDINAL] = (I16, ordinal)
            known += groups
            self._footer[ROWS] = (I64, self._footer[ROWS][1] + encoded.footer[ROWS][1])
        else:
            self._footer = encoded.footer
        self._put(encoded.parts)
        if encoded.buffer.is_mutable:
            self._buffers.append(encoded.buffer)

    def _put(self, parts: Sequence[Any]) -> None:
        for part in parts:
            view = memoryview(part).cast("B")
            self._position += len(view)
            while len(view):
                view = view[self._file.write(view) :]
        if self._position - self._synced >= SYNC_BYTES and (self._syncing is None or self._syncing.done()):
            if self._syncing is not None:
                self._syncing.result()  # an error is told once
            self._syncing, self._synced = self._disk.submit(os.fsync, self._file.fileno()), self._position


class RowGroupStream:
    """The same to a stream, in the calling thread."""

    def __init__(self, writer: pq.ParquetWriter) -> None:
        self._writer = writer

    def write(self, group: Group) -> None:
        """Write a row group."""
        self._writer.write_table(group.table(None), row_group_size=GROUP_ROWS)

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()


def _move(group: Fields, shift: int) -> None:
    """Add the shift to every offset of a row group."""
    _shift(group, GROUP_OFFSET, shift)
    for chunk in group[COLUMNS][1][1]:
        _move_chunk(chunk, shift)


def _move_chunk(chunk: Fields, shift: int) -> None:
    _shift(chunk, CHUNK_OFFSET, shift)
    for name in PAGE_OFFSETS:
        _shift(chunk[META][1], name, shift)


def _shift(fields: Fields, name: int, shift: int) -> None:
    if name in fields and fields[name][1] > 0:  # 0 and -1 mean that there is none
        fields[name] = (I64, fields[name][1] + shift)
