"""Sources and batches: what every reader implements and yields.

A `Source` is one input: a file, a table in memory, or all text files (or all mail) of a run. Reading streams, and
reading twice with the same arguments gives the same batches.
A bad record does not stop a reader: it is added to `Problems`, and no other record gets its number.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from neardup.documents.problems import Problem, Problems

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "BATCH_BYTES",
    "BATCH_ROWS",
    "Batch",
    "Problem",
    "Problems",
    "Source",
    "UnreadableSource",
    "empty_columns",
    "sliced",
    "stamp",
    "watched",
]

BATCH_BYTES = 4 << 20
BATCH_ROWS = 8192


@dataclass(frozen=True)
class Batch:
    """Consecutive good rows of one source."""

    source: str
    numbers: NDArray[np.int64]
    columns: pa.RecordBatch
    raw: pa.Array[Any] | None = None
    format: str = ""  # of the source, and so of the raw records

    def __len__(self) -> int:
        return len(self.numbers)


class Source(Protocol):
    """One input, read from beginning to end as often as needed."""

    @property
    def name(self) -> str:
        """The name of the input in reports."""

    @property
    def format(self) -> str:
        """parquet, jsonl, csv, tsv, text, lines, mail, warc, memory or unreadable."""

    @property
    def compression(self) -> str | None:
        """The codec of the file as a whole (gzip, zstd), or of a parquet file's pages."""

    @property
    def size(self) -> int | None:
        """Bytes on disk."""

    @property
    def rows(self) -> int | None:
        """The number of records, if it is known before reading."""

    def names(self) -> list[str]:
        """Column names, from the schema or from the beginning of the file."""

    def schema(self) -> pa.Schema:
        """The columns that `read(None, ...)` gives; for jsonl this reads the whole file."""

    def read(
        self, columns: Sequence[str] | None, problems: Problems, *, raw: bool = False
    ) -> Iterator[Batch]:
        """Batches of at most 8192 rows and about 4 MB.

        `columns=None` gives every column in its stored type, for writing. Columns requested by name come in plain
        types, for computing: text-like ones as strings, nested ones as JSON.
        `raw=True` adds the bytes of each record, if the format has them (jsonl, csv, tsv).
        """


@dataclass(frozen=True)
class UnreadableSource:
    """An input that cannot be read at all, such as a folder without permission: no columns, no rows, one problem."""

    name: str
    reason: str
    format: str = "unreadable"
    compression: str | None = None
    size: int | None = None
    rows: int | None = 0

    def names(self) -> list[str]:
        """No columns."""
        return []

    def schema(self) -> pa.Schema:
        """No columns."""
        return pa.schema([])

    def read(
        self, columns: Sequence[str] | None, problems: Problems, *, raw: bool = False
    ) -> Iterator[Batch]:
        """No batch; the reason is reported."""
        problems.add(self.name, self.reason)
        yield from ()


def sliced(batch: Batch, rows: int = BATCH_ROWS) -> Iterator[Batch]:
    """The batch in parts of at most `rows` rows, without copying."""
    if len(batch) <= rows:
        yield batch
        return
    for start in range(0, len(batch), rows):
        raw = None if batch.raw is None else batch.raw.slice(start, rows)
        part = batch.columns.slice(start, rows)
        yield Batch(batch.source, batch.numbers[start : start + rows], part, raw, batch.format)


def empty_columns(rows: int) -> pa.RecordBatch:
    """A batch of so many rows without any column."""
    struct: Any = pa.array([{}] * rows, pa.struct([]))
    return pa.RecordBatch.from_struct_array(struct)


def stamp(source: Source) -> tuple[tuple[str, int, int], ...]:
    """Path, size and modification time of the files of a source: equal as long as nobody writes to them."""
    own = getattr(source, "path", None)
    paths = [own] if own is not None else [path for path, _ in getattr(source, "files", ())]
    found = []
    for path in paths:
        with suppress(OSError):
            status = os.stat(path)  # noqa: PTH116 - a path may be a plain string
            found.append((str(path), status.st_size, status.st_mtime_ns))
    return tuple(found)


def watched(source: Source, columns: Sequence[str], problems: Problems, start: int = 0) -> Iterator[Batch]:
    """The batches of a source; files that change or disappear meanwhile are reported.

    Row groups before the record `start` may be left out, if the format has row groups.
    """
    before = stamp(source)
    if start and hasattr(source, "read_from"):
        yield from source.read_from(columns, problems, start)
    else:
        yield from source.read(columns, problems)
    after = {path: rest for path, *rest in stamp(source)}
    for path, *rest in before:
        if after.get(path) != rest:
            how = "changed" if path in after else "removed"
            name = source.name if hasattr(source, "path") else dict(source.files)[path]  # type: ignore[attr-defined]
            problems.add(name, f"{how} while it was read", action="used as far as it was read")
