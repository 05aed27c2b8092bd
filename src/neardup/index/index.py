"""The index: documents added, found, replaced and deleted at any time, with the matches of `neardup pairs`.

The truth (SQLite or PostgreSQL) has the documents; segments, which are derived from it, find candidates; each candidate
is compared exactly, as the plan says. docs/index-guide.md and docs/durability.md describe it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from neardup.columns import Texts
from neardup.documents import Problems, Source
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint.budget import MemoryBudget, read_memory
from neardup.errors import InputError, ParameterError, PlanError
from neardup.index.answers import CheckedDocument, IndexedDocument, joined_tables, match_table, selected
from neardup.index.bulk import Addition, PreparedChunk, add_prepared, prepared, prepared_chunks, store
from neardup.index.collapse import CollapsedResult, Order, listed_clusters
from neardup.index.decisions import IndexDecision, crawl_order
from neardup.index.documents import Master
from neardup.index.export import export_stored
from neardup.index.inputs import (
    AttributeColumns,
    InputChunk,
    input_chunks,
    opened_inputs,
    unique_ids,
    with_policy,
)
from neardup.index.lookup import matches_of_texts
from neardup.index.matches import Match
from neardup.index.new_documents import decide
from neardup.index.opened import open_index
from neardup.index.result_lists import collapsed
from neardup.index.search import CapturedSearch
from neardup.index.signed import Signer, Store, stored_text
from neardup.index.state import IndexState
from neardup.index.stored_pairs import stored_neighbours
from neardup.index.streams import is_stream, streamed_chunks
from neardup.index.truth import Attributes, Columns, Id, Snapshot
from neardup.index.upkeep import refresh, refresh_due, set_refresh_after, summary
from neardup.index.verify import Verification, verify
from neardup.plan import Plan
from neardup.plans import make_plan, with_statistics
from neardup.statistics import Statistics
from neardup.workers import checked_threads

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = 1024  # documents that are looked up together


class Index(IndexState):
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

    # asking -------------------------------------------------------------------------------------

    def query(
        self, document: Any, *, threshold: float | None = None, limit: int | None = None
    ) -> list[Match]:
        """The indexed documents that a text, or a document as a dict, is a near-duplicate of, best first.

        Args:
            document: A text; or a dict with the columns that the index compares.
            threshold: A higher threshold than that of the index.
            limit: The most matches to return.
        """
        self.check_threshold(threshold)
        chunk = self._one(document)
        with self.reading() as (snapshot, search):
            return self._matches(snapshot, search, chunk, threshold, limit)

    def query_many(
        self,
        documents: Any,
        *,
        threshold: float | None = None,
        limit: int | None = None,
        progress: Progress | None = None,
        **columns: Any,
    ) -> pa.Table:
        """The matches of many documents: a table of query, id, similarity, containment, relation (and probability).

        Args:
            documents: Paths, a table, a frame, a list or an iterator, as for `add`.
            threshold: A higher threshold than that of the index.
            limit: The most matches of a document.
            progress: An object that is notified of progress.
            columns: text_column, id_column, html, html_text, format, as for `neardup.dedup`.
        """
        self.check_threshold(threshold)
        if is_stream(documents):
            chunks = streamed_chunks(self.plan, documents, columns)
        else:
            sources, how, _ = opened_inputs(documents, columns)
            chunks = input_chunks(self.plan, sources, how, AttributeColumns(), Problems())
        found = self._tables(chunks, threshold, limit, progress or Progress())
        return joined_tables([part for _, part in found])

    def matches(
        self,
        sources: Sequence[Source],
        columns: InputColumns,
        *,
        threshold: float | None = None,
        limit: int | None = None,
        problems: Problems | None = None,
        progress: Progress | None = None,
    ) -> Iterator[tuple[Sequence[Id], pa.Table]]:
        """As `query_many` for open inputs, piece by piece: the ids of some documents, and their matches."""
        self.check_threshold(threshold)
        chunks = input_chunks(self.plan, sources, columns, AttributeColumns(), problems or Problems())
        yield from self._tables(chunks, threshold, limit, progress or Progress())

    def _tables(
        self, chunks: Iterable[InputChunk], threshold: float | None, limit: int | None, progress: Progress
    ) -> Iterator[tuple[Sequence[Id], pa.Table]]:
        for chunk in chunks:
            for part in chunk.parts(QUERIES):
                with self.reading() as (snapshot, search):
                    table = self._match_table(snapshot, search, part, threshold, limit)
                progress.advance(len(part.ids))
                yield part.ids, table

    def matches_of_texts(self, texts: Texts) -> Iterator[tuple[int, Match]]:
        """The matches of texts that are as the index compares them: the place of the text, and a match, best first."""
        with self.reading() as (snapshot, search):
            found, rows = matches_of_texts(search, snapshot, texts)
        for number, place in enumerate(found.asked.tolist()):
            yield place, found.match(number, rows)

    def matches_of_chunk(self, chunk: InputChunk) -> pa.Table:
        """The matches of a chunk as a table: query, id, similarity, containment, relation (and probability)."""
        with self.reading() as (snapshot, search):
            return self._match_table(snapshot, search, chunk, None, None)

    def check(self, document: Any, *, id: Id | None = None) -> CheckedDocument:
        """Whether a document is new to the index, a copy, or a near-duplicate. The index does not change.

        Args:
            document: A text, or a dict with the columns that the index compares.
            id: The id of the document: an indexed document with this id is its earlier version, not its copy.
        """
        chunk = self._one(document, id)
        with self.reading() as (snapshot, search):
            return self._checked(snapshot, search, chunk)

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

    def get(self, id: Id) -> IndexedDocument | None:
        """A stored document; None if the index does not have it."""
        with self._truth.reading() as snapshot:
            rows = snapshot.fetch(snapshot.find([id]), Columns(body=True, attributes=True))
        if not len(rows):
            return None
        body = rows.bodies[0]
        text = stored_text(body) if self._opened.store == "text" and body is not None else None
        return IndexedDocument(
            rows.ids[0], text, int(rows.characters[0]), int(rows.tokens[0]), rows.attributes[0]
        )

    def decide(
        self,
        documents: Any,
        *,
        attributes: AttributeColumns | None = None,
        threshold: float | None = None,
        drop: bool = True,
        progress: Progress | None = None,
        **columns: Any,
    ) -> list[tuple[Id, IndexDecision]]:
        """Keep, demote or drop each of many new documents: by the indexed ones, and by the new ones before it.

        Args:
            documents: Paths, a table, a frame, or a list, as for `neardup.dedup`.
            attributes: The columns of groups with access, quality, time and url.
            threshold: A higher threshold than that of the index.
            drop: Whether copies are dropped; otherwise they are demoted.
            progress: An object that is notified of progress.
            columns: text_column, id_column, html, html_text, format, as for `neardup.dedup`.
        """
        self.check_threshold(threshold)
        sources, how, _ = opened_inputs(documents, columns)
        chunks = input_chunks(self.plan, sources, how, attributes or AttributeColumns(), Problems())
        return decide(self, chunks, threshold, drop, progress or Progress())

    def crawl_order(self, *, threshold: float | None = None, progress: Progress | None = None) -> list[Id]:
        """Ids in the order to crawl them: unique pages first, then second copies, …, within a round the best first."""
        self.check_threshold(threshold)
        with self.reading() as (snapshot, search):
            return crawl_order(*stored_neighbours(search, snapshot, progress or Progress(), threshold))

    def clusters(
        self,
        *,
        master: Master = "longest",
        order: Order = "rank",
        threshold: float | None = None,
        progress: Progress | None = None,
    ) -> list[list[Id]]:
        """Clusters of two or more documents, the master first: every member is a near-duplicate of the master.

        Args:
            master: The document that represents its cluster: rank (the first one added), quality, newest,
                shortest_url or longest.
            order: The order of members: rank (as added), time (newest first) or length (longest first).
            threshold: A higher threshold than that of the index.
            progress: An object that is notified of progress.
        """
        self.check_threshold(threshold)
        with self.reading() as (snapshot, search):
            documents, near = stored_neighbours(search, snapshot, progress or Progress(), threshold)
        return list(listed_clusters(documents, near, master, order))

    def collapse(
        self,
        ids: Sequence[Id],
        groups: Collection[str] = (),
        *,
        master: Master = "quality",
        order: Order = "rank",
        threshold: float | None = None,
    ) -> list[CollapsedResult]:
        """A result list of indexed documents, near-duplicates folded under the best one that these groups may see.

        Args:
            ids: Ids of documents, best first; those that the index does not have are left out.
            groups: The groups that the results are for.
            master: The document that is shown of near-duplicates: quality, rank, newest, shortest_url or longest.
            order: The order of folded documents: rank, time (newest first) or length (longest first).
            threshold: A higher threshold than that of the index.
        """
        return self.collapse_known(ids, groups, master, order, threshold)[0]

    def collapse_known(
        self,
        ids: Sequence[Id],
        groups: Collection[str],
        master: Master,
        order: Order,
        threshold: float | None = None,
    ) -> tuple[list[CollapsedResult], list[Id]]:
        """As `collapse`, and the ids that the index does not have."""
        self.check_threshold(threshold)
        with self.reading() as (snapshot, search):
            return collapsed(search, snapshot, ids, groups, order, master, threshold)

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
        sources, how, _ = opened_inputs(documents, columns)
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

    def update(self, documents: Any, **how: Any) -> Addition:
        """Replace documents of the index; refuses documents that it does not have."""
        sources, columns, rest = opened_inputs(documents, how)
        chunks = input_chunks(self.plan, sources, columns, AttributeColumns(), Problems())
        with self._truth.reading() as snapshot:
            unknown = [
                name
                for chunk in chunks
                for name, seq in zip(chunk.ids, snapshot.find(chunk.ids).tolist(), strict=True)
                if seq == 0
            ]
        if unknown:
            names = ", ".join(repr(name) for name in unknown[:3])
            raise InputError(
                f"{len(unknown):,} documents are not in the index, for example {names}: add them."
            )
        return self.add(documents, **how, **rest)

    def delete(self, ids: Id | Sequence[Id]) -> int:
        """Delete documents by id; returns how many the index had."""
        names = [ids] if isinstance(ids, (str, int)) else list(ids)
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
            sources, how, _ = opened_inputs([document], {})
            self._ensure_statistics(sources, how, Problems(), Progress())

    def _one(self, document: Any, id: Id | None = None) -> InputChunk:
        """A single document; without an id of its own or a given one, the chunk has no ids."""
        if isinstance(document, str) and not getattr(self.plan.text, "fields", ()):
            return InputChunk(Texts.from_strings([document]), [] if id is None else [id])
        if not isinstance(document, (str, Mapping)):
            raise InputError(f"A document is a text or a dict of columns, not {type(document).__name__}.")
        sources, how, _ = opened_inputs([document], {})
        chunk = next(iter(input_chunks(self.plan, sources, how, AttributeColumns(), Problems(strict=True))))
        named = id is not None or (isinstance(document, Mapping) and "id" in document)
        return InputChunk(chunk.texts, [chunk.ids[0] if id is None else id] if named else [])

    def _matches(
        self,
        snapshot: Snapshot,
        search: CapturedSearch,
        chunk: InputChunk,
        threshold: float | None = None,
        limit: int | None = None,
    ) -> list[Match]:
        found, rows = matches_of_texts(search, snapshot, chunk.texts)
        found = selected(self.plan, found, threshold, limit)
        return [found.match(number, rows) for number in range(len(found))]

    def _checked(self, snapshot: Snapshot, search: CapturedSearch, chunk: InputChunk) -> CheckedDocument:
        own = {str(name) for name in chunk.ids}
        found = tuple(match for match in self._matches(snapshot, search, chunk) if str(match.id) not in own)
        if not found:
            return CheckedDocument("new")
        return CheckedDocument("copy" if found[0].relation == "copy" else "near-duplicate", found)

    def _match_table(
        self,
        snapshot: Snapshot,
        search: CapturedSearch,
        chunk: InputChunk,
        threshold: float | None,
        limit: int | None,
    ) -> pa.Table:
        found, rows = matches_of_texts(search, snapshot, chunk.texts)
        found = selected(self.plan, found, threshold, limit)
        return match_table(
            [chunk.ids[n] for n in found.asked.tolist()],
            [found.match(number, rows) for number in range(len(found))],
            learned=found.probability is not None,
        )

    def check_threshold(self, threshold: float | None) -> None:
        """Refuse a threshold below that of the index: such pairs are not looked for."""
        if threshold is not None and not self.plan.threshold <= threshold <= 1:
            least = f"at least {self.plan.threshold:g}, the threshold of the index, and at most 1"
            raise ParameterError("threshold", "query", least, threshold)
