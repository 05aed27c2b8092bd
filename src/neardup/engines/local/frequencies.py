"""Document frequencies of what a plan asks for, in bounded memory, once for each unit of document frequency."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from neardup.clusters.graph import components
from neardup.columns import Features, Numbers
from neardup.engines.core.first_pass import first_pass
from neardup.engines.core.identity import distinct_texts
from neardup.engines.core.progress import Progress
from neardup.engines.core.represent import CHUNK, chunk_ranges
from neardup.engines.core.template_groups import (
    finds_template_groups,
    sample_groups,
    split_template_groups,
    unique_shares,
)
from neardup.engines.local.checkpoint.texts import Spool
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.read import Corpus, Job, joined_values
from neardup.engines.local.represent import represented
from neardup.engines.local.representations import spooled_chunks
from neardup.engines.local.verify import find_matches
from neardup.plan import Feature, Plan, Text, stage_json
from neardup.sorted_sets import count_distinct
from neardup.statistics import Counter, Frequencies, Sketch, Statistics, count_unsorted
from neardup.statistics.counters import MEMORY
from neardup.statistics.units import by_document, units_by_value
from neardup.workers import ordered_map

Tally = Counter | Sketch


def frequencies(job: Job, corpus: Corpus, given: Statistics | None) -> Statistics | None:
    """The frequencies that the plan asks for: given, counted by an earlier run, or counted now."""
    if not job.plan.counts or given is not None:
        return given
    known = job.work.statistics()
    if known is None:
        distinct, groups, by_text = units(job, corpus)
        recounted = None if groups is None or by_text is None else _recounted(job, distinct, groups, by_text)
        known = recounted or _counted(job, distinct, groups)
        job.work.keep_statistics(known)
    return known


def units(job: Job, corpus: Corpus) -> tuple[Numbers, Numbers | None, Statistics | None]:
    """The representative of each distinct text, and the number of its unit; None where each text is one.

    Third, the frequencies that a first pass over these texts counted, if it counted any.
    """
    distinct, places = distinct_texts(corpus.digests, corpus.id_hashes)
    rows = corpus.work.rows("read")
    if rows.has("group"):
        named = joined_values(rows.column("group").chunks).take(pa.array(distinct))
        return distinct, units_by_value(job.plan.df_unit, named.cast(pa.string()).to_pylist()), None
    if job.plan.df_unit != "clusters":
        return distinct, None, None
    return distinct, *_clusters_of_first_pass(job, corpus, distinct, places)


def _clusters_of_first_pass(
    job: Job, corpus: Corpus, distinct: Numbers, places: Numbers
) -> tuple[Numbers, Statistics | None]:
    """The cluster of each distinct text in a first pass, pages of template groups one by one; and what it counted."""
    first = first_pass(job.plan)
    with Workspace(folder=corpus.work.folder, spool=corpus.spool, memory=corpus.work.memory) as apart:
        inner = replace(job, plan=first, work=apart)
        known = _counted(inner, distinct, None) if first.counts else None
        made = represented(inner, corpus, known, (distinct, places))
        first_corpus, corpus.kept = replace(made, work=apart), made.kept
        pairs = find_matches(first, first_corpus, job.progress, job.threads).pairs
    passed = pairs.take(first.check.passes(pairs, first.threshold))
    groups = components(len(corpus), passed.left, passed.right)[distinct]
    if known is None or not finds_template_groups(first.view):
        return groups, known
    with job.progress.stage("find template groups"):
        return _without_template_groups(first, corpus, distinct, groups, known), known


def _without_template_groups(
    plan: Plan, corpus: Corpus, distinct: Numbers, groups: Numbers, statistics: Statistics
) -> Numbers:
    """The groups of distinct texts, members of a template group each in a group of its own."""
    sampled = sample_groups(groups, corpus.id_hashes[distinct])
    shares = np.zeros(len(distinct))
    for numbers in spooled_chunks(corpus.spool, distinct[sampled]):
        kept = corpus.kept
        features = None if kept is None else kept.features(plan.view, numbers, statistics)
        if features is None:
            features = plan.view.represent(plan.text(corpus.spool.read(numbers)), statistics)
        shares[np.searchsorted(distinct, numbers)] = unique_shares(plan.view, features, statistics)
    return split_template_groups(groups, sampled, shares[sampled])


def _recounted(job: Job, distinct: Numbers, groups: Numbers, by_text: Statistics) -> Statistics | None:
    """The frequencies by groups, from those by text: only the texts of groups of several are counted again.

    A feature of fewer than two texts, which is not listed, is one of fewer than two groups.
    """
    plan = job.plan
    several = np.bincount(groups)[groups] > 1
    if by_text.text != stage_json(plan.text) or 2 * int(several.sum()) > len(distinct):
        return None
    tables = {}
    for stage in plan.counts:
        table = by_text.tables.get(stage_json(stage))
        if table is None or table.least != 2:
            return None
        if by_document(stage) and several.any():
            table = table.plus(_differences(job, stage, distinct[several], groups[several]), 2)
        tables[stage_json(stage)] = table
    return Statistics(count_distinct(groups), by_text.text, tables, plan.df_unit)


def _differences(
    job: Job, stage: Feature, documents: Numbers, groups: Numbers
) -> Iterator[tuple[Frequencies, int]]:
    """Tables of the features of some texts: taken away text by text, and added group by group."""
    for factor, units in ((-1, None), (1, groups)):
        with ExitStack() as stack:
            [counter] = count_into(
                stack, job.plan.text, [stage], job.work.spool, documents, units, folder=job.work.folder,
                memory=job.work.memory.counters, progress=job.progress, threads=job.threads,
            )  # fmt: skip
            assert isinstance(counter, Counter)
            for table in counter.tables():
                yield table, factor


def _counted(job: Job, distinct: Numbers, groups: Numbers | None) -> Statistics:
    """The frequencies that the plan asks for, over its units."""
    plan, work = job.plan, job.work
    return count(
        plan.text, plan.counts, work.spool, distinct, groups, df_unit=plan.df_unit, folder=work.folder,
        memory=work.memory.counters, progress=job.progress, threads=job.threads,
    )  # fmt: skip


# counting ---------------------------------------------------------------------------------------------------


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
    documents: Numbers,
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

    Features that occur once are left out by default: weights take a feature that is not in the table as occurring
    once, and most phrases do. Tables that exceed the memory wait on disk.
    """
    with ExitStack() as stack:
        counters = count_into(
            stack, text, stages, spool, documents, groups, memory=memory, folder=folder, progress=progress,
            threads=threads,
        )  # fmt: skip
        tables = {
            stage_json(stage): counter.finish(least) for stage, counter in zip(stages, counters, strict=True)
        }
    number = len(documents) if groups is None else count_distinct(groups)
    return Statistics(number, stage_json(text), tables, df_unit)


def count_into(
    stack: ExitStack,
    text: Text,
    stages: Sequence[Feature],
    spool: Spool,
    documents: Numbers,
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

    def tables_of(chunk: CountingChunk) -> list[Frequencies]:
        tokens = text(spool.read(chunk.documents), details=details)
        return [count_unsorted(_joined(stage, stage(tokens), chunk)) for stage in stages]

    with progress.stage("count features", len(documents)):
        parts = ExitStack()
        open_groups: list[Counter] | None = None  # of the group that takes several chunks
        chunks = list(_chunks(spool, documents, groups))
        counted = ordered_map(tables_of, chunks, threads)
        for chunk, following, tables in zip(chunks, [*chunks[1:], None], counted, strict=True):
            if chunk.whole:
                for counter, table in zip(counters, tables, strict=True):
                    counter.add(table)
            else:
                if open_groups is None:
                    open_groups = [parts.enter_context(Counter(share, folder)) for _ in stages]
                _add_part(stages, open_groups, counters, tables)
                if following is None or following.whole or following.groups[0] != chunk.groups[0]:
                    _close_group(open_groups, counters)
                    parts.close()
                    parts, open_groups = ExitStack(), None
            progress.advance(len(chunk.documents))
    return counters


def _add_part(
    stages: Sequence[Feature], inside: list[Counter], whole: list[Tally], tables: list[Frequencies]
) -> None:
    """Count part of a group: within the group first, except for features that are units of their own."""
    for stage, inner, outer, table in zip(stages, inside, whole, tables, strict=True):
        (inner if by_document(stage) else outer).add(table)


def _close_group(inside: list[Counter], whole: list[Tally]) -> None:
    """A group's features, each once, however many of its documents have it."""
    for inner, outer in zip(inside, whole, strict=True):
        for table in inner.tables():
            outer.add(Frequencies(table.keys, np.ones(len(table), np.int64)))


def _joined(stage: Feature, features: Features, chunk: CountingChunk) -> Features:
    """The features with all documents of a group as one."""
    if not by_document(stage) or len(chunk.groups) == count_distinct(chunk.groups):
        return features
    order = np.argsort(chunk.groups, kind="stable")
    sizes = features.sizes[order]
    ends = np.cumsum(sizes)
    places = np.repeat(features.offsets[:-1][order] - (ends - sizes), sizes) + np.arange(int(sizes.sum()))
    last = np.append(np.flatnonzero(np.diff(chunk.groups[order])), len(order) - 1)
    return Features(np.concatenate([[0], ends[last]]), features.hashes[places])


def _chunks(spool: Spool, documents: Numbers, groups: Numbers | None) -> Iterator[CountingChunk]:
    """All documents in chunks. Groups stay together; one that is larger than a chunk is cut."""
    if groups is None:
        groups = documents
    first = np.zeros(int(groups.max(initial=0)) + 1, np.int64)
    first[groups[::-1]] = np.arange(len(groups))[::-1]  # groups in the order of their first document
    order = np.argsort(first[groups], kind="stable")
    documents, groups = documents[order], groups[order]
    sizes = spool.offsets[documents + 1] - spool.offsets[documents]
    edges = np.append(np.flatnonzero(np.diff(groups, prepend=-1)), len(groups))
    group_sizes = np.add.reduceat(sizes, edges[:-1]) if len(documents) else sizes
    for start, stop in chunk_ranges(group_sizes, np.diff(edges)):
        some = slice(edges[start], edges[stop])
        if group_sizes[start] > CHUNK and edges[stop] - edges[start] > 1:
            yield from _cut(documents[some], groups[some], sizes[some])
        else:
            yield _chunk(documents[some], groups[some])


def _chunk(documents: Numbers, groups: Numbers, whole: bool = True) -> CountingChunk:
    order = np.argsort(documents)
    return CountingChunk(documents[order], groups[order], whole)


def _cut(documents: Numbers, groups: Numbers, sizes: Numbers) -> Iterator[CountingChunk]:
    """A group in parts."""
    part = np.maximum(np.cumsum(sizes) - 1, 0) // CHUNK
    for begin, end in pairwise([0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(documents)]):
        yield _chunk(documents[begin:end], groups[begin:end], whole=False)
