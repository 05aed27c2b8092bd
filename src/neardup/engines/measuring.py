"""The similarity of pairs, measured on features that are made again for the documents concerned."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from neardup import kernels
from neardup.columns import Features, Numbers, Pairs
from neardup.engines.progress import Progress
from neardup.engines.reading import CHUNK, Corpus
from neardup.engines.workers import ordered_map
from neardup.plan import Plan
from neardup.verify.jaccard import make_distinct

TILE_BYTES = 96 << 20  # features held for one side of a comparison


def measure(
    plan: Plan, corpus: Corpus, left: Numbers, right: Numbers, progress: Progress, threads: int
) -> Pairs:
    """The evidence of each pair, exact or estimated as the plan says."""
    if len(left) == 0:
        return Pairs.concatenate([])
    if plan.check.level != "features":
        return plan.check.measure(corpus.signatures, left, right)
    tile = _tiles(corpus, left, right)
    order = np.lexsort((tile[right], tile[left]))
    left, right = left[order], right[order]
    code = tile[left] * (int(tile.max()) + 1) + tile[right]
    starts = np.append(np.flatnonzero(np.diff(code, prepend=-1)), len(code))
    parts = []
    for start, stop in pairwise(starts.tolist()):
        part = _measure_tile(plan, corpus, left[start:stop], right[start:stop], threads)
        parts.append(part)
        progress.advance(len(part))
    return Pairs.concatenate(parts)


def _tiles(corpus: Corpus, left: Numbers, right: Numbers) -> Numbers:
    """For each document the tile that it is compared in.

    Documents that are compared with each other stand together, so that nearly all pairs lie inside one tile
    and each document's features are made once; a tile holds a bounded number of features.
    """
    concerned = np.unique(np.concatenate([left, right]))
    number = np.full(len(corpus), -1, np.int64)
    number[concerned] = np.arange(len(concerned))
    labels = kernels.graph.components(len(concerned), number[left], number[right])
    order = np.argsort(labels, kind="stable")
    size = np.cumsum(corpus.features[concerned[order]] * 8)
    tile = np.zeros(len(corpus), np.int64)
    tile[concerned[order]] = size // TILE_BYTES
    return tile


def _measure_tile(plan: Plan, corpus: Corpus, left: Numbers, right: Numbers, threads: int) -> Pairs:
    numbers, features = _remembered(plan, corpus, np.unique(np.concatenate([left, right])), threads)
    local_left, local_right = np.searchsorted(numbers, left), np.searchsorted(numbers, right)
    step = max(1 << 12, -(-len(left) // (4 * threads)))
    portions = [slice(start, start + step) for start in range(0, len(left), step)]
    measured = ordered_map(
        lambda part: plan.check.measure(features, local_left[part], local_right[part]), portions, threads
    )
    joined = Pairs.concatenate(list(measured))
    return Pairs(left, right, joined.shared, joined.left_size, joined.right_size)


def _remembered(plan: Plan, corpus: Corpus, numbers: Numbers, threads: int) -> tuple[Numbers, Features]:
    """Features of the documents, and perhaps of more: those of the last tile serve as long as they suffice.

    Clusters are verified after their candidates, on documents that were just looked at.
    """
    last = corpus.last_features
    if last is not None and np.isin(numbers, last[0], assume_unique=True).all():
        return last
    corpus.last_features = None  # two tiles at a time would be twice the memory
    corpus.last_features = numbers, features_of(plan, corpus, numbers, threads)
    return corpus.last_features


def features_of(plan: Plan, corpus: Corpus, numbers: Numbers, threads: int) -> Features:
    """The distinct features of some documents, made again from their texts."""
    sizes = corpus.spool.offsets[numbers + 1] - corpus.spool.offsets[numbers]
    chunk = np.cumsum(sizes) // CHUNK
    portions = np.split(numbers, np.flatnonzero(np.diff(chunk)) + 1)

    def work(some: Numbers) -> Features:
        return make_distinct(plan.view.look(plan.text(corpus.spool.read(some))))

    offsets = np.zeros(len(numbers) + 1, np.int64)
    hashes = np.empty(int(corpus.features[numbers].sum()), np.uint64)  # distinct ones are at most as many
    done = 0
    for part in ordered_map(work, portions, threads):
        stop = done + len(part)
        offsets[done + 1 : stop + 1] = part.offsets[1:] + offsets[done]
        hashes[offsets[done] : offsets[stop]] = part.hashes
        done = stop
    return Features(offsets, hashes[: offsets[-1]], distinct=True)
