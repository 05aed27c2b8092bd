"""Documents to a corpus: every document read once, its text spooled, its id hashed and its copies known."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.columns import Hashes, Numbers, Signatures
from neardup.documents import Problems, Source, joined_ids, stamp
from neardup.engines.core.documents import DocumentTable, InputColumns, check_html_text
from neardup.engines.core.identity import hash_ids
from neardup.engines.core.progress import Progress
from neardup.engines.core.represent import describe, represent
from neardup.engines.local.checkpoint.spill import SpilledRows
from neardup.engines.local.checkpoint.texts import Spool
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.documents import DocumentChunk, DocumentReader
from neardup.engines.local.join_blocks import DistinctFeatures
from neardup.engines.local.kept_features import KeptFeatures
from neardup.engines.local.representations import Representations
from neardup.errors import NoDocuments
from neardup.plan import Plan
from neardup.statistics import Statistics
from neardup.workers import ordered_map


@dataclass(frozen=True)
class Job:
    """What to read and by which plan, where its state lies, and who is shown its progress."""

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
class Corpus(DocumentTable):
    """The documents of a run, by number, without their texts."""

    sources: Sequence[Source]
    columns: InputColumns
    work: Workspace
    digests: Hashes
    text_column: str | None  # the column that the spool has unchanged, if there is one
    tokens: Numbers = field(default_factory=_none)
    features: Numbers = field(default_factory=_none)  # how many
    present: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))  # has features
    keys: Representations | None = None
    signatures: Signatures | None = None  # where the check compares them
    distinct_features: DistinctFeatures | None = None  # where candidates come from features
    statistics: Statistics | None = None
    kept: KeptFeatures | None = None  # of texts that are represented several times
    problems: Problems = field(default_factory=Problems)
    stamps: tuple[object, ...] = ()  # the state of the files when they were read
    numbered: bool = False  # some documents had no id and were numbered
    referenced: NDArray[np.bool_] | None = (
        None  # documents that a reference has: nothing else is compared with them
    )

    @property
    def compared(self) -> NDArray[np.bool_]:
        """The documents that are compared with each other: those with tokens that no reference has."""
        return self.tokens > 0 if self.referenced is None else (self.tokens > 0) & ~self.referenced

    @property
    def spool(self) -> Spool:
        """The texts."""
        return self.work.spool


def read(job: Job, represent_now: bool) -> Corpus:
    """The corpus after one pass over the input; its rows hold the plan's representations if they are made now."""
    check_html_text(job.plan, job.columns.html_text)
    reader = DocumentReader(job.plan, job.columns, job.work, job.problems)
    rows = job.work.rows("read")
    if job.work.saved:
        reader.resume(rows)
    stamps = tuple(stamp(source) for source in job.sources)
    known = [source.rows for source in job.sources]
    total = None if None in known else sum(count or 0 for count in known)
    with job.progress.stage("read and sign" if represent_now else "read", total):
        job.progress.advance(len(rows))
        if not rows.complete:
            with job.work.spool.writing_behind() if job.threads > 1 else nullcontext():
                _read_rest(job, reader, rows, represent_now)
    if not len(rows):
        problem = str(job.problems.first[0]) if job.problems.first else ""
        raise NoDocuments((source.name for source in job.sources[:3]), problem)
    with job.progress.stage("check ids"):
        given = joined_ids(rows.column("id").chunks)
        ids, id_hashes = _hashed(job, rows, given)
    return Corpus(
        sources=job.sources,
        columns=job.columns,
        work=job.work,
        ids=ids,
        id_hashes=id_hashes,
        digests=np.column_stack([rows.numbers("low"), rows.numbers("high")]),
        lengths=rows.numbers("length"),
        values=joined_values(rows.column("value").chunks) if rows.has("value") else None,
        text_column=next(iter(reader.text_columns)) if len(reader.text_columns) == 1 else None,
        problems=job.problems,
        stamps=stamps,
        numbered=reader.numbered or ids is not given,
    )


def _hashed(job: Job, rows: SpilledRows, given: pa.Array) -> tuple[pa.Array, Hashes]:
    """Ids that are unique, and their hashes; documents that had to be renamed are reported."""

    def renamed(document: int, name: str) -> None:
        source = job.sources[rows.column("source")[document].as_py()]
        record = rows.column("record")[document].as_py()
        job.problems.add(source.name, "duplicate id", record=record, action=f"called {name}")

    return hash_ids(given, job.columns.duplicate_ids, renamed)


def _read_rest(job: Job, reader: DocumentReader, rows: SpilledRows, represent_now: bool) -> None:
    """Read what an earlier run has not read."""

    def columns_of(chunk: DocumentChunk) -> pa.RecordBatch:
        columns = chunk.columns | describe(chunk.texts)
        if represent_now:
            columns |= represent(job.plan, chunk.texts)
        return pa.record_batch(columns)

    warned = 0
    for batch in ordered_map(columns_of, reader.chunks(job.sources), job.threads):
        rows.add(batch)
        job.progress.advance(batch.num_rows)
        job.work.checkpoint(lambda: reader.state(len(rows)))
        largest = int(batch.column("bytes").to_numpy().max(initial=0))
        if largest > 2 * warned and (warning := job.work.memory.too_large(largest)) is not None:
            job.progress.note(warning)
            warned = largest
    rows.complete = True
    job.work.checkpoint(lambda: reader.state(len(rows)), ended=True)


def joined_values(parts: list[pa.Array]) -> pa.Array:
    """A column of all batches, as strings where their types differ."""
    if len({part.type for part in parts}) > 1:
        parts = [part.cast(pa.string()) for part in parts]
    return pa.concat_arrays(parts)
