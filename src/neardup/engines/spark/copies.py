"""Exact copies, and ids that are not each used once: documents meet those of their digest, and those of their rank."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup.engines.spark.candidates.hot_buckets import PAIRS
from neardup.engines.spark.shuffle.arrow import Batches, begins, in_arrow, table
from neardup.engines.spark.shuffle.packed_blocks import (
    ROW_BITS,
    TALLY,
    PackedBlocks,
    column,
    gathered,
    in_blocks,
    part_of,
    places_of,
    received,
    shuffled,
    split,
    unpack,
)
from neardup.engines.spark.shuffle.side_files import read_side_file
from neardup.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COUNTS = ("contents", "twice", "copies")
COPIES = "chunk long, count long, wanted binary, contents long, twice long, copies long"


def find_copies(documents: DataFrame, tasks: int) -> DataFrame:
    """For each chunk its documents that are copies: place, rank, content and content_place of each.

    A copy belongs to the content of the smallest rank; one without a token is marked, and nobody's duplicate. Rows of
    the chunk -1 have counts: of different texts, of ranks that are not used once, and of copies.
    """
    names = in_blocks(documents.select("chunk", "names"), partial(_names, tasks))
    found = in_blocks(shuffled(names, tasks), partial(_meeting, tasks))
    return in_arrow(shuffled(found, tasks), _by_chunk, COPIES)


def _names(tasks: int, batches: Batches) -> PackedBlocks:
    """Chunks to parcels: digests in the first parts, ranks in the second."""
    for batch in batches:
        for chunk, packed in zip(batch.column("chunk").to_pylist(), batch.column("names"), strict=True):
            names = unpack(packed)
            values = {name: column(names, name) for name in names.column_names}
            values["place"] = places_of(chunk, np.arange(len(names)))
            some = {name: values[name] for name in ("digest_a", "digest_b", "rank", "place")}
            some["tokens"] = values["tokens"] > 0
            yield from split(some, part_of(values["digest_a"], tasks))
            some = {name: values[name] for name in ("rank", "second")}
            yield from split(some, tasks + part_of(values["rank"], tasks))


def _meeting(tasks: int, batches: Batches) -> PackedBlocks:
    """Parcels of names to parcels of copies, for their chunks."""
    contents = twice = number = 0
    for part, some in received(batches).items():
        if part >= tasks:
            ranks = np.sort(column(some, "rank"))
            twice += int((ranks[1:] == ranks[:-1]).sum())
            continue
        texts, copies = copies_of(some)
        contents += texts
        number += int(copies["tokens"].sum())
        yield from split(copies, part_of(copies["place"] >> ROW_BITS, tasks))
    yield (
        TALLY,
        {name: np.array([value]) for name, value in zip(COUNTS, (contents, twice, number), strict=True)},
    )


def copies_of(some: pa.Table) -> tuple[int, dict[str, Any]]:
    """How many texts there are, and the documents that are copies of one with a smaller rank."""
    values = {name: column(some, name) for name in some.column_names}
    order = np.lexsort((values["rank"], values["digest_b"], values["digest_a"]))
    values = {name: each[order] for name, each in values.items()}
    starts = begins(values["digest_a"], values["digest_b"])
    first = np.repeat(starts[:-1], np.diff(starts))
    copy = np.flatnonzero(first != np.arange(len(first)))
    content = first[copy]
    return len(starts) - 1, {
        "tokens": values["tokens"][copy],
        "place": values["place"][copy],
        "rank": values["rank"][copy],
        "content": values["rank"][content],
        "content_place": values["place"][content],
    }


def _by_chunk(batches: Batches) -> Batches:
    counts = dict.fromkeys(COUNTS, 0)

    def parcels() -> Batches:
        for batch in batches:
            tally = batch.column("part").to_numpy() == TALLY
            for packed in batch.column("packed").filter(pa.array(tally)):
                for name, value in unpack(packed).to_pydict().items():
                    counts[name] += value[0]
            yield batch.filter(pa.array(~tally))

    nothing = [pa.array([0], pa.int64())] * len(COUNTS)
    for found in gathered(parcels()):
        yield pa.RecordBatch.from_arrays([*found.columns, *nothing], ["chunk", "count", "wanted", *COUNTS])
    none = {"chunk": np.array([-1]), "count": np.array([0]), "wanted": pa.nulls(1, pa.binary())}
    yield table({**none, **{name: np.array([value]) for name, value in counts.items()}})


def copy_metrics() -> dict[str, Any]:
    """What is remembered of the stage: different texts, ranks that are not used once, copies that have tokens."""
    from pyspark.sql import functions as f

    return {name: f.sum(name) for name in COUNTS}


def copy_pairs(copies: DataFrame, kind: int) -> DataFrame:
    """Each copy as a pair with the document that stands for it."""

    def work(batches: Batches) -> Batches:
        for batch in batches:
            for packed in batch.column("wanted"):
                some = unpack(packed)
                some = some.filter(some.column("tokens"))
                yield table(
                    {
                        "kind": np.full(len(some), kind, np.int32),
                        "left": column(some, "content"),
                        "right": column(some, "rank"),
                        "left_place": column(some, "content_place"),
                        "right_place": column(some, "place"),
                    }
                )

    return in_arrow(copies.where("chunk >= 0").select("wanted"), work, PAIRS)


def refuse_ids(documents: DataFrame) -> None:
    """Says which ids stand for several documents, or which different ids have one hash."""
    from pyspark.sql import functions as f

    def work(batches: Batches) -> Batches:
        for batch in batches:
            for names, facts in zip(batch.column("names"), batch.column("facts"), strict=True):
                ids = read_side_file(facts).column("id").cast(pa.string()).combine_chunks()
                known = unpack(names)
                yield table({"rank": column(known, "rank"), "second": column(known, "second"), "id": ids})

    rows = in_arrow(documents.select("names", "facts"), work, "rank long, second long, id string")
    again = rows.groupBy("rank").agg(f.count("*").alias("n"), f.countDistinct("second").alias("ids"))
    bad = again.where("n > 1")
    first = bad.limit(3).collect()
    shown = rows.where(f.col("rank").isin([each["rank"] for each in first])).select("id").distinct()
    names = ", ".join(repr(each["id"]) for each in shown.limit(3).collect())
    if all(each["ids"] > 1 for each in first):
        raise InputError(
            f"The ids {names} have one 64-bit hash: change one of them by a letter and run again."
        )
    raise InputError(
        f"{bad.count():,} ids stand for more than one document, {names} among them: choose another id "
        "column, or make the ids unique"
    )
