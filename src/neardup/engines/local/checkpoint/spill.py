"""The rows that a stage has made so far: in memory while they are few, spilled to files once they are many."""

from __future__ import annotations

import io
import os
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.errors import OutputError

TOGETHER = 16  # batches that become one of a file


class Window(io.RawIOBase):
    """A part of a file as a file of its own; readers in several threads do not disturb each other."""

    def __init__(self, handle: int, start: int, size: int) -> None:
        self._handle, self._start, self._size, self._at = handle, start, size, 0

    def readable(self) -> bool:
        """It can be read."""
        return True

    def seekable(self) -> bool:
        """It can be read from anywhere."""
        return True

    def tell(self) -> int:
        """Where the next byte is read."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a position in the part."""
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        """The next bytes, as many as were asked for."""
        left = max(0, self._size - self._at)
        data = os.pread(self._handle, left if size < 0 else min(size, left), self._start + self._at)
        self._at += len(data)
        return data


class _Sink(io.RawIOBase):
    """Passes bytes on to a file; knows how many there were, and their checksum."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.size, self.checksum = file, 0, 0

    def writable(self) -> bool:
        """It can be written."""
        return True

    def write(self, data: Any) -> int:
        """Appends bytes."""
        self._file.write(data)
        self.size, self.checksum = self.size + len(data), zlib.crc32(data, self.checksum)
        return len(data)


@dataclass
class SpilledBlock:
    """Consecutive rows in a file: one of the work folder, or a part of the only one that has no name."""

    rows: int
    file: IO[bytes] | Path
    start: int
    size: int
    checksum: int = 0  # of the bytes, for a file that a later run reads

    def is_whole(self) -> bool:
        """Whether its file is what was written."""
        assert isinstance(self.file, Path)
        data = b"" if self.file.is_symlink() else self.file.read_bytes()
        return len(data) == self.size and zlib.crc32(data) == self.checksum

    def column(self, name: str) -> pa.ChunkedArray:
        """One column, and nothing else of the file, read now."""
        with self._window() as window:
            place = pa.ipc.open_file(pa.PythonFile(window, "r")).schema.get_field_index(name)
            window.seek(0)
            some = pa.ipc.IpcReadOptions(included_fields=[place])
            return pa.ipc.open_file(pa.PythonFile(window, "r"), options=some).read_all().column(0)

    def names(self) -> list[str]:
        """The names of its columns."""
        with self._window() as window:
            return list(pa.ipc.open_file(pa.PythonFile(window, "r")).schema.names)

    @contextmanager
    def _window(self) -> Iterator[Window]:
        if not isinstance(self.file, Path):
            yield Window(self.file.fileno(), self.start, self.size)
            return
        with self.file.open("rb") as file:  # not kept open: a long run has thousands of them
            yield Window(file.fileno(), self.start, self.size)


class SpilledRows:
    """The rows of a stage, in the order in which they were added.

    `place` names the file of a segment; None for files without a name, which go with the process. `most` is how
    many bytes of rows wait in memory before they go to a file.
    """

    def __init__(
        self, name: str, place: Callable[[str], Path | None], folder: Any = None, most: int = 64 << 20
    ) -> None:
        self.name, self.complete, self._most = name, False, most
        self.segments: list[SpilledBlock] = []
        self._place, self._folder = place, folder
        self._waiting: list[pa.RecordBatch] = []
        self._unnamed: IO[bytes] | None = None
        self._bytes = self._rows = 0
        self._widths: tuple[int, list[int]] = (0, [])  # of the rows that wait

    def __len__(self) -> int:
        return self._rows + sum(segment.rows for segment in self.segments)

    def add(self, batch: pa.RecordBatch) -> None:
        """Append rows; once they are many they go to a file."""
        if self._waiting and not batch.schema.equals(self._waiting[0].schema):
            self.flush()
        if not self._waiting:
            self._widths = _row_bytes(batch.schema)
        self._waiting.append(batch)
        each, others = self._widths
        self._bytes += each * batch.num_rows + sum(batch.column(place).nbytes for place in others)
        self._rows += batch.num_rows
        if self._bytes >= self._most:
            self.flush()

    def flush(self) -> None:
        """Write what is in memory to a file."""
        if not self._waiting:
            return
        path = self._place(f"{self.name}-{len(self.segments):05}.arrow")
        try:
            if path is not None:
                with self._open(path) as file:
                    self.segments.append(self._written(file, path, 0))
            else:
                self._unnamed = self._unnamed or self._open(None)
                start = self._unnamed.seek(0, os.SEEK_END)
                self.segments.append(self._written(self._unnamed, self._unnamed, start))
                self._unnamed.flush()
        except OSError as error:
            raise cannot_write(error) from None
        self._waiting, self._bytes, self._rows = [], 0, 0

    def _written(self, file: IO[bytes], place: IO[bytes] | Path, start: int) -> SpilledBlock:
        """What waits in memory, written to a file a part at a time: copying all of it costs more than that."""
        sink = _Sink(file)
        with pa.ipc.new_file(pa.PythonFile(sink, "w"), self._waiting[0].schema) as writer:
            for first in range(0, len(self._waiting), TOGETHER):
                part = pa.Table.from_batches(self._waiting[first : first + TOGETHER])
                writer.write_table(part.combine_chunks())
        return SpilledBlock(self._rows, place, start, sink.size, sink.checksum)

    def _open(self, path: Path | None) -> IO[bytes]:
        if path is None:
            return tempfile.TemporaryFile(prefix="neardup-", dir=self._folder)
        return path.open("wb")

    def column(self, name: str) -> pa.ChunkedArray:
        """A column of all rows."""
        if len(self._waiting) > 1:  # once for all columns that will be asked for
            self._waiting = pa.Table.from_batches(self._waiting).combine_chunks().to_batches()
        parts = [chunk for segment in self.segments for chunk in segment.column(name).chunks]
        parts += [batch.column(name) for batch in self._waiting]
        if len({part.type for part in parts}) > 1:
            parts = [part.cast(pa.large_string()) for part in parts]
        return pa.chunked_array(parts)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of all rows, a file at a time."""
        for segment in self.segments:
            columns = {name: segment.column(name) for name in names}
            yield from pa.table(columns).to_batches()
        for batch in self._waiting:
            yield batch.select(list(names))

    def numbers(self, name: str) -> NDArray[Any]:
        """A column of numbers or of truth values, as one array."""
        found = self.column(name)
        parts = [chunk.to_numpy(zero_copy_only=False) for chunk in found.chunks]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def has(self, name: str) -> bool:
        """Whether the rows have such a column."""
        if self._waiting:
            return name in self._waiting[0].schema.names
        return bool(self.segments) and name in self.segments[0].names()

    def close(self) -> None:
        """Free memory and files."""
        if self._unnamed is not None:
            self._unnamed.close()
        self._unnamed = None
        self.segments, self._waiting, self._bytes, self._rows = [], [], 0, 0


def _row_bytes(schema: pa.Schema) -> tuple[int, list[int]]:
    """The bytes that a row has in columns of numbers, and the places of the other columns.

    Arrow's `nbytes` of a whole batch takes as long as signing ten documents.
    """
    fixed = [pa.types.is_primitive(kind) for kind in schema.types]
    bits = sum(kind.bit_width for kind, known in zip(schema.types, fixed, strict=True) if known)
    return bits // 8, [place for place, known in enumerate(fixed) if not known]


def cannot_write(error: OSError) -> OutputError:
    """The error for a work folder that is full or gone."""
    return OutputError(
        f"The work folder cannot be written: {error.strerror or error}; choose another one with --work-dir."
    )


def synced(file: IO[bytes]) -> None:
    """Have everything that was written reach the disk."""
    file.flush()
    os.fsync(file.fileno())
