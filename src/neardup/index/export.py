"""The documents of an index as a file that can be read back: ids, texts, fields and attributes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.documents import Batch, open_writer
from neardup.engines.core.documents import plan_fields
from neardup.engines.core.progress import Progress
from neardup.index.signed import Store, stored_text
from neardup.index.truth import Attributes, Columns, DocumentStore, Snapshot, StoredRows
from neardup.plan import Plan
from neardup.remote_output import output_file
from neardup.text.fields import SEPARATOR

SCAN = 1024  # documents that are written together
FORMATS = (".jsonl", ".parquet")
ATTRIBUTES = {
    "access": pa.list_(pa.string()), "quality": pa.float64(), "time": pa.float64(), "url": pa.string(),
}  # fmt: skip
NONE = Attributes()


def write_tables(
    path: str | os.PathLike[str], schema: pa.Schema, tables: Iterable[pa.Table], *, force: bool = False
) -> int:
    """The number of rows written to a parquet, csv or jsonl file, which appears as a whole or not at all."""
    rows = 0
    with output_file(path, force=force) as target:
        writer = open_writer(target, Path(path).suffix.lower()[1:], schema)
        try:
            for batch in (batch for table in tables for batch in table.to_batches()):
                writer.write(Batch("", np.arange(batch.num_rows), batch))
                rows += batch.num_rows
        finally:
            writer.close()
    return rows


def split_text(plan: Plan | None, text: str) -> dict[str, str]:
    """The text of a document and its fields, by name."""
    fields = plan_fields(plan) if plan is not None else ()
    parts = text.split(SEPARATOR, len(fields)) if fields else [text]
    return dict(zip(["text", *fields], parts, strict=False))


def export_stored(
    snapshot: Snapshot,
    plan: Plan,
    store: Store,
    path: str | os.PathLike[str],
    progress: Progress,
    force: bool = False,
) -> int:
    """The number of documents written; without texts, if the index stores none."""
    last, columns = snapshot.last(), Columns(body=store == "text", attributes=True)
    integers = all(
        isinstance(name, int) for rows in snapshot.scan(1, last) for name in rows.ids
    )  # strings otherwise
    schema = _schema(plan, store, pa.int64() if integers and snapshot.count() else pa.string())
    with progress.stage("export", snapshot.count()):
        tables = _tables(snapshot.scan(1, last, columns, SCAN), schema, plan, progress)
        return write_tables(path, schema, tables, force=force)


def export_salvaged(
    truth: DocumentStore,
    plan: Plan | None,
    store: Store,
    path: str | os.PathLike[str],
    progress: Progress,
    force: bool,
) -> int:
    """The number of documents written of an index that may be damaged: those whose checksums are right."""
    schema = _schema(plan, store, pa.string())
    with progress.stage("export"):
        return write_tables(path, schema, _tables(truth.salvage(), schema, plan, progress), force=force)


def _schema(plan: Plan | None, store: Store, ids: pa.DataType) -> pa.Schema:
    texts = ["text", *(plan_fields(plan) if plan is not None else ())] if store == "text" else []
    columns = {"id": ids, **dict.fromkeys(texts, pa.string())}
    return pa.schema(columns | {name: kind for name, kind in ATTRIBUTES.items() if name not in columns})


def _tables(
    batches: Iterable[StoredRows], schema: pa.Schema, plan: Plan | None, progress: Progress
) -> Iterator[pa.Table]:
    for rows in batches:
        found = [_row(rows, n, schema, plan) for n in range(len(rows))]
        yield pa.Table.from_pylist(found, schema)
        progress.advance(len(rows))


def _row(rows: StoredRows, n: int, schema: pa.Schema, plan: Plan | None) -> dict[str, Any]:
    name, known = rows.ids[n], rows.attributes[n] or NONE
    row: dict[str, Any] = {field: getattr(known, field) for field in ATTRIBUTES}
    if "text" in schema.names and (body := rows.bodies[n]) is not None:
        row |= split_text(plan, stored_text(body))
    row["id"] = str(name) if pa.types.is_string(schema.field("id").type) else name
    return row
