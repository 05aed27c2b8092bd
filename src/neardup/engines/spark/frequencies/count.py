"""Document frequencies as a distributed count: tasks count their own contents, and parts of all features add up.

A table of a few million features is sent to every worker. Of a larger one each chunk is told what it asks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup.columns import Features, Numbers, Texts
from neardup.engines.core.represent import cut
from neardup.engines.local.frequencies import by_document
from neardup.engines.spark.documents import id_hashes
from neardup.engines.spark.shuffle.arrow import Batches, begins, in_arrow, table
from neardup.engines.spark.shuffle.packed_blocks import (
    ROW_BITS,
    PackedBlocks,
    column,
    in_blocks,
    pack,
    part_of,
    places_of,
    received,
    shuffled,
    split,
    unpack,
)
from neardup.engines.spark.shuffle.side_files import read_side_file
from neardup.plan import Plan, stage_json
from neardup.statistics import Frequencies, Statistics, count_features
from neardup.statistics.units import host_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LEAST = 2  # what occurs once is left out, as in the local engine
SENT = 1 << 22  # features of two documents or more whose table every worker gets: 16 bytes each
COUNTS = "stage int, number long, spread binary, packed binary"
POPULATION = -1  # the stage whose features are the names of groups
HELD = 1 << 22  # entries that a task holds before it adds them up and sends them


def count_frequencies(plan: Plan, contents: DataFrame, grouped: bool, tasks: int) -> DataFrame:
    """Parts of the tables of features that occur at least twice; and, of groups, how many there are.

    `contents` has chunks: names, text, wanted (documents to leave out), facts where a column names groups, and labels
    (place and label of documents of one group) where clusters are groups.
    """
    names = [
        "chunk",
        "names",
        "text",
        "wanted",
        *(name for name in ("facts", "labels") if name in contents.columns),
    ]
    counted = in_blocks(contents.select(*names), _Counting(plan, grouped, tasks).parcels)
    return in_arrow(shuffled(counted, tasks), partial(_adding, plan, grouped, tasks), COUNTS)


def count_metrics() -> dict[str, Any]:
    """What is remembered of the stage: features, and groups."""
    from pyspark.sql import functions as f

    groups = f.col("stage") == POPULATION
    return {
        "features": f.sum(f.when(~groups, f.col("number"))),
        "groups": f.sum(f.when(groups, f.col("number"))),
    }


@dataclass(frozen=True)
class _Counting:
    """Contents to parcels of features, with their counts, or with the groups that they occur in."""

    plan: Plan
    grouped: bool
    tasks: int

    def parcels(self, batches: Batches) -> PackedBlocks:
        held: dict[int, list[tuple[Any, Any, Any]]] = {}
        size = 0
        for batch in batches:
            for row in range(batch.num_rows):
                for stage, entries in self._chunk(batch.slice(row, 1)):
                    held.setdefault(stage, []).append(entries)
                    size += len(entries[0])
                if size > HELD:
                    yield from self._sent(held)
                    held, size = {}, 0
        yield from self._sent(held)

    def _sent(self, held: dict[int, list[tuple[Any, Any, Any]]]) -> PackedBlocks:
        for stage, parts in held.items():
            keys, groups, counts = (np.concatenate(some) for some in zip(*parts, strict=True))
            columns = _added(keys, groups, counts)
            yield from split(columns, (stage + 1) * self.tasks + part_of(columns["key"], self.tasks))

    def _chunk(self, batch: pa.RecordBatch) -> Iterator[tuple[int, tuple[Any, Any, Any]]]:
        """For each stage the features of a chunk: keys, groups (or zeros) and counts."""
        names = unpack(batch.column("names")[0])
        rows = np.arange(len(names))
        if batch.column("wanted")[0].is_valid:
            copies = column(unpack(batch.column("wanted")[0]), "place") & ((1 << ROW_BITS) - 1)
            rows = np.setdiff1d(rows, copies)
        groups = np.zeros(len(rows), np.int64)
        if self.grouped:
            groups = self._groups(batch, column(names, "rank")[rows], rows)
            yield (
                POPULATION,
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

    def _groups(self, batch: pa.RecordBatch, ranks: Numbers, rows: Numbers) -> Numbers:
        """The group of each document of a chunk: its cluster, or what the column says; else itself."""
        if "facts" not in batch.schema.names:
            groups = ranks.copy()
            if batch.column("labels")[0].is_valid:
                known = unpack(batch.column("labels")[0])
                places = places_of(batch.column("chunk")[0].as_py(), rows)
                at = np.minimum(np.searchsorted(column(known, "place"), places), len(known) - 1)
                mine = column(known, "place")[at] == places
                groups[mine] = column(known, "label")[at[mine]]
            return groups
        values = (
            read_side_file(batch.column("facts")[0]).column("group").chunk(0).take(pa.array(rows)).to_pylist()
        )
        if self.plan.df_unit.startswith("host:"):
            values = [None if value is None else host_of(value) for value in values]
        named = [value or f"\0{rank}" for value, rank in zip(values, ranks.tolist(), strict=True)]
        return id_hashes(pa.array(named, pa.string()))[0]


def counted_features(plan: Plan, texts: pa.Array) -> Iterator[tuple[int, int, Features]]:
    """What the plan counts in texts, some of them at a time: the first one's number, that of the stage, features."""
    details = any(stage.details for stage in plan.counts)
    for start, part in cut(Texts.from_arrow(texts)):
        tokens = plan.text(part, details=details)
        for number, stage in enumerate(plan.counts):
            yield start, number, stage(tokens)


def _added(keys: Any, groups: Any, counts: Any) -> dict[str, Any]:
    """Each feature and group once, its counts added up."""
    order = np.lexsort((keys, groups)) if groups.any() else np.argsort(keys, kind="stable")
    keys, groups = keys[order], groups[order]
    starts = begins(keys, groups)
    sums = np.add.reduceat(counts[order], starts[:-1]) if len(keys) else counts
    return {"key": keys[starts[:-1]], "group": groups[starts[:-1]], "count": sums}


def _adding(plan: Plan, grouped: bool, tasks: int, batches: Batches) -> Batches:
    """Parcels of features to a part of the table."""
    for part, some in received(batches).items():
        stage = part // tasks - 1
        found = _added(*(column(some, name) for name in ("key", "group", "count")))
        keys, counts = found["key"], found["count"]
        if stage == POPULATION:
            yield _row(stage, keys[:0], counts[:0], len(keys))
            continue
        if grouped and by_document(plan.counts[stage]):
            keys, counts = np.unique(keys, return_counts=True)
        often = counts >= LEAST
        yield _row(stage, keys[often], counts[often], int(often.sum()))


def _row(stage: int, keys: Any, counts: Any, number: int) -> pa.RecordBatch:
    """A part of a table, with how many of its features have each count."""
    times, features = Frequencies(keys, counts, LEAST).spread
    return table(
        {
            "stage": np.array([stage], np.int32),
            "number": np.array([number], np.int64),
            "spread": [pack({"count": times, "features": features})],
            "packed": [pack({"key": keys, "count": counts})],
        }
    )


def in_order(keys: Any, counts: Any) -> Frequencies:
    """A table of features, in whatever order they came."""
    order = np.argsort(keys)
    return Frequencies(keys[order], counts[order], LEAST)


def collected(plan: Plan, counts: DataFrame, documents: int) -> Statistics:
    """The frequencies, to be sent to every worker."""
    parts = _parts(plan, counts, "packed")
    tables = {}
    for stage, (keys, found) in zip(plan.counts, parts, strict=True):
        tables[stage_json(stage)] = in_order(keys.astype(np.uint64), found)
    return Statistics(documents, stage_json(plan.text), tables, plan.df_unit)


def outlined(plan: Plan, counts: DataFrame, documents: int) -> Statistics:
    """The same, of no feature, but with how many features have each count."""
    nothing, tables = (np.zeros(0, np.uint64), np.zeros(0, np.int64)), {}
    for stage, (times, features) in zip(plan.counts, _parts(plan, counts, "spread"), strict=True):
        different, which = np.unique(times, return_inverse=True)
        whole = different, np.bincount(which, features, len(different)).astype(np.int64)
        tables[stage_json(stage)] = Frequencies(*nothing, LEAST, whole=whole)
    return Statistics(documents, stage_json(plan.text), tables, plan.df_unit)


def _parts(plan: Plan, counts: DataFrame, name: str) -> Iterator[tuple[Any, Any]]:
    """For each stage that is counted the two columns of what was packed, of all parts."""
    rows = counts.where("stage >= 0").select("stage", name).toArrow()
    stages = rows.column("stage").to_numpy()
    for number in range(len(plan.counts)):
        parts = [unpack(rows.column(name)[int(k)]) for k in np.flatnonzero(stages == number)]
        some = [
            np.concatenate([part.column(k).to_numpy() for part in parts]) if parts else np.zeros(0, np.int64)
            for k in (0, 1)
        ]
        yield some[0], some[1]


def told(plan: Plan, statistics: Statistics, answers: pa.Scalar) -> Statistics:
    """The statistics as a chunk knows them: with the frequencies that it was told, if it was."""
    if not answers.is_valid:
        return statistics
    some = unpack(answers)
    stages, keys, counts = (column(some, name) for name in ("stage", "key", "count"))
    tables = {}
    for number, stage in enumerate(map(stage_json, plan.counts)):
        mine = stages == number
        tables[stage] = replace(in_order(keys[mine], counts[mine]), whole=statistics.table(stage).whole)
    return replace(statistics, tables=tables)
