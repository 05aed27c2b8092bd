"""What a plan sees of contents when frequencies are known, or features are all that it compares: chunks again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup.columns import Features, Texts, make_distinct
from neardup.engines.core.represent import cut, signed
from neardup.engines.spark.candidates.bands import represented_texts
from neardup.engines.spark.documents import seen_columns, stacked
from neardup.engines.spark.frequencies.count import told
from neardup.engines.spark.shuffle.arrow import (
    Batches,
    in_arrow,
    pack_features,
    partition_number,
    table,
    unpack_features,
)
from neardup.engines.spark.shuffle.packed_blocks import ROW_BITS, column, pack, unpack
from neardup.engines.spark.shuffle.side_files import SideFiles, read_side_file, rows_at
from neardup.engines.spark.verify import payload_columns
from neardup.plan import Plan
from neardup.statistics import Statistics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SIGNED = "chunk long, number long, seen binary, features binary"


def represent_distinct_texts(plan: Plan, contents: DataFrame, statistics: Any, shelf: SideFiles) -> DataFrame:
    """What the plan sees in contents, and the features that its check looks at.

    `contents` has chunks: names, text, wanted, the documents to leave out, and known, the frequencies that a chunk was
    told. `statistics` is a broadcast variable, or None. Features go to the shelf.
    """

    def work(batches: Batches) -> Batches:
        with shelf.opened(partition_number()) as store:
            for batch in batches:
                several = zip(distinct_chunk_texts(batch), batch.column("known"), strict=True)
                for (chunk, ranks, rows, texts), answers in several:
                    if len(rows):
                        known = None if statistics is None else told(plan, statistics.value, answers)
                        seen, features, number = _looked_at(plan, texts, known)
                        names = {"row": rows, "rank": ranks}
                        yield _chunk(
                            chunk,
                            number,
                            pack({**names, **seen}),
                            store({"row": rows, **features}) if features else None,
                        )

    return in_arrow(contents.select("chunk", "names", "text", "wanted", "known"), work, SIGNED)


def representation_metrics() -> dict[str, Any]:
    """What is remembered of the stage: how many features all contents have."""
    from pyspark.sql import functions as f

    return {"features": f.sum("number")}


def distinct_chunk_texts(batch: pa.RecordBatch) -> Iterator[tuple[int, Any, Any, pa.Array]]:
    """Chunk by chunk: its number, and ranks, rows and texts of the documents that have tokens and are no copies."""
    wanted = batch.column("wanted")
    for number, chunk in enumerate(batch.column("chunk").to_pylist()):
        names = unpack(batch.column("names")[number])
        chosen = column(names, "tokens") > 0
        if wanted[number].is_valid:
            chosen[column(unpack(wanted[number]), "place") & ((1 << ROW_BITS) - 1)] = False
        rows = np.flatnonzero(chosen)
        texts = read_side_file(batch.column("text")[number]).column("text").chunk(0).take(pa.array(rows))
        yield chunk, column(names, "rank")[rows], rows, texts


def _looked_at(
    plan: Plan, texts: pa.Array, statistics: Statistics | None
) -> tuple[dict[str, pa.Array], dict[str, pa.Array], int]:
    """What is seen of texts, their features where these are compared, and how many they are."""
    seen, packed, number = [], [], 0
    for _, part in cut(Texts.from_arrow(texts)):
        tokens = plan.text(part, details=plan.view.details)
        features = plan.view.represent(tokens, statistics)
        seen.append(seen_columns(signed(plan, tokens, features)))
        if _keeps_features(plan):
            if plan.check_view is not None:
                tokens = plan.text(part, details=plan.check_view.details)
                features = plan.check_view.represent(tokens, statistics)
            features = make_distinct(features)
            packed.append(pack_features(features))
            number += len(features.hashes)
    return stacked(seen), stacked(packed) if packed else {}, number


def _chunk(chunk: int, number: int, seen: bytes, features: bytes | None) -> pa.RecordBatch:
    numbers = {"chunk": np.array([chunk]), "number": np.array([number])}
    return table({**numbers, "seen": [seen], "features": pa.array([features], pa.binary())})


def _keeps_features(plan: Plan) -> bool:
    """Whether they are compared, and not only what is made of them."""
    return plan.candidates.level == "features" or payload_columns(plan)[0] == "hashes"


def distinct_chunk_features(batches: Batches) -> Iterator[tuple[pa.Table, Any, Features]]:
    """What was seen of each chunk's contents that are present, their places, and their features."""
    for batch in batches:
        for number, (seen, places) in enumerate(represented_texts(batch)):
            if len(places):
                some = rows_at(read_side_file(batch.column("features")[number]), places).combine_chunks()
                yield seen, places, unpack_features(some.column("hashes"), some.column("weights"))
