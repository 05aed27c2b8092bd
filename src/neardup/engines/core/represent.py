"""Texts to digests and to the representations of a plan, in chunks of about a megabyte."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from neardup import kernels
from neardup.columns import Features, Hashes, Numbers, Signatures, Texts, Tokens, fixed_lists, ragged
from neardup.errors import PlanError
from neardup.plan import KeyCandidates, Plan, stage_json
from neardup.statistics import Statistics

CHUNK = 1 << 20  # bytes of text that are worked on at a time: tokens, features and slots stay in cache
CHUNK_ROWS = 1 << 14


def chunk_ranges(sizes: Numbers, rows: Numbers | None = None) -> Iterator[tuple[int, int]]:
    """Ranges of consecutive items of about a chunk in all; a larger item is a chunk of its own.

    An item is a document of so many bytes, or a group of so many documents (`rows`).
    """
    ends = np.cumsum(sizes)
    row_ends = np.arange(1, len(sizes) + 1) if rows is None else np.cumsum(rows)
    start = bytes_done = rows_done = 0
    while start < len(sizes):
        by_bytes = np.searchsorted(ends, bytes_done + CHUNK, "right")
        by_rows = np.searchsorted(row_ends, rows_done + CHUNK_ROWS, "right")
        stop = max(int(min(by_bytes, by_rows)), start + 1)
        yield start, stop
        start, bytes_done, rows_done = stop, int(ends[stop - 1]), int(row_ends[stop - 1])


def chunks(texts: Texts) -> Iterator[tuple[int, Texts]]:
    """The texts in chunks, each with the number of its first document."""
    for start, stop in chunk_ranges(np.diff(texts.offsets)):
        yield start, texts.slice(start, stop)


def describe(texts: Texts) -> dict[str, pa.Array]:
    """What is remembered of texts whatever the plan is: digests, bytes, characters."""
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


def represent(plan: Plan, texts: Texts, statistics: Statistics | None = None) -> dict[str, pa.Array]:
    """The columns that represent texts: keys, or features where candidates come from them; signatures if compared."""
    tokens = plan.text(texts, details=plan.view.details)
    return represent_features(plan, tokens, plan.view.represent(tokens, statistics))


def represent_features(plan: Plan, tokens: Tokens, features: Features) -> dict[str, pa.Array]:
    """The same columns for texts whose features are known."""
    sizes = features.sizes
    columns = {"tokens": pa.array(np.diff(tokens.offsets)), "features": pa.array(sizes)}
    if plan.candidates.level == "features":
        return columns | {"present": pa.array(sizes > 0)} | _feature_columns(features)
    assert plan.view.signature is not None
    signatures = plan.view.signature(features)
    columns["present"] = pa.array(signatures.present)
    if plan.joins or (plan.check.level == "signatures" and plan.check_view is None):
        columns["slots"] = fixed_lists(signatures.slots)
    return columns | {f"key{table}": pa.array(keys) for table, keys in enumerate(_keys(plan, signatures))}


def _feature_columns(features: Features) -> dict[str, pa.Array]:
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


def needs_distinct_texts_first(plan: Plan) -> bool:
    """Whether all documents must be read before any can be represented: frequencies are counted over distinct texts,
    and features that stay in memory should not be there twice."""
    return bool(plan.counts) or plan.candidates.level == "features"


def check_statistics(plan: Plan, statistics: Statistics | None) -> None:
    """Refuse frequencies that are not those that the plan was made with, or that do not fit it."""
    given = "" if statistics is None else statistics.digest
    if plan.statistics != given:
        raise PlanError(
            f"The plan was made with the statistics {plan.statistics or '(none)'}; given were {given or '(none)'}. "
            "Give the file that belongs to it (--stats), or make another plan."
        )
    if statistics is not None:
        statistics.check(stage_json(plan.text), [stage_json(feature) for feature in plan.counts])
