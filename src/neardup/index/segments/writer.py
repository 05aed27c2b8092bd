"""Postings to segments: sorted, packed in blocks, and written aside until the file is whole."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Hashes, Numbers
from neardup.index.segments.segment import HEADER, Header, read_only, seq_width
from neardup.output import sync

PER_BUCKET = 8  # postings, when they are sorted
APPENDED = 1 << 16  # postings that are packed at once


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
    with SegmentWriter(Path(path), plan_digest, low, high) as writer:
        writer.append(*_sorted(seqs, keys))
        writer.finish(documents)


def _sorted(seqs: Numbers, keys: Hashes) -> tuple[Hashes, Numbers]:
    """Keys and seqs in the order of (key, seq)."""
    buckets = 1 << max(len(keys) // PER_BUCKET, 2).bit_length() - 1
    out = np.empty(len(keys), np.uint64), np.empty(len(keys), np.int64)
    numbers = np.ascontiguousarray(seqs, np.int64).view()
    numbers.flags.writeable = False
    kernels.postings.sort_postings(read_only(keys), numbers, np.empty(buckets + 1, np.int64), out)
    return out


class SegmentWriter:
    """A segment that is being written: aside, until it is finished."""

    def __init__(self, path: Path, plan_digest: str, low: int, high: int) -> None:
        self._path, self._aside = path, path.with_name(path.name + ".tmp")
        self._plan, self._low, self._high = plan_digest, low, high
        self._seq_width = seq_width(low, high)
        self._keys, self._seqs = np.zeros(0, np.uint64), np.zeros(0, np.int64)  # not a whole block yet
        self._tables: list[tuple[Hashes, Hashes, NDArray[np.uint8]]] = []
        self._words = self._postings = 0
        self._last = np.uint64(0)

    def __enter__(self) -> SegmentWriter:
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
        header = Header(
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
        sync(self._path.parent)
