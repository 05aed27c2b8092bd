"""csv and tsv files: a header, then one record a row; every cell is read as text."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.columns import Numbers
from neardup.documents.blocks import FileSource, slices
from neardup.documents.dialects import DELIMITERS, DETECTED, Dialect
from neardup.documents.formulas import unescaped
from neardup.documents.problems import Problems
from neardup.documents.records import FIELD, LONGER, Records, record_blocks
from neardup.documents.source import Batch, Batches, StringColumns, empty_columns, sliced
from neardup.documents.values import plain, row_report

STRAY_END = "malformed csv: a line end is outside quotes"


@dataclass(frozen=True)
class DelimitedSource(StringColumns, FileSource):
    """The records of one csv or tsv file, numbered from 1 after the header; blank lines do not count."""

    format: str = "csv"
    unescape: bool = False  # remove the apostrophes that neardup put before formulas
    dialect: Dialect = DETECTED

    @property
    def delimiter(self) -> str:
        """The character between two cells."""
        return self.dialect.delimiter or DELIMITERS[self.format]

    def _blocks(self, problems: Problems) -> Iterator[Records]:
        return record_blocks(self, self.delimiter, problems, skip=self.dialect.skip)

    @cached_property
    def _header(self) -> list[str]:
        """The names of the columns; none if the first record cannot be read, which `read` reports."""
        if self.dialect.columns is not None:
            return list(self.dialect.columns)
        for block in self._blocks(Problems()):
            if block.broken is not None:
                return []
            if len(block.starts):
                cells = parsed(block, 0, 1, self.delimiter)[0] or []
                names = [cell.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for cell in cells]
                return unescaped(pa.array(names, pa.string())).to_pylist() if self.unescape else names
        return []

    def names(self) -> list[str]:
        """The cells of the header."""
        return self._header

    def read(self, columns: Sequence[str] | None, problems: Problems, *, raw: bool = False) -> Batches:
        """Batches of the records that have as many cells as the header."""
        header = self._header
        names = header if columns is None else list(columns)
        places = {name: place for place, name in reversed(list(enumerate(header)))}  # of several the first
        requested = range(len(header)) if columns is None else [places.get(name) for name in columns]
        number = int(
            self.dialect.columns is not None
        )  # of the first record in the block; the header is number 0
        for block in self._blocks(problems):
            if number == 0 and not header and (block.broken is not None or len(block.starts)):
                reason = f"no header: {block.broken or STRAY_END}"
                problems.add(self.name, reason, record=0, offset=0, action="file skipped")
                return
            good, table = self._parse(block, number, requested, names, problems)
            text = slices(block.data, block.starts[good], block.ends[good]) if raw else None
            number += len(block.starts)
            if len(good):
                yield from sliced(
                    Batch(self.name, good + number - len(block.starts), table, text, self.format)
                )

    def _parse(
        self,
        block: Records,
        number: int,
        requested: Sequence[int | None],
        names: list[str],
        problems: Problems,
    ) -> tuple[Numbers, pa.RecordBatch]:
        first = 1 if number == 0 else 0
        if block.broken is not None:
            problems.add(self.name, block.broken, record=number)
            return np.array([], dtype=np.int64), empty_columns(0)
        arrays = parsed_by_arrow(block, first, len(self._header), requested, self.delimiter)
        good = np.arange(first, len(block.starts))
        if arrays is None:
            cells = parsed(block, first, len(block.starts), self.delimiter)
            good = self._full(cells, first, number, problems)
            arrays = columns_of([cells[row - first] or [] for row in good.tolist()], requested)
        good, arrays = self._within_limit(block, good, arrays, number, problems)
        report = row_report(problems.add, self.name, good + number)
        arrays = [plain(array, report) for array in arrays]
        if self.unescape:
            arrays = [unescaped(array) for array in arrays]
        table = pa.RecordBatch.from_arrays(arrays, names=names) if arrays else empty_columns(len(good))
        return good, table

    def _within_limit(
        self, block: Records, good: Numbers, arrays: list[pa.Array[Any]], number: int, problems: Problems
    ) -> tuple[Numbers, list[pa.Array[Any]]]:
        """The records that are not longer than the limit of this format; the others are reported."""
        most = self.limits.record // LONGER
        lengths = block.ends[good] - block.starts[good]
        long = lengths > most
        self.limits.refuse_larger(int(lengths[~long].max(initial=0)), self.name)
        if not long.any():
            return good, arrays
        for row in good[long].tolist():
            problems.add(self.name, self.limits.too_long_of(most), record=number + row)
        return good[~long], [array.filter(pa.array(~long)) for array in arrays]

    def _full(self, cells: list[list[str] | None], first: int, number: int, problems: Problems) -> Numbers:
        """The positions of the records with the right number of cells; the others are reported."""
        width, good = len(self._header), []
        for row, record in enumerate(cells, start=first):
            if record is not None and len(record) == width:
                good.append(row)
                continue
            reason = STRAY_END
            if record is not None:
                reason = f"wrong number of cells: {len(record)} instead of {width}"
            problems.add(self.name, reason, record=number + row)
        return np.array(good, dtype=np.int64)


def parsed(block: Records, first: int, last: int, delimiter: str) -> list[list[str] | None]:
    """The cells of some records of the block, parsed by the standard library; None for a record that it refuses."""
    if block.cells is not None:
        return list(block.cells[first:last])
    spans = zip(block.starts[first:last].tolist(), block.ends[first:last].tolist(), strict=True)
    return [record_cells(block.data[start:end], delimiter) for start, end in spans]


def record_cells(record: bytes, delimiter: str) -> list[str] | None:
    """The cells of one record, or None if it cannot be parsed; bytes that are not UTF-8 become lone surrogates."""
    csv.field_size_limit(FIELD)
    try:
        return next(csv.reader([record.decode("utf-8", "surrogateescape")], delimiter=delimiter))
    except (csv.Error, StopIteration):
        return None


def columns_of(cells: list[list[str]], requested: Sequence[int | None]) -> list[pa.Array[Any]]:
    """The requested columns of parsed records, as bytes that may not be UTF-8."""
    return [
        pa.nulls(len(cells), pa.string())
        if at is None
        else pa.array([row[at].encode("utf-8", "surrogateescape") for row in cells], pa.binary())
        for at in requested
    ]


def parsed_by_arrow(
    block: Records, first: int, width: int, requested: Sequence[int | None], delimiter: str
) -> list[pa.Array[Any]] | None:
    """The requested columns by Arrow's parser, as bytes, or None if it refuses a record."""
    import pyarrow.csv as pc

    rows = len(block.starts) - first
    if block.cells is not None or rows <= 0:
        return None
    data: Any = pa.BufferReader(pa.py_buffer(block.data)[int(block.starts[first]) :])
    names = [str(at) for at in range(width)]
    included = [str(at) for at in requested if at is not None] or names[:1]
    try:
        table = pc.read_csv(
            data,
            pc.ReadOptions(use_threads=False, block_size=len(block.data) + 1, column_names=names),
            pc.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            pc.ConvertOptions(column_types=dict.fromkeys(included, pa.binary()), include_columns=included),
        )
    except (pa.ArrowException, OSError):
        return None
    if table.num_rows != rows:
        return None
    missing = pa.nulls(rows, pa.string())
    return [missing if at is None else table.column(str(at)).combine_chunks() for at in requested]
