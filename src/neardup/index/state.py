"""An open index: its truth, the search structures of its current state, and the statistics that it has frozen."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

from neardup.columns import Numbers
from neardup.documents import Problems, Source
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint.budget import MemoryBudget
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.errors import PlanError, StorageError
from neardup.index.frequencies import counted_statistics
from neardup.index.opened import OpenedIndex, freeze_statistics, read_statistics
from neardup.index.postings import Postings
from neardup.index.search import FLUSH, ROOM, CapturedSearch, Search
from neardup.index.signed import Signer, Store
from neardup.index.truth import Snapshot, StoreWriter
from neardup.plan import Clustering, Plan
from neardup.statistics import Statistics


class IndexState:
    """What the questions and changes of an index share; threads may share it."""

    def __init__(
        self,
        opened: OpenedIndex,
        threads: int,
        memory: MemoryBudget | None = None,
        work_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        self.threads = threads
        self._memory, self._work_dir = memory, work_dir
        self._opened, self._truth = opened, opened.truth
        self._mutex = threading.RLock()
        self._search: Search | None = None
        self._version, self._digest = -1, ""
        self._merging: threading.Thread | None = None
        self._additions = 0  # of many documents, under way

    @property
    def plan(self) -> Plan:
        """The plan that documents are compared by."""
        return self._opened.plan

    @property
    def store(self) -> Store:
        """What is stored of a document: its text, its features or its signature."""
        return self._opened.store

    @property
    def name(self) -> str:
        """The path or address of the index."""
        return self._opened.name

    @property
    def version(self) -> int:
        """A number that changes with every change of the index."""
        with self._truth.reading() as snapshot:
            return snapshot.version()

    @property
    def method_plan(self) -> Plan:
        """The plan with the clustering of its method, for a run against the index."""
        return self.plan.with_(pairs="clusters", clustering=Clustering(self._opened.clusters))

    @property
    def statistics(self) -> Statistics | None:
        """The frozen document frequencies, where the method weighs by them and some were counted."""
        with self._truth.reading() as snapshot:
            return self._current(snapshot).signer.statistics

    def __len__(self) -> int:
        with self._truth.reading() as snapshot:
            return snapshot.count()

    def __contains__(self, id: object) -> bool:
        if not isinstance(id, (str, int)):
            return False
        with self._truth.reading() as snapshot:
            return bool(snapshot.find([id])[0] > 0)

    def __repr__(self) -> str:
        return f"<neardup index {self._opened.name}: {len(self):,} documents, {self.plan.method}>"

    def close(self) -> None:
        """End all connections, after a merge that is under way."""
        if self._merging is not None:
            self._merging.join()
        if self._search is not None:
            self._search.close()
        self._truth.close()

    # the current state ----------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[tuple[Snapshot, CapturedSearch]]:
        """One committed state, and what finds documents in it."""
        while True:
            search = self._known_search()
            captured = search.capture()
            with self._truth.reading() as snapshot:
                if self._current(snapshot) is search and captured.covers(snapshot):
                    yield snapshot, captured
                    return

    def _known_search(self) -> Search:
        """The search structures as last known."""
        if self._search is not None:
            return self._search
        with self._truth.reading() as snapshot:
            return self._current(snapshot)

    def captured_for(self, writer: StoreWriter) -> CapturedSearch:
        """What finds documents inside a write transaction; nobody else commits meanwhile."""
        search = self._current(writer)
        while True:
            captured = search.capture()
            if captured.covers(writer):
                return captured

    def workspace(self) -> Workspace:
        """A folder for temporary files."""
        return Workspace(folder=self._work_dir, memory=self._memory)

    def writing(self) -> AbstractContextManager[StoreWriter]:
        """The only writer; what is done inside is durable at the end, as a whole."""
        return self._truth.writing()

    @contextmanager
    def _writing_with(self, digest: str) -> Iterator[StoreWriter]:
        """The only writer, as long as document frequencies are those that documents were signed with."""
        with self._truth.writing() as writer:
            if writer.about()["statistics"] != digest:
                raise StorageError(
                    f"{self.name}: another process has refreshed the document frequencies meanwhile. Add the "
                    "documents again: those that are in the index already are skipped."
                )
            yield writer

    def check_truth(self) -> list[str]:
        """What is damaged in the truth, one sentence each."""
        return self._truth.check()

    def _current(self, snapshot: Snapshot) -> Search:
        """The search structures for the statistics of this snapshot."""
        version = snapshot.version()
        if self._search is not None and version == self._version:
            return self._search
        with self._mutex:
            about = snapshot.about()
            digest = about["statistics"]
            if self._search is None or digest != self._digest:
                signer = Signer(self.plan, read_statistics(snapshot, digest), self._opened.store)
                named = f"{self.plan.with_(statistics=digest).digest}-{about['identity']}"
                self._search, self._digest = Search(self._opened.segments, signer, named), digest
            self._version = version
            return self._search

    # segments -------------------------------------------------------------------------------------

    def _remember(self, seqs: Any, documents: Any, keys: Any) -> None:
        """Take postings of documents that were just committed; write and merge segments when it is time."""
        search = self._search
        assert search is not None
        if len(seqs):
            search.remember(seqs, documents, keys)
        self._write_segments(search)

    def remember(self, seqs: Numbers, postings: Postings) -> None:
        """Take the postings of documents that the caller has just stored and committed, by `writing`."""
        self._remember(seqs, postings.documents, postings.keys)

    @contextmanager
    def _adding_many(self) -> Iterator[None]:
        """While many documents are added, segments are as large as memory allows; those of one addition become one."""
        self._additions += 1
        before = self._search.folder.last if self._search is not None else 0
        try:
            yield
        finally:
            self._additions -= 1
        search = self._search
        if search is not None:
            self._write_segments(search)
            with suppress(StorageError):  # as they are, they answer too
                search.merge_after(before, self._truth.reading)

    def _write_segments(self, search: Search) -> None:
        documents, size = search.in_memory
        if documents < FLUSH or (self._additions and size < ROOM):
            return
        # Documents are durable by now: without room for a segment they are answered from memory until the next attempt.
        with suppress(StorageError), self._truth.reading() as snapshot:
            search.flush(snapshot)
        if search.folder.merge_due() and (self._merging is None or not self._merging.is_alive()):
            self._merging = threading.Thread(target=self._merge, args=(search,), name="neardup-merge")
            self._merging.start()

    def _merge(self, search: Search) -> None:
        with suppress(StorageError):  # the segments stay as they are until the next attempt
            search.merge(self._truth.reading)

    # statistics -----------------------------------------------------------------------------------

    def _freeze(self, statistics: Statistics, given: bool = False) -> None:
        with self._truth.writing() as writer:
            known = writer.about()["statistics"]
            if known == statistics.digest:
                return
            if known and writer.count():
                raise PlanError(
                    f"The index {self._opened.name} has other statistics ({known}) than the given ones "
                    f"({statistics.digest}): leave them out, or make another index."
                )
            freeze_statistics(writer, statistics)
            if given:  # what the user has chosen stays, unless a limit is given too
                writer.set_about(counted_up_to="0", refresh_after="0")

    def _ensure_statistics(
        self, sources: Sequence[Source], columns: InputColumns, problems: Problems, progress: Progress
    ) -> None:
        """Count document frequencies over the first documents, where the method weighs by them and none are known."""
        if not self.plan.counts:
            return
        with self._truth.reading() as snapshot:
            if snapshot.about()["statistics"]:
                return
        with self.workspace() as work:
            self._freeze(counted_statistics(self.plan, sources, columns, self.threads, progress, work))
