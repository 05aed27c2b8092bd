"""Adjacent segments to one, without the postings of deleted documents."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from neardup import kernels
from neardup.columns import Numbers
from neardup.index.segments.segment import Alive, Segment
from neardup.index.segments.writer import SegmentWriter

POSTING = 16  # bytes of a posting in memory


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
    with SegmentWriter(Path(path), segments[0].plan_digest, low, high) as writer:
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

    def run(self, writer: SegmentWriter) -> None:
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
