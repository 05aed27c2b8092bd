"""Counting in bounded memory: exact, with sorted runs on disk that are merged at the end, or a sketch."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Hashes, Numbers
from neardup.errors import OutputError
from neardup.statistics.frequencies import PARTS, Frequencies, add_up

MEMORY = 256 << 20  # bytes for the tables of one counter
ENTRY = 16  # bytes of a feature and its count
SINGLE = 8  # bytes of a feature that counts one
WORKING = 3  # times the entries: what waits, and their sum
LEAST_BUFFER = 256  # features of a run that are read at a time, at least


class _Run(NamedTuple):
    """The position of a sorted table in the file."""

    start: int
    size: int


class _Column:
    """A growing array."""

    def __init__(self, kind: type[np.generic]) -> None:
        self._values: NDArray[Any] = np.empty(0, kind)
        self.size = 0

    def more(self, size: int) -> NDArray[Any]:
        """Room for so many values behind the others, until the next call."""
        start, self.size = self.size, self.size + size
        if self.size > len(
            self._values
        ):  # in place: the system moves pages of a large array instead of copying them
            self._values.resize(max(self.size, len(self._values) + len(self._values) // 4), refcheck=False)
        return self._values[start : self.size]

    @property
    def values(self) -> NDArray[Any]:
        """All values, until the next ones."""
        return self._values[: self.size]


class _Waiting:
    """Tables that wait to be added up, cut into parts by the leading bits of keys; most entries count one document."""

    def __init__(self) -> None:
        self._singles, self._keys, self._counts = _Column(np.uint64), _Column(np.uint64), _Column(np.int64)
        self._starts: tuple[list[Numbers], list[Numbers]] = ([], [])

    @property
    def bytes(self) -> int:
        """What the entries take."""
        return SINGLE * self._singles.size + ENTRY * self._keys.size

    def add(self, table: Frequencies) -> None:
        """One more table, in any order of its keys."""
        once = table.counts == 1
        singles, keys, counts = table.keys[once], table.keys[~once], table.counts[~once]
        start = self._singles.size, self._keys.size
        found = kernels.tables.cut_keys(singles, PARTS, self._singles.more(len(singles)))
        self._starts[0].append(found + start[0])
        room = self._keys.more(len(keys)), self._counts.more(len(keys))
        self._starts[1].append(kernels.tables.cut(keys, counts, PARTS, *room) + start[1])

    def added_up(self, least: int) -> Frequencies:
        """The sum of all tables without features of fewer than `least`, in ascending order."""
        if not self._starts[0]:
            return Frequencies(np.zeros(0, np.uint64), np.zeros(0, np.int64), least)
        size = self._singles.size + self._keys.size
        keys, counts = np.empty(size, np.uint64), np.empty(size, np.int64)
        singles = self._singles.values, np.stack(self._starts[0])
        tables = self._keys.values, self._counts.values, np.stack(self._starts[1])
        size = kernels.tables.sum_parts(singles, tables, least, keys, counts)
        return Frequencies(keys[:size].copy(), counts[:size].copy(), least)


class Counter:
    """Adds up tables of any number of features, exactly: tables beyond the memory are sorted runs on disk.

    A context manager: leaving it removes its file. `tables` gives the sum in parts of ascending features,
    `finish` as one table without features below a least count.
    """

    def __init__(self, memory: int = MEMORY, folder: str | os.PathLike[str] | None = None) -> None:
        self._room = memory // WORKING
        self._folder = folder
        self._file: Any = None
        self._waiting = _Waiting()
        self._runs: list[_Run] = []

    def __enter__(self) -> Counter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._waiting = _Waiting()
        if self._file is not None:
            self._file.close()

    @property
    def runs(self) -> int:
        """The number of sorted runs on disk."""
        return len(self._runs)

    def add(self, table: Frequencies) -> None:
        """Add a table, in any order of its features."""
        self._waiting.add(table)
        if self._waiting.bytes > self._room:
            whole = self._take()
            if ENTRY * len(whole) > self._room // 2:  # adding up saved little, and would soon be repeated
                self._spill(whole)
            else:
                self._waiting.add(whole)

    def _take(self, least: int = 1) -> Frequencies:
        """The sum of what waits in memory, where nothing waits then."""
        whole, self._waiting = self._waiting.added_up(least), _Waiting()
        return whole

    def _spill(self, table: Frequencies) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="neardup-", dir=self._folder)  # noqa: SIM115
            start = self._file.seek(0, os.SEEK_END)
            self._file.write(np.ascontiguousarray(table.keys).data)
            self._file.write(np.ascontiguousarray(table.counts).data)
            self._runs.append(_Run(start, len(table)))
        except OSError as error:
            raise OutputError(
                f"The work folder cannot be written: {error.strerror}; choose another one with --work-dir."
            ) from None

    def tables(self, least: int = 1) -> Iterator[Frequencies]:
        """The sum without features of fewer than `least`, in parts of ascending features."""
        if not self._runs:
            yield self._take(least)
            return
        self._spill(self._take())
        for table in self._merge():
            yield table.at_least(least)

    def finish(self, least: int = 1) -> Frequencies:
        """The sum of all tables, without features of fewer than `least` documents."""
        parts = list(self.tables(least))
        if len(parts) == 1:
            return parts[0]
        return Frequencies(
            np.concatenate([part.keys for part in parts]),
            np.concatenate([part.counts for part in parts]),
            least,
        )

    def _merge(self) -> Iterator[Frequencies]:
        """Part by part: the features of all runs up to the least of the last keys of their buffers."""
        buffer = max(LEAST_BUFFER, self._room // (ENTRY * len(self._runs)))
        heads = [_Reader(self._file, run, buffer) for run in self._runs if run.size > 0]
        while heads:
            limit = min(head.last for head in heads)
            yield add_up([head.take(limit) for head in heads])
            heads = [head for head in heads if head.refill()]


class _Reader:
    """A buffered reader of one run."""

    def __init__(self, file: object, run: _Run, buffer: int) -> None:
        self._file, self._run, self._buffer, self._done = file, run, buffer, 0
        self._keys: Hashes = np.zeros(0, np.uint64)
        self._counts: Numbers = np.zeros(0, np.int64)
        self.refill()

    @property
    def last(self) -> int:
        """The last feature of the buffer."""
        return int(self._keys[-1])

    def take(self, limit: int) -> Frequencies:
        """The table of the buffer up to and including a feature."""
        size = int(np.searchsorted(self._keys, np.uint64(limit), "right"))
        table = Frequencies(self._keys[:size], self._counts[:size])
        self._keys, self._counts = self._keys[size:], self._counts[size:]
        return table

    def refill(self) -> bool:
        """Read the next features if the buffer is empty; whether any are left."""
        size = min(self._buffer, self._run.size - self._done)
        if len(self._keys) == 0 and size > 0:
            at = self._run.start + 8 * self._done
            self._keys = np.frombuffer(self._read(at, 8 * size), np.uint64)
            self._counts = np.frombuffer(self._read(at + 8 * self._run.size, 8 * size), np.int64)
            self._done += size
        return len(self._keys) > 0

    def _read(self, start: int, size: int) -> bytes:
        file = self._file
        file.seek(start)  # type: ignore[attr-defined]
        data: bytes = file.read(size)  # type: ignore[attr-defined]
        if len(data) < size:
            raise OutputError("A temporary file in the work folder has lost data: start the run over.")
        return data


class Sketch:
    """The frequencies of the most frequent features in a fixed number of entries, too low by at most `slack`.

    Misra and Gries' summary in the mergeable form of Agarwal et al. (Mergeable Summaries, PODS 2012): if there
    are more than `most` entries, all lose the count of the largest one that does not fit. slack is the sum of these
    losses, at most (sum of all counts) / (most + 1); a feature that is not listed occurs in at most slack documents.
    """

    def __init__(self, most: int) -> None:
        self._most, self._slack, self._size = most, 0, 0
        self._waiting: list[Frequencies] = []

    def add(self, table: Frequencies) -> None:
        """Add a table."""
        self._waiting.append(Frequencies(table.keys, table.counts))
        self._size += len(table)
        self._slack += table.slack
        if self._size > 2 * self._most:
            self._shrink()

    def _shrink(self) -> None:
        whole = add_up(self._waiting)
        excess = len(whole) - self._most
        cut = int(np.partition(whole.counts, excess - 1)[excess - 1]) if excess > 0 else 0
        left = whole.counts > cut
        self._waiting = [Frequencies(whole.keys[left], whole.counts[left] - cut)]
        self._size, self._slack = int(left.sum()), self._slack + cut

    def finish(self, least: int = 1) -> Frequencies:
        """The frequencies of the most frequent features."""
        if not self._waiting:
            return Frequencies(np.zeros(0, np.uint64), np.zeros(0, np.int64), least)
        self._shrink()
        kept = self._waiting[0]
        return Frequencies(kept.keys, kept.counts, 1 + self._slack, self._slack).at_least(least)
