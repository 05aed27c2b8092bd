"""What is computed from texts: what they are, and what the plan sees in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.candidates.copies import collapse
from neardup.columns import Features, Hashes, Numbers, Signatures, Texts
from neardup.engines.progress import Progress
from neardup.engines.spool import Spool
from neardup.plan import Keys, Plan
from neardup.statistics import Statistics
from neardup.workers import ordered_map

CHUNK = 1 << 20  # bytes of text that are worked on at a time: tokens, features and slots stay in cache
CHUNK_ROWS = 1 << 14


@dataclass(frozen=True)
class Described:
    """What is remembered of a chunk of documents whatever the plan is."""

    digests: Hashes
    lengths: Numbers  # characters


@dataclass(frozen=True)
class Signed:
    """What is remembered of what the plan sees in some documents."""

    tokens: Numbers
    sizes: Numbers  # features
    present: NDArray[np.bool_]  # has features
    keys: Hashes  # tables × documents
    slots: NDArray[np.uint32] | None
    features: Features | None

    @staticmethod
    def concatenate(parts: list[Signed]) -> Signed:
        """All documents of several chunks."""
        slots = [part.slots for part in parts if part.slots is not None]
        features = [part.features for part in parts if part.features is not None]
        return Signed(
            np.concatenate([part.tokens for part in parts]),
            np.concatenate([part.sizes for part in parts]),
            np.concatenate([part.present for part in parts]),
            np.concatenate([part.keys for part in parts], axis=1),
            np.concatenate(slots) if slots else None,
            Features.concatenate(features) if features else None,
        )

    def spread(self, places: Numbers) -> Signed:
        """One entry for each document, where this has one for each content; features stay by content."""
        return Signed(
            self.tokens[places],
            self.sizes[places],
            self.present[places],
            self.keys[:, places],
            None if self.slots is None else self.slots[places],
            self.features,
        )


def describe(texts: Texts) -> Described:
    """Digests and lengths."""
    digests = np.empty((len(texts), 2), np.uint64)
    kernels.digest.digest(texts.data, texts.offsets, 0, digests)
    lengths = np.empty(len(texts), np.int64)
    kernels.digest.count_characters(texts.data, texts.offsets, lengths)
    return Described(digests, lengths)


def sign(plan: Plan, texts: Texts, statistics: Statistics | None = None) -> Signed:
    """Keys, or the features themselves where candidates come from them; signatures if the check asks for them."""
    tokens = plan.text(texts, details=plan.view.details)
    features = plan.view.look(tokens, statistics)
    sizes, counts = features.sizes, np.diff(tokens.offsets)
    if plan.candidates.level == "features":
        none = np.zeros((0, len(texts)), np.uint64)
        return Signed(counts, sizes, sizes > 0, none, None, features)
    assert plan.view.signature is not None
    signatures = plan.view.signature(features)
    keep_slots = plan.joins or (plan.check.level == "signatures" and plan.check_view is None)
    keys = _keys(plan, signatures)
    return Signed(counts, sizes, signatures.present, keys, signatures.slots if keep_slots else None, None)


def _keys(plan: Plan, signatures: Signatures) -> Hashes:
    if plan.joins:
        return np.zeros((0, len(signatures)), np.uint64)
    candidates: Keys = plan.candidates  # type: ignore[assignment]
    return candidates.keys(signatures)


def cut(texts: Texts) -> Iterator[Texts]:
    """The texts in chunks of about a megabyte; a larger document is a chunk of its own."""
    start = 0
    while start < len(texts):
        limit = texts.offsets[start] + CHUNK
        stop = int(np.searchsorted(texts.offsets, limit, "right")) - 1
        stop = min(max(stop, start + 1), start + CHUNK_ROWS, len(texts))
        yield texts.slice(start, stop)
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


def needs_contents_first(plan: Plan) -> bool:
    """Whether all documents must be read before any can be signed: frequencies are counted over contents, and
    features that are held in memory should not be held for copies."""
    return bool(plan.counts) or plan.candidates.level == "features"


def contents_of(digests: Hashes, ranks: Hashes) -> tuple[Numbers, Numbers]:
    """One document of each content, and the content of each document by its place among those."""
    return np.unique(collapse(digests, ranks, np.ones(len(digests), np.bool_)), return_inverse=True)


def sign_contents(
    plan: Plan, spool: Spool, owners: Numbers, statistics: Statistics | None, progress: Progress, threads: int
) -> Signed:
    """What the plan sees in some documents."""
    parts = []
    with progress.stage("sign", len(owners)):

        def work(some: Numbers) -> Signed:
            return sign(plan, spool.read(some), statistics)

        for part in ordered_map(work, portions(spool, owners), threads):
            parts.append(part)
            progress.advance(len(part.tokens))
    return Signed.concatenate(parts)
