"""The first pass: every document read once, signed, and put aside."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.columns import Hashes, Numbers, Signatures
from neardup.documents import Problems, Source, joined_ids, stamp
from neardup.engines.core.identity import hash_ids
from neardup.engines.core.populations import cluster_groups, first_plan
from neardup.engines.core.progress import Progress
from neardup.engines.core.represent import (
    Representations,
    describe,
    distinct_texts,
    needs_distinct_texts_first,
    represent_distinct_texts,
    sign,
)
from neardup.engines.core.template_groups import without_template_groups
from neardup.engines.local.checkpoint.spill import SpilledRows
from neardup.engines.local.checkpoint.texts import Spool
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.documents import Chunk, InputColumns, Reader, reads_markup
from neardup.engines.local.frequencies import count
from neardup.engines.local.join_blocks import DistinctTexts
from neardup.errors import InputError, ParameterError, PlanError
from neardup.plan import Plan, stage_json
from neardup.statistics import Statistics, units_by_value
from neardup.workers import ordered_map


@dataclass(frozen=True)
class Job:
    """What to read and by which plan, where to put it, and whom to tell."""

    plan: Plan
    sources: Sequence[Source]
    work: Workspace
    columns: InputColumns = field(default_factory=InputColumns)
    problems: Problems = field(default_factory=Problems)
    progress: Progress = field(default_factory=Progress)
    threads: int = 1


def _none() -> Numbers:
    return np.zeros(0, np.int64)


@dataclass
class Corpus:
    """The documents of a run, by number, without their texts."""

    sources: Sequence[Source]
    columns: InputColumns
    work: Workspace
    ids: pa.Array
    ranks: Hashes  # an order of the documents that depends on their ids alone
    digests: Hashes
    lengths: Numbers  # characters
    values: pa.Array | None  # the column that the keep policy asks for
    text_column: str | None  # the column that the spool holds unchanged, if there is one
    tokens: Numbers = field(default_factory=_none)
    features: Numbers = field(default_factory=_none)  # how many
    present: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))  # has features
    keys: Representations | None = None
    signatures: Signatures | None = None  # where the check compares them
    contents: DistinctTexts | None = None  # where candidates come from features
    statistics: Statistics | None = None
    problems: Problems = field(default_factory=Problems)
    stamps: tuple[object, ...] = ()  # the state of the files when they were read
    numbered: bool = False  # some documents had no id and were numbered

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def spool(self) -> Spool:
        """The texts."""
        return self.work.spool


def read_corpus(job: Job, statistics: Statistics | None = None) -> Corpus:
    """The corpus after its one pass over the input, and one more over its contents where the plan needs it."""
    plan, work = job.plan, job.work
    _check_statistics(plan, statistics)
    later = needs_distinct_texts_first(plan)
    corpus = _read(job, sign_now=not later)
    if not later:
        return _seen(corpus, Representations(work.rows("read")))
    owners, places = distinct_texts(corpus.digests, corpus.ranks)
    if plan.counts and statistics is None:
        statistics = work.statistics()
    if plan.counts and statistics is None:
        statistics = _count(job, owners, _groups(job, corpus, owners, places))
        work.keep_statistics(statistics)
    stored = Representations(_sign(job, owners, statistics), places)
    seen = _seen(corpus, stored, statistics)
    if plan.candidates.level == "features":
        seen.contents = DistinctTexts(owners, seen.features[owners], Representations(stored.rows))
    return seen


def read_distinct_texts(job: Job) -> tuple[Numbers, Numbers | None]:
    """One document of each content, and the group of each where the plan's population has groups."""
    corpus = _read(job, sign_now=False)
    owners, places = distinct_texts(corpus.digests, corpus.ranks)
    return owners, _groups(job, corpus, owners, places)


def _read(job: Job, sign_now: bool) -> Corpus:
    """The corpus before the plan has seen it, though with what it saw among its rows if asked."""
    if reads_markup(job.plan) and job.columns.html_text != "visible":
        allowed = "'visible': with tags it reads whole pages"
        raise ParameterError("html_text", job.plan.method, allowed, job.columns.html_text)
    reader, rows = Reader(job.plan, job.columns, job.work, job.problems), job.work.rows("read")
    if job.work.saved:
        reader.resume(rows)
    stamps = tuple(stamp(source) for source in job.sources)
    known = [source.rows for source in job.sources]
    total = None if None in known else sum(count or 0 for count in known)
    with job.progress.stage("read and sign" if sign_now else "read", total):
        job.progress.advance(len(rows))
        if not rows.complete:
            with job.work.spool.writing_behind() if job.threads > 1 else nullcontext():
                _read_rest(job, reader, rows, sign_now)
    if not len(rows):
        names = ", ".join(source.name for source in job.sources[:3])
        hint = f" ({job.problems.first[0]})" if job.problems.first else ""
        raise InputError(f"There are no documents in {names}{hint}.")
    with job.progress.stage("check ids"):
        given = joined_ids(rows.column("id").chunks)
        ids, ranks = _ranked(job, rows, given)
    return Corpus(
        sources=job.sources,
        columns=job.columns,
        work=job.work,
        ids=ids,
        ranks=ranks,
        digests=np.column_stack([rows.numbers("low"), rows.numbers("high")]),
        lengths=rows.numbers("length"),
        values=_joined_values(rows.column("value").chunks) if rows.has("value") else None,
        text_column=next(iter(reader.text_columns)) if len(reader.text_columns) == 1 else None,
        problems=job.problems,
        stamps=stamps,
        numbered=reader.numbered or ids is not given,
    )


def _ranked(job: Job, rows: SpilledRows, given: pa.Array) -> tuple[pa.Array, Hashes]:
    """Ids that are unique, and the order that they give; documents that had to be renamed are reported."""

    def renamed(document: int, name: str) -> None:
        source = job.sources[rows.column("source")[document].as_py()]
        record = rows.column("record")[document].as_py()
        job.problems.add(source.name, "duplicate id", record=record, action=f"called {name}")

    return hash_ids(given, job.columns.duplicate_ids, renamed)


def _read_rest(job: Job, reader: Reader, rows: SpilledRows, sign_now: bool) -> None:
    """Read what is not among the rows yet."""

    def see(chunk: Chunk) -> pa.RecordBatch:
        seen = chunk.known | describe(chunk.texts)
        if sign_now:
            seen |= sign(job.plan, chunk.texts)
        return pa.record_batch(seen)

    told = 0
    for batch in ordered_map(see, reader.chunks(job.sources), job.threads):
        rows.add(batch)
        job.progress.advance(batch.num_rows)
        job.work.checkpoint(lambda: reader.state(len(rows)))
        largest = int(batch.column("bytes").to_numpy().max(initial=0))
        if largest > 2 * told and (said := job.work.memory.too_large(largest)) is not None:
            job.progress.note(said)
            told = largest
    rows.complete = True
    job.work.checkpoint(lambda: reader.state(len(rows)), ended=True)


def _sign(job: Job, owners: Numbers, statistics: Statistics | None) -> SpilledRows:
    return represent_distinct_texts(job.plan, job.work, owners, statistics, job.progress, job.threads)


def _seen(corpus: Corpus, stored: Representations, statistics: Statistics | None = None) -> Corpus:
    """The corpus with what a plan sees in its documents."""
    present = stored.numbers("present")
    slots = stored.slots()
    return replace(
        corpus,
        tokens=stored.numbers("tokens"),
        features=stored.numbers("features"),
        present=present,
        keys=stored,
        signatures=None if slots is None else Signatures(slots, present),
        statistics=statistics,
    )


def _check_statistics(plan: Plan, statistics: Statistics | None) -> None:
    """Refuse frequencies that are not those that the plan was made with, or that do not fit it."""
    given = "" if statistics is None else statistics.digest
    if plan.statistics != given:
        raise PlanError(
            f"The plan was made with the statistics {plan.statistics or '(none)'}; given were {given or '(none)'}. "
            "Give the file that belongs to it (--stats), or make the plan again."
        )
    if statistics is not None:
        statistics.check(stage_json(plan.text), [stage_json(feature) for feature in plan.counts])


def _groups(job: Job, corpus: Corpus, owners: Numbers, places: Numbers) -> Numbers | None:
    """What counts once: the number of each content's group; None where each content does."""
    rows = corpus.work.rows("read")
    if rows.has("group"):
        named = _joined_values(rows.column("group").chunks).take(pa.array(owners))
        return units_by_value(job.plan.df_unit, named.cast(pa.string()).to_pylist())
    if job.plan.df_unit != "clusters":
        return None
    first = first_plan(job.plan)
    with Workspace(folder=corpus.work.folder, spool=corpus.spool, memory=corpus.work.memory) as apart:
        inner = replace(job, plan=first, work=apart)
        known = _count(inner, owners, None) if first.counts else None
        seen = _seen(corpus, Representations(_sign(inner, owners, known), places), known)
        groups = cluster_groups(first, replace(seen, work=apart), owners, job.progress, job.threads)
    if known is None:
        return groups
    with job.progress.stage("look for families"):
        return without_template_groups(first, corpus.spool, owners, corpus.ranks, groups, known)


def _count(job: Job, owners: Numbers, groups: Numbers | None) -> Statistics:
    """The frequencies that the plan asks for, over its population."""
    plan, work = job.plan, job.work
    return count(
        plan.text, plan.counts, work.spool, owners, groups, df_unit=plan.df_unit, folder=work.folder,
        memory=work.memory.counters, progress=job.progress, threads=job.threads,
    )  # fmt: skip


def _joined_values(parts: list[pa.Array]) -> pa.Array:
    if len({part.type for part in parts}) > 1:
        parts = [part.cast(pa.string()) for part in parts]
    return pa.concat_arrays(parts)
