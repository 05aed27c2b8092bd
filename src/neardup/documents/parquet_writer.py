"""Parquet out, in row groups of bounded size.

Several threads encode row groups at the same time (`row_groups.py`): for 100,000 documents of 277 MB, two threads take
0.51 s of CPU time where one takes 0.45 s, and 0.6 of its time on the clock (best of 4, on a machine with other load).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.columns import Numbers
from neardup.documents.output_lines import KeptOpen
from neardup.documents.row_groups import RowGroupWriter
from neardup.documents.source import Batch
from neardup.documents.writers import fitted, full_schema, requested_schema, taken

GROUP_BYTES = 8 << 20
GROUP_ROWS = 1 << 20

# 275 MB of made-up words, which compress badly, in one column: CPU seconds on one core, file size in MB
# (in brackets for news pages of the same size); the codec takes all but 0.15 s:
#   zstd 1   1.04 s 135 MB (55)     lz4      0.88 s 209 MB (88)
#   zstd -5  0.69 s 225 MB (85)     snappy   1.22 s 198 MB (99)
#   zstd -7  0.62 s 234 MB (91)     none     0.15 s 275 MB
# A snappy input, chosen for speed, gets a zstd level that is faster still, and smaller on real pages.
CODECS: dict[str, tuple[str, int | None]] = {
    "zstd": ("zstd", 1),
    "zstd-fast": ("zstd", -7),
    "uncompressed": ("none", None),
}


class ParquetWriter:
    """Rows to one parquet file."""

    def __init__(
        self,
        target: Path | IO[bytes],
        columns: pa.Schema | Sequence[str],
        extra: pa.Schema | None,
        compression: str | None,
        threads: int = 1,
    ) -> None:
        self._columns, self._extra, self._threads = columns, extra, threads
        self._codec = (compression or "zstd").lower()
        self._schema_out: pa.Schema | None = None
        self._waiting: list[pa.RecordBatch] = []
        self._bytes = self._rows = 0
        self._target = target if isinstance(target, Path) else KeptOpen(target)
        self._file: pq.ParquetWriter | RowGroupWriter | None = None

    def write(self, batch: Batch, rows: Numbers | None = None, extra: pa.RecordBatch | None = None) -> None:
        """Append rows; they reach the file when a row group is full."""
        if rows is not None and not len(rows):
            return
        schema = self._opened(batch.columns.schema)
        if extra is None:
            parts = runs(fitted(batch.columns, None, schema), rows)
        else:
            parts = [fitted(taken(batch.columns, rows), extra, schema)]
        self._waiting += parts
        self._rows += sum(part.num_rows for part in parts)
        self._bytes += (
            batch.columns.nbytes if rows is None else batch.columns.nbytes * len(rows) // len(batch)
        )
        if self._bytes >= GROUP_BYTES or self._rows >= GROUP_ROWS:
            self._flush()

    def _opened(self, found: pa.Schema | None) -> pa.Schema:
        if self._schema_out is None:
            self._schema_out = storable(
                full_schema(requested_schema(self._columns, found, pa.string()), self._extra)
            )
            self._file = self._open(self._schema_out)
        return self._schema_out

    def _open(self, schema: pa.Schema) -> pq.ParquetWriter | RowGroupWriter:
        if self._threads > 1 and isinstance(self._target, Path):
            opened = partial(open_parquet, schema=schema, codec=self._codec)
            return RowGroupWriter(self._target, opened, schema, self._threads)
        return open_parquet(self._target, schema, self._codec)

    def _flush(self) -> None:
        if self._waiting and self._file is not None:
            table = pa.Table.from_batches(self._waiting, self._schema_out)
            self._file.write_table(table, row_group_size=GROUP_ROWS)
        self._waiting, self._bytes, self._rows = [], 0, 0

    def close(self) -> None:
        """Finish the file; a file without rows still has its columns."""
        self._opened(None)
        try:
            self._flush()
        finally:
            if self._file is not None:
                self._file.close()


def open_parquet(target: Any, schema: pa.Schema, codec: str) -> pq.ParquetWriter:
    """A writer with settings for long texts."""
    # No statistics of text columns: they would hold whole documents.
    short = [field.name for field in schema if not _long(field.type)]
    dictionaries = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    compression, level = CODECS.get(codec, (codec, None))
    return pq.ParquetWriter(
        target,
        schema,
        compression=compression,
        compression_level=level,
        use_dictionary=dictionaries,
        write_statistics=short,
        data_page_size=1 << 20,
        write_batch_size=256,  # rows between two checks of the page's size: documents are long
    )


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


def runs(columns: pa.RecordBatch, rows: Numbers | None) -> list[pa.RecordBatch]:
    """The rows as slices of the batch without a copy; copied if they are scattered."""
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
