"""Segments: immutable files of sorted postings, which are pairs of a key and a document's sequence number.

A file has a header of 512 bytes (a line with the version, JSON, a digest of both), the packed words of all blocks (see
`kernels/postings.py`), and the tables: a fence, a checksum and a width for each block. The header has the checksum of
the tables, and they have those of the blocks. Header and tables are checked when a segment is opened, a block when it
is read for the first time. Numbers are in the byte order of the machine: a segment is derived, and rebuilt elsewhere.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Hashes, Numbers
from neardup.plurals import counted

if TYPE_CHECKING:  # kernels load on first use
    from neardup.kernels.postings import Blocks

__all__ = ["MemorySegment", "Segment", "SegmentDamaged", "merge_segments", "write_segment"]

MAGIC = b"neardup segment 1\n"
HEADER, DIGEST = 512, 16  # bytes of the header, and of the digest at its end
PER_BUCKET = 8  # postings, when they are sorted
APPENDED = 1 << 16  # postings that are packed at once
POSTING = 16  # bytes of a posting in memory

Stamp = tuple[int, int, int]  # inode, time of the last change, size


class SegmentDamaged(Exception):
    """A segment that is not what was written, or that belongs to another plan: discard it and rebuild it."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path.name}: {reason}")


@dataclass(frozen=True)
class _Header:
    """What a segment says of itself."""

    plan: str
    low: int
    high: int
    documents: int
    postings: int
    words: int  # packed, without padding
    seq_width: int
    block: int
    tables: int  # their checksum
    byte_order: str = sys.byteorder

    def to_bytes(self) -> bytes:
        """Its bytes in the file."""
        text = MAGIC + json.dumps(asdict(self), separators=(",", ":")).encode()
        if len(text) > HEADER - DIGEST:
            raise ValueError(
                f"the plan digest has {len(self.plan)} characters, too many for a segment's header"
            )
        text = text.ljust(HEADER - DIGEST)
        return text + blake2b(text, digest_size=DIGEST).digest()

    @staticmethod
    def from_bytes(path: Path, data: bytes) -> _Header:
        """The header at the beginning of a file."""
        text, digest = data[: HEADER - DIGEST], data[HEADER - DIGEST : HEADER]
        if not text.startswith(MAGIC):
            raise SegmentDamaged(path, "the file is no segment of this version")
        if blake2b(text, digest_size=DIGEST).digest() != digest:
            raise SegmentDamaged(path, "the header does not agree with its checksum")
        return _Header(**json.loads(text[len(MAGIC) :]))

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return -(-self.postings // self.block)


class Segment:
    """A segment in a file, memory-mapped. Threads may share it.

    The file may be renamed over or unlinked, but never cut in place: reading mapped memory behind its end is fatal.
    """

    def __init__(self, path: Path, header: _Header, blocks: Blocks, status: os.stat_result) -> None:
        self.path, self.bytes, self.stamp = path, status.st_size, stamp_of(status)
        self.low, self.high, self.documents = header.low, header.high, header.documents
        self.postings, self.plan_digest = header.postings, header.plan
        self._mapped: Blocks | None = blocks

    @classmethod
    def open(cls, path: str | os.PathLike[str], plan_digest: str) -> Segment:
        """The segment of a file, whose header and tables are checked; SegmentDamaged if they are not as written."""
        path = Path(path)
        try:
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
                if status.st_size < HEADER:
                    raise SegmentDamaged(path, "the file is shorter than a header")
                data = mmap.mmap(file.fileno(), status.st_size, access=mmap.ACCESS_READ)
        except OSError as error:
            raise SegmentDamaged(path, f"the file cannot be read: {error.strerror or error}") from error
        header = _Header.from_bytes(path, data[:HEADER])
        if header.byte_order != sys.byteorder or header.block != kernels.postings.BLOCK:
            raise SegmentDamaged(path, "the file was written for another kind of machine")
        if header.plan != plan_digest:
            raise SegmentDamaged(path, "the file belongs to another plan")
        return cls(path, header, _map_blocks(path, data, header), status)

    def look_up(self, keys: Hashes) -> tuple[Numbers, Numbers]:
        """Every posting with one of the keys, by place in `keys`, then by seq: (place in keys, seq)."""
        damaged, places, seqs = kernels.postings.look_up(self._blocks, _read_only(keys))
        self._refuse(damaged)
        return places, seqs

    def count(self, keys: Hashes) -> Numbers:
        """The number of postings with each key."""
        begins, ends = np.empty((2, len(keys)), np.int64)
        self._refuse(kernels.postings.find_runs(self._blocks, _read_only(keys), begins, ends))
        return ends - begins

    def verify(self) -> None:
        """Check every block, also those that were checked before; SegmentDamaged if one is not as written."""
        self._refuse(kernels.postings.first_damaged(self._blocks))

    def read(self, begin: int, alive: Alive, out: tuple[Hashes, Numbers]) -> tuple[int, int]:
        """Fill out = (keys, seqs) with the living's postings from number `begin` on: where it stopped, the count."""
        arrays = (self._blocks, begin, alive.bits, alive.low, *out)
        damaged, stopped, count = kernels.postings.unpack_alive(*arrays)
        self._refuse(damaged)
        return stopped, count

    def close(self) -> None:
        """Release the file; a look-up that another thread has begun still ends well."""
        self._mapped = None

    @property
    def _blocks(self) -> Blocks:
        if self._mapped is None:
            raise ValueError(f"the segment {self.path.name} is closed")
        return self._mapped

    def _refuse(self, damaged: int) -> None:
        if damaged >= 0:
            raise SegmentDamaged(self.path, f"block {damaged} does not agree with its checksum")

    def __repr__(self) -> str:
        return f"<Segment {self.path.name}: {counted(self.documents, 'document')}>"


def _map_blocks(path: Path, data: mmap.mmap, header: _Header) -> Blocks:
    """The arrays of a segment, over the mapped file."""
    postings, n = kernels.postings, header.blocks
    sizes = [header.words + postings.PADDING, n + 1, n, -(-n // 8)]
    if len(data) != HEADER + 8 * sum(sizes):
        raise SegmentDamaged(path, f"the file has {len(data)} bytes instead of {HEADER + 8 * sum(sizes)}")
    everything = np.frombuffer(data, np.uint64, offset=HEADER)
    words, fences, checksums, widths = np.split(everything, np.cumsum(sizes)[:-1])
    if int(postings.checksum(everything[sizes[0] :])) != header.tables or words[header.words :].any():
        raise SegmentDamaged(path, "the tables do not agree with their checksum")
    bits, starts = widths.view(np.uint8)[:n], np.empty(n + 1, np.int64)
    fits = postings.find_starts(fences, bits, header.postings, header.seq_width, starts)
    if not fits or starts[-1] != header.words or header.seq_width != _seq_width(header.low, header.high):
        raise SegmentDamaged(path, "the tables do not fit the header")
    checked = np.zeros(n, np.uint8)
    shape = header.postings, header.low, header.seq_width
    return postings.Blocks(words, fences, checksums, bits, starts, checked, *shape)


def _seq_width(low: int, high: int) -> int:
    """The bits that number the sequence numbers of a range."""
    return max(high - low - 1, 0).bit_length()


def _read_only(keys: Hashes) -> Hashes:
    """The keys as the kernels take them: they are compiled for one type of array, not four."""
    view = np.ascontiguousarray(keys, np.uint64).view()
    view.flags.writeable = False
    return view


def write_segment(
    path: str | os.PathLike[str],
    *,
    plan_digest: str,
    low: int,
    high: int,
    documents: int,
    seqs: Numbers,
    keys: Hashes,
) -> None:
    """Write a segment of postings in any order, whose seqs are in [low, high)."""
    if len(seqs) != len(keys):
        raise ValueError(f"a posting is a seq and a key: {len(seqs)} seqs and {len(keys)} keys were given")
    if len(seqs) and not low <= int(seqs.min()) <= int(seqs.max()) < high:
        raise ValueError(f"a segment of documents {low} to {high - 1} cannot have other documents' postings")
    with _Writer(Path(path), plan_digest, low, high) as writer:
        writer.append(*_sorted(seqs, keys))
        writer.finish(documents)


def _sorted(seqs: Numbers, keys: Hashes) -> tuple[Hashes, Numbers]:
    """Keys and seqs in the order of (key, seq)."""
    buckets = 1 << max(len(keys) // PER_BUCKET, 2).bit_length() - 1
    out = np.empty(len(keys), np.uint64), np.empty(len(keys), np.int64)
    numbers = np.ascontiguousarray(seqs, np.int64).view()
    numbers.flags.writeable = False
    kernels.postings.sort_postings(_read_only(keys), numbers, np.empty(buckets + 1, np.int64), out)
    return out


class _Writer:
    """A segment that is being written: aside, until it is finished."""

    def __init__(self, path: Path, plan_digest: str, low: int, high: int) -> None:
        self._path, self._aside = path, path.with_name(path.name + ".tmp")
        self._plan, self._low, self._high = plan_digest, low, high
        self._seq_width = _seq_width(low, high)
        self._keys, self._seqs = np.zeros(0, np.uint64), np.zeros(0, np.int64)  # not a whole block yet
        self._tables: list[tuple[Hashes, Hashes, NDArray[np.uint8]]] = []
        self._words = self._postings = 0
        self._last = np.uint64(0)

    def __enter__(self) -> _Writer:
        self._file = self._aside.open("wb")
        self._file.write(bytes(HEADER))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._file.close()
        finally:
            self._aside.unlink(missing_ok=True)

    def append(self, keys: Hashes, seqs: Numbers) -> None:
        """Add postings that follow those before, in the order of (key, seq)."""
        if not len(keys):
            return
        self._last = keys[-1]
        for at in range(0, len(keys), APPENDED):
            some = slice(at, at + APPENDED)
            self._keys = np.concatenate([self._keys, keys[some]])
            self._seqs = np.concatenate([self._seqs, seqs[some]])
            self._pack(len(self._keys) // kernels.postings.BLOCK * kernels.postings.BLOCK)

    def _pack(self, count: int) -> None:
        """Write the first so many of the postings that wait, as blocks."""
        keys, seqs = self._keys[:count], self._seqs[:count]
        self._keys, self._seqs = self._keys[count:], self._seqs[count:]
        n = -(-count // kernels.postings.BLOCK)
        words = np.empty(2 * count + n + kernels.postings.PADDING, np.uint64)  # a posting has below 128 bits
        tables = (np.empty(n, np.uint64), np.empty(n, np.uint64), np.empty(n, np.uint8))
        used = kernels.postings.pack(keys, seqs, self._low, self._seq_width, words, tables)
        self._file.write(words[:used].data)
        self._tables.append(tables)
        self._words += used
        self._postings += count

    def finish(self, documents: int) -> None:
        """Write what is left and the tables, and give the file its name."""
        self._pack(len(self._keys))
        padding = np.zeros(kernels.postings.PADDING, np.uint64)
        fences, checksums, widths = (np.concatenate(parts) for parts in zip(*self._tables, strict=True))
        widths = np.pad(widths, (0, -len(widths) % 8)).view(np.uint64)
        tables = np.concatenate([fences, [self._last], checksums, widths])
        header = _Header(
            plan=self._plan,
            low=self._low,
            high=self._high,
            documents=documents,
            postings=self._postings,
            words=self._words,
            seq_width=self._seq_width,
            block=kernels.postings.BLOCK,
            tables=int(kernels.postings.checksum(tables)),
        )
        self._file.write(padding.data)
        self._file.write(tables.data)
        self._file.seek(0)
        self._file.write(header.to_bytes())
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._aside.replace(self._path)
        sync_folder(self._path.parent)


def stamp_of(status: os.stat_result) -> Stamp:
    """What tells one version of a file from another."""
    return status.st_ino, status.st_mtime_ns, status.st_size


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@dataclass(frozen=True)
class Alive:
    """The documents of a range that still exist, as one bit for each sequence number from `low` on."""

    low: int
    bits: NDArray[np.uint8]
    documents: int

    @staticmethod
    def of(low: int, high: int, alive: Callable[[int, int], Numbers], chunk: int) -> Alive:
        """Ask for `chunk` sequence numbers at a time, a multiple of 8."""
        bits, documents = np.zeros(-(-(high - low) // 8), np.uint8), 0
        for begin in range(low, high, chunk):
            end = min(begin + chunk, high)
            there, places = np.zeros(end - begin, np.bool_), np.asarray(alive(begin, end), np.int64) - begin
            if len(places) and not 0 <= places.min() <= places.max() < end - begin:
                raise ValueError(
                    f"documents other than {begin} to {end - 1} were given as alive: give only those"
                )
            there[places] = True
            packed = np.packbits(there, bitorder="little")
            bits[(begin - low) // 8 :][: len(packed)] = packed
            documents += int(np.count_nonzero(there))
        return Alive(low, bits, documents)


def merge_segments(
    segments: Sequence[Segment],
    path: str | os.PathLike[str],
    alive: Callable[[int, int], Numbers],
    room: int,
) -> None:
    """Write one segment for adjacent ones, in order of their ranges, without postings of deleted documents.

    alive(low, high) gives the sorted seqs that still exist. Beside `room` bytes, at least 8 kB for each segment, it
    takes a bit for each seq and 17 bytes for each block of 256 postings. The file is the same whatever the room is.
    """
    if not segments or any(one.high != other.low for one, other in pairwise(segments)):
        raise ValueError("segments to merge must follow each other without a gap, and be at least one")
    low, high = segments[0].low, segments[-1].high
    living = Alive.of(low, high, alive, max(room // 16, 1 << 10) // 8 * 8)
    with _Writer(Path(path), segments[0].plan_digest, low, high) as writer:
        each = max(room // POSTING // (2 * len(segments)), 256)
        _Merge(segments, living, each).run(writer)
        writer.finish(living.documents)


class _Merge:
    """Segments being merged: a run of postings of each in memory, read again when it is used up."""

    def __init__(self, segments: Sequence[Segment], alive: Alive, each: int) -> None:
        self._segments, self._alive, self._each = segments, alive, each
        n = len(segments)
        self._keys, self._seqs = np.empty(n * each, np.uint64), np.empty(n * each, np.int64)
        self._begins, self._ends = np.arange(n) * each, np.arange(n) * each
        self._next, self._more = np.zeros(n, np.int64), np.ones(n, np.bool_)

    def run(self, writer: _Writer) -> None:
        """Append all postings to the writer, in order."""
        out = np.empty(len(self._keys), np.uint64), np.empty(len(self._keys), np.int64)
        runs = (self._begins, self._ends)
        while True:
            for r in np.flatnonzero(self._more & (self._begins == self._ends)):
                self._read(int(r))
            count = kernels.postings.merge_runs(self._keys, self._seqs, runs, self._more, out)
            if not count and not self._more.any():
                return
            writer.append(out[0][:count], out[1][:count])

    def _read(self, r: int) -> None:
        begin, end = r * self._each, (r + 1) * self._each
        out = self._keys[begin:end], self._seqs[begin:end]
        self._next[r], count = self._segments[r].read(int(self._next[r]), self._alive, out)
        self._begins[r], self._ends[r] = begin, begin + count
        self._more[r] = self._next[r] < self._segments[r].postings


class MemorySegment:
    """The newest documents' postings, not yet in a file. Threads may share it."""

    def __init__(self) -> None:
        self._lock, self._documents, self._used = Lock(), set[int](), 0
        self._keys, self._seqs, self._before = (
            np.zeros(0, np.uint64),
            np.zeros(0, np.int64),
            np.zeros(0, np.int64),
        )
        self._slots = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._documents)

    def add(self, seqs: Numbers, keys: Hashes) -> None:
        """Add postings, in any order."""
        if len(seqs) != len(keys):
            raise ValueError(
                f"a posting is a seq and a key: {len(seqs)} seqs and {len(keys)} keys were given"
            )
        with self._lock:
            self._make_room(self._used + len(keys))
            new = slice(self._used, self._used + len(keys))
            self._keys[new], self._seqs[new] = keys, seqs
            kernels.postings.link(self._keys, self._before, self._slots, new.start, new.stop)
            self._used = new.stop
            self._documents.update(np.unique(seqs).tolist())

    def _make_room(self, count: int) -> None:
        """Double the arrays until so many postings fit; slots are at most half full."""
        if count <= len(self._keys):
            return
        size = 1 << max(count - 1, 255).bit_length()
        for name in ("_keys", "_seqs", "_before"):
            old = getattr(self, name)
            setattr(self, name, np.concatenate([old, np.zeros(size - len(old), old.dtype)]))
        self._slots = np.full(2 * size, -1, np.int64)
        kernels.postings.link(self._keys, self._before, self._slots, 0, self._used)

    def look_up(self, keys: Hashes) -> tuple[Numbers, Numbers]:
        """Every posting with one of the keys, by place in `keys`, then by seq: (place in keys, seq)."""
        with self._lock:
            arrays = (self._keys, self._seqs, self._before, self._slots)
            found: tuple[Numbers, Numbers] = kernels.postings.look_up_linked(arrays, _read_only(keys))
        return found

    def count(self, keys: Hashes) -> Numbers:
        """The number of postings with each key."""
        return np.bincount(self.look_up(keys)[0], minlength=len(keys))

    def postings(self) -> tuple[Numbers, Hashes]:
        """The seq and the key of every posting, in the order in which they were added."""
        with self._lock:
            return self._seqs[: self._used].copy(), self._keys[: self._used].copy()
