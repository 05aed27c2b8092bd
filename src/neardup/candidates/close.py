"""All pairs of a least cosine, exactly, with most pairs that share a feature never met: see kernels/cosine.py."""

from __future__ import annotations

from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.candidates.allpairs import all_pairs, check_pairs, join_pairs, square_norms
from neardup.columns import Features, Numbers, Pairs, make_distinct
from neardup.sorted_sets import run_starts
from neardup.workers import checked_threads, ordered_map

ROWS = 256  # of one task
LEAST = 0.49  # below it, keeping the bounds costs more than they prune (docs/methods/cosine.md)


def close_pairs(features: Features, least: float, threads: int = 1, first: int = 0) -> tuple[Pairs, int]:
    """The pairs of `all_pairs(features, "cosine", threads, least, first)`, bit for bit, and how many were multiplied.

    A pair that needs no more than a frequent word in common is never met.
    """
    if least < LEAST:
        pairs = all_pairs(features, "cosine", threads, least, first)
        return pairs, len(pairs)
    check_pairs(features, "cosine", least)
    features = features if features.distinct else make_distinct(features)
    start, end = features.offsets[0], features.offsets[-1]
    weights = np.ones(end - start, np.float32) if features.weights is None else features.weights[start:end]
    columns = (features.hashes[start:end], weights, features.offsets - start)
    rule = kernels.overlap.SimilarityLimit(square_norms(features), True, float(least))
    lists = _unit_lists(columns, rule.sizes, least, first)
    n = len(features)
    free: SimpleQueue[Any] = SimpleQueue()

    def work(begin: int) -> tuple[NDArray[Any], ...]:
        try:
            scratch = free.get_nowait()
        except Empty:
            scratch = (np.zeros(n), np.zeros(n, np.uint8), np.zeros(n + 1, np.int32))
        parts, multiplied = [], 0
        found = kernels.overlap.PairColumns(*(np.empty(2 * n, kind) for kind in (np.int32, np.int32, float)))
        last = min(begin + ROWS, first or n)
        while begin < last:
            begin, size, more = kernels.cosine.close_pairs(
                lists, columns, (begin, last), scratch, rule, found
            )
            parts.append([column[:size].copy() for column in found])
            multiplied += more
        free.put(scratch)
        return *map(np.concatenate, zip(*parts, strict=True)), np.array([multiplied])

    parts = list(ordered_map(work, range(0, first or n, ROWS), checked_threads(threads)))
    multiplied = sum(int(part[3][0]) for part in parts)
    return join_pairs([part[:3] for part in parts], rule.sizes), multiplied


def _unit_lists(
    columns: tuple[NDArray[Any], NDArray[np.float32], Numbers],
    sizes: NDArray[np.float64],
    least: float,
    between: int,
) -> Any:
    """The entries that may start a pair, the rarest feature of a document first, and their inverted lists."""
    hashes, weights, offsets = columns
    lengths = np.diff(offsets)
    document = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    feature = _by_rarity(hashes)
    order = np.lexsort((feature, document))
    own = weights[order] / np.sqrt(np.where(sizes > 0, sizes, 1.0)).astype(np.float32)[document]
    rest = np.empty(len(own), np.float32)
    kernels.cosine.sum_behind(own, offsets, rest)
    kept = rest >= least * least - kernels.cosine.SLACK
    feature, document, own, rest = feature[order[kept]], document[kept], own[kept], rest[kept]
    ends = np.concatenate([[0], np.cumsum(np.bincount(document, minlength=len(lengths)))])
    return _inverted(feature, document, own, rest, ends, between)


def _by_rarity(hashes: NDArray[Any]) -> NDArray[np.int32]:
    """A number for each feature, smaller for rarer ones; of equal ones for the smaller hash."""
    _, number, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    place = np.empty(len(counts), np.int32)
    place[np.argsort(counts, kind="stable")] = np.arange(len(counts), dtype=np.int32)
    return place[number]


def _inverted(
    feature: NDArray[np.int32],
    document: NDArray[np.int32],
    own: NDArray[np.float32],
    rest: NDArray[np.float32],
    offsets: Numbers,
    between: int,
) -> Any:
    """The lists, and for each entry the place of its partners: the later documents, or those from `between` on."""
    order = np.argsort(feature, kind="stable")  # within a list, documents stay in order
    bounds = run_starts(feature[order])
    sizes = np.diff(bounds)
    starts, ends = np.empty(len(order), np.int32), np.empty(len(order), np.int32)
    starts[order] = np.arange(1, len(order) + 1)
    if between:
        before = np.concatenate([[0], np.cumsum(document[order] < between)])[bounds]
        starts[order] = np.repeat(bounds[:-1] + np.diff(before), sizes)
    ends[order] = np.repeat(bounds[1:], sizes)
    return kernels.cosine.UnitLists(
        offsets, own, rest, starts, ends, document[order], own[order], rest[order]
    )
