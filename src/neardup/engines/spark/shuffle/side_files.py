"""Side files: texts, attributes and features outside the parquet stages, if all workers share a file system.

With a work folder of the scheme `file`, each task writes large columns to an Arrow file of its own and stores the
file, offset and size in the rows of its chunks. Texts then bypass Spark, and a reader maps only the chunks it needs. On
any other storage, large columns are packed into the rows. Rows have the checksum of what they name: a run that resumes
from side files compares them first.

A file belongs to one task attempt: no row refers to the files of failed attempts.
"""

from __future__ import annotations

import json
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from neardup.columns import Numbers
from neardup.engines.spark.shuffle.arrow import Batches, table
from neardup.engines.spark.shuffle.packed_blocks import ROW_BITS, Arrays, pack
from neardup.errors import OutputError
from neardup.sorted_sets import run_starts

FOLDER = "side-files"  # inside the work folder


def side_folder(work: str) -> str | None:
    """The folder of side files; None if the work folder is not on a file system."""
    path = work.removeprefix("file:")
    return f"/{path.lstrip('/')}/{FOLDER}" if path != work else None


@dataclass(frozen=True)
class SideFiles:
    """Where a task stores columns: in a side file, or packed in the row."""

    folder: str | None
    compression: str | None

    @contextmanager
    def opened(self, task: int) -> Iterator[Any]:
        """A function that stores columns and returns the value for the row; `task` is the partition number."""
        if self.folder is None:
            yield lambda columns: pack(columns, self.compression)
            return
        Path(self.folder).mkdir(parents=True, exist_ok=True)
        path = Path(self.folder) / f"{task:06d}-{uuid.uuid4().hex}.arrow"
        with pa.OSFile(str(path), "wb") as file:
            yield lambda columns: _stored(file, str(path), columns)


def _stored(file: Any, path: str, columns: Arrays) -> bytes:
    """The location and checksum of columns, after they have been written."""
    batch, start = table(dict(columns)), file.tell()
    summed = _Summed(file)
    with pa.ipc.new_stream(pa.PythonFile(summed, "wb"), batch.schema) as stream:
        stream.write_batch(batch)
    where = {"file": path, "start": start, "size": file.tell() - start, "checksum": summed.checksum}
    return json.dumps(where).encode()


class _Summed:
    """A file that is written, and the checksum of what has been."""

    closed = False

    def __init__(self, file: Any) -> None:
        self.file, self.checksum = file, 0

    def write(self, data: Any) -> int:
        """Writes to the file."""
        self.checksum = zlib.crc32(data, self.checksum)
        return int(self.file.write(data))

    def flush(self) -> None:
        """Writes are not buffered here."""


def check_side_files(chunks: DataFrame, *names: str) -> None:
    """Raises an OutputError unless side files hold what was written; workers read them once."""
    folders = [name for name in names if name in chunks.columns]

    def work(batches: Batches) -> Batches:
        for batch in batches:
            for name in folders:
                for value in batch.column(name).to_pylist():
                    if value is not None and value[:1] == b"{":
                        _check(json.loads(value))
            yield pa.RecordBatch.from_pydict({"checked": pa.array([batch.num_rows], pa.int64())})

    chunks.select(*folders).mapInArrow(work, "checked long").count()


def _check(where: dict[str, Any]) -> None:
    try:
        with open(where["file"], "rb") as file:  # noqa: PTH123
            file.seek(where["start"])
            found = zlib.crc32(file.read(where["size"]))
    except OSError as error:
        raise _unreadable(where["file"], error) from None
    if found != where["checksum"]:
        raise _unreadable(where["file"], "it is not what was written")


def _unreadable(path: str, error: object) -> OutputError:
    return OutputError(
        f"{path} cannot be read ({error}): all workers must share this folder; if it is lost or damaged, remove "
        "the work folder to start over"
    )


def read_side_file(value: pa.Scalar) -> pa.Table:
    """Stored columns, from a side file or from the row itself, without a copy."""
    buffer = value.as_buffer()
    if buffer[0] == ord("{"):  # an Arrow stream starts otherwise
        return _read(json.loads(buffer.to_pybytes()))
    return pa.ipc.open_stream(buffer).read_all()


def _read(where: dict[str, Any]) -> pa.Table:
    try:
        with pa.memory_map(where["file"]) as file:
            file.seek(where["start"])
            return pa.ipc.open_stream(file.read_buffer(where["size"])).read_all()
    except (OSError, pa.ArrowInvalid) as error:
        raise _unreadable(where["file"], error) from None


def rows_at(stored: pa.Table, places: Numbers) -> pa.Table:
    """The stored rows of documents of one chunk; a column `row` says which documents were stored, if not all."""
    rows = places & ((1 << ROW_BITS) - 1)
    if "row" in stored.column_names:
        rows = np.searchsorted(stored.column("row").to_numpy(), rows)
    return stored.take(pa.array(rows))


@dataclass(frozen=True)
class SideFileIndex:
    """The locations of stored columns, for all chunks."""

    chunks: Numbers
    where: dict[str, list[bytes]]

    @staticmethod
    def of(chunks: DataFrame, *names: str) -> SideFileIndex:
        """The index of columns of a stage: a few hundred bytes for each chunk of a few megabytes."""
        rows = chunks.select("chunk", *names).toArrow().sort_by("chunk")
        return SideFileIndex(
            rows.column("chunk").to_numpy(), {name: rows.column(name).to_pylist() for name in names}
        )

    def rows(self, name: str, places: Numbers) -> pa.Table:
        """The stored rows of documents at ascending places."""
        chunks = places >> ROW_BITS
        starts = run_starts(chunks)
        numbers = np.searchsorted(self.chunks, chunks[starts[:-1]])
        found = []
        for number, start, end in zip(numbers, starts[:-1], starts[1:], strict=True):
            stored = _read(json.loads(self.where[name][number]))
            found.append(rows_at(stored, places[start:end]))
        return pa.concat_tables(found).combine_chunks()
