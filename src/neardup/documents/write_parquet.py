"""Parquet out, in row groups of bounded size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.documents.source import Batch
from neardup.documents.writers import fitted, full_schema, taken

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ParquetWriter"]

GROUP_BYTES = 32 << 20
GROUP_ROWS = 1 << 20

# 275 MB of text in one column, one core, CPU seconds and size of the file; all but 0.15 s is the codec:
#   zstd 1   1.07 s 129 MB     lz4      0.88 s 194 MB
#   zstd -3  0.78 s 205 MB     snappy   1.10 s 185 MB
#   zstd -5  0.74 s 210 MB     none     0.15 s 276 MB
CODECS: dict[str, tuple[str, int | None]] = {
    "zstd": ("zstd", 1),
    "zstd-fast": ("zstd", -3),
    "uncompressed": ("none", None),
}


class ParquetWriter:
    """Rows to one parquet file."""

    def __init__(
        self,
        path: Path,
        columns: pa.Schema | Sequence[str],
        extra: pa.Schema | None,
        compression: str | None,
    ) -> None:
        self._path, self._columns, self._extra = path, columns, extra
        self._codec = (compression or "zstd").lower()
        self._file: pq.ParquetWriter | None = None
        self._schema_out = pa.schema([])
        self._waiting: list[pa.RecordBatch] = []
        self._bytes = self._rows = 0

    def write(
        self, batch: Batch, rows: NDArray[np.int64] | None = None, extra: pa.RecordBatch | None = None
    ) -> None:
        """Append rows; they reach the file when a row group is full."""
        if rows is not None and not len(rows):
            return
        schema = self._opened(batch.columns.schema)
        for part in runs(batch.columns, rows) if extra is None else [taken(batch.columns, rows)]:
            self._waiting.append(fitted(part, extra, schema))
            self._rows += part.num_rows
        self._bytes += (
            batch.columns.nbytes if rows is None else batch.columns.nbytes * len(rows) // len(batch)
        )
        if self._bytes >= GROUP_BYTES or self._rows >= GROUP_ROWS:
            self._flush()

    def _opened(self, found: pa.Schema | None) -> pa.Schema:
        if self._file is None:
            self._schema_out = storable(full_schema(self._schema(found), self._extra))
            self._file = self._open(self._schema_out)
        return self._schema_out

    def _schema(self, found: pa.Schema | None) -> pa.Schema:
        if isinstance(self._columns, pa.Schema):
            return self._columns
        known = {} if found is None else {field.name: field for field in found}
        return pa.schema([known.get(name, pa.field(name, pa.string())) for name in self._columns])

    def _open(self, schema: pa.Schema) -> pq.ParquetWriter:
        # Statistics of a text column would hold whole documents; ids and numbers have them.
        short: Any = [field.name for field in schema if not _long(field.type)]
        coded: Any = [field.name for field in schema if pa.types.is_dictionary(field.type)]
        codec, level = CODECS.get(self._codec, (self._codec, None))
        compression: Any = codec
        return pq.ParquetWriter(
            self._path,
            schema,
            compression=compression,
            compression_level=level,
            use_dictionary=coded,
            write_statistics=short,
            data_page_size=1 << 20,
            write_batch_size=256,  # rows between two looks at the page's size: documents are long
        )

    def _flush(self) -> None:
        if self._waiting and self._file is not None:
            self._file.write_table(pa.Table.from_batches(self._waiting), row_group_size=GROUP_ROWS)
        self._waiting, self._bytes, self._rows = [], 0, 0

    def close(self) -> None:
        """Finish the file; one without rows still has its columns."""
        self._opened(None)
        self._flush()
        if self._file is not None:
            self._file.close()


def storable(schema: pa.Schema) -> pa.Schema:
    """The schema with strings for the types that parquet does not have."""
    if _accepted(schema):
        return schema
    fields = [each if _accepted(pa.schema([each])) else each.with_type(pa.string()) for each in schema]
    return pa.schema(fields, metadata=schema.metadata)


def _accepted(schema: pa.Schema) -> bool:
    try:
        pq.ParquetWriter(pa.BufferOutputStream(), schema).close()
    except pa.ArrowException:
        return False
    return True


def runs(columns: pa.RecordBatch, rows: NDArray[np.int64] | None) -> list[pa.RecordBatch]:
    """The rows as slices of the batch, which copy nothing; copied where they are scattered."""
    if rows is None:
        return [columns]
    breaks = np.flatnonzero(np.diff(rows) != 1) + 1
    if len(breaks) > len(rows) // 4:
        return [taken(columns, rows)]
    starts, stops = (
        rows[np.concatenate([[0], breaks])],
        rows[np.concatenate([breaks - 1, [len(rows) - 1]])] + 1,
    )
    return [columns.slice(a, b - a) for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]


def _long(found: Any) -> bool:
    if pa.types.is_dictionary(found):
        return _long(found.value_type)
    return not pa.types.is_primitive(found)
