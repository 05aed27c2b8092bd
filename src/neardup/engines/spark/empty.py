"""Documents without a token that the plan removes: one task decides on all of them, by their attributes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup.engines.core.documents import DocumentTable
from neardup.engines.core.empty import removed_empty
from neardup.engines.spark.shuffle.arrow import Batches, in_arrow, sliced, unsigned
from neardup.engines.spark.shuffle.packed_blocks import column, unpack
from neardup.engines.spark.shuffle.side_files import read_side_file
from neardup.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def find_empty(plan: Plan, documents: DataFrame, id_type: str) -> DataFrame:
    """id and duplicate_of (null, or the empty document that stays) of the empty documents to remove."""
    chunks = documents.where("without_tokens > 0").select("identity", "attributes").coalesce(1)
    return in_arrow(chunks, partial(_decide, plan), f"id {id_type}, duplicate_of {id_type}")


def empty_metrics() -> dict[str, Any]:
    """Metrics of the stage: the number of removed documents."""
    from pyspark.sql import functions as f

    return {"removed": f.count(f.lit(1))}


def _decide(plan: Plan, batches: Batches) -> Batches:
    parts = [
        _empty_rows(unpack(identity), read_side_file(attributes))
        for batch in batches
        for identity, attributes in zip(batch.column("identity"), batch.column("attributes"), strict=True)
    ]
    if not parts:
        return
    found = pa.concat_tables(parts)
    order = np.lexsort((column(found, "id_hash"), column(found, "position")))
    found = found.take(pa.array(order)).combine_chunks()
    ids = _array(found, "id")
    values = _array(found, "value") if "value" in found.column_names else None
    documents = DocumentTable(ids, unsigned(column(found, "id_hash")), column(found, "length"), values)
    removed, leader = removed_empty(plan, documents, np.arange(len(documents)))
    others = pa.array(np.full(len(removed), leader), mask=np.full(len(removed), leader < 0))
    rows = pa.table({"id": ids.take(pa.array(removed)), "duplicate_of": ids.take(others)})
    for batch in rows.to_batches():
        yield from sliced(batch)


def _empty_rows(identity: pa.Table, attributes: pa.Table) -> pa.Table:
    """The attributes of documents without a token, with their id hashes."""
    empty = np.flatnonzero(column(identity, "tokens") == 0)
    chosen = attributes.take(pa.array(empty))
    return chosen.append_column("id_hash", pa.array(column(identity, "id_hash")[empty]))


def _array(table: pa.Table, name: str) -> Any:
    whole = table.column(name).combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
