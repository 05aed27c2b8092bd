"""Representations of distinct texts, for plans that weigh by document frequency or compare features."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.columns import Features, Numbers, Texts, make_distinct
from neardup.engines.core.compare import compared_features
from neardup.engines.core.represent import chunks as text_chunks
from neardup.engines.core.represent import represent_features
from neardup.engines.spark.documents import representation_columns, stacked
from neardup.engines.spark.frequencies.count import chunk_statistics
from neardup.engines.spark.shuffle.arrow import (
    Batches,
    in_arrow,
    pack_features,
    partition_number,
    table,
    unpack_features,
)
from neardup.engines.spark.shuffle.packed_blocks import ROW_BITS, column, pack, places_of, unpack
from neardup.engines.spark.shuffle.side_files import SideFiles, read_side_file, rows_at
from neardup.engines.spark.verify import payload_columns
from neardup.plan import Plan
from neardup.statistics import Statistics

SIGNED = "chunk long, features_count long, without_features long, representation binary, features binary"


@dataclass(frozen=True)
class DistinctTexts:
    """The representations that candidates come from, and their number."""

    chunks: DataFrame  # chunk, representation, copies (to leave out); features, if the plan joins them
    documents: int
    features: int  # of all distinct texts; 0 unless the plan joins features
    tasks: Callable[[float], int]  # the number of tasks that should receive so many bytes


def represent_distinct_texts(
    plan: Plan, chunks: DataFrame, statistics: Any, side_files: SideFiles
) -> DataFrame:
    """SIGNED: the representation of distinct texts, and the features that the check compares, in side files.

    `chunks` has the columns identity, text, copies (to leave out) and lookups (document frequencies of the chunk's
    features). `statistics` is a broadcast variable, or None.
    """

    def work(batches: Batches) -> Batches:
        with side_files.opened(partition_number()) as store:
            for batch in batches:
                several = zip(distinct_chunk_texts(batch), batch.column("lookups"), strict=True)
                for (chunk, id_hashes, rows, texts), lookups in several:
                    if len(rows):
                        known = (
                            None if statistics is None else chunk_statistics(plan, statistics.value, lookups)
                        )
                        representation, features, count = _represent(plan, texts, known)
                        empty = int((~representation["present"].to_numpy(zero_copy_only=False)).sum())
                        yield _chunk(
                            {"chunk": chunk, "features_count": count, "without_features": empty},
                            pack({"row": rows, "id_hash": id_hashes, **representation}),
                            store({"row": rows, **features}) if features else None,
                        )

    return in_arrow(chunks.select("chunk", "identity", "text", "copies", "lookups"), work, SIGNED)


def representation_metrics() -> dict[str, Any]:
    """Metrics of the stage: the number of features of all distinct texts, and of texts without any."""
    return {"features": f.sum("features_count"), "without_features": f.sum("without_features")}


def copies_without_features(signed: DataFrame, copies: DataFrame) -> int:
    """The number of copies of distinct texts that have tokens and no features."""

    def empty(batches: Batches) -> Batches:
        for batch in batches:
            for packed in batch.column("representation"):
                found = unpack(packed)
                present = found.column("present").to_numpy()
                yield table({"representative": column(found, "id_hash")[~present]})

    def representatives(batches: Batches) -> Batches:
        for batch in batches:
            for packed in batch.column("rows"):
                found = unpack(packed)
                yield table({"representative": column(found, "representative")})

    rows = in_arrow(copies.where("chunk >= 0").select("rows"), representatives, "representative long")
    texts = in_arrow(signed.select("representation"), empty, "representative long")
    return rows.join(texts, "representative").count()


def distinct_chunk_texts(batch: pa.RecordBatch) -> Iterator[tuple[int, Any, Any, pa.Array]]:
    """For each chunk: its number, and id hashes, rows and texts of its documents with tokens, without copies."""
    copies = batch.column("copies")
    for number, chunk in enumerate(batch.column("chunk").to_pylist()):
        identity = unpack(batch.column("identity")[number])
        chosen = column(identity, "tokens") > 0
        if copies[number].is_valid:
            chosen[column(unpack(copies[number]), "place") & ((1 << ROW_BITS) - 1)] = False
        rows = np.flatnonzero(chosen)
        texts = read_side_file(batch.column("text")[number]).column("text").chunk(0).take(pa.array(rows))
        yield chunk, column(identity, "id_hash")[rows], rows, texts


def _represent(
    plan: Plan, texts: pa.Array, statistics: Statistics | None
) -> tuple[dict[str, pa.Array], dict[str, pa.Array], int]:
    """The representation of texts, their features if the check compares them, and the number of these."""
    columns, packed, count = [], [], 0
    for _, part in text_chunks(Texts.from_arrow(texts)):
        tokens = plan.text(part, details=plan.view.details)
        features = plan.view.represent(tokens, statistics)
        columns.append(representation_columns(represent_features(plan, np.diff(tokens.offsets), features)))
        if _keeps_features(plan):
            own = plan.check_view is not None
            features = compared_features(plan, part, statistics) if own else make_distinct(features)
            packed.append(pack_features(features))
            count += len(features.hashes)
    return stacked(columns), stacked(packed) if packed else {}, count


def _chunk(counts: dict[str, int], representation: bytes, features: bytes | None) -> pa.RecordBatch:
    numbers = {name: np.array([count]) for name, count in counts.items()}
    return table(
        {**numbers, "representation": [representation], "features": pa.array([features], pa.binary())}
    )


def _keeps_features(plan: Plan) -> bool:
    """Whether candidates or the check compare features, not only signatures."""
    return plan.candidates.level == "features" or payload_columns(plan)[0] == "hashes"


def represented_texts(batch: pa.RecordBatch) -> Iterator[tuple[pa.Table, Numbers]]:
    """For each chunk: the representation of its distinct texts that have features, and their places."""
    columns = (batch.column(name) for name in ("chunk", "representation", "copies"))
    for chunk, packed, copies in zip(*columns, strict=True):
        found = unpack(packed)
        rows = column(found, "row") if "row" in found.column_names else np.arange(len(found))
        places = places_of(chunk.as_py(), rows)
        chosen = found.column("present").to_numpy().copy()
        if copies.is_valid:
            chosen &= ~np.isin(places, column(unpack(copies), "place"))
        if not chosen.all():
            found, places = found.filter(pa.array(chosen)), places[chosen]
        yield found, places


def distinct_chunk_features(batches: Batches) -> Iterator[tuple[pa.Table, Any, Features]]:
    """For each chunk: the representation, places and features of its distinct texts that have any."""
    for batch in batches:
        for number, (representation, places) in enumerate(represented_texts(batch)):
            if len(places):
                some = rows_at(read_side_file(batch.column("features")[number]), places).combine_chunks()
                yield representation, places, unpack_features(some.column("hashes"), some.column("weights"))
