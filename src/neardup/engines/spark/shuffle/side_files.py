"""Texts, facts and features of documents in files beside the stages, where all workers share a file system.

With a work folder of the scheme `file` a task writes what is large into a file of its own, and the rows of its chunks
say where. So texts do not travel through Spark to be stored, and whoever wants some of them reads those alone: the file
is mapped into memory. On any other storage they are in the rows.

A file belongs to one attempt of a task: what attempts that failed have left is never named by a row.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup.columns import Numbers
from neardup.engines.spark.shuffle.arrow import table
from neardup.engines.spark.shuffle.packed_blocks import ROW_BITS, Arrays, pack
from neardup.errors import OutputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NAME = "shelf"  # the folder of the files, beside those of the stages


def side_folder(work: str) -> str | None:
    """Where files can be written by all workers, if they can."""
    path = work.removeprefix("file:")
    return f"/{path.lstrip('/')}/{NAME}" if path != work else None


@dataclass(frozen=True)
class SideFiles:
    """How a task stores columns: in a file, or as bytes in the row."""

    folder: str | None
    compression: str | None

    @contextmanager
    def opened(self, task: int) -> Iterator[Any]:
        """A function that stores columns, and gives the value of the row; `task` is the number of a partition."""
        if self.folder is None:
            yield lambda columns: pack(columns, self.compression)
            return
        Path(self.folder).mkdir(parents=True, exist_ok=True)
        path = Path(self.folder) / f"{task:06d}-{uuid.uuid4().hex}.arrow"
        with pa.OSFile(str(path), "wb") as file:
            yield lambda columns: _stored(file, str(path), columns)


def _stored(file: Any, path: str, columns: Arrays) -> bytes:
    """Writes columns; the place where they are."""
    batch, start = table(dict(columns)), file.tell()
    with pa.ipc.new_stream(file, batch.schema) as stream:
        stream.write_batch(batch)
    return json.dumps({"file": path, "start": start, "size": file.tell() - start}).encode()


def read_side_file(value: pa.Scalar) -> pa.Table:
    """What was stored, over the same memory."""
    buffer = value.as_buffer()
    if buffer[0] == ord("{"):  # an Arrow stream begins otherwise
        return _read(json.loads(buffer.to_pybytes()))
    return pa.ipc.open_stream(buffer).read_all()


def _read(where: dict[str, Any]) -> pa.Table:
    try:
        with pa.memory_map(where["file"]) as file:
            file.seek(where["start"])
            return pa.ipc.open_stream(file.read_buffer(where["size"])).read_all()
    except (OSError, pa.ArrowInvalid) as error:
        raise OutputError(
            f"{where['file']} cannot be read ({error}): all workers must share this folder; if it is lost, remove "
            "the work folder to begin anew"
        ) from None


def rows_at(stored: pa.Table, places: Numbers) -> pa.Table:
    """What is stored of some documents of a chunk, which may have stored only some of them."""
    rows = places & ((1 << ROW_BITS) - 1)
    if "row" in stored.column_names:
        rows = np.searchsorted(stored.column("row").to_numpy(), rows)
    return stored.take(pa.array(rows))


@dataclass(frozen=True)
class SideFileIndex:
    """Where the texts and facts of all chunks are."""

    chunks: Numbers
    where: dict[str, list[bytes]]

    @staticmethod
    def of(chunks: DataFrame, *kinds: str) -> SideFileIndex:
        """The index of some columns of a stage: some hundred bytes for each chunk of some megabytes."""
        rows = chunks.select("chunk", *kinds).toArrow().sort_by("chunk")
        return SideFileIndex(
            rows.column("chunk").to_numpy(), {kind: rows.column(kind).to_pylist() for kind in kinds}
        )

    def rows(self, kind: str, places: Numbers) -> pa.Table:
        """What is stored of the documents at some places, which ascend."""
        chunks = places >> ROW_BITS
        starts = np.append(np.flatnonzero(np.diff(chunks, prepend=-1)), len(chunks))
        numbers = np.searchsorted(self.chunks, chunks[starts[:-1]])
        found = []
        for number, start, end in zip(numbers, starts[:-1], starts[1:], strict=True):
            stored = _read(json.loads(self.where[kind][number]))
            found.append(rows_at(stored, places[start:end]))
        return pa.concat_tables(found).combine_chunks()
