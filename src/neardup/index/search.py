"""What an index looks keys up in: segments on disk, and the newest documents in memory.

Everything here is derived from the truth. Ranges of sequence numbers that no segment covers, because they are new or
because a segment is missing or damaged, are signed again from what the truth has stored.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neardup.columns import Hashes, Numbers
from neardup.errors import IndexBusy
from neardup.index.postings import stored_keys
from neardup.index.segment_folder import SegmentFolder
from neardup.index.segments import MemorySegment, Segment, SegmentDamaged
from neardup.index.signed import Signer
from neardup.index.truth import Columns, Snapshot
from neardup.index.writer_lock import writer_lock

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


@dataclass(frozen=True)
class _View:
    """What is looked at: replaced as a whole, so that a look-up never sees a document twice or not at all."""

    segments: tuple[Segment, ...]
    memory: MemorySegment


class Search:
    """The derived structures of an index; threads may share it."""

    def __init__(self, folder: Path, signer: Signer, digest: str) -> None:
        self.signer = signer
        self.folder = SegmentFolder(folder, digest)
        self.folder.load()
        self.rebuilt = 0  # documents that were signed again because no segment had them
        self._parts: list[_Part] = []  # in memory
        self._waiting: list[_Part] = []  # … and not yet in the memory segment
        self._complete = 0  # everything up to this sequence number is covered
        self._mutex = threading.RLock()
        self._view = _View(self.folder.segments, MemorySegment())

    # looking up ---------------------------------------------------------------------------------

    def look_up(self, snapshot: Snapshot, keys: Hashes) -> tuple[Numbers, Numbers]:
        """For each document with one of these keys: the place of the key, and its sequence number."""
        while True:
            view = self._prepared(snapshot)
            try:
                found = [*(segment.look_up(keys) for segment in view.segments), view.memory.look_up(keys)]
            except SegmentDamaged as error:
                self._discard(error)
                continue
            return np.concatenate([part[0] for part in found]), np.concatenate([part[1] for part in found])

    def _prepared(self, snapshot: Snapshot) -> _View:
        """A view that covers every document of the snapshot."""
        last = snapshot.last()
        if last > self._complete or self._waiting:
            with self._mutex:
                self._cover(snapshot, last)
                for part in self._waiting:
                    self._view.memory.add(part.seqs, part.keys)
                self._parts += self._waiting
                self._waiting = []
        return self._view

    def _discard(self, error: SegmentDamaged) -> None:
        with self._mutex:
            damaged = [segment for segment in self.folder.segments if segment.path.name in str(error)]
            for segment in damaged or self.folder.segments:
                self.folder.discard(segment, str(error))
            self._complete = 0
            self._view = _View(self.folder.segments, self._view.memory)

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
            self._view = _View(self.folder.segments, self._view.memory)

    # covering -----------------------------------------------------------------------------------

    def cover(self, snapshot: Snapshot, last: int) -> None:
        """Sign what no segment has, up to a sequence number; what fills the room is written."""
        with self._mutex:
            self._cover(snapshot, last)
            if self.in_memory[1] >= ROOM:
                self._flush()

    def _cover(self, snapshot: Snapshot, last: int) -> None:
        """Sign what neither segments nor memory have."""
        if last <= self._complete:
            return
        if self.folder.changed():
            self._reload()
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
        begin, seqs, keys, documents = low, list[Numbers](), list[Hashes](), 0
        columns = Columns(body=True, signature=self.signer.keeps_signatures)
        for rows in snapshot.scan(low, high - 1, columns, SCAN):
            signed = self.signer.restore(rows)
            made = stored_keys(self.signer.plan, signed.made, signed.digests)
            seqs.append(rows.seqs[made.documents])
            keys.append(made.keys)
            documents += len(rows)
            self.rebuilt += len(rows)
            if sum(len(some) for some in keys) * POSTING >= ROOM:
                end = int(rows.seqs[-1]) + 1
                self._keep(_Part(begin, end, documents, np.concatenate(seqs), np.concatenate(keys)))
                begin, seqs, keys, documents = end, [], [], 0
        nothing = np.zeros(0, np.int64), np.zeros(0, np.uint64)
        part = np.concatenate([nothing[0], *seqs]), np.concatenate([nothing[1], *keys])
        self._keep(_Part(begin, high, documents, *part))

    def _keep(self, part: _Part) -> None:
        self._waiting.append(part)
        if part.documents >= FLUSH:
            self._flush()

    def _reload(self) -> None:
        """Take the segments that another process has written; what they cover leaves memory."""
        self.folder.load()
        parts, self._parts, self._waiting = [*self._parts, *self._waiting], [], []
        for part in parts:
            for low, high in _outside(part, self.folder.segments):
                some = (part.seqs >= low) & (part.seqs < high)
                count = len(np.unique(part.seqs[some]))
                self._waiting.append(_Part(low, high, count, part.seqs[some], part.keys[some]))
        self._view = _View(self.folder.segments, MemorySegment())

    # growing ------------------------------------------------------------------------------------

    def remember(self, seqs: Numbers, documents: Numbers, keys: Hashes) -> None:
        """Take the keys of documents that were just stored under these consecutive sequence numbers."""
        with self._mutex:
            low, high = int(seqs[0]), int(seqs[-1]) + 1
            self._waiting.append(_Part(low, high, len(seqs), seqs[documents], keys))
            if self._complete == low - 1:
                self._complete = high - 1

    @property
    def in_memory(self) -> tuple[int, int]:
        """Documents that no segment has, and the bytes of their postings."""
        parts = [*self._parts, *self._waiting]
        return sum(part.documents for part in parts), POSTING * sum(len(part.keys) for part in parts)

    def flush(self, snapshot: Snapshot) -> None:
        """Write what is in memory as a segment."""
        with self._mutex:
            self._cover(snapshot, snapshot.last())
            self._flush()

    def _flush(self) -> None:
        """Write the parts in memory; while another thread or process writes segments, they stay where they are."""
        with suppress(IndexBusy), self._writing(wait=0):
            if self.folder.changed():
                self._reload()
            for part in _adjacent([*self._parts, *self._waiting]):
                self.folder.add(part.low, part.high, part.documents, part.seqs, part.keys)
            self._parts, self._waiting = [], []
            self._view = _View(self.folder.segments, MemorySegment())

    def merge(self, snapshot: Snapshot, everything: bool = False) -> int:
        """Merge segments that are due, or all; returns how many were merged. Look-ups go on meanwhile."""

        def alive(low: int, high: int) -> Numbers:
            return snapshot.alive(low, high - 1)

        merged = 0
        with self._writing(wait=PATIENCE):
            while True:
                with self._mutex:
                    if self.folder.changed():
                        self._reload()
                    due = list(self.folder.segments) if everything else self.folder.merge_due()
                if not due or (everything and merged):
                    return merged
                self.folder.merge(due, alive, ROOM)
                merged += len(due)
                with self._mutex:
                    self._view = _View(self.folder.segments, self._view.memory)

    @contextmanager
    def _writing(self, wait: float) -> Iterator[None]:
        """The right to write segments: threads and processes take turns."""
        self.folder.folder.mkdir(parents=True, exist_ok=True)
        with writer_lock(self.folder.folder / "segments.lock", wait):
            yield

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
