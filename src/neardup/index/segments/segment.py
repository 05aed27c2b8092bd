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
from collections.abc import Callable
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Hashes, Numbers
from neardup.plurals import counted

if TYPE_CHECKING:  # kernels load on first use
    from neardup.kernels.postings import Blocks

MAGIC = b"neardup segment 1\n"
HEADER, DIGEST = 512, 16  # bytes of the header, and of the digest at its end

Stamp = tuple[int, int, int]  # inode, time of the last change, size


class SegmentDamaged(Exception):
    """A segment that is not what was written, or that belongs to another plan: discard it and rebuild it."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path.name}: {reason}")


@dataclass(frozen=True)
class Header:
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
    def from_bytes(path: Path, data: bytes) -> Header:
        """The header at the beginning of a file."""
        text, digest = data[: HEADER - DIGEST], data[HEADER - DIGEST : HEADER]
        if not text.startswith(MAGIC):
            raise SegmentDamaged(path, "the file is no segment of this version")
        if blake2b(text, digest_size=DIGEST).digest() != digest:
            raise SegmentDamaged(path, "the header does not agree with its checksum")
        return Header(**json.loads(text[len(MAGIC) :]))

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return -(-self.postings // self.block)


class Segment:
    """A segment in a file, memory-mapped. Threads may share it.

    The file may be renamed over or unlinked, but never cut in place: reading mapped memory behind its end is fatal.
    """

    def __init__(self, path: Path, header: Header, blocks: Blocks, status: os.stat_result) -> None:
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
        header = Header.from_bytes(path, data[:HEADER])
        if header.byte_order != sys.byteorder or header.block != kernels.postings.BLOCK:
            raise SegmentDamaged(path, "the file was written for another kind of machine")
        if header.plan != plan_digest:
            raise SegmentDamaged(path, "the file belongs to another plan")
        return cls(path, header, _map_blocks(path, data, header), status)

    def look_up(self, keys: Hashes) -> tuple[Numbers, Numbers]:
        """Every posting with one of the keys, by place in `keys`, then by seq: (place in keys, seq)."""
        damaged, places, seqs = kernels.postings.look_up(self._blocks, read_only(keys))
        self._refuse(damaged)
        return places, seqs

    def count(self, keys: Hashes) -> Numbers:
        """The number of postings with each key."""
        begins, ends = np.empty((2, len(keys)), np.int64)
        self._refuse(kernels.postings.find_runs(self._blocks, read_only(keys), begins, ends))
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


def _map_blocks(path: Path, data: mmap.mmap, header: Header) -> Blocks:
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
    if not fits or starts[-1] != header.words or header.seq_width != seq_width(header.low, header.high):
        raise SegmentDamaged(path, "the tables do not fit the header")
    checked = np.zeros(n, np.uint8)
    shape = header.postings, header.low, header.seq_width
    return postings.Blocks(words, fences, checksums, bits, starts, checked, *shape)


def seq_width(low: int, high: int) -> int:
    """The bits that number the sequence numbers of a range."""
    return max(high - low - 1, 0).bit_length()


def read_only(keys: Hashes) -> Hashes:
    """The keys as the kernels take them: they are compiled for one type of array, not four."""
    view = np.ascontiguousarray(keys, np.uint64).view()
    view.flags.writeable = False
    return view


def stamp_of(status: os.stat_result) -> Stamp:
    """What distinguishes one version of a file from another."""
    return status.st_ino, status.st_mtime_ns, status.st_size


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
