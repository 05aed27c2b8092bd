"""Exact copies and repeated ids: documents are shuffled by text digest and by id hash."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.candidates.copies import collapse
from neardup.engines.spark.candidates.hot_buckets import NAMES, PAIRS
from neardup.engines.spark.shuffle import packed_blocks as shuffle
from neardup.engines.spark.shuffle.arrow import Batches, in_arrow, table
from neardup.engines.spark.shuffle.packed_blocks import COUNTS_PART, ROW_BITS, PackedBlocks, column, unpack
from neardup.engines.spark.shuffle.side_files import read_side_file
from neardup.errors import InputError

COUNTS = ("distinct_texts", "repeated_ids", "copies")
COPIES = "chunk long, count long, rows binary, distinct_texts long, repeated_ids long, copies long"


def find_copies(documents: DataFrame, tasks: int) -> DataFrame:
    """COPIES: the copies in each chunk, with place, id_hash, representative and representative_place of each.

    The representative of a text is its document with the smallest id hash. `tokens` is false for copies without tokens,
    which are duplicates of nothing. Rows of chunk -1 have the counts of distinct texts, repeated ids and copies.
    """
    blocks = shuffle.in_blocks(documents.select("chunk", "identity"), partial(_identity_blocks, tasks))
    found = shuffle.in_blocks(shuffle.shuffled(blocks, tasks), partial(_copy_blocks, tasks))
    return in_arrow(shuffle.shuffled(found, tasks), _by_chunk, COPIES)


def _identity_blocks(tasks: int, batches: Batches) -> PackedBlocks:
    """Blocks by text digest (parts below `tasks`) and by id hash (the parts above)."""
    for batch in batches:
        for chunk, packed in zip(batch.column("chunk").to_pylist(), batch.column("identity"), strict=True):
            identity = unpack(packed)
            values = {name: column(identity, name) for name in identity.column_names}
            values["place"] = shuffle.places_of(chunk, np.arange(len(identity)))
            some = {name: values[name] for name in ("digest_a", "digest_b", "id_hash", "place")}
            some["tokens"] = values["tokens"] > 0
            yield from shuffle.split(some, shuffle.part_of(values["digest_a"], tasks))
            some = {name: values[name] for name in ("id_hash", "second_hash")}
            yield from shuffle.split(some, tasks + shuffle.part_of(values["id_hash"], tasks))


def _copy_blocks(tasks: int, batches: Batches) -> PackedBlocks:
    """Blocks of copies, by chunk, and one block of counts."""
    distinct_texts = repeated_ids = number = 0
    for part, some in shuffle.received(batches).items():
        if part >= tasks:
            id_hashes = np.sort(column(some, "id_hash"))
            repeated_ids += int((id_hashes[1:] == id_hashes[:-1]).sum())
            continue
        texts, copies = copies_of(some)
        distinct_texts += texts
        number += int(copies["tokens"].sum())
        yield from shuffle.split(copies, shuffle.part_of(copies["place"] >> ROW_BITS, tasks))
    counts = zip(COUNTS, (distinct_texts, repeated_ids, number), strict=True)
    yield COUNTS_PART, {name: np.array([value]) for name, value in counts}


def copies_of(some: pa.Table) -> tuple[int, dict[str, Any]]:
    """The number of distinct texts, and the documents that copy one with a smaller id hash."""
    values = {name: column(some, name) for name in some.column_names}
    digests = np.column_stack([values["digest_a"], values["digest_b"]])
    everything = np.ones(len(digests), np.bool_)
    representatives = collapse(digests, values["id_hash"], everything)
    copy = np.flatnonzero(representatives != np.arange(len(digests)))
    representative = representatives[copy]
    return len(digests) - len(copy), {
        "tokens": values["tokens"][copy],
        "place": values["place"][copy],
        "id_hash": values["id_hash"][copy],
        "representative": values["id_hash"][representative],
        "representative_place": values["place"][representative],
    }


def _by_chunk(batches: Batches) -> Batches:
    counts = dict.fromkeys(COUNTS, 0)

    def without_counts() -> Batches:
        for batch in batches:
            is_counts = batch.column("part").to_numpy() == COUNTS_PART
            for packed in batch.column("packed").filter(pa.array(is_counts)):
                for name, value in unpack(packed).to_pydict().items():
                    counts[name] += value[0]
            yield batch.filter(pa.array(~is_counts))

    nothing = [pa.array([0], pa.int64())] * len(COUNTS)
    for found in shuffle.rows_by_chunk(without_counts()):
        yield pa.RecordBatch.from_arrays([*found.columns, *nothing], ["chunk", "count", "rows", *COUNTS])
    none = {"chunk": np.array([-1]), "count": np.array([0]), "rows": pa.nulls(1, pa.binary())}
    yield table({**none, **{name: np.array([value]) for name, value in counts.items()}})


def copy_metrics() -> dict[str, Any]:
    """Metrics of the stage: distinct texts, repeated ids, copies with tokens."""
    return {name: f.sum(name) for name in COUNTS}


def copy_pairs(copies: DataFrame, kind: int) -> DataFrame:
    """PAIRS: each copy with its representative."""

    def work(batches: Batches) -> Batches:
        for batch in batches:
            for packed in batch.column("rows"):
                some = unpack(packed)
                yield table(pairs_of_copies(some.filter(some.column("tokens")), kind))

    return in_arrow(copies.where("chunk >= 0").select("rows"), work, PAIRS)


def pairs_of_copies(copies: pa.Table, kind: int) -> dict[str, Any]:
    """Each copy with its representative, in the columns of PAIRS."""
    names = ("representative", "id_hash", "representative_place", "place")
    pairs = {name: column(copies, which) for name, which in zip(NAMES[1:], names, strict=True)}
    return {"kind": np.full(len(copies), kind, np.int32), **pairs}


def refuse_ids(documents: DataFrame) -> None:
    """Raises with the ids of several documents, or with different ids of one hash."""

    def work(batches: Batches) -> Batches:
        for batch in batches:
            for identity, attributes in zip(
                batch.column("identity"), batch.column("attributes"), strict=True
            ):
                ids = read_side_file(attributes).column("id").cast(pa.string()).combine_chunks()
                known = unpack(identity)
                hashes = {name: column(known, name) for name in ("id_hash", "second_hash")}
                yield table({**hashes, "id": ids})

    chunks = documents.select("identity", "attributes")
    rows = in_arrow(chunks, work, "id_hash long, second_hash long, id string")
    counted = rows.groupBy("id_hash").agg(
        f.count("*").alias("documents"), f.countDistinct("second_hash").alias("ids")
    )
    repeated = counted.where("documents > 1")
    first = repeated.limit(3).collect()
    shown = rows.where(f.col("id_hash").isin([each["id_hash"] for each in first])).select("id").distinct()
    names = ", ".join(repr(each["id"]) for each in shown.limit(3).collect())
    if all(each["ids"] > 1 for each in first):
        raise InputError(f"The ids {names} have the same 64-bit hash: change one of them and run again.")
    count = repeated.count()
    raise InputError(
        f"{count:,} {'id is' if count == 1 else 'ids are'} used by more than one document, for example {names}: "
        "choose another id column, or make the ids unique."
    )
