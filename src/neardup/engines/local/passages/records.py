"""Rows of two integers on disk, block by block, each divided into parts; a part of all blocks is read again."""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.engines.local.checkpoint.spill import cannot_write
from neardup.errors import OutputError

Records = NDArray[Any]  # n × 2
ROW = 16  # bytes
READ = 1 << 20  # rows that are read at a time


class DividedRecords:
    """A file of blocks; `bounds` has where each part of a block begins and where the last one ends, in rows."""

    def __init__(self, path: Path | None, folder: str | os.PathLike[str] | None, kind: Any) -> None:
        self._file: Any
        try:
            if path is None:
                self._file = tempfile.TemporaryFile(prefix="neardup-", dir=folder, buffering=0)  # noqa: SIM115
            else:
                self._file = open(path, "ab+", buffering=0)  # noqa: SIM115, PTH123
        except OSError as error:
            raise cannot_write(error) from None
        self.kind = kind
        self.bounds: list[NDArray[np.int64]] = []
        self.rows = self.checksum = 0

    def add(self, records: Records, bounds: NDArray[np.int64]) -> None:
        """Append a block."""
        view: Any = memoryview(np.ascontiguousarray(records).reshape(-1).view(np.uint8).data)
        try:
            self.checksum = zlib.crc32(view, self.checksum)
            while len(view):
                view = view[self._file.write(view) :]
        except OSError as error:
            raise cannot_write(error) from None
        self.bounds.append(bounds + self.rows)
        self.rows += len(records)

    def size(self, part: int) -> int:
        """The rows of a part."""
        return int(sum(bounds[part + 1] - bounds[part] for bounds in self.bounds))

    def part(self, number: int, most: int = READ) -> Iterator[Records]:
        """The rows of a part in the order in which they were added, so many at a time or a few more."""
        waiting: list[Records] = []
        rows = 0
        for bounds in self.bounds:
            start, stop = int(bounds[number]), int(bounds[number + 1])
            for first, last in pairwise([*range(start, stop, most), stop]):
                waiting.append(self._read(first, last))
                rows += last - first
                if rows >= most:
                    yield np.concatenate(waiting)
                    waiting, rows = [], 0
        if waiting:
            yield np.concatenate(waiting)

    def _read(self, start: int, stop: int) -> Records:
        found = np.empty((stop - start, 2), self.kind)
        room: Any = memoryview(found.reshape(-1).view(np.uint8).data)
        at = start * ROW
        while len(room):
            size = os.preadv(self._file.fileno(), [room[: 1 << 30]], at)
            if size == 0:
                raise OutputError("The work folder lost a file that is still needed.")
            room, at = room[size:], at + size
        return found

    def sync(self) -> dict[str, Any]:
        """Have all rows reach the disk; what `restore` needs."""
        os.fsync(self._file.fileno())
        return {"rows": self.rows, "checksum": self.checksum}

    def restore(self, blocks: list[NDArray[np.int64]], state: dict[str, Any]) -> None:
        """Continue behind the blocks of an earlier run; what it wrote after its last checkpoint is cut off."""
        self.rows, checksum, at = int(state["rows"]), 0, 0
        size = self.rows * ROW
        while at < size and (piece := os.pread(self._file.fileno(), min(1 << 22, size - at), at)):
            checksum, at = zlib.crc32(piece, checksum), at + len(piece)
        ends = int(blocks[-1][-1]) if blocks else 0
        if at != size or checksum != state["checksum"] or ends != self.rows:
            raise OutputError("The work folder is damaged: start over with --force.")
        os.truncate(self._file.fileno(), size)
        self.bounds, self.checksum = blocks, checksum

    def clear(self) -> None:
        """Free the disk space."""
        os.truncate(self._file.fileno(), 0)
        self._file.close()
