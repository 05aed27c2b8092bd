"""Texts to digests and to the representations of a plan, in chunks of about a megabyte."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Features, Hashes, Numbers, Signatures, Texts, arrow_array, fixed_lists, ragged
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
        "low": arrow_array(digests[:, 0]),
        "high": arrow_array(digests[:, 1]),
        "bytes": arrow_array(texts.offsets[1:] - texts.offsets[:-1]),
        "length": arrow_array(lengths),
    }


@dataclass(frozen=True)
class Representation:
    """What a plan makes of a batch of texts."""

    tokens: Numbers  # how many
    features: Features
    signatures: Signatures | None  # None where candidates come from features
    keys: Hashes  # tables × documents; no tables where a join finds candidates

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which texts have what candidates are found by."""
        return self.features.sizes > 0 if self.signatures is None else self.signatures.present


def representation_of(plan: Plan, tokens: Numbers, features: Features, keyed: bool = True) -> Representation:
    """The representation of texts with so many tokens and these features, with keys or without."""
    if plan.candidates.level == "features":
        return Representation(tokens, features, None, np.zeros((0, len(tokens)), np.uint64))
    assert plan.view.signature is not None
    return representation_of_signatures(plan, tokens, features, plan.view.signature(features), keyed)


def representation_of_signatures(
    plan: Plan, tokens: Numbers, features: Features, signatures: Signatures, keyed: bool = True
) -> Representation:
    """The same where the signatures are known."""
    keys = np.zeros((0, len(tokens)), np.uint64)
    if keyed and not plan.joins:
        candidates: KeyCandidates = plan.candidates  # type: ignore[assignment]
        keys = candidates.keys(signatures)
    return Representation(tokens, features, signatures, keys)


def represent(
    plan: Plan, texts: Texts, statistics: Statistics | None = None, keep_slots: bool = False
) -> dict[str, pa.Array]:
    """The columns that represent texts: keys, or features where candidates come from them; signatures if compared."""
    tokens = plan.text(texts, details=plan.view.details)
    features = plan.view.represent(tokens, statistics)
    return represent_features(plan, np.diff(tokens.offsets), features, keep_slots)


def represent_features(
    plan: Plan, tokens: Numbers, features: Features, keep_slots: bool = False
) -> dict[str, pa.Array]:
    """The same columns for texts of so many tokens whose features are known; slots that are kept stand for keys."""
    made = representation_of(plan, tokens, features, keyed=not keep_slots)
    columns = {"tokens": made.tokens, "features": features.sizes, "present": made.present}
    arrays = {name: arrow_array(values) for name, values in columns.items()}
    if made.signatures is None:
        return arrays | _feature_columns(features)
    if keep_slots or plan.joins or (plan.check.level == "signatures" and plan.check_view is None):
        arrays["slots"] = fixed_lists(made.signatures.slots)
    return arrays | {f"key{table}": arrow_array(keys) for table, keys in enumerate(made.keys)}


def _feature_columns(features: Features) -> dict[str, pa.Array]:
    columns = {"hashes": ragged(features.offsets, features.hashes)}
    if features.weights is not None:
        columns["weights"] = ragged(features.offsets, features.weights)
    if features.distinct:
        columns["distinct"] = pa.nulls(len(features))
    return columns


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
