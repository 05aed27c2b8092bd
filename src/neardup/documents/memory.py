"""Tables, frames and strings in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.documents.problems import Problems
from neardup.documents.source import BATCH_BYTES, BATCH_ROWS, Batch, Batches, with_plain_columns
from neardup.documents.values import SURROGATE, clean
from neardup.errors import InputError


@dataclass(frozen=True)
class MemorySource:
    """The rows of an Arrow table."""

    name: str
    table: pa.Table
    format: str = "memory"
    compression: str | None = None
    replaced: tuple[int, ...] = ()  # rows with lone surrogates, which no table can hold
    first: int = 1  # the number of the first row: of a part of a stream another one

    @property
    def size(self) -> int | None:
        """The bytes of the table."""
        return self.table.get_total_buffer_size()

    @property
    def rows(self) -> int | None:
        """The number of rows."""
        return self.table.num_rows

    def names(self) -> list[str]:
        """Column names, from the schema."""
        return list(self.table.column_names)

    def schema(self) -> pa.Schema:
        """The columns as they are."""
        return self.table.schema

    def read(self, columns: Sequence[str] | None, problems: Problems, *, raw: bool = False) -> Batches:
        """Batches of rows, without copying."""
        each = max(1, self.table.get_total_buffer_size() // max(1, self.table.num_rows))
        most = max(1, min(BATCH_ROWS, BATCH_BYTES // each))
        start = self.first
        for row in self.replaced:
            problems.add(self.name, "lone surrogate", record=row + start - 1, action="replaced")
        for batch in self.table.to_batches(max_chunksize=most):
            numbers = np.arange(start, start + batch.num_rows, dtype=np.int64)
            start += batch.num_rows
            if batch.num_rows:
                found = Batch(self.name, numbers, batch, None, self.format)
                yield found if columns is None else with_plain_columns(found, columns, problems)


def memory_source(data: Any, name: str) -> MemorySource:
    """A source over an Arrow table, a pandas or Polars frame, or an iterable of strings."""
    replaced: list[int] = []
    table = as_table(data, replaced)
    return MemorySource(name, without_views(table), replaced=tuple(replaced))


def as_table(data: Any, replaced: list[int]) -> pa.Table:
    """The data as an Arrow table, by the interfaces that frames offer: pandas and Polars are not imported.

    The numbers of rows with a replaced character are added to `replaced`.
    """
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    library = type(data).__module__.partition(".")[0]
    if library == "pandas":
        return from_pandas(data)
    if library == "polars":
        return from_polars(data)
    if isinstance(data, (pa.Array, pa.ChunkedArray)):
        return pa.table({"text": data})
    if hasattr(data, "__arrow_c_stream__"):
        return as_streamed_table(data)
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes, Mapping)):
        items = list(data)
        return (
            records(items, replaced) if items and isinstance(items[0], Mapping) else strings(items, replaced)
        )
    raise InputError(
        f"an input of type {type(data).__name__} cannot be read: give paths, an Arrow table, "
        "a pandas or Polars frame, or an iterable of strings or of dicts"
    )


def without_views(table: pa.Table) -> pa.Table:
    """The same table with plain strings and bytes: Arrow cannot take rows from views."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string_view(field.type) or pa.types.is_binary_view(field.type):
            plain_type = pa.large_string() if pa.types.is_string_view(field.type) else pa.large_binary()
            table = table.set_column(place, field.with_type(plain_type), table.column(place).cast(plain_type))
    return table


def from_pandas(data: Any) -> pa.Table:
    """The columns of a frame, without its index; a series is a column of texts."""
    frame = data if hasattr(data, "columns") else data.to_frame("text")
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        # The last argument: the first may hold a value of the frame.
        said = error.args[-1] if error.args else type(error).__name__
        raise InputError(f"the pandas frame cannot be read as a table: {said}") from None


def from_polars(data: Any) -> pa.Table:
    """The columns of a frame, eager or lazy; a series is a column of texts."""
    frame = data.collect() if hasattr(data, "collect") else data
    return frame.to_arrow() if hasattr(frame, "columns") else pa.table({"text": frame.to_arrow()})


def as_streamed_table(data: Any) -> pa.Table:
    """A table from any object that exports an Arrow stream of rows."""
    try:
        return pa.RecordBatchReader.from_stream(data).read_all()
    except (pa.ArrowException, TypeError) as error:
        raise InputError(f"a {type(data).__name__} cannot be read as a table: {error}") from None


def records(rows: Sequence[Any], replaced: list[int]) -> pa.Table:
    """A table with a column for each key; rows with a lone surrogate are added to `replaced`."""
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            kind = type(row).__name__
            raise InputError(
                f"an iterable of documents must hold dicts only; item {number} is of type {kind}"
            )
    names = dict.fromkeys(str(name) for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    for name, values in columns.items():
        for place, value in enumerate(values):
            if isinstance(value, str) and SURROGATE.search(value):
                values[place] = clean(value)
                replaced.append(place + 1)
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowException, OverflowError) as error:
            raise InputError(f"the values of {name!r} cannot be one column: {error}") from None
    return pa.table(columns)


def strings(texts: Sequence[Any], replaced: list[int]) -> pa.Table:
    """A table with the one column 'text'; rows with a lone surrogate are added to `replaced`."""
    for row, text in enumerate(texts, start=1):
        if text is not None and not isinstance(text, str):
            kind = type(text).__name__
            raise InputError(f"an iterable of texts must hold strings; item {row} is of type {kind}")
    string: Any = pa.large_string() if sum(map(len, filter(None, texts))) > 1 << 28 else pa.string()
    try:
        column = pa.array(texts, string)
    except UnicodeEncodeError:
        column = pa.array([None if text is None else clean(text) for text in texts], string)
        replaced += [row for row, text in enumerate(texts, start=1) if text and SURROGATE.search(text)]
    return pa.table({"text": column})
