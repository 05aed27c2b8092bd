"""Parquet files, read row group by row group."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.documents.footers import ColumnChunk, column_chunks
from neardup.documents.limits import LIMITS, Limits, Meter
from neardup.documents.problems import Problems
from neardup.documents.source import (
    BATCH_BYTES,
    BATCH_ROWS,
    Batch,
    Batches,
    empty_columns,
    with_plain_columns,
)
from neardup.documents.stored import open_stored
from neardup.errors import InputError
from neardup.output import one_line
from neardup.plurals import counted

# A column chunk is read through a buffer of this size: without it, and with Arrow's pre-buffering, the
# whole compressed row group (or file) is in memory. No memory map: a file that shrinks would end the process.
_BUFFER = 1 << 20
FAILED = (OSError, pa.ArrowException, UnicodeDecodeError)  # the last one for names that are not UTF-8
MOST_ROWS = 1 << 40  # of a row group
PROBE = 64  # rows
SMALL = 64  # bytes a value


@dataclass(frozen=True)
class ParquetSource:
    """The rows of one parquet file."""

    name: str
    path: str
    size: int | None = None
    format: str = "parquet"
    limits: Limits = LIMITS
    # Row groups in which reading failed, and the number of good rows before: a read of undamaged columns must give
    # the same rows.
    _damaged: dict[int, int] = field(default_factory=dict, repr=False, compare=False)
    # The row at which the first read stopped because of the limits; -1 if it did not stop.
    _stopped: dict[str, int] = field(default_factory=dict, repr=False, compare=False)

    def _open(self) -> pq.ParquetFile:
        try:
            return pq.ParquetFile(open_stored(self.path), buffer_size=_BUFFER, pre_buffer=False)
        except FAILED as error:
            raise InputError(f"{self.name} cannot be read as parquet: {one_line(error)}") from None

    @cached_property
    def _known(self) -> tuple[pq.FileMetaData, pa.Schema] | None:
        """Metadata and schema of the footer, or None if it cannot be read, which `read` reports."""
        try:
            with self._open() as file:
                return file.metadata, file.schema_arrow
        except InputError:
            return None

    @cached_property
    def _chunks(self) -> list[list[ColumnChunk]]:
        with suppress(OSError), open_stored(self.path) as file:
            return column_chunks(file)
        return []

    def _batch_rows(self, file: pq.ParquetFile, group: int) -> int:
        return batch_rows(file, group, self._chunks[group] if group < len(self._chunks) else None)

    @property
    def rows(self) -> int | None:
        """The number of rows, from the metadata."""
        return 0 if self._known is None else self._known[0].num_rows

    @property
    def compression(self) -> str | None:
        """The codec of the largest column, which a copy of the file should keep."""
        first = self._chunks[0] if self._chunks else []
        largest = max(first, key=lambda column: column.compressed, default=None)
        return None if largest is None else largest.codec

    def names(self) -> list[str]:
        """Column names, from the schema."""
        return list(self.schema().names)

    def schema(self) -> pa.Schema:
        """The columns as they are stored."""
        return pa.schema([]) if self._known is None else self._known[1]

    def read(self, columns: Sequence[str] | None, problems: Problems, *, raw: bool = False) -> Batches:
        """Batches of rows; a damaged row group is reported, and reading continues with the next one."""
        for batch in self._stored(columns, problems, fill=columns is None):
            yield batch if columns is None else with_plain_columns(batch, columns, problems)

    def read_from(self, columns: Sequence[str], problems: Problems, row: int) -> Batches:
        """The same batches without row groups that end before a row; all of them if the file may exceed the limits."""
        for batch in self._stored(columns, problems, skip=0 if self._may_exceed_limits() else row):
            yield with_plain_columns(batch, columns, problems)

    def _may_exceed_limits(self) -> bool:
        """Whether the file may expand to more than the limits allow, by its footer."""
        size = sum(chunk.uncompressed for group in self._chunks for chunk in group)
        return Meter(self.limits, self.size or 0).add(2 * size) is not None

    def read_rest(self, column: str, problems: Problems) -> Batches:
        """All columns but one, as stored, in the same batches: for a caller that already has that column."""
        yield from self._stored([name for name in self.names() if name != column], problems, fill=True)

    def _stored(
        self, columns: Sequence[str] | None, problems: Problems, *, fill: bool = False, skip: int = 0
    ) -> Batches:
        start = 0
        try:
            opened = self._open()
        except InputError as error:
            said = str(error).rpartition("as parquet: ")[2]
            problems.add(self.name, f"damaged parquet: {said}", action="file skipped")
            return
        meter = Meter(self.limits, self.size or 0)
        with opened as file:
            for group in range(file.metadata.num_row_groups):
                if start + group_rows(file, group) <= skip:
                    start += group_rows(file, group)
                    continue
                for batch in self._group(file, group, start, columns, problems, fill):
                    yield batch
                    last = int(batch.numbers[-1])
                    reason = meter.add(batch.columns.nbytes)
                    if last == self._stopped.get("row") or (reason and columns and not self._stopped):
                        self._stopped["row"] = last
                        reason = reason or "decompression bomb: stopped as in the first read"
                        problems.add(self.name, reason, record=last, action="rest of the file skipped")
                        return
                start += group_rows(file, group)
        self._stopped.setdefault("row", -1)

    def _group(
        self,
        file: pq.ParquetFile,
        group: int,
        start: int,
        columns: Sequence[str] | None,
        problems: Problems,
        fill: bool,
    ) -> Batches:
        """The batches of a row group up to the first damage; with `fill` only the damaged columns are lost."""
        rows, done = group_rows(file, group), 0
        if rows != file.metadata.row_group(group).num_rows:
            problems.add(self.name, "damaged parquet: an impossible number of rows", record=start + 1)
            return
        self._refuse_larger(group, columns)
        good = self._damaged.get(group, rows)
        if columns is not None and not columns:
            yield from self._bare(start, good, self._batch_rows(file, group))
            return
        batches = file.iter_batches(
            self._batch_rows(file, group),
            row_groups=[group],
            columns=None if columns is None else list(dict.fromkeys(columns)),
            use_threads=False,
        )
        try:
            for batch in batches:
                part = checked(batch).slice(0, good - done)
                if part.num_rows:
                    yield self._numbered(part, start + done)
                done += part.num_rows
            if done < good:
                raise pa.ArrowInvalid("fewer rows than the footer says")
        except FAILED as error:
            whole = self._filled(file, group, start, columns, problems) if fill else None
            if whole is not None:
                yield from self._cut(
                    whole.slice(done, good - done), start + done, self._batch_rows(file, group)
                )
                return
            self._damaged[group] = done
            reason = f"damaged parquet: {one_line(error)}"
            action = f"{counted(rows - done, 'row')} of row group {group} skipped"
            problems.add(self.name, reason, record=start + done + 1, action=action)

    def _refuse_larger(self, group: int, columns: Sequence[str] | None) -> None:
        """Refuse a row group whose texts do not fit into memory on average: one at least is as large."""
        for chunk in self._chunks[group] if group < len(self._chunks) else ():
            if chunk.text and chunk.values > 0 and (columns is None or chunk.path in columns):
                self.limits.refuse_larger(chunk.uncompressed // chunk.values, self.name)

    def _filled(
        self, file: pq.ParquetFile, group: int, start: int, columns: Sequence[str] | None, problems: Problems
    ) -> pa.Table | None:
        """A row group column by column, with nulls for damaged columns; None if all are damaged."""
        fields = [field for field in self.schema() if columns is None or field.name in columns]
        found = {name: _column(file, group, name) for name in dict.fromkeys(field.name for field in fields)}
        lost = [name for name, arrays in found.items() if not arrays]
        if len(lost) == len(found):
            return None
        rows = group_rows(file, group)
        for name in lost:
            reason = f"damaged column: {name} of row group {group}"
            problems.add(
                self.name, reason, record=start + 1, action=f"taken as missing in {counted(rows, 'row')}"
            )
        arrays = [found[f.name].pop(0) if found[f.name] else pa.nulls(rows, f.type) for f in fields]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    def _cut(self, table: pa.Table, start: int, step: int) -> Batches:
        for batch in table.to_batches(step):
            yield self._numbered(batch, start)
            start += batch.num_rows

    def _bare(self, start: int, rows: int, step: int) -> Batches:
        for first in range(0, rows, step):
            yield self._numbered(empty_columns(min(step, rows - first)), start + first)

    def _numbered(self, rows: pa.RecordBatch, start: int) -> Batch:
        """Rows of the file after the first `start`."""
        numbers = np.arange(start + 1, start + rows.num_rows + 1, dtype=np.int64)
        return Batch(self.name, numbers, rows, None, self.format)


def _column(file: pq.ParquetFile, group: int, name: str) -> list[pa.ChunkedArray]:
    """The columns of that name in a row group, none if they cannot be read."""
    try:
        found = file.read_row_group(group, columns=[name], use_threads=False)
        found.validate(full=True)
    except FAILED:
        return []
    return list(found.columns) if len(found) == group_rows(file, group) else []


def group_rows(file: pq.ParquetFile, group: int) -> int:
    """The rows of a row group; 0 if a damaged footer has an impossible number."""
    rows: int = file.metadata.row_group(group).num_rows
    return rows if 0 <= rows <= MOST_ROWS else 0


def checked(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch, after a check that the indices of its dictionaries and lists are in range."""
    for column in batch.columns:
        if pa.types.is_dictionary(column.type) or pa.types.is_nested(column.type):
            column.validate(full=True)
    return batch


def batch_rows(file: pq.ParquetFile, group: int, chunks: list[ColumnChunk] | None) -> int:
    """The rows of a batch of about 4 MB over all columns, so that batches do not depend on the columns read."""
    info = file.metadata.row_group(group)
    stored = max(1, info.total_byte_size // max(1, info.num_rows))
    each = max(1, stored + repeated_bytes(file, group, chunks))
    return max(1, min(BATCH_ROWS, BATCH_BYTES // each))


def repeated_bytes(file: pq.ParquetFile, group: int, chunks: list[ColumnChunk] | None) -> int:
    """The bytes of a row in columns that are stored as a small dictionary, measured on the first rows.

    A long text that is repeated takes next to nothing in the file, and its whole length in memory.
    """
    small = None if chunks is None else [chunk.path for chunk in chunks if _small_dictionary(chunk)]
    if small == []:
        return 0
    try:
        first = next(file.iter_batches(PROBE, row_groups=[group], columns=small, use_threads=False), None)
    except FAILED:
        return 0
    return 0 if first is None or not first.num_rows else first.nbytes // first.num_rows


def _small_dictionary(chunk: ColumnChunk) -> bool:
    return chunk.text and chunk.dictionary and chunk.uncompressed < SMALL * max(1, chunk.values)
