"""The counting pass: document frequencies of what a plan asks for, in bounded memory, once per content or group."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from neardup.columns import Features, Numbers
from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint.texts import Spool
from neardup.plan import Feature, Text, stage_json
from neardup.sorted_sets import count_distinct
from neardup.statistics import Counter, Frequencies, Sketch, Statistics, count_features
from neardup.statistics.counters import MEMORY
from neardup.workers import ordered_map

Tally = Counter | Sketch
CHUNK = 1 << 20  # bytes of text that are worked on at a time
CHUNK_ROWS = 1 << 14


@dataclass(frozen=True)
class CountingChunk:
    """Documents that are counted together: ascending, each with the number of its group."""

    documents: Numbers
    groups: Numbers
    whole: bool = True  # all of its groups; otherwise a part of a single one


def count(
    text: Text,
    stages: Sequence[Feature],
    spool: Spool,
    owners: Numbers,
    groups: Numbers | None = None,
    *,
    df_unit: str = "texts",
    least: int = 2,
    memory: int = MEMORY,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    threads: int = 1,
) -> Statistics:
    """The frequencies of some features over some documents, or over groups of them.

    What occurs once is left out by default: weights take what they do not find as seen once, and most phrases
    are. Tables that grow beyond the memory wait on disk.
    """
    with ExitStack() as stack:
        counters = count_into(
            stack, text, stages, spool, owners, groups, memory=memory, folder=folder, progress=progress,
            threads=threads,
        )  # fmt: skip
        tables = {
            stage_json(stage): counter.finish(least) for stage, counter in zip(stages, counters, strict=True)
        }
    number = len(owners) if groups is None else count_distinct(groups)
    return Statistics(number, stage_json(text), tables, df_unit)


def count_into(
    stack: ExitStack,
    text: Text,
    stages: Sequence[Feature],
    spool: Spool,
    owners: Numbers,
    groups: Numbers | None = None,
    *,
    memory: int = MEMORY,
    folder: str | os.PathLike[str] | None = None,
    sketch: int | None = None,
    progress: Progress | None = None,
    threads: int = 1,
) -> list[Tally]:
    """A counter for each stage, filled; they live as long as the stack. With `sketch`, of so many entries each."""
    progress = progress or Progress()
    share = max(1, memory // max(1, len(stages)))
    counters: list[Tally] = [
        stack.enter_context(Counter(share, folder)) if sketch is None else Sketch(sketch) for _ in stages
    ]
    details = any(stage.details for stage in stages)

    def work(portion: CountingChunk) -> list[Frequencies]:
        tokens = text(spool.read(portion.documents), details=details)
        return [count_features(_joined(stage, stage(tokens), portion)) for stage in stages]

    with progress.stage("count features", len(owners)):
        parts = ExitStack()
        open_groups: list[Counter] | None = None  # of the group that takes several portions
        portions = list(_portions(spool, owners, groups))
        answers = ordered_map(work, portions, threads)
        for portion, following, tables in zip(portions, [*portions[1:], None], answers, strict=True):
            if portion.whole:
                for counter, table in zip(counters, tables, strict=True):
                    counter.add(table)
            else:
                if open_groups is None:
                    open_groups = [parts.enter_context(Counter(share, folder)) for _ in stages]
                _add_part(stages, open_groups, counters, tables)
                if following is None or following.whole or following.groups[0] != portion.groups[0]:
                    _close_group(open_groups, counters)
                    parts.close()
                    parts, open_groups = ExitStack(), None
            progress.advance(len(portion.documents))
    return counters


def _add_part(
    stages: Sequence[Feature], inside: list[Counter], whole: list[Tally], tables: list[Frequencies]
) -> None:
    """Count part of a group: within the group first, but for what is not counted by document."""
    for stage, inner, outer, table in zip(stages, inside, whole, tables, strict=True):
        (inner if by_document(stage) else outer).add(table)


def _close_group(inside: list[Counter], whole: list[Tally]) -> None:
    """A group's features, each once, however many of its documents have it."""
    for inner, outer in zip(inside, whole, strict=True):
        for table in inner.tables():
            outer.add(Frequencies(table.keys, np.ones(len(table), np.int64)))


def by_document(stage: Feature) -> bool:
    """Whether a stage's features are counted once per document; passages are units of their own."""
    return not getattr(stage, "passages", False)


def _joined(stage: Feature, features: Features, portion: CountingChunk) -> Features:
    """The features with all documents of a group as one."""
    if not by_document(stage) or len(portion.groups) == count_distinct(portion.groups):
        return features
    order = np.argsort(portion.groups, kind="stable")
    sizes = features.sizes[order]
    ends = np.cumsum(sizes)
    places = np.repeat(features.offsets[:-1][order] - (ends - sizes), sizes) + np.arange(int(sizes.sum()))
    last = np.append(np.flatnonzero(np.diff(portion.groups[order])), len(order) - 1)
    return Features(np.concatenate([[0], ends[last]]), features.hashes[places])


def _portions(spool: Spool, owners: Numbers, groups: Numbers | None) -> Iterator[CountingChunk]:
    """All documents in portions of about a chunk of text. Groups stay together; one that is larger is cut."""
    if groups is None:
        groups = owners
    first = np.zeros(int(groups.max(initial=0)) + 1, np.int64)
    first[groups[::-1]] = np.arange(len(groups))[::-1]  # groups in the order of their first document
    order = np.argsort(first[groups], kind="stable")
    owners, groups = owners[order], groups[order]
    sizes = spool.offsets[owners + 1] - spool.offsets[owners]
    edges = np.append(np.flatnonzero(np.diff(groups, prepend=-1)), len(groups)).tolist()
    start, room = 0, 0
    for begin, end in pairwise(edges):
        size = int(sizes[begin:end].sum())
        if begin > start and (room + size > CHUNK or end - start > CHUNK_ROWS):
            yield _portion(owners[start:begin], groups[start:begin])
            start, room = begin, 0
        if size > CHUNK and end - begin > 1:
            yield from _cut(owners[begin:end], groups[begin:end], sizes[begin:end])
            start, room = end, 0
        else:
            room += size
    if start < len(owners):
        yield _portion(owners[start:], groups[start:])


def _portion(owners: Numbers, groups: Numbers, whole: bool = True) -> CountingChunk:
    order = np.argsort(owners)
    return CountingChunk(owners[order], groups[order], whole)


def _cut(owners: Numbers, groups: Numbers, sizes: Numbers) -> Iterator[CountingChunk]:
    """A group in parts."""
    part = np.maximum(np.cumsum(sizes) - 1, 0) // CHUNK
    for begin, end in pairwise([0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(owners)]):
        yield _portion(owners[begin:end], groups[begin:end], whole=False)
