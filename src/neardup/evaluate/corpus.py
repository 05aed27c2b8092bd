"""The documents of an evaluation: read once, run as often as there are methods."""

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
from neardup.engines.core.documents import InputColumns, with_fields
from neardup.engines.core.identity import hash_ids
from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.read import Corpus, Job
from neardup.engines.local.run import LocalRun, Settings, read_corpus
from neardup.engines.local.run import run as run_local
from neardup.engines.local.verify import Matches, find_matches
from neardup.errors import InputError, ParameterError
from neardup.plan import Plan, Text
from neardup.statistics import Statistics

PLAIN = InputColumns(text="text", id="id", html=False)
ANY = 1e-9  # a threshold that every pair with something in common reaches
WARM = 20  # documents that a method is tried on before it is timed


@dataclass(frozen=True)
class Documents:
    """Ids and texts of all documents, in input order, in memory."""

    ids: pa.Array
    texts: pa.ChunkedArray
    problems: Problems = field(default_factory=Problems)
    fields: Mapping[str, pa.ChunkedArray] = field(default_factory=dict)  # columns beside the text, by name

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def size(self) -> int:
        """The bytes of all texts."""
        import pyarrow.compute as pc

        return int(pc.sum(pc.binary_length(self.texts)).as_py() or 0)

    def sources(self, most: int | None = None) -> Any:
        """The first `most` documents, or all, as the engine reads them."""
        ids = pa.chunked_array([self.ids])
        columns = {**self.fields, "id": ids, "text": self.texts}
        return open_inputs([pa.table(columns).slice(0, most)])

    def texts_with(self, names: Sequence[str]) -> pa.Array:
        """The texts with some of the columns behind them, as the engine hands them to a plan that has fields."""
        columns = [self.fields[name].combine_chunks() for name in names]
        return with_fields(self.texts.combine_chunks(), columns)


def read_documents(
    sources: Sequence[Source],
    columns: InputColumns,
    progress: Progress,
    strict: bool = False,
    stages: Sequence[Text] = (),
) -> Documents:
    """The documents that `dedup` would read, with the text that these text stages would see, and columns beside it."""
    fields, markup = _looked_at(stages)
    problems = Problems(strict=strict)
    alone = len(sources) == 1 and sources[0].format == "memory"
    known = [source.rows for source in sources]
    total = None if None in known else sum(count or 0 for count in known)
    texts: list[pa.Array] = []
    ids: list[pa.Array] = []
    beside: dict[str, list[pa.Array]] = {name: [] for name in fields}
    with progress.stage("read", total):
        for source in sources:
            text, identity = choose_columns(
                source.names(), text=columns.text, id=columns.id, source=source.name
            )
            html = columns.is_html(text) and not markup
            _check_fields(source, fields)
            wanted = dict.fromkeys(name for name in (text, identity, *fields) if name)
            for batch in source.read(list(wanted), problems):
                found = document_texts(batch, text, problems, html=html, html_text=columns.html_text)
                texts.append(found.cast(pa.large_string()))
                for name in fields:
                    beside[name].append(plain_column(batch, name).cast(pa.large_string()))
                numbered = identity is None and alone
                ids.append(pa.array(batch.numbers - 1) if numbered else document_ids(batch, identity))
                progress.advance(len(batch))
    if not texts:
        raise InputError(f"There are no documents in {', '.join(source.name for source in sources[:3])}.")
    unique, _ = hash_ids(joined_ids(ids), columns.duplicate_ids)
    columns_beside = {name: pa.chunked_array(parts, pa.large_string()) for name, parts in beside.items()}
    return Documents(unique, pa.chunked_array(texts, pa.large_string()), problems, columns_beside)


def _looked_at(stages: Sequence[Text]) -> tuple[tuple[str, ...], bool]:
    """The columns beside the text that stages look at, and whether pages stay as they are, with their tags."""
    fields = dict.fromkeys(name for stage in stages for name in getattr(stage, "fields", ()))
    markup = {bool(getattr(stage, "markup", False)) for stage in stages}
    if len(markup) > 1:
        limit = "methods that all look at tags, or none of them: evaluate them apart"
        raise ParameterError("method", "evaluate", limit, "both kinds")
    return tuple(fields), markup == {True}


def _check_fields(source: Source, fields: Sequence[str]) -> None:
    names = source.names()
    for name in fields:
        if names and name not in names:
            known = ", ".join(names)
            raise InputError(
                f"{source.name} has no column {name!r}, which is asked for as a field; its columns are {known}"
            )


@dataclass(frozen=True)
class Measured:
    """What a method took: for all documents, and of memory for each of them."""

    documents: int
    text_bytes: int
    seconds: float
    cpu_seconds: float
    bytes_per_document: float  # keys, digests, sizes, ids: what is held however large the corpus
    threads: int

    @property
    def megabytes_per_second(self) -> float:
        """Text that is worked through in a second."""
        return self.text_bytes / 1e6 / self.seconds if self.seconds else float("inf")

    def seconds_for(self, documents: int) -> float:
        """The time for so many documents of the same kind, growing with their number."""
        return self.seconds * documents / max(self.documents, 1)

    def memory_for(self, documents: int) -> float:
        """The bytes of memory that so many documents take, texts and features in work not counted."""
        return self.bytes_per_document * documents


def run_plan(
    plan: Plan,
    documents: Documents,
    threads: int,
    work_dir: str | os.PathLike[str] | None,
    progress: Progress,
    statistics: Statistics | None = None,
) -> tuple[LocalRun, Measured]:
    """The run that `dedup` would do, and what it took once its kernels are compiled."""
    settings = Settings(threads, work_dir=work_dir)
    known = statistics if plan.counts else None
    run_local(plan, documents.sources(WARM), PLAIN, settings, None, known).corpus.work.close()
    timed = Progress()
    with progress.stage(f"run {plan.method}"):
        run = run_local(plan, documents.sources(), PLAIN, settings, timed, known)
    seconds, cpu = sum(timed.seconds.values()), sum(timed.cpu.values())
    tables = getattr(plan.candidates, "tables", 0)
    held = bytes_held(run.corpus) + 8.0 * tables * len(documents)  # keys are gone by now
    each = held / len(documents)
    return run, Measured(len(documents), documents.size, seconds, cpu, each, threads)


def bytes_held(corpus: Corpus) -> float:
    """The memory of a corpus without its keys."""
    arrays = (
        corpus.id_hashes,
        corpus.present,
        corpus.digests,
        corpus.lengths,
        corpus.tokens,
        corpus.features,
    )
    slots = corpus.signatures.slots.nbytes if corpus.signatures is not None else 0
    held = corpus.distinct_features.bytes if corpus.distinct_features is not None else 0
    fixed = corpus.spool.offsets.nbytes + corpus.ids.nbytes
    return float(sum(a.nbytes for a in arrays) + fixed + slots + held)


def find_candidates(
    plan: Plan,
    documents: Documents,
    threads: int,
    work_dir: str | os.PathLike[str] | None,
    progress: Progress,
    statistics: Statistics | None = None,
) -> tuple[Matches, Numbers]:
    """Every candidate with something in common, measured, whatever its similarity; and codes of such pairs.

    A code is left · n + right, of contents.
    """
    exact = plan.check.level == "none" or plan.joins
    loose = plan.with_(pairs="all", threshold=plan.threshold if exact else ANY)
    known = statistics if plan.counts else None
    if known is not None:
        loose = loose.with_(statistics=known.digest)
    with Workspace(folder=work_dir) as work, progress.stage(f"candidates of {plan.method}"):
        corpus = read_corpus(Job(loose, documents.sources(), work, PLAIN, threads=threads), known)
        matches = find_matches(loose, corpus, Progress(), threads)
    codes = matches.pairs.left * len(documents) + matches.pairs.right
    return matches, np.sort(codes)
