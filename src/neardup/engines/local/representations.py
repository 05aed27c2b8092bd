"""Representations of documents: columns of keys, signatures or features, made once and read again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.candidates.bit_bands import BitBands
from neardup.columns import Features, Hashes, Numbers, matrix
from neardup.engines.core.progress import Progress
from neardup.engines.core.represent import chunk_ranges, represent_features
from neardup.engines.local.checkpoint.spill import SpilledRows
from neardup.engines.local.checkpoint.texts import Spool
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.kept_features import KeptFeatures
from neardup.plan import Plan
from neardup.statistics import Statistics
from neardup.workers import ordered_map


class Representations:
    """Representations column by column; `places` has the row of each document where copies share one."""

    def __init__(
        self, rows: SpilledRows, places: Numbers | None = None, bands: BitBands | None = None
    ) -> None:
        self.rows, self._places, self._bands = rows, places, bands
        self._slots: NDArray[np.uint32] | None = None

    def numbers(self, name: str) -> NDArray[Any]:
        """A column, one entry for each document."""
        found = self.rows.numbers(name)
        return found if self._places is None else found[self._places]

    def key(self, table: int) -> Hashes:
        """The keys of all documents in a table; where bands sample the bits of kept signatures, made now."""
        if self._bands is None:
            return self.numbers(f"key{table}")
        slots = self.slots()
        assert slots is not None
        return self._bands.keys_of_table(slots, table)

    def slots(self) -> NDArray[np.uint32] | None:
        """The signatures of all documents, where they are kept."""
        if self._slots is None and self.rows.has("slots"):
            found = matrix(self.rows.column("slots"))
            self._slots = found if self._places is None else found[self._places]
        return self._slots

    def features(self) -> Features:
        """The features of each row; copies have none of their own."""
        parts = self.rows.column("hashes").chunks
        weights = self.rows.column("weights").chunks if self.rows.has("weights") else [None] * len(parts)
        distinct = self.rows.has("distinct")
        return Features.concatenate(
            [_as_features(part, weight, distinct) for part, weight in zip(parts, weights, strict=True)]
        )


def _as_features(hashes: pa.Array, weights: pa.Array | None, distinct: bool) -> Features:
    values = None if weights is None else weights.flatten().to_numpy()
    offsets = hashes.offsets.to_numpy()
    return Features(offsets - offsets[0], hashes.flatten().to_numpy(), values, distinct=distinct)


def sampling_bands(plan: Plan) -> BitBands | None:
    """The bands that sample bits: their candidates are sieved by whole signatures, which are kept instead of keys."""
    return plan.candidates if isinstance(plan.candidates, BitBands) else None


def spooled_chunks(spool: Spool, numbers: Numbers) -> Iterator[Numbers]:
    """Some documents, in ascending order, in chunks of about a megabyte of text."""
    sizes = spool.offsets[numbers + 1] - spool.offsets[numbers]
    for start, stop in chunk_ranges(sizes):
        yield numbers[start:stop]


def represent_distinct_texts(
    plan: Plan,
    work: Workspace,
    distinct: Numbers,
    statistics: Statistics | None,
    progress: Progress,
    threads: int,
    kept: KeptFeatures | None = None,
) -> SpilledRows:
    """The representations of some documents; those that an earlier run has made are not made a second time.

    What is kept of a text is not made again, and what is made is kept.
    """
    rows, spool, view = work.rows("sign"), work.spool, plan.view

    def columns_of(some: Numbers) -> tuple[pa.RecordBatch, Numbers, Numbers, Features | None]:
        if kept is not None and kept.has(some).all():
            size, prepared, new = *kept.prepared(some), None
        else:
            tokens = plan.text(spool.read(some), details=view.details)
            new = prepared = view.prepare(tokens, statistics)
            size = np.diff(tokens.offsets)
        columns = represent_features(
            plan, size, view.finish(prepared, statistics), sampling_bands(plan) is not None
        )
        return pa.record_batch(columns), some, size, new

    with progress.stage("sign", len(distinct)):
        progress.advance(len(rows))
        chunks = spooled_chunks(spool, distinct[len(rows) :])
        for batch, some, size, new in ordered_map(columns_of, chunks, threads):
            rows.add(batch)
            if kept is not None and new is not None:
                kept.add(some, size, new)
            progress.advance(batch.num_rows)
            work.checkpoint()
    return rows
