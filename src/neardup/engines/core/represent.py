"""What is computed from texts: what they are, and what the plan sees in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup import kernels
from neardup.candidates.copies import collapse
from neardup.columns import Features, Hashes, Numbers, Signatures, Texts, Tokens
from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint.spill import SpilledRows, fixed_lists, matrix, ragged
from neardup.engines.local.checkpoint.texts import Spool
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.plan import KeyCandidates, Plan
from neardup.statistics import Statistics
from neardup.workers import ordered_map

CHUNK = 1 << 20  # bytes of text that are worked on at a time: tokens, features and slots stay in cache
CHUNK_ROWS = 1 << 14


class Representations:
    """What the plan sees in documents, column by column; `places` has the row of each where copies share one."""

    def __init__(self, rows: SpilledRows, places: Numbers | None = None) -> None:
        self.rows, self._places = rows, places

    def numbers(self, name: str) -> NDArray[Any]:
        """A column, one entry for each document."""
        found = self.rows.numbers(name)
        return found if self._places is None else found[self._places]

    def key(self, table: int) -> Hashes:
        """The keys of all documents in a table."""
        return self.numbers(f"key{table}")

    def slots(self) -> NDArray[np.uint32] | None:
        """The signatures of all documents, where they are kept."""
        if not self.rows.has("slots"):
            return None
        found = matrix(self.rows.column("slots"))
        return found if self._places is None else found[self._places]

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


def describe(texts: Texts) -> dict[str, pa.Array]:
    """What is remembered of documents whatever the plan is: digests, bytes, characters."""
    digests = np.empty((len(texts), 2), np.uint64)
    kernels.digest.digest(texts.data, texts.offsets, 0, digests)
    lengths = np.empty(len(texts), np.int64)
    kernels.digest.count_characters(texts.data, texts.offsets, lengths)
    return {
        "low": pa.array(np.ascontiguousarray(digests[:, 0])),
        "high": pa.array(np.ascontiguousarray(digests[:, 1])),
        "bytes": pa.array(np.diff(texts.offsets)),
        "length": pa.array(lengths),
    }


def sign(plan: Plan, texts: Texts, statistics: Statistics | None = None) -> dict[str, pa.Array]:
    """Keys, or the features themselves where candidates come from them; signatures if the check asks for them."""
    tokens = plan.text(texts, details=plan.view.details)
    return signed(plan, tokens, plan.view.represent(tokens, statistics))


def signed(plan: Plan, tokens: Tokens, features: Features) -> dict[str, pa.Array]:
    """The same of texts whose features are known."""
    sizes = features.sizes
    seen = {"tokens": pa.array(np.diff(tokens.offsets)), "features": pa.array(sizes)}
    if plan.candidates.level == "features":
        return seen | {"present": pa.array(sizes > 0)} | _features(features)
    assert plan.view.signature is not None
    signatures = plan.view.signature(features)
    seen["present"] = pa.array(signatures.present)
    if plan.joins or (plan.check.level == "signatures" and plan.check_view is None):
        seen["slots"] = fixed_lists(signatures.slots)
    return seen | {f"key{table}": pa.array(keys) for table, keys in enumerate(_keys(plan, signatures))}


def _features(features: Features) -> dict[str, pa.Array]:
    columns = {"hashes": ragged(features.offsets, features.hashes)}
    if features.weights is not None:
        columns["weights"] = ragged(features.offsets, features.weights)
    if features.distinct:
        columns["distinct"] = pa.nulls(len(features))
    return columns


def _keys(plan: Plan, signatures: Signatures) -> Hashes:
    if plan.joins:
        return np.zeros((0, len(signatures)), np.uint64)
    candidates: KeyCandidates = plan.candidates  # type: ignore[assignment]
    return candidates.keys(signatures)


def cut(texts: Texts) -> Iterator[tuple[int, Texts]]:
    """The texts in chunks of about a megabyte, each with its place; a larger document is a chunk of its own."""
    start = 0
    while start < len(texts):
        limit = texts.offsets[start] + CHUNK
        stop = int(np.searchsorted(texts.offsets, limit, "right")) - 1
        stop = min(max(stop, start + 1), start + CHUNK_ROWS, len(texts))
        yield start, texts.slice(start, stop)
        start = stop


def portions(spool: Spool, numbers: Numbers) -> Iterator[Numbers]:
    """Some documents, in ascending order, in portions whose texts make about a chunk."""
    sizes = spool.offsets[numbers + 1] - spool.offsets[numbers]
    start, ends = 0, np.cumsum(sizes)
    while start < len(numbers):
        limit = ends[start] - sizes[start] + CHUNK
        stop = min(max(int(np.searchsorted(ends, limit, "right")), start + 1), start + CHUNK_ROWS)
        yield numbers[start:stop]
        start = stop


def needs_distinct_texts_first(plan: Plan) -> bool:
    """Whether all documents must be read before any can be signed: frequencies are counted over contents, and
    features that are held in memory should not be held for copies."""
    return bool(plan.counts) or plan.candidates.level == "features"


def distinct_texts(digests: Hashes, ranks: Hashes) -> tuple[Numbers, Numbers]:
    """One document of each content, and the content of each document by its place among those."""
    return np.unique(collapse(digests, ranks, np.ones(len(digests), np.bool_)), return_inverse=True)


def represent_distinct_texts(
    plan: Plan,
    work: Workspace,
    owners: Numbers,
    statistics: Statistics | None,
    progress: Progress,
    threads: int,
) -> SpilledRows:
    """What the plan sees in some documents; what an earlier run has seen is not looked at again."""
    rows, spool = work.rows("sign"), work.spool

    def see(some: Numbers) -> pa.RecordBatch:
        return pa.record_batch(sign(plan, spool.read(some), statistics))

    with progress.stage("sign", len(owners)):
        progress.advance(len(rows))
        for batch in ordered_map(see, portions(spool, owners[len(rows) :]), threads):
            rows.add(batch)
            progress.advance(batch.num_rows)
            work.checkpoint()
    return rows
