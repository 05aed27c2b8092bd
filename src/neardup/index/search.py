"""What an index looks keys up in: segments on disk, and the newest documents in memory.

Everything here is derived from the truth. Ranges of sequence numbers that no segment covers, because they are new or
because a segment is missing or damaged, are signed again from what the truth has stored.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neardup.columns import Hashes, Numbers
from neardup.errors import IndexBusy, StorageError
from neardup.index.postings import stored_keys
from neardup.index.segments.folder import SegmentFolder
from neardup.index.segments.memory import MemorySegment
from neardup.index.segments.segment import Segment, SegmentDamaged
from neardup.index.signed import Signer
from neardup.index.truth import Columns, Snapshot
from neardup.index.truth.writer_lock import writer_lock

FLUSH = 4096  # documents in memory that become a segment
ROOM = 64 << 20  # bytes of postings that are sorted or merged together
SCAN = 1024  # stored documents that are signed together
POSTING = 16  # bytes of a posting in memory
PATIENCE = 600.0  # seconds that a merge by another process may take


@dataclass(frozen=True)
class _Part:
    """The postings of a range of sequence numbers: low ≤ seq < high."""

    low: int
    high: int
    documents: int
    seqs: Numbers
    keys: Hashes

    def between(self, low: int, high: int) -> _Part:
        """The postings of a range inside."""
        some = (self.seqs >= low) & (self.seqs < high)
        return _Part(low, high, len(np.unique(self.seqs[some])), self.seqs[some], self.keys[some])


@dataclass(frozen=True)
class _View:
    """What is looked at: replaced as a whole, so that a look-up never sees a document twice or not at all."""

    segments: tuple[Segment, ...]
    memory: MemorySegment
    version: int  # of the truth: a snapshot that is taken later has this one or a higher one


Reading = Callable[[], AbstractContextManager[Snapshot]]


@dataclass(frozen=True)
class CapturedSearch:
    """The structures of one moment, for a snapshot that is taken after it."""

    search: Search
    view: _View

    @property
    def signer(self) -> Signer:
        """What signs documents for it."""
        return self.search.signer

    def covers(self, snapshot: Snapshot) -> bool:
        """Whether it has every document of the snapshot, after the newest were signed."""
        return self.search.covers(self.view, snapshot)

    def look_up(self, snapshot: Snapshot, keys: Hashes) -> tuple[Numbers, Numbers]:
        """For each document with one of these keys: the place of the key, and its sequence number."""
        return self.search.look_up(self.view, snapshot, keys)


class Search:
    """The derived structures of an index; threads may share it."""

    def __init__(self, folder: Path, signer: Signer, digest: str) -> None:
        self.signer = signer
        self.folder = SegmentFolder(folder, digest)
        self.folder.load()
        self.rebuilt = 0  # documents that were signed again because no segment had them
        self._parts: list[_Part] = []  # in memory
        self._waiting: list[_Part] = []  # … and not yet in the memory segment
        self._counted = 0, 0, 0  # parts, and their documents and postings
        self._complete = 0  # everything up to this sequence number is covered
        self._mutex = threading.RLock()
        self._look_at(MemorySegment())

    # looking up ---------------------------------------------------------------------------------

    def capture(self) -> CapturedSearch:
        """What is looked at from now on. A snapshot that is taken later has no document that it lacks but the newest.

        (A merge leaves out documents that are deleted by then. A snapshot from before may still have them.)
        """
        if self.folder.changed():
            with self._mutex:
                if self.folder.changed():
                    self._reload()
        return CapturedSearch(self, self._view)

    def covers(self, view: _View, snapshot: Snapshot) -> bool:
        """Whether a view has every document of a snapshot, after the newest were signed; False: capture another."""
        last = snapshot.last()
        if view is self._view and last <= self._complete and not self._waiting:
            return True
        with self._mutex:
            if view is self._view and view.version > snapshot.version():
                self._forget()
            if view is self._view:
                self._cover(snapshot, last)  # which may write a segment, and so replace the view
            if view is not self._view:
                return False
            for part in self._waiting:
                view.memory.add(part.seqs, part.keys)
            self._parts += self._waiting
            self._waiting = []
            return True

    def _forget(self) -> None:
        """Use none of the segments: they were made from a later state, and the truth is an older copy of it."""
        with self._writing(wait=PATIENCE):
            self.folder.forget("it was made from a later state of the index")
            self._parts, self._waiting, self._complete = [], [], 0
            self._counted = 0, 0, 0
            self._look_at(MemorySegment())

    def _look_at(self, memory: MemorySegment) -> None:
        """Replace what is looked at, by the segments of the folder and this memory."""
        self._view = _View(self.folder.segments, memory, self.folder.version)

    def look_up(self, view: _View, snapshot: Snapshot, keys: Hashes) -> tuple[Numbers, Numbers]:
        """For each document with one of these keys: the place of the key, and its sequence number."""
        segments, found = list(view.segments), [view.memory.look_up(keys)]
        while segments:
            segment = segments.pop()
            try:
                found.append(segment.look_up(keys))
            except SegmentDamaged as error:
                self._discard(segment, error)
                memory = MemorySegment()
                for part in self._signed(snapshot, segment.low, min(segment.high, snapshot.last() + 1)):
                    memory.add(part.seqs, part.keys)
                found.append(memory.look_up(keys))
        return np.concatenate([part[0] for part in found]), np.concatenate([part[1] for part in found])

    def _discard(self, segment: Segment, error: SegmentDamaged) -> None:
        with self._mutex:
            if segment in self.folder.segments:
                self.folder.discard(segment, error.reason)
                self._complete = 0
                self._look_at(self._view.memory)

    def drop(self, damaged: Mapping[Segment, str]) -> None:
        """Remove damaged segments, each with its reason; their documents are signed again."""
        with self._writing(wait=PATIENCE), self._mutex:
            if self.folder.changed():
                self._reload()
            self.folder.may_write, before = True, self.folder.may_write
            try:
                for segment, reason in damaged.items():
                    self.folder.discard(segment, reason)
            finally:
                self.folder.may_write = before
            self._complete = 0
            self._look_at(self._view.memory)

    # covering -----------------------------------------------------------------------------------

    def cover(self, snapshot: Snapshot, last: int) -> None:
        """Sign what no segment has, up to a sequence number; what fills the room is written."""
        with self._mutex:
            self._cover(snapshot, last)
            if self.in_memory[1] >= ROOM:
                self._flush_if_possible(snapshot)

    def _cover(self, snapshot: Snapshot, last: int) -> None:
        """Sign what neither segments nor memory have."""
        if last <= self._complete:
            return
        for low, high in self._missing(last):
            self._restore(snapshot, low, high)
        self._complete = last

    def _missing(self, last: int) -> list[tuple[int, int]]:
        """Ranges that are neither in segments nor in memory."""
        known = sorted((part.low, part.high) for part in (*self._parts, *self._waiting))
        missing = []
        for low, high in self.folder.gaps(last):
            for begin, end in known:
                if end <= low or begin >= high:
                    continue
                if begin > low:
                    missing.append((low, begin))
                low = max(low, end)
            if low < high:
                missing.append((low, high))
        return missing

    def _restore(self, snapshot: Snapshot, low: int, high: int) -> None:
        """Sign the documents of a range again: many become segments, few stay in memory."""
        for part in self._signed(snapshot, low, high):
            self._waiting.append(part)
            self.rebuilt += part.documents
            if part.documents >= FLUSH:
                self._flush_if_possible(snapshot)

    def _signed(self, snapshot: Snapshot, low: int, high: int) -> Iterator[_Part]:
        """The postings of the documents of a range, made from what is stored of them."""
        begin, seqs, keys, documents = low, list[Numbers](), list[Hashes](), 0
        columns = Columns(body=True, signature=self.signer.keeps_signatures)
        for rows in snapshot.scan(low, high - 1, columns, SCAN):
            signed = self.signer.restore(rows)
            made = stored_keys(self.signer.plan, signed.made, signed.digests)
            seqs.append(rows.seqs[made.documents])
            keys.append(made.keys)
            documents += len(rows)
            if sum(len(some) for some in keys) * POSTING >= ROOM:
                end = int(rows.seqs[-1]) + 1
                yield _Part(begin, end, documents, np.concatenate(seqs), np.concatenate(keys))
                begin, seqs, keys, documents = end, [], [], 0
        nothing = np.zeros(0, np.int64), np.zeros(0, np.uint64)
        part = np.concatenate([nothing[0], *seqs]), np.concatenate([nothing[1], *keys])
        yield _Part(begin, high, documents, *part)

    def _reload(self) -> None:
        """Take the segments that another process has written; what they cover leaves memory."""
        self.folder.load()
        self._leave_memory()
        self._complete = 0  # a segment that cannot be used leaves a gap

    # growing ------------------------------------------------------------------------------------

    def remember(self, seqs: Numbers, documents: Numbers, keys: Hashes) -> None:
        """Take the keys of documents that were just stored under these consecutive sequence numbers."""
        with self._mutex:
            low, high = int(seqs[0]), int(seqs[-1]) + 1
            part = _Part(low, high, len(seqs), seqs[documents], keys)
            if self._complete == low - 1:
                self._waiting.append(part)
                self._complete = high - 1
            else:  # a reader may have signed some of them already
                missing = self._missing(high - 1)
                both = [(max(low, begin), min(high, end)) for begin, end in missing if end > low]
                self._waiting += [part.between(begin, end) for begin, end in both if begin < end]

    @property
    def in_memory(self) -> tuple[int, int]:
        """Documents that no segment has, and the bytes of their postings."""
        with self._mutex:
            counted, documents, postings = self._counted
            begin = counted - len(self._parts)
            fresh = self._waiting[begin:] if begin >= 0 else [*self._parts[counted:], *self._waiting]
            for part in fresh:
                documents, postings = documents + part.documents, postings + len(part.keys)
            self._counted = counted + len(fresh), documents, postings
            return documents, POSTING * postings

    def flush(self, snapshot: Snapshot) -> None:
        """Write what is in memory as a segment; look-ups continue meanwhile."""
        with self._mutex:
            self._cover(snapshot, snapshot.last())
        self._flush(snapshot)

    def _flush(self, snapshot: Snapshot) -> None:
        """Write the parts in memory; while another thread or process writes segments, they stay where they are."""
        with suppress(IndexBusy), self._writing(wait=0):
            with self._mutex:
                if self.folder.changed():
                    self._reload()
                self.folder.version = max(self.folder.version, snapshot.version())
                parts = [*self._parts, *self._waiting]
            try:
                for part in _adjacent(parts):
                    self.folder.add(part.low, part.high, part.documents, part.seqs, part.keys)
            except BaseException:
                with self._mutex:
                    self._reload()  # some may be written
                raise
            with self._mutex:
                self._leave_memory({id(part) for part in parts})

    def _leave_memory(self, written: Collection[int] = ()) -> None:
        """Keep in memory what no segment has; the parts with these identities are known to be in one."""
        parts, self._parts, self._waiting = [*self._parts, *self._waiting], [], []
        self._counted = 0, 0, 0
        for part in parts:
            if id(part) not in written:
                self._waiting += [part.between(*span) for span in _outside(part, self.folder.segments)]
        self._look_at(MemorySegment())

    def _flush_if_possible(self, snapshot: Snapshot) -> None:
        """As `_flush`, for a reader: it answers from memory if the disk is full or must not be written."""
        with suppress(StorageError):
            self._flush(snapshot)

    def merge(self, reading: Reading) -> None:
        """Merge the segments that are due; look-ups continue meanwhile."""
        with self._writing(wait=PATIENCE):
            while due := self._loaded().merge_due():
                with reading() as snapshot:  # later than the segments: what it lacks is deleted for good
                    self._merge(due, snapshot)

    def merge_after(self, seq: int, reading: Reading) -> None:
        """Merge the segments of all documents after a sequence number, if there are several."""
        if sum(segment.low > seq for segment in self.folder.segments) < 2:
            return
        with self._writing(wait=PATIENCE):
            for group in self._loaded().neighbours():
                new = [segment for segment in group if segment.low > seq]
                if len(new) > 1:
                    with reading() as snapshot:
                        self._merge(new, snapshot)

    def compact(self, reading: Reading) -> None:
        """Merge all neighbouring segments, and leave out deleted documents; look-ups continue meanwhile."""
        with self._writing(wait=PATIENCE):
            for group in [list(group) for group in self._loaded().neighbours()]:
                with reading() as snapshot:
                    alive = len(snapshot.alive(group[0].low, group[-1].high - 1))
                    if len(group) > 1 or alive < group[0].documents:
                        self._merge(group, snapshot)

    def _loaded(self) -> SegmentFolder:
        """The folder, after what other processes have written."""
        with self._mutex:
            if self.folder.changed():
                self._reload()
        return self.folder

    def _merge(self, due: list[Segment], snapshot: Snapshot) -> None:
        self.folder.version = max(self.folder.version, snapshot.version())
        try:
            self.folder.merge(due, lambda low, high: snapshot.alive(low, high - 1), ROOM)
        except SegmentDamaged as error:
            damaged = [segment for segment in due if segment.path == error.path]
            for segment in damaged:
                self._discard(segment, error)
            if not damaged and set(due) <= set(self.folder.segments):
                raise  # the merged one cannot be read back: another try would go the same way
        with self._mutex:
            self._look_at(self._view.memory)

    @contextmanager
    def _writing(self, wait: float) -> Iterator[None]:
        """The right to write segments: threads and processes take turns. What fails becomes a sentence."""
        folder = self.folder.folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with writer_lock(folder / "segments.lock", wait):
                yield
        except (OSError, SegmentDamaged) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else None
            raise StorageError(
                f"{folder}: a segment cannot be written ({reason or problem}). No stored document is lost; make "
                "room or check the disk, and continue."
            ) from problem

    def close(self) -> None:
        """Give the mapped files back."""
        with self._mutex, suppress(BufferError):
            for segment in self.folder.segments:
                segment.close()


def _outside(part: _Part, segments: tuple[Segment, ...]) -> list[tuple[int, int]]:
    """The parts of a range that no segment covers."""
    low, found = part.low, []
    for segment in segments:
        if segment.high <= low or segment.low >= part.high:
            continue
        if segment.low > low:
            found.append((low, segment.low))
        low = max(low, segment.high)
    return [*found, (low, part.high)] if low < part.high else found


def _adjacent(parts: list[_Part]) -> list[_Part]:
    """Parts with adjacent ranges joined."""
    groups: list[list[_Part]] = []
    for part in sorted(parts, key=lambda part: part.low):
        if groups and groups[-1][-1].high == part.low:
            groups[-1].append(part)
        else:
            groups.append([part])
    return [
        _Part(
            group[0].low,
            group[-1].high,
            sum(part.documents for part in group),
            np.concatenate([part.seqs for part in group]),
            np.concatenate([part.keys for part in group]),
        )
        for group in groups
    ]
