"""The index: documents added, found, replaced and deleted at any time, with the matches of `neardup pairs`.

The truth (SQLite or PostgreSQL) has the documents; segments, which are derived from it, find candidates; each candidate
is compared exactly, as the plan says. docs/index-guide.md and docs/durability.md describe it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from neardup.documents import Problems, Source
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint.budget import MemoryBudget, read_memory
from neardup.errors import InputError, ParameterError, PlanError
from neardup.index.answers import CheckedDocument
from neardup.index.bulk import Addition, PreparedChunk, add_prepared, prepared, prepared_chunks, store
from neardup.index.export import export_stored
from neardup.index.inputs import (
    AttributeColumns,
    InputChunk,
    checked_ids,
    input_chunks,
    opened_inputs,
    unique_ids,
    with_policy,
)
from neardup.index.opened import open_index
from neardup.index.questions import IndexQuestions
from neardup.index.signed import Signer, Store
from neardup.index.streams import is_stream, streamed_chunks
from neardup.index.truth import Attributes, Id
from neardup.index.upkeep import refresh, refresh_due, set_refresh_after, summary
from neardup.index.verify import Verification, verify
from neardup.plan import Plan
from neardup.plans import make_plan, with_statistics
from neardup.plurals import counted
from neardup.statistics import Statistics
from neardup.workers import checked_threads

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Index(IndexQuestions):
    """An index of documents for any method, in a folder or in a PostgreSQL database; threads may share it.

    What `add` and `delete` have acknowledged, by returning, survives a kill and a power loss.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        method: str | None = None,
        preset: str | None = None,
        plan: Plan | None = None,
        statistics: Statistics | str | os.PathLike[str] | None = None,
        df_unit: str | None = None,
        store: Store | None = None,
        threads: int | None = None,
        wait: float = 10.0,
        segments: str | os.PathLike[str] | None = None,
        refresh_after: int | None = None,
        memory: str | int | None = None,
        work_dir: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> None:
        """Opens the index at `path`, or makes it if a method, preset, plan or option is given.

        Args:
            path: A folder, or the address of a database: postgresql://host/database?index=NAME.
            method: The name of a method (`neardup.list_methods()`). An index that exists must have been made with it.
            preset: The name of a preset.
            plan: A plan (`neardup.make_plan`), in place of method, preset and options.
            statistics: Document frequencies, for methods that weigh by them; None counts them over the documents that
                are added first.
            df_unit: The unit of document frequency: texts, clusters, COLUMN or host:COLUMN; None is the method's own.
            store: What is stored of a document: its text (the default), its features, or its signature alone.
            threads: Threads to sign documents with; None uses all processors.
            wait: Seconds to wait for another process that writes.
            segments: The folder for derived files of a PostgreSQL index; None is a folder in the user's cache.
            refresh_after: Count document frequencies again after so many new documents, 0: never. None is as before, or
                1,000,000 for a new index that counts its own.
            memory: Memory to count document frequencies with, such as "4G"; None is half of available memory.
            work_dir: The folder for temporary files; None is the system's.
            options: Options of the method: threshold, ngram, … (`neardup methods NAME`).
        """
        asked = plan
        if method is not None or preset is not None or options:
            if plan is not None:
                raise ParameterError(
                    "plan", "Index", "given alone, without method, preset or options", sorted(options)
                )
            asked = make_plan(method, preset=preset, **options)
        given: Statistics | None = None
        if asked is not None:
            asked, given = with_statistics(asked, statistics, df_unit)
        folder = None if segments is None else Path(segments)
        budget = None if memory is None else MemoryBudget(read_memory(memory))
        opened = open_index(path, asked, store, wait, folder)
        super().__init__(opened, checked_threads(threads), budget, work_dir)
        if asked is None and statistics is not None:
            _, given = with_statistics(self.plan, statistics, df_unit)
        if given is not None:
            self._freeze(given, given=True)
        if refresh_after is not None:
            set_refresh_after(self, refresh_after)

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def add_if_new(
        self, document: Any, *, id: Id | None = None, attributes: Attributes | None = None
    ) -> CheckedDocument:
        """Check a document, and add it if it is new, in one step: of two processes with one text, one adds it.

        Args:
            document: A text, or a dict with the columns that the index compares.
            id: The id of the document; a text without one gets a number.
            attributes: Groups with access, quality, time and url of the document.
        """
        chunk = self._one(document, id)
        self._ensure_statistics_for(document)
        with self._truth.writing() as writer:
            if not chunk.ids:
                chunk = InputChunk(chunk.texts, [writer.last() + 1])
            search = self.captured_for(writer)
            found = self._checked(writer, search, chunk)
            if found.status != "new":
                return found
            made = prepared(search.signer, InputChunk(chunk.texts, chunk.ids, [attributes]))
            _, seqs, postings = store(writer, made)
        self._remember(seqs, postings.documents, postings.keys)
        return found

    # changing -----------------------------------------------------------------------------------

    def add(
        self,
        documents: Any,
        *,
        attributes: AttributeColumns | None = None,
        problems: Problems | None = None,
        progress: Progress | None = None,
        **columns: Any,
    ) -> Addition:
        """Add documents; one with the id of an indexed document replaces it. All is on disk when this returns.

        Batches of up to 10,000 documents are committed as a whole, one after the other.

        Args:
            documents: Paths, a table, a frame, a list of texts or dicts, as for `neardup.dedup`; an iterator or a
                dataset of Hugging Face is read 8,192 documents at a time.
            attributes: The columns of groups with access, quality, time and url.
            problems: Collects bad records; None counts them without a report.
            progress: An object that is notified of progress.
            columns: text_column, id_column, html, html_text, format, as for `neardup.dedup`.
        """
        if is_stream(documents) and not self._counts_first():
            given = streamed_chunks(self.plan, documents, columns, attributes, problems, self._last() + 1)
            return self.add_chunks(given, progress or Progress())
        sources, how = opened_inputs(documents, columns)
        return self.add_sources(sources, how, attributes=attributes, problems=problems, progress=progress)

    def add_sources(
        self,
        sources: Sequence[Source],
        columns: InputColumns,
        *,
        attributes: AttributeColumns | None = None,
        problems: Problems | None = None,
        progress: Progress | None = None,
    ) -> Addition:
        """As `add`, for inputs that are open."""
        problems, progress = problems or Problems(), progress or Progress()
        self._ensure_statistics(sources, columns, problems, progress)
        first = self._last() + 1
        chunks = input_chunks(self.plan, sources, columns, attributes or AttributeColumns(), problems, first)
        return self.add_chunks(with_policy(chunks, columns.duplicate_ids), progress)

    def add_chunks(self, chunks: Iterable[InputChunk], progress: Progress) -> Addition:
        """As `add`, for documents whose texts are as the index compares them."""
        return self._add(lambda signer: prepared_chunks(signer, chunks, self.threads), progress)

    def add_on_spark(
        self,
        spark: SparkSession,
        sources: Sequence[Source],
        columns: InputColumns,
        *,
        attributes: AttributeColumns | None = None,
        problems: Problems | None = None,
        progress: Progress | None = None,
    ) -> Addition:
        """As `add_sources`, with documents signed by the workers of a Spark session, one task a file."""
        from neardup.index.spark_build import signed_on_spark

        if self.plan.counts and self.statistics is None:
            raise PlanError(
                f"The method {self.plan.method} weighs by document frequencies, which an index does not count on "
                "Spark: make them with `neardup stats build`, and give them with --stats."
            )
        problems, progress = problems or Problems(), progress or Progress()
        how = (columns, attributes or AttributeColumns(), problems, self._work_dir, progress)
        return self._add(lambda signer: unique_ids(signed_on_spark(spark, signer, sources, *how)), progress)

    def _add(self, made: Callable[[Signer], Iterable[PreparedChunk]], progress: Progress) -> Addition:
        """Add what is made of documents by the signer of the index."""
        with self._truth.reading() as snapshot:
            signer = self._current(snapshot).signer
            digest = snapshot.about()["statistics"]
        # A stage that nobody sees would cost a single document more than its signature.
        stage = nullcontext() if type(progress) is Progress else progress.stage("add", None)
        with stage, self._adding_many():
            added = add_prepared(made(signer), lambda: self._writing_with(digest), self._remember, progress)
        refreshed = refresh_due(self) and self.refresh(progress=progress) > 0
        return replace(added, refreshed=refreshed)

    def update(
        self,
        documents: Any,
        *,
        attributes: AttributeColumns | None = None,
        problems: Problems | None = None,
        progress: Progress | None = None,
        **columns: Any,
    ) -> Addition:
        """Replace documents of the index; refuses documents that it does not have. Parameters as of `add`."""
        if is_stream(documents):
            documents = list(documents)  # which are read twice
        sources, how = opened_inputs(documents, columns)
        chunks = input_chunks(self.plan, sources, how, AttributeColumns(), Problems())
        with self._truth.reading() as snapshot:
            unknown = [
                name
                for chunk in chunks
                for name, seq in zip(chunk.ids, snapshot.find(chunk.ids).tolist(), strict=True)
                if seq == 0
            ]
        if unknown:
            names = ", ".join(repr(name) for name in unknown[:3])
            have = "is" if len(unknown) == 1 else "are"
            raise InputError(
                f"{counted(len(unknown), 'document')} {have} not in the index, for example {names}: add them."
            )
        return self.add_sources(sources, how, attributes=attributes, problems=problems, progress=progress)

    def delete(self, ids: Id | Sequence[Id]) -> int:
        """Delete documents by id; returns how many the index had."""
        names = [ids] if isinstance(ids, (str, int)) else checked_ids(ids)
        with self._truth.writing() as writer:
            return writer.delete(names)

    # upkeep -------------------------------------------------------------------------------------

    def compact(self) -> dict[str, Any]:
        """Merge all segments into one, without deleted documents; no answer changes."""
        with self.reading() as (snapshot, captured):
            captured.search.flush(snapshot)
        captured.search.compact(self._truth.reading)
        return self.info()

    def info(self) -> dict[str, Any]:
        """A summary of the index, as plain values."""
        return summary(self)

    def refresh(self, *, progress: Progress | None = None) -> int:
        """Recount document frequencies over the stored texts, and sign all documents again; returns how many."""
        return refresh(self, progress or Progress())

    def verify(self, *, progress: Progress | None = None) -> Verification:
        """Check everything: stored rows, texts and segments; damaged segments are discarded, and rebuilt when used."""
        return verify(self, progress or Progress())

    def export(
        self, path: str | os.PathLike[str], *, force: bool = False, progress: Progress | None = None
    ) -> int:
        """Write the stored documents to a jsonl or parquet file; returns how many."""
        with self._truth.reading() as snapshot:
            return export_stored(snapshot, self.plan, self.store, path, progress or Progress(), force)

    def _last(self) -> int:
        with self._truth.reading() as snapshot:
            return snapshot.last()

    def _counts_first(self) -> bool:
        """Whether documents must be read twice: document frequencies are counted over the first ones."""
        return bool(self.plan.counts) and self.statistics is None

    def _ensure_statistics_for(self, document: Any) -> None:
        if self.plan.counts:
            sources, how = opened_inputs([document], {})
            self._ensure_statistics(sources, how, Problems(), Progress())
