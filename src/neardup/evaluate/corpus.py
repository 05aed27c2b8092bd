"""The documents of an evaluation, read once for all methods."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.columns import Numbers
from neardup.documents import (
    Problems,
    Source,
    choose_columns,
    document_ids,
    document_texts,
    joined_ids,
    open_inputs,
    plain_column,
)
from neardup.documents.document_columns import require_column
from neardup.engines.core.documents import InputColumns, with_fields
from neardup.engines.core.identity import hash_ids
from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.read import Corpus, Job
from neardup.engines.local.run import LocalRun, RunSettings, read_corpus
from neardup.engines.local.run import run as run_local
from neardup.engines.local.verify import Matches, find_matches
from neardup.errors import NoDocuments, ParameterError
from neardup.plan import Plan, Text
from neardup.statistics import Statistics

PLAIN = InputColumns(text="text", id="id", html=False)
ANY = 1e-9  # a threshold that every pair with a shared feature reaches
WARM = 20  # documents of the warm-up run before timing


@dataclass(frozen=True)
class Documents:
    """Ids and texts of all documents, in input order, in memory."""

    ids: pa.Array
    texts: pa.ChunkedArray
    problems: Problems = field(default_factory=Problems)
    fields: Mapping[str, pa.ChunkedArray] = field(default_factory=dict)  # columns used as fields, by name

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def size(self) -> int:
        """The bytes of all texts."""
        import pyarrow.compute as pc

        return int(pc.sum(pc.binary_length(self.texts)).as_py() or 0)

    def sources(self, most: int | None = None) -> Any:
        """The first `most` documents, or all, as an input of the engine."""
        ids = pa.chunked_array([self.ids])
        columns = {**self.fields, "id": ids, "text": self.texts}
        return open_inputs([pa.table(columns).slice(0, most)])

    def texts_with(self, names: Sequence[str]) -> pa.Array:
        """The texts with these columns appended, as the engine passes them to a plan with fields."""
        columns = [self.fields[name].combine_chunks() for name in names]
        return with_fields(self.texts.combine_chunks(), columns)


def read_documents(
    sources: Sequence[Source],
    columns: InputColumns,
    progress: Progress,
    strict: bool = False,
    stages: Sequence[Text] = (),
    also: Sequence[str] = (),
) -> Documents:
    """The documents as `dedup` reads them, with the text and columns that these text stages need, and others."""
    fields, markup = _inputs_of(stages)
    fields = tuple(dict.fromkeys((*fields, *also)))
    problems = Problems(strict=strict)
    alone = len(sources) == 1 and sources[0].format == "memory"
    known = [source.rows for source in sources]
    total = None if None in known else sum(count or 0 for count in known)
    texts: list[pa.Array] = []
    ids: list[pa.Array] = []
    by_field: dict[str, list[pa.Array]] = {name: [] for name in fields}
    with progress.stage("read", total):
        for source in sources:
            text, identity = choose_columns(
                source.names(), text=columns.text, id=columns.id, source=source.name
            )
            html = columns.is_html(text) and not markup
            for name in fields:
                require_column(name, source.names(), source.name, ", which is requested as a field")
            requested = dict.fromkeys(name for name in (text, identity, *fields) if name)
            for batch in source.read(list(requested), problems):
                found = document_texts(batch, text, problems, html=html, html_text=columns.html_text)
                texts.append(found.cast(pa.large_string()))
                for name in fields:
                    by_field[name].append(plain_column(batch, name).cast(pa.large_string()))
                numbered = identity is None and alone
                ids.append(pa.array(batch.numbers - 1) if numbered else document_ids(batch, identity))
                progress.advance(len(batch))
    if not texts:
        raise NoDocuments(source.name for source in sources[:3])
    unique, _ = hash_ids(joined_ids(ids), columns.duplicate_ids)
    field_columns = {name: pa.chunked_array(parts, pa.large_string()) for name, parts in by_field.items()}
    return Documents(unique, pa.chunked_array(texts, pa.large_string()), problems, field_columns)


def _inputs_of(stages: Sequence[Text]) -> tuple[tuple[str, ...], bool]:
    """The columns that text stages use as fields, and whether they read HTML with its tags."""
    fields = dict.fromkeys(name for stage in stages for name in getattr(stage, "fields", ()))
    markup = {bool(getattr(stage, "markup", False)) for stage in stages}
    if len(markup) > 1:
        limit = "methods that all read HTML tags, or all do not (evaluate them separately)"
        raise ParameterError("method", "evaluate", limit, "both")
    return tuple(fields), markup == {True}


@dataclass(frozen=True)
class MeasuredCost:
    """The measured cost of a run: time for all documents, memory for each document."""

    documents: int
    text_bytes: int
    seconds: float
    cpu_seconds: float
    bytes_per_document: float  # keys, digests, sizes, ids
    threads: int

    @property
    def megabytes_per_second(self) -> float:
        """Megabytes of text per second."""
        return self.text_bytes / 1e6 / self.seconds if self.seconds else float("inf")

    def seconds_for(self, documents: int) -> float:
        """The time for this many documents of the same kind, proportional to their number."""
        return self.seconds * documents / max(self.documents, 1)

    def memory_for(self, documents: int) -> float:
        """The bytes of memory for this many documents, without the texts and features of the chunk in work."""
        return self.bytes_per_document * documents


def run_plan(
    plan: Plan,
    documents: Documents,
    threads: int,
    work_dir: str | os.PathLike[str] | None,
    progress: Progress,
    statistics: Statistics | None = None,
) -> tuple[LocalRun, MeasuredCost]:
    """The run that `dedup` would do, and its cost with compiled kernels."""
    settings = RunSettings(threads, work_dir=work_dir)
    known = statistics if plan.counts else None
    run_local(plan, documents.sources(WARM), PLAIN, settings, None, known).corpus.work.close()
    timed = Progress()
    with progress.stage(f"run {plan.method}"):
        run = run_local(plan, documents.sources(), PLAIN, settings, timed, known)
    seconds, cpu = sum(timed.seconds.values()), sum(timed.cpu.values())
    tables = getattr(plan.candidates, "tables", 0)
    size = corpus_bytes(run.corpus) + 8.0 * tables * len(documents)  # keys, which are freed by now
    each = size / len(documents)
    return run, MeasuredCost(len(documents), documents.size, seconds, cpu, each, threads)


def corpus_bytes(corpus: Corpus) -> float:
    """The memory of a corpus without its keys."""
    arrays = [corpus.id_hashes, corpus.present, corpus.digests]
    arrays += [corpus.lengths, corpus.tokens, corpus.features]
    slots = corpus.signatures.slots.nbytes if corpus.signatures is not None else 0
    features = corpus.distinct_features.bytes if corpus.distinct_features is not None else 0
    fixed = corpus.spool.offsets.nbytes + corpus.ids.nbytes
    return float(sum(a.nbytes for a in arrays) + fixed + slots + features)


def find_candidates(
    plan: Plan,
    documents: Documents,
    threads: int,
    work_dir: str | os.PathLike[str] | None,
    progress: Progress,
    statistics: Statistics | None = None,
) -> tuple[Matches, Numbers]:
    """Every candidate pair with a shared feature and its similarity; and the packed pairs, sorted.

    A packed pair is left · n + right, of representatives.
    """
    exact = plan.check.level == "none" or plan.joins
    loose = plan.with_(pairs="all", threshold=plan.threshold if exact else ANY)
    known = statistics if plan.counts else None
    if known is not None:
        loose = loose.with_(statistics=known.digest)
    with Workspace(folder=work_dir) as work, progress.stage(f"candidates of {plan.method}"):
        corpus = read_corpus(Job(loose, documents.sources(), work, PLAIN, threads=threads), known)
        matches = find_matches(loose, corpus, Progress(), threads)
    packed = matches.pairs.left * len(documents) + matches.pairs.right
    return matches, np.sort(packed)
