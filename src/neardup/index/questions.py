"""What an index answers: matches of documents, checks of new ones, decisions, clusters and result lists."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from neardup.columns import Texts
from neardup.documents import Problems, Source
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.progress import Progress
from neardup.errors import InputError, ParameterError
from neardup.index.answers import CheckedDocument, IndexedDocument, joined_tables, match_table, selected
from neardup.index.collapse import CollapsedResult, Order, listed_clusters
from neardup.index.decisions import IndexDecision, crawl_order
from neardup.index.documents import Master
from neardup.index.inputs import AttributeColumns, InputChunk, checked_ids, input_chunks, opened_inputs
from neardup.index.lookup import matches_of_texts
from neardup.index.matches import Match
from neardup.index.new_documents import decide
from neardup.index.result_lists import collapsed
from neardup.index.search import CapturedSearch
from neardup.index.signed import stored_text
from neardup.index.state import IndexState
from neardup.index.stored_pairs import stored_neighbours
from neardup.index.streams import is_stream, streamed_chunks
from neardup.index.truth import Columns, Id, Snapshot

QUERIES = 1024  # documents that are looked up together


class IndexQuestions(IndexState):
    """The part of an index that changes nothing."""

    def query(
        self, document: Any, *, threshold: float | None = None, limit: int | None = None
    ) -> list[Match]:
        """The indexed documents that a text, or a document as a dict, is a near-duplicate of, best first.

        Args:
            document: A text; or a dict with the columns that the index compares.
            threshold: A higher threshold than that of the index.
            limit: The most matches to return.
        """
        self.check_threshold(threshold, limit)
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
        self.check_threshold(threshold, limit)
        if is_stream(documents):
            chunks = streamed_chunks(self.plan, documents, columns)
        else:
            sources, how = opened_inputs(documents, columns)
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
        self.check_threshold(threshold, limit)
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
        sources, how = opened_inputs(documents, columns)
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
            return collapsed(search, snapshot, checked_ids(ids), groups, order, master, threshold)

    def _one(self, document: Any, id: Id | None = None) -> InputChunk:
        """A single document; without an id of its own or a given one, the chunk has no ids."""
        if isinstance(document, str) and not getattr(self.plan.text, "fields", ()):
            return InputChunk(Texts.from_strings([document]), [] if id is None else [id])
        if not isinstance(document, (str, Mapping)):
            raise InputError(f"A document is a text or a dict of columns, not {type(document).__name__}.")
        sources, how = opened_inputs([document], {})
        found = input_chunks(self.plan, sources, how, AttributeColumns(), Problems(strict=True))
        if (chunk := next(iter(found), None)) is None:
            raise InputError("The document has no columns: give its text.")
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

    def check_threshold(self, threshold: float | None, limit: int | None = None) -> None:
        """Refuse a threshold below that of the index, as such pairs are not looked for, and a limit without matches."""
        number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool)
        if threshold is not None and not (number and self.plan.threshold <= threshold <= 1):
            least = f"at least {self.plan.threshold:g}, the threshold of the index, and at most 1"
            raise ParameterError("threshold", "query", least, threshold)
        if limit is not None and not (isinstance(limit, int) and limit >= 1):
            raise ParameterError("limit", "query", "a whole number from 1 on, or None", limit)
