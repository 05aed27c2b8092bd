"""Texts on disk, once read: any document can be had again without decoding its file a second time."""

from __future__ import annotations

import mmap
import os
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from neardup import kernels
from neardup.columns import Numbers, Texts
from neardup.errors import OutputError


class Spool:
    """A file of all texts, appended in order, and the offset of each (8 bytes of memory a document)."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        try:
            if folder is not None:
                Path(folder).mkdir(parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(prefix="neardup-", dir=folder, buffering=0)  # noqa: SIM115
        except OSError as error:
            where = folder or tempfile.gettempdir()
            raise OutputError(
                f"{where} cannot be used as work folder: {error.strerror}; see --work-dir"
            ) from None
        self._parts: list[Numbers] = [np.zeros(1, np.int64)]
        self._offsets: Numbers | None = None
        self.size = 0

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the disk space back."""
        self._file.close()

    def append(self, texts: Texts) -> None:
        """Write a batch behind the others."""
        first, last = texts.offsets[0], texts.offsets[-1]
        self._parts.append(texts.offsets[1:] - first + self.size)
        view: Any = memoryview(texts.data[first:last].data)
        try:
            while len(view):
                view = view[self._file.write(view) :]
        except OSError as error:
            raise OutputError(
                f"The work folder cannot be written: {error.strerror}; see --work-dir."
            ) from None
        self.size += int(last - first)

    @property
    def offsets(self) -> Numbers:
        """Where each document begins, and where the last one ends."""
        if self._offsets is None or len(self._parts) > 1:
            self._offsets = np.concatenate(self._parts)
            self._parts = [self._offsets]
        return self._offsets

    def read(self, numbers: Numbers) -> Texts:
        """The texts of some documents, wherever they lie: copied out of a mapping that lasts for this call.

        One system call for each would cost more than the copying, and hold the interpreter's lock.
        """
        begins, ends = self.offsets[numbers], self.offsets[numbers + 1]
        offsets = np.zeros(len(numbers) + 1, np.int64)
        np.cumsum(ends - begins, out=offsets[1:])
        data = np.empty(int(offsets[-1]), np.uint8)
        if len(data):
            with mmap.mmap(self._file.fileno(), self.size, access=mmap.ACCESS_READ) as mapped:
                block = np.frombuffer(mapped, np.uint8)
                kernels.digest.gather(block, begins, ends, data, offsets)
                del block  # a mapping in use cannot be closed
        return Texts(offsets, data)

    def read_range(self, start: int, stop: int) -> Texts:
        """The texts of consecutive documents."""
        offsets = self.offsets[start : stop + 1]
        block = _read_exactly(self._file.fileno(), int(offsets[-1] - offsets[0]), int(offsets[0]))
        return Texts(offsets - offsets[0], np.frombuffer(block, np.uint8))


def _read_exactly(handle: int, size: int, start: int) -> bytes:
    """Bytes of a file; a single system call gives 2 GB at the most."""
    parts = []
    while size > 0:
        part = os.pread(handle, min(size, 1 << 30), start)
        if not part:
            raise OutputError("The work folder lost a file that is still needed.")
        parts.append(part)
        start, size = start + len(part), size - len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
