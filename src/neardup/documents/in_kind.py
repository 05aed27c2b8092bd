"""Data of other libraries: read as Arrow tables, and given back in its own type.

No library is imported here: an object that was given has imported its own.
"""

from __future__ import annotations

import atexit
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.columns import Numbers
from neardup.documents.memory import memory_source
from neardup.documents.parquet import ParquetSource
from neardup.documents.source import BATCH_ROWS
from neardup.errors import InputError

Mask = Any  # one truth value for each document that was read
Back = Callable[[Mask], Any]
_ROWS = 1000  # rows of a stream that are taken at once


@dataclass(frozen=True)
class Given:
    """Data as sources, and how the chosen rows of it are given back."""

    sources: list[Any]
    back: Back


def taken(data: Any) -> Given | None:
    """The data of a library that is known by name; None for anything else."""
    library, kind = type(data).__module__.partition(".")[0], type(data).__name__
    if library == "datasets":
        return _of_datasets(data, kind)
    if library == "polars" and kind == "LazyFrame":
        frame = data.collect()
        return Given([frame], lambda mask: frame.filter(mask.tolist()).lazy())
    if library in ("duckdb", "_duckdb") and kind == "DuckDBPyRelation":
        return _of_relation(data)
    return None


def _of_datasets(data: Any, kind: str) -> Given:
    """Hugging Face's Dataset and IterableDataset, and dictionaries of them, whose splits are compared together."""
    if not isinstance(data, Mapping):
        source, filtered = _of_split(data, "input")
        return Given([source], filtered)
    if not data:
        raise InputError(f"the {kind} has no splits: give one with documents")
    make: Any = type(data)
    parts = {name: _of_split(split, name) for name, split in data.items()}
    sources = [source for source, _ in parts.values()]

    def back(mask: Mask) -> Any:
        ends = np.cumsum([source.rows for source in sources])
        masks = np.split(mask, ends[:-1])
        chosen = {name: each(part) for (name, (_, each)), part in zip(parts.items(), masks, strict=True)}
        return make(chosen)

    return Given(sources, back)


def _of_split(data: Any, name: str) -> tuple[Any, Back]:
    if type(data).__name__ == "IterableDataset":
        return _streamed(data, name)
    table = data.with_format("arrow")[:]
    return memory_source(table, name), lambda mask: data.select(np.flatnonzero(mask))


def _streamed(data: Any, name: str) -> tuple[Any, Back]:
    """A stream is read once, into a temporary file; the result is the stream again, filtered while it is read."""
    path = _written(_tables(data), name)

    def back(mask: Mask) -> Any:
        kept: Numbers = np.asarray(mask)
        return data.filter(lambda row, place: bool(kept[place]), with_indices=True)

    return ParquetSource(name, str(path), path.stat().st_size), back


def _tables(data: Any) -> Iterator[pa.Table]:
    rows: list[Any] = []
    for row in data:
        rows.append(row)
        if len(rows) == _ROWS:
            yield pa.Table.from_pylist(rows)
            rows = []
    if rows:
        yield pa.Table.from_pylist(rows)


def _written(tables: Iterator[pa.Table], name: str) -> Path:
    """A temporary parquet file of the tables, which is removed when the process ends."""
    first = next(tables, None)
    if first is None:
        raise InputError(f"the dataset {name!r} is empty: give one with documents")
    with tempfile.NamedTemporaryFile(prefix="neardup-stream-", suffix=".parquet", delete=False) as file:
        path = Path(file.name)
    atexit.register(path.unlink, missing_ok=True)
    schema = pa.schema(
        [field if field.type != pa.null() else field.with_type(pa.string()) for field in first.schema]
    )
    with pq.ParquetWriter(path, schema, compression="zstd") as out:
        for table in _chain(first, tables):
            try:
                out.write_table(table.select(schema.names).cast(schema), row_group_size=BATCH_ROWS)
            except (pa.ArrowException, KeyError, ValueError) as error:
                raise InputError(
                    f"the rows of the dataset {name!r} are not of one kind: {str(error).splitlines()[0]}"
                ) from None
    return path


def _chain(first: pa.Table, others: Iterator[pa.Table]) -> Iterator[pa.Table]:
    yield first
    yield from others


def _of_relation(data: Any) -> Given:
    """A DuckDB relation, run once: a second run could give its rows in another order."""
    import duckdb

    reader: Any = data.__arrow_c_stream__ if hasattr(data, "__arrow_c_stream__") else None
    table = pa.RecordBatchReader.from_stream(data).read_all() if reader else pa.table(data.arrow())
    return Given([table], lambda mask: duckdb.from_arrow(table.filter(pa.array(mask))))


def chosen(given: Any, mask: Mask) -> Any:
    """The chosen documents in the type that was given; None if they come as an Arrow table."""
    if isinstance(given, Given):
        return given.back(mask)
    if isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        return [document for document, one in zip(given, mask.tolist(), strict=True) if one]
    library = type(given).__module__.partition(".")[0]
    if library == "pandas":
        return given[mask]
    return given.filter(mask.tolist()) if library == "polars" else None
