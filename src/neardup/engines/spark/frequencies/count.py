"""Document frequencies: tasks count the features of their chunks, and the counts are added up by feature.

A table of up to BROADCAST_FEATURES features is broadcast. From a larger one, each chunk gets its own features (see
`lookups`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.columns import Features, Numbers, Texts
from neardup.engines.core.represent import chunks as text_chunks
from neardup.engines.spark.documents import hash_ids
from neardup.engines.spark.shuffle import packed_blocks as shuffle
from neardup.engines.spark.shuffle.arrow import Batches, in_arrow, table
from neardup.engines.spark.shuffle.packed_blocks import ROW_BITS, PackedBlocks, column, pack, part_of, unpack
from neardup.engines.spark.shuffle.side_files import read_side_file
from neardup.plan import Plan, stage_json
from neardup.sorted_sets import run_starts
from neardup.statistics import Frequencies, Statistics, count_features
from neardup.statistics.units import by_document, host_of

LEAST = 2  # features of one document are left out, as in the local engine
BROADCAST_FEATURES = 1 << 22  # features of a table that is broadcast: 16 bytes each
COUNTS = "stage int, entries long, distribution binary, frequencies binary"
GROUPS = -1  # the stage whose features are the units of document frequency themselves
BUFFERED = 1 << 22  # entries after which a task adds up and sends its counts


def count_frequencies(plan: Plan, chunks: DataFrame, grouped: bool, tasks: int) -> DataFrame:
    """COUNTS: parts of the tables of features of at least two documents; with `grouped`, also the number of groups.

    `chunks` has the columns identity, text and copies (to leave out); attributes, if a column is the unit of document
    frequency; labels (place and label), if clusters are.
    """
    units = [name for name in ("attributes", "labels") if name in chunks.columns]
    chosen = chunks.select("chunk", "identity", "text", "copies", *units)
    counted = shuffle.in_blocks(chosen, _FeatureCounts(plan, grouped, tasks).blocks)
    return in_arrow(shuffle.shuffled(counted, tasks), partial(_add_blocks, plan, grouped, tasks), COUNTS)


def count_metrics() -> dict[str, Any]:
    """Metrics of the stage: features, and groups."""
    groups = f.col("stage") == GROUPS
    return {
        "features": f.sum(f.when(~groups, f.col("entries"))),
        "groups": f.sum(f.when(groups, f.col("entries"))),
    }


@dataclass(frozen=True)
class _FeatureCounts:
    """Makes blocks of features with their counts, or with the groups that they occur in."""

    plan: Plan
    grouped: bool
    tasks: int

    def blocks(self, batches: Batches) -> PackedBlocks:
        """Blocks by stage and feature, each BUFFERED entries added up."""
        buffered: dict[int, list[tuple[Any, Any, Any]]] = {}
        size = 0
        for batch in batches:
            for row in range(batch.num_rows):
                for stage, entries in self._chunk(batch.slice(row, 1)):
                    buffered.setdefault(stage, []).append(entries)
                    size += len(entries[0])
                if size > BUFFERED:
                    yield from self._blocks(buffered)
                    buffered, size = {}, 0
        yield from self._blocks(buffered)

    def _blocks(self, buffered: dict[int, list[tuple[Any, Any, Any]]]) -> PackedBlocks:
        for stage, parts in buffered.items():
            keys, groups, counts = (np.concatenate(some) for some in zip(*parts, strict=True))
            columns = _added(keys, groups, counts)
            yield from shuffle.split(columns, (stage + 1) * self.tasks + part_of(columns["key"], self.tasks))

    def _chunk(self, batch: pa.RecordBatch) -> Iterator[tuple[int, tuple[Any, Any, Any]]]:
        """The features of a chunk for each counted stage: keys, groups (or zeros) and counts."""
        identity = unpack(batch.column("identity")[0])
        rows = np.arange(len(identity))
        if batch.column("copies")[0].is_valid:
            copies = column(unpack(batch.column("copies")[0]), "place") & ((1 << ROW_BITS) - 1)
            rows = np.setdiff1d(rows, copies)
        groups = np.zeros(len(rows), np.int64)
        if self.grouped:
            groups = self._groups(batch, column(identity, "id_hash")[rows], rows)
            yield (
                GROUPS,
                (groups.view(np.uint64), np.zeros(len(rows), np.int64), np.ones(len(rows), np.int64)),
            )
        texts = read_side_file(batch.column("text")[0]).column("text").chunk(0).take(pa.array(rows))
        for start, number, features in counted_features(self.plan, texts):
            if self.grouped and by_document(self.plan.counts[number]):
                count = np.ones(len(features.hashes), np.int64)
                own = groups[start : start + len(features)]
                yield number, (features.hashes, np.repeat(own, features.sizes), count)
            else:
                found = count_features(features)
                yield number, (found.keys, np.zeros(len(found), np.int64), found.counts)

    def _groups(self, batch: pa.RecordBatch, id_hashes: Numbers, rows: Numbers) -> Numbers:
        """The group of each document of a chunk: its cluster, the value of the column, or else itself."""
        if "attributes" not in batch.schema.names:
            groups = id_hashes.copy()
            if batch.column("labels")[0].is_valid:
                known = unpack(batch.column("labels")[0])
                places = shuffle.places_of(batch.column("chunk")[0].as_py(), rows)
                at = np.minimum(np.searchsorted(column(known, "place"), places), len(known) - 1)
                mine = column(known, "place")[at] == places
                groups[mine] = column(known, "label")[at[mine]]
            return groups
        attributes = read_side_file(batch.column("attributes")[0])
        values = attributes.column("group").chunk(0).take(pa.array(rows)).to_pylist()
        if self.plan.df_unit.startswith("host:"):
            values = [None if value is None else host_of(value) for value in values]
        named = [value or f"\0{id_hash}" for value, id_hash in zip(values, id_hashes.tolist(), strict=True)]
        return hash_ids(pa.array(named, pa.string()))[0]


def counted_features(plan: Plan, texts: pa.Array) -> Iterator[tuple[int, int, Features]]:
    """The features that the plan counts, by text slice and stage: number of the first text, of the stage, features."""
    details = any(stage.details for stage in plan.counts)
    for start, part in text_chunks(Texts.from_arrow(texts)):
        tokens = plan.text(part, details=details)
        for number, stage in enumerate(plan.counts):
            yield start, number, stage(tokens)


def _added(keys: Any, groups: Any, counts: Any) -> dict[str, Any]:
    """Each feature and group once, with the sum of its counts."""
    order = np.lexsort((keys, groups)) if groups.any() else np.argsort(keys, kind="stable")
    keys, groups = keys[order], groups[order]
    starts = run_starts(keys, groups)
    sums = np.add.reduceat(counts[order], starts[:-1]) if len(keys) else counts
    return {"key": keys[starts[:-1]], "group": groups[starts[:-1]], "count": sums}


def _add_blocks(plan: Plan, grouped: bool, tasks: int, batches: Batches) -> Batches:
    """Packed blocks of features to a part of the table."""
    for part, some in shuffle.received(batches).items():
        stage = part // tasks - 1
        found = _added(*(column(some, name) for name in ("key", "group", "count")))
        keys, counts = found["key"], found["count"]
        if stage == GROUPS:
            yield _row(stage, keys[:0], counts[:0], len(keys))
            continue
        if grouped and by_document(plan.counts[stage]):
            keys, counts = np.unique(keys, return_counts=True)
        often = counts >= LEAST
        yield _row(stage, keys[often], counts[often], int(often.sum()))


def _row(stage: int, keys: Any, counts: Any, number: int) -> pa.RecordBatch:
    """One row of COUNTS: a part of a table, and the number of its features with each count."""
    times, features = Frequencies(keys, counts, LEAST).spread
    return table(
        {
            "stage": np.array([stage], np.int32),
            "entries": np.array([number], np.int64),
            "distribution": [pack({"count": times, "features": features})],
            "frequencies": [pack({"key": keys, "count": counts})],
        }
    )


def sorted_frequencies(keys: Any, counts: Any) -> Frequencies:
    """A table of document frequencies, from features in any order."""
    order = np.argsort(keys)
    return Frequencies(keys[order], counts[order], LEAST)


def collect_statistics(plan: Plan, counts: DataFrame, documents: int) -> Statistics:
    """The whole tables of document frequencies, to be broadcast."""
    parts = _parts(plan, counts, "frequencies")
    tables = {}
    for stage, (keys, found) in zip(plan.counts, parts, strict=True):
        tables[stage_json(stage)] = sorted_frequencies(keys.astype(np.uint64), found)
    return Statistics(documents, stage_json(plan.text), tables, plan.df_unit)


def collect_distribution(plan: Plan, counts: DataFrame, documents: int) -> Statistics:
    """Tables without features, but with the number of features of each count, to be broadcast."""
    nothing, tables = (np.zeros(0, np.uint64), np.zeros(0, np.int64)), {}
    for stage, (times, features) in zip(plan.counts, _parts(plan, counts, "distribution"), strict=True):
        different, which = np.unique(times, return_inverse=True)
        whole = different, np.bincount(which, features, len(different)).astype(np.int64)
        tables[stage_json(stage)] = Frequencies(*nothing, LEAST, whole=whole)
    return Statistics(documents, stage_json(plan.text), tables, plan.df_unit)


def _parts(plan: Plan, counts: DataFrame, name: str) -> Iterator[tuple[Any, Any]]:
    """For each counted stage: the two columns of a packed column, concatenated over all parts."""
    rows = counts.where("stage >= 0").select("stage", name).toArrow()
    stages = rows.column("stage").to_numpy()
    for number in range(len(plan.counts)):
        parts = [unpack(rows.column(name)[int(k)]) for k in np.flatnonzero(stages == number)]
        some = [
            np.concatenate([part.column(k).to_numpy() for part in parts]) if parts else np.zeros(0, np.int64)
            for k in (0, 1)
        ]
        yield some[0], some[1]


def chunk_statistics(plan: Plan, statistics: Statistics, lookups: pa.Scalar) -> Statistics:
    """The statistics for a chunk: the broadcast ones, with the chunk's own lookups if it has any."""
    if not lookups.is_valid:
        return statistics
    some = unpack(lookups)
    stages, keys, counts = (column(some, name) for name in ("stage", "key", "count"))
    tables = {}
    for number, stage in enumerate(map(stage_json, plan.counts)):
        mine = stages == number
        found = sorted_frequencies(keys[mine], counts[mine])
        tables[stage] = replace(found, whole=statistics.table(stage).whole)
    return replace(statistics, tables=tables)
