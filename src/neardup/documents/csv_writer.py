"""csv and tsv out: input records byte for byte, or cells from columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc

from neardup.columns import Numbers
from neardup.documents.delimited import columns_of, record_cells
from neardup.documents.dialects import DELIMITERS
from neardup.documents.formulas import escaped
from neardup.documents.output_lines import glued, joined, output_stream, values_buffer
from neardup.documents.source import Batch
from neardup.documents.values import plain
from neardup.documents.writers import cast, fitted, taken


class CsvWriter:
    """Rows to one csv or tsv file."""

    def __init__(
        self,
        target: Path | IO[bytes],
        format: str,
        columns: Sequence[str],
        extra: pa.Schema | None,
        compression: str | None,
        escape: bool,
        delimiter: str | None = None,
    ) -> None:
        self._format, self._escape = format, escape
        self._delimiter = delimiter or DELIMITERS[format]
        self._columns = list(columns)
        self._added = [] if extra is None else list(extra.names)
        self._own = [name for name in columns if name not in self._added]
        self._file = output_stream(target, compression)
        self._end = ""  # of a line, from the first record copied

    def write(self, batch: Batch, rows: Numbers | None = None, extra: pa.RecordBatch | None = None) -> None:
        """Append rows: an input record in this format keeps its bytes, and the added cells follow."""
        if rows is not None and not len(rows):
            return
        self._begin(batch.raw)
        added = [self._cells(extra.column(name)) for name in self._added] if extra is not None else []
        if batch.raw is not None and batch.format == self._format and self._own == self._columns:
            self._file.write(self._appended(taken(batch.raw, rows), added))
            return
        schema = pa.schema([(name, pa.string()) for name in self._own])
        table = self._table(batch, rows)
        own = fitted(table, None, schema)
        text = {field.name for field in table.schema if batch.format != self._format and _is_text(field.type)}
        cells = [
            self._safe(own.column(at)) if name in text else own.column(at)
            for at, name in enumerate(self._own)
        ]
        self._file.write(self._lines([*cells, *added]))

    def _table(self, batch: Batch, rows: Numbers | None) -> pa.RecordBatch:
        """The columns of a batch, parsed from its raw records if it has no columns."""
        if batch.raw is None or batch.columns.num_columns:
            return taken(batch.columns, rows)
        cells = [record_cells(record, self._delimiter) or [] for record in taken(batch.raw, rows).to_pylist()]
        arrays = columns_of(cells, range(len(self._columns)))
        return pa.RecordBatch.from_arrays([plain(array, _silent) for array in arrays], names=self._columns)

    def _begin(self, raw: Any) -> None:
        """Write the header, with the line end of the records."""
        if not self._end:
            returns = raw is not None and len(raw) and raw[0].as_py().endswith(b"\r")
            self._end = "\r\n" if returns else "\n"
            names = [pa.array([name]) for name in [*self._own, *self._added]]
            if header := names if raw is not None else list(map(self._safe, names)):
                self._file.write(self._lines(header))

    def _cells(self, values: Any) -> Any:
        texts = cast(values, pa.string())
        return self._safe(texts) if _is_text(values.type) else texts

    def _safe(self, texts: Any) -> Any:
        return escaped(texts) if self._escape else texts

    def _lines(self, cells: list[Any]) -> pa.Buffer:
        first, *others = [quote(cell, self._delimiter, always=len(cells) == 1) for cell in cells]
        return values_buffer(glued(first, *self._delimited(others), self._end))

    def _appended(self, records: Any, added: list[Any]) -> pa.Buffer:
        if not added:
            return joined(records)
        rows = pc.ascii_rtrim(records.view(pa.large_string()), "\r")
        cells = [quote(cell, self._delimiter) for cell in added]
        return values_buffer(glued(rows, *self._delimited(cells), self._end))

    def _delimited(self, cells: list[Any]) -> list[Any]:
        return [part for cell in cells for part in (self._delimiter, cell)]

    def close(self) -> None:
        """Finish the file; one without rows still has its header."""
        self._begin(None)
        self._file.close()


def _silent(row: int, reason: str, action: str) -> None:
    """Reports nothing: the first read has reported the problems."""


def quote(cells: Any, delimiter: str, *, always: bool = False) -> Any:
    """The cells with quotes if needed; always for the only cell of a row, which may be empty."""
    cells = pc.fill_null(cells, "")
    needed = pa.scalar(True) if always else pc.match_substring_regex(cells, f'["\r\n{delimiter}]')
    mark = pc.if_else(needed, '"', "")
    return glued(mark, pc.replace_substring(cells, '"', '""'), mark)


def _is_text(kind: Any) -> bool:
    """Whether a cell may begin with any character: numbers and times may not."""
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return not (pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind))
