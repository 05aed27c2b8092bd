"""What a stage has made so far, row by row: in memory while it is little, in files once it is much."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.columns import Numbers
from neardup.errors import OutputError


@dataclass
class Segment:
    """Consecutive rows in a file of their own; single columns of it can be read."""

    file: IO[bytes]
    rows: int
    name: str | None = None  # in the work folder
    synced: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def column(self, name: str) -> pa.ChunkedArray:
        """One column, read now."""
        with self._lock:
            whole = pa.ipc.open_file(pa.PythonFile(self.file, "r"))
            place = whole.schema.get_field_index(name)
            some = pa.ipc.IpcReadOptions(included_fields=[place])
            return pa.ipc.open_file(pa.PythonFile(self.file, "r"), options=some).read_all().column(0)

    def schema(self) -> pa.Schema:
        """The names and types of its columns."""
        with self._lock:
            return pa.ipc.open_file(pa.PythonFile(self.file, "r")).schema


class Rows:
    """The rows of a stage, in the order in which they were added.

    `place` names the file of a segment; None for files without a name, which go with the process. `most` is how
    many bytes of rows are held before they go to a file.
    """

    def __init__(
        self, name: str, place: Callable[[str], Path | None], folder: Any = None, most: int = 64 << 20
    ) -> None:
        self.name, self.complete, self._most = name, False, most
        self.segments: list[Segment] = []
        self._place, self._folder = place, folder
        self._waiting: list[pa.RecordBatch] = []
        self._bytes = self._rows = 0

    def __len__(self) -> int:
        return self._rows + sum(segment.rows for segment in self.segments)

    def add(self, batch: pa.RecordBatch) -> None:
        """Append rows; once they are many they go to a file."""
        if self._waiting and not batch.schema.equals(self._waiting[0].schema):
            self.flush()
        self._waiting.append(batch)
        self._bytes += batch.nbytes
        self._rows += batch.num_rows
        if self._bytes >= self._most:
            self.flush()

    def flush(self) -> None:
        """Write what is in memory to a file."""
        if not self._waiting:
            return
        name = f"{self.name}-{len(self.segments):05}.arrow"
        try:
            file = self._open(self._place(name))
            table = pa.Table.from_batches(self._waiting).combine_chunks()
            with pa.ipc.new_file(pa.PythonFile(file, "w"), table.schema) as writer:
                writer.write_table(table)
            file.flush()
        except OSError as error:
            raise cannot_write(error) from None
        self.segments.append(Segment(file, self._rows, name))
        self._waiting, self._bytes, self._rows = [], 0, 0

    def _open(self, path: Path | None) -> IO[bytes]:
        if path is None:
            return tempfile.TemporaryFile(prefix="neardup-", dir=self._folder)
        return path.open("w+b")

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
        return bool(self.segments) and name in self.segments[0].schema().names

    def close(self) -> None:
        """Give memory and files back."""
        for segment in self.segments:
            segment.file.close()
        self.segments, self._waiting, self._bytes, self._rows = [], [], 0, 0


def fixed_lists(values: NDArray[Any]) -> pa.Array:
    """A matrix as a column: one row of it for each document."""
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])


def matrix(column: pa.ChunkedArray) -> NDArray[Any]:
    """The matrix that such a column holds."""
    width = column.type.list_size
    parts = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in column.chunks]
    return np.concatenate(parts).reshape(-1, width)


def ragged(offsets: Numbers, values: NDArray[Any]) -> pa.Array:
    """Lists of any length as a column."""
    return pa.LargeListArray.from_arrays(
        pa.array(offsets - offsets[0]), pa.array(values[offsets[0] : offsets[-1]])
    )


def cannot_write(error: OSError) -> OutputError:
    """What to say of a work folder that is full or gone."""
    return OutputError(f"The work folder cannot be written: {error.strerror or error}; see --work-dir.")


def synced(file: IO[bytes]) -> None:
    """Have everything that was written reach the disk."""
    file.flush()
    os.fsync(file.fileno())
