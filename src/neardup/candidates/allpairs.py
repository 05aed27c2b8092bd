"""All pairs that share a feature, with exact similarities: the ground truth of every method.

An inverted list per feature and one row of accumulators per document: the work is proportional to the shared
features, and no pair of documents is an object. Weighted sums are taken in the order of the features'
hashes, so that a pair has the same score in every corpus, at every position and with any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Features, Numbers, Pairs, make_distinct
from neardup.errors import ParameterError
from neardup.sorted_sets import run_starts
from neardup.workers import checked_threads, ordered_map

Kind = Literal["jaccard", "cosine"]
BLOCK = 1 << 20  # pairs of one block of rows, at most


class _Block(NamedTuple):
    """Rows of one task, and an upper bound of their pairs."""

    first: int
    last: int
    room: int


def all_pairs(
    features: Features, kind: Kind = "jaccard", threads: int = 1, least: float = 0.0, first: int = 0
) -> Pairs:
    """Every pair of documents that share a feature and have at least the similarity `least`, by (left, right).

    jaccard: `shared` is the sum of the lesser weights, sizes are sums of weights.
    cosine:  `shared` is the dot product, sizes are squared norms, so that cosine = shared / √(left · right).
    A pair takes 40 bytes, and with frequent features nearly all n²/2 pairs share one: `least` leaves them out.
    With `first`, only pairs of one of the first so many documents with one of the others.
    """
    check_pairs(features, kind, least)
    features = features if features.distinct else make_distinct(features)
    lists = _invert(features, first)
    rule = kernels.overlap.SimilarityLimit(_sizes(features, kind == "cosine"), kind == "cosine", float(least))
    weighted = features.weights is not None
    free: SimpleQueue[Any] = SimpleQueue()  # accumulators that no thread is using

    def work(block: _Block) -> tuple[NDArray[Any], ...]:
        try:
            scratch = free.get_nowait()
        except Empty:
            scratch = _scratch(len(features), weighted)
        found = kernels.overlap.PairColumns(
            np.empty(block.room, np.int32), np.empty(block.room, np.int32), np.empty(block.room)
        )
        kernel = kernels.overlap.add_overlaps if weighted else kernels.overlap.count_overlaps
        size = kernel(lists, block.first, block.last, scratch, rule, found)
        free.put(scratch)
        return tuple(column[:size].copy() for column in found)

    parts = list(ordered_map(work, _blocks(lists, first or len(features)), checked_threads(threads)))
    return join_pairs(parts, rule.sizes)


def check_pairs(features: Features, kind: str, least: float) -> None:
    """Refuse invalid parameters."""
    if kind not in ("jaccard", "cosine"):
        raise ParameterError("kind", "all_pairs", "'jaccard' or 'cosine'", kind)
    if not least <= 1:  # refuses NaN, too
        raise ParameterError("least", "all_pairs", "a similarity of at most 1", least)
    if features.weights is None:
        return
    if not features.distinct:
        raise ParameterError("features", "all_pairs", "distinct if they have weights", "repeated features")
    lowest = 0.0 if kind == "jaccard" else -np.inf
    if not bool(np.all(np.isfinite(features.weights) & (features.weights >= lowest))):
        constraint = "finite" if kind == "cosine" else "finite and not below 0 for jaccard"
        raise ParameterError("weights", "all_pairs", constraint, "other weights")


def _invert(features: Features, between: int) -> Any:
    """The documents of each feature, and for each entry of a document the later ones in its list.

    With `between`, an entry of one of the first so many documents has all others as partners.
    """
    first, last = features.offsets[0], features.offsets[-1]
    hashes = features.hashes[first:last]
    order = np.argsort(hashes, kind="stable")  # within a list, documents stay in order
    bounds = run_starts(hashes[order])  # where lists begin, and the end
    sizes = np.diff(bounds)
    documents = np.repeat(np.arange(len(features), dtype=np.int32), features.sizes)[order]
    starts, ends = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    starts[order] = np.arange(len(order)) + 1
    if between:
        before = np.concatenate([[0], np.cumsum(documents < between)])[bounds]
        starts[order] = np.repeat(bounds[:-1] + np.diff(before), sizes)
    ends[order] = np.repeat(bounds[1:], sizes)
    own = np.zeros(0, np.float32) if features.weights is None else features.weights[first:last]
    weights = own if features.weights is None else own[order]
    return kernels.overlap.Lists(features.offsets - first, own, starts, ends, documents, weights)


def _sizes(features: Features, squared: bool) -> NDArray[np.float64]:
    """Each document's sum of weights, or of their squares."""
    if features.weights is None:
        return features.sizes.astype(np.float64)
    sums = np.zeros(len(features))
    kernels.weighted.sum_weights(features.offsets, features.weights, squared, sums)
    return sums


def square_norms(features: Features) -> NDArray[np.float64]:
    """Each document's sum of squared weights."""
    return _sizes(features, True)


def _scratch(documents: int, weighted: bool) -> Any:
    """Accumulators for one thread."""
    totals = np.zeros(documents, np.float64 if weighted else np.int32)
    used = np.zeros(documents, np.uint8) if weighted else totals
    return kernels.overlap.Accumulators(totals, used, np.zeros(documents + 1, np.int32))


def _blocks(lists: Any, rows: int) -> Iterator[_Block]:
    """The first rows, cut where the pairs that they can have would exceed a block."""
    documents = len(lists.offsets) - 1
    steps = np.concatenate([[0], np.cumsum(lists.ends - lists.starts)])[lists.offsets]
    most = np.minimum(np.diff(steps), np.arange(documents)[::-1])
    room = np.concatenate([[0], np.cumsum(most)])
    first = 0
    while first < rows:
        last = int(np.searchsorted(room, room[first] + BLOCK, "right")) - 1
        last = min(max(last, first + 1), rows)
        yield _Block(first, last, int(room[last] - room[first]) + 1)
        first = last


def join_pairs(parts: list[tuple[NDArray[Any], ...]], sizes: NDArray[np.float64]) -> Pairs:
    """The pairs of all blocks."""
    if not parts:
        return Pairs.concatenate([])
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    left: Numbers = columns[0].astype(np.int64)
    right: Numbers = columns[1].astype(np.int64)
    return Pairs(left, right, columns[2], sizes[left], sizes[right])
