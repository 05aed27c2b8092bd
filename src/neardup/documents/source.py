"""Sources and batches: what every reader implements and yields.

A `Source` is one input: a file, a table in memory, or all text files (or all mail) of a run. Reading streams, and
reading twice with the same arguments gives the same batches.
A bad record does not stop a reader: it is added to `Problems`, and no other record gets its number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa

from neardup.columns import Numbers
from neardup.documents.problems import Problems
from neardup.documents.stored import file_stamp
from neardup.documents.values import read_value, row_report, utf8_strings

BATCH_BYTES = 4 << 20
BATCH_ROWS = 8192


@dataclass(frozen=True)
class Batch:
    """Consecutive good rows of one source."""

    source: str
    numbers: Numbers
    columns: pa.RecordBatch
    raw: pa.Array[Any] | None = None
    format: str = ""  # of the source, and so of the raw records
    plain: bool = False  # strings are known to be UTF-8

    def __len__(self) -> int:
        return len(self.numbers)


Batches = Iterator[Batch]


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

    def read(self, columns: Sequence[str] | None, problems: Problems, *, raw: bool = False) -> Batches:
        """Batches of at most 8192 rows and about 4 MB.

        `columns=None` gives every column in its stored type, for writing. Columns requested by name come in plain
        types, for computing: text-like ones as strings, nested ones as JSON.
        `raw=True` adds the bytes of each record, if the format has them (jsonl, csv, tsv, mail).
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

    def read(self, columns: Sequence[str] | None, problems: Problems, *, raw: bool = False) -> Batches:
        """No batch; the reason is reported."""
        problems.add(self.name, self.reason)
        yield from ()


def sliced(batch: Batch, rows: int = BATCH_ROWS) -> Batches:
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


class StringColumns:
    """The columns of a source that are all strings."""

    column_names: ClassVar[tuple[str, ...]]

    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.column_names)

    def schema(self) -> pa.Schema:
        """All as strings."""
        return pa.schema([(name, pa.string()) for name in self.names()])


def string_batches(
    source: Source,
    rows: Iterable[dict[str, Any]],
    text: str,
    columns: Sequence[str] | None,
    repaired: Callable[[bytes], bytes] | None = None,
) -> Batches:
    """Batches of rows, each with its number and a string for each requested column; most bytes are in column `text`.

    With `repaired`, that column comes as bytes, and `repaired` gives the UTF-8 for those that are not valid.
    """
    found: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        found.append(row)
        size += len(row[text]) + len(row.get("raw", b""))
        if size >= BATCH_BYTES or len(found) >= BATCH_ROWS:
            yield _string_batch(source, found, columns, repaired)
            found, size = [], 0
    if found:
        yield _string_batch(source, found, columns, repaired)


def _string_batch(
    source: Source,
    rows: list[dict[str, Any]],
    columns: Sequence[str] | None,
    repaired: Callable[[bytes], bytes] | None,
) -> Batch:
    arrays: dict[str, pa.Array[Any]] = {}
    for name in source.names():
        if columns is None or name in columns:
            values = [row[name] for row in rows]
            if repaired is not None and isinstance(values[0], bytes):
                arrays[name] = utf8_strings(values, repaired)
            else:
                arrays[name] = pa.array(values, pa.string())
    numbers = np.array([row["number"] for row in rows], dtype=np.int64)
    raw = pa.array([row["raw"] for row in rows], pa.large_binary()) if "raw" in rows[0] else None
    return Batch(source.name, numbers, picked(arrays, columns, len(rows)), raw, source.format)


def picked(arrays: Mapping[str, pa.Array[Any]], columns: Sequence[str] | None, rows: int) -> pa.RecordBatch:
    """The requested columns; nulls for a column that does not exist."""
    names = list(arrays) if columns is None else list(columns)
    if not names:
        return empty_columns(rows)
    missing = pa.nulls(rows, pa.string())
    return pa.RecordBatch.from_arrays([arrays.get(name, missing) for name in names], names=names)


def with_plain_columns(batch: Batch, columns: Sequence[str], problems: Problems) -> Batch:
    """The batch with the requested columns in plain types; of two columns with one name, the first one counts."""
    report = row_report(problems.add, batch.source, batch.numbers)
    stored = batch.columns
    places = {name: stored.schema.get_all_field_indices(name) for name in columns}
    arrays = {name: read_value(stored.column(at[0]), report) for name, at in places.items() if at}
    return replace(batch, columns=picked(arrays, columns, stored.num_rows), plain=True)


def stamp(source: Source) -> tuple[tuple[str, int, int], ...]:
    """Path, size and modification time of the files of a source: equal as long as nobody writes to them."""
    own = getattr(source, "path", None)
    paths = [own] if own is not None else [path for path, _ in getattr(source, "files", ())]
    found = []
    for path in paths:
        with suppress(OSError):
            found.append(file_stamp(path))
    return tuple(found)


def watched(source: Source, columns: Sequence[str], problems: Problems, start: int = 0) -> Batches:
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
