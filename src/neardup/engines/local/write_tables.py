"""Pairs and clusters as files: parquet, csv or jsonl."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.documents import Batch, open_writer
from neardup.documents.document_columns import is_string
from neardup.engines.core.tables import cluster_table, count_pairs, pair_tables, pairs_schema
from neardup.engines.local.run import LocalRun
from neardup.escapes import escape_controls

TableFormat = Literal["parquet", "csv", "jsonl"]
TABLE_FORMATS: tuple[TableFormat, ...] = get_args(TableFormat)
REPORT = "report.json"


def as_table_format(name: str) -> TableFormat:
    """The format of this name."""
    return next(format for format in TABLE_FORMATS if format == name)


def record_files(format: TableFormat = "parquet") -> list[str]:
    """The names of the files that every run writes."""
    return [f"pairs.{format}", f"clusters.{format}", REPORT]


def write_pairs(
    run: LocalRun,
    path: os.PathLike[str] | IO[bytes],
    format: TableFormat = "parquet",
    escape_formulas: bool = True,
) -> int:
    """The number of pairs written, table by table: copies are paired with each other only on the way to the file."""
    expected = count_pairs(run.outcome)
    if expected > 10 * len(run.corpus):
        run.progress.note(f"{expected:,} pairs of {len(run.corpus):,} documents will be written")
    return _write(path, pairs_schema(run.outcome), pair_tables(run.outcome), format, escape_formulas)


def write_clusters(
    run: LocalRun,
    path: os.PathLike[str] | IO[bytes],
    format: TableFormat = "parquet",
    escape_formulas: bool = True,
) -> int:
    """The number of documents in clusters, after they have been written."""
    table = cluster_table(run.outcome)
    return _write(path, table.schema, [table], format, escape_formulas)


def write_table(
    path: os.PathLike[str] | IO[bytes], table: pa.Table, format: str, escape_formulas: bool = True
) -> int:
    """The number of rows written."""
    known: TableFormat = format  # type: ignore[assignment]
    return _write(path, table.schema, [table], known, escape_formulas)


def _write(
    path: os.PathLike[str] | IO[bytes],
    schema: pa.Schema,
    tables: Iterable[pa.Table],
    format: TableFormat,
    escape: bool,
) -> int:
    rows = 0
    if format == "parquet":
        with pq.ParquetWriter(path, schema, compression="zstd") as file:
            for table in tables:
                file.write_table(table)
                rows += len(table)
        return rows
    target = Path(path) if isinstance(path, os.PathLike) else path
    writer = open_writer(target, format, schema, escape_formulas=escape)
    try:
        for batch in (batch for table in tables for batch in table.to_batches()):
            shown = _without_controls(batch) if escape and format == "csv" else batch
            writer.write(Batch("", np.arange(batch.num_rows), shown))
            rows += batch.num_rows
    finally:
        writer.close()
    return rows


def _without_controls(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same cells with control characters escaped: people open csv in terminals and spreadsheets."""
    columns = [_escaped(column) if is_string(column.type) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _escaped(column: pa.Array) -> pa.Array:
    values = column.to_pylist()
    texts = [None if value is None else escape_controls(value) for value in values]
    return column if texts == values else pa.array(texts, column.type)
