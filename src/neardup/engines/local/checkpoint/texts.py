"""Texts spooled to disk: any document can be read again without decoding its file a second time."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Numbers, Texts
from neardup.engines.core.represent import chunk_ranges
from neardup.engines.local.checkpoint.budget import available_memory
from neardup.errors import OutputError

GAP = 1 << 16  # documents this near to each other on disk are read in one go …
SPAN = 1 << 22  # … of about so many bytes
AHEAD = 1 << 17  # bytes that the system is asked to fetch at a time; it would leave out what goes beyond


def _read_ahead(file: int, size: int) -> None:
    """Has the system fetch a file from front to back: document by document, here and there, it takes far longer."""
    try:
        if hasattr(os, "posix_fadvise"):
            for start in range(0, size, AHEAD):
                os.posix_fadvise(file, start, AHEAD, os.POSIX_FADV_WILLNEED)
    finally:
        os.close(file)


def _continued(checksum: int, data: NDArray[np.uint8], start: int) -> int:
    """The checksum of a file after more bytes, which begin at `start`: 64 bits with a sign, as the journal keeps it."""
    total = checksum + int(kernels.digest.checksum(data, start))
    return (total + 2**63) % 2**64 - 2**63


class Spool:
    """A file of all texts, appended in order, and the offset of each (8 bytes of memory a document).

    A batch may be written behind, in a thread of its own, while the next one is decoded; an error then surfaces in the
    next call.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, path: Path | None = None) -> None:
        self._file: Any
        try:
            if folder is not None:
                Path(folder).mkdir(parents=True, exist_ok=True)
            if path is None:
                self._file = tempfile.TemporaryFile(prefix="neardup-", dir=folder, buffering=0)  # noqa: SIM115
            else:  # what an earlier run has left stays, until `restore` says how much of it counts
                self._file = open(path, "ab+", buffering=0)  # noqa: SIM115, PTH123
        except OSError as error:
            where = folder or tempfile.gettempdir()
            raise OutputError(
                f"{where} cannot be used as the work folder: {error.strerror}; choose another one with --work-dir"
            ) from None
        self.folder = folder
        self._parts: list[Numbers] = [np.zeros(1, np.int64)]
        self._offsets: Numbers | None = None
        self.size = 0
        self.checksum = 0  # of all that is written
        self._pool: ThreadPoolExecutor | None = None
        self._writing: Future[None] | None = None

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free the disk space."""
        if self._pool is not None:
            self._pool.shutdown()
        self._file.close()

    @contextmanager
    def writing_behind(self) -> Iterator[None]:
        """Inside, batches are written in a thread of their own, one at a time; at the end they are written."""
        with ThreadPoolExecutor(1, thread_name_prefix="neardup-spool") as self._pool:
            try:
                yield
                self._settle()
                self._writing = None
            finally:
                self._pool = None

    def _settle(self) -> None:
        """Wait for what is being written; what failed once has failed for good."""
        if self._writing is not None:
            self._writing.result()

    def restore(self, sizes: Numbers, written: tuple[int, int]) -> None:
        """Continue behind so many texts of an earlier run; the rest of what it has written is cut off."""
        self._parts, self._offsets = [np.concatenate([[0], np.cumsum(sizes)])], None
        self.size = int(self._parts[0][-1])
        self.checksum, whole = self._checksums(self.size, written[0])
        if self.size > written[0] or whole != written[1]:
            raise OutputError("The texts in the work folder are damaged: start over with --force.")
        os.truncate(self._file.fileno(), self.size)
        if 0 < self.size < available_memory():
            Thread(target=_read_ahead, args=(os.dup(self._file.fileno()), self.size), daemon=True).start()

    def _checksums(self, first: int, second: int) -> tuple[int, int]:
        """The checksums of the file's first bytes, so many and so many more; a file that ends earlier gives others."""
        found, at, checksum = dict[int, int](), 0, 0
        for stop in (first, second):
            while at < stop and (piece := os.pread(self._file.fileno(), min(SPAN, stop - at), at)):
                checksum, at = _continued(checksum, np.frombuffer(piece, np.uint8), at), at + len(piece)
            found[stop] = checksum if at == stop else -1
        return found[first], found[second]

    def sync(self) -> None:
        """Have all texts reach the disk."""
        self._settle()
        os.fsync(self._file.fileno())

    def append(self, texts: Texts) -> None:
        """Write a batch behind the others."""
        first, last, start = texts.offsets[0], texts.offsets[-1], self.size
        self._parts.append(texts.offsets[1:] - first + start)
        self.size += int(last - first)
        self._settle()
        if self._pool is None:
            self._write(texts.data[first:last], start)
        else:
            self._writing = self._pool.submit(self._write, texts.data[first:last], start)

    def _write(self, data: NDArray[np.uint8], start: int) -> None:
        view: Any = memoryview(data.data)
        try:
            self.checksum = _continued(self.checksum, data, start)
            while len(view):
                view = view[self._file.write(view) :]
        except OSError as error:
            raise OutputError(
                f"The work folder cannot be written: {error.strerror}; choose another one with --work-dir."
            ) from None

    @property
    def offsets(self) -> Numbers:
        """Where each document begins, and where the last one ends."""
        if self._offsets is None or len(self._parts) > 1:
            self._offsets = np.concatenate(self._parts)
            self._parts = [self._offsets]
        return self._offsets

    def read(self, numbers: Numbers) -> Texts:
        """The texts of some documents, given in ascending order."""
        return self.read_spans(self.offsets[numbers], self.offsets[numbers + 1])

    def read_spans(self, begins: Numbers, ends: Numbers) -> Texts:
        """The bytes of spans in ascending order of their beginnings, wherever documents begin."""
        self._settle()
        offsets = np.zeros(len(begins) + 1, np.int64)
        np.cumsum(ends - begins, out=offsets[1:])
        data = np.empty(int(offsets[-1]), np.uint8)
        if not len(begins):
            return Texts(offsets, data)
        # One read for each run of neighbours; what lies between them is left out when copying.
        far = np.flatnonzero((begins[1:] - ends[:-1] > GAP) | (np.diff(begins // SPAN) > 0)) + 1
        edges = np.concatenate([[0], far, [len(begins)]])
        firsts, stops = begins[edges[:-1]], np.maximum.reduceat(ends, edges[:-1])
        place = np.cumsum(stops - firsts) - (stops - firsts)  # of each run, where runs stand without gaps
        moved = begins - np.repeat(firsts - place, np.diff(edges))
        for one, other in chunk_ranges(stops - firsts):
            block = self._read_runs(firsts[one:other], stops[one:other])
            where = slice(edges[one], edges[other])
            source = moved[where] - place[one]
            kernels.digest.gather(block, source, source + (ends - begins)[where], data, offsets[where])
        return Texts(offsets, data)

    def _read_runs(self, begins: Numbers, ends: Numbers) -> NDArray[np.uint8]:
        """The bytes of runs, one behind the other."""
        block, at = np.empty(int((ends - begins).sum()), np.uint8), 0
        room, file = memoryview(block.data), self._file.fileno()
        for begin, size in zip(begins.tolist(), (ends - begins).tolist(), strict=True):
            some = room[at : at + size]
            if os.preadv(file, [some], begin) != size:  # more than 2 GB, or a file that was cut off
                self._read_into(some, begin)
            at += size
        return block

    def read_range(self, start: int, stop: int) -> Texts:
        """The texts of consecutive documents."""
        self._settle()
        offsets = self.offsets[start : stop + 1]
        data = np.empty(int(offsets[-1] - offsets[0]), np.uint8)
        self._read_into(memoryview(data.data), int(offsets[0]))
        return Texts(offsets - offsets[0], data)

    def read_bytes(self, begin: int, end: int) -> NDArray[np.uint8]:
        """The bytes from one place to another, wherever documents begin."""
        self._settle()
        data = np.empty(end - begin, np.uint8)
        self._read_into(memoryview(data.data), begin)
        return data

    def _read_into(self, room: Any, start: int) -> None:
        """Fill the room with bytes from a position; a single system call gives 2 GB at the most."""
        while len(room):
            size = os.preadv(self._file.fileno(), [room[: 1 << 30]], start)
            if size == 0:
                raise OutputError("The work folder lost a file that is still needed.")
            room, start = room[size:], start + size
