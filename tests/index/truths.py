"""Stored documents for tests: places of an index, rows derived from a seed, processes that write."""

from __future__ import annotations

import os
import random
import select
import signal
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neardup.index.truth import ALL, Attributes, DocumentStore, Id, NewRows, Snapshot, StoredRows
from neardup.index.truth.sqlite import SqliteTruth

KILLS = int(os.environ.get("NEARDUP_KILLS", "20"))
BATCH = 40


@dataclass(frozen=True)
class Place:
    """Where a truth is: a folder, or the address of a server."""

    address: str

    def create(self, **about: str) -> DocumentStore:
        return self._kind().create(self._typed(), about)

    def open(self, wait: float = 10.0) -> DocumentStore:
        return self._kind()(self._typed(), wait=wait)

    def _kind(self) -> Any:
        if not self.address.startswith("postgresql:"):
            return SqliteTruth
        from neardup.index.truth.postgres import PostgresTruth

        return PostgresTruth

    def _typed(self) -> Any:
        return self.address if self.address.startswith("postgresql:") else Path(self.address)


def new_rows(ids: list[Id], seed: int = 0, size: int = 30) -> NewRows:
    """Documents whose columns all derive from the seed and the id."""
    count = len(ids)
    sources = [random.Random(f"{seed} {name!r}") for name in ids]
    bits = [[source.getrandbits(64) for source in sources] for _ in range(2)]
    attributes = [
        None
        if source.random() < 0.3
        else Attributes(("a", "ü\0\ud800"), source.random(), float(seed), f"http://{seed}/\0\ud800")
        for source in sources
    ]
    return NewRows(
        ids,
        np.array(bits[0], np.uint64),
        np.array(bits[1], np.uint64),
        np.full(count, seed, np.int64),
        np.arange(count, dtype=np.int64),
        [None if source.random() < 0.2 else source.randbytes(source.randrange(size)) for source in sources],
        [None if source.random() < 0.5 else source.randbytes(8) for source in sources],
        attributes,
    )


def as_tuples(rows: NewRows | StoredRows) -> list[tuple[Any, ...]]:
    """All columns but the number, row by row; ids with their type."""
    columns = (rows.low, rows.high, rows.characters, rows.tokens)
    ids = [(type(name).__name__, name) for name in rows.ids]
    lists = [column.tolist() for column in columns]
    return list(zip(ids, *lists, rows.bodies, rows.signatures, rows.attributes, strict=True))


def contents(snapshot: Snapshot) -> dict[int, tuple[Any, ...]]:
    """Every stored row by seq."""
    found: dict[int, tuple[Any, ...]] = {}
    for rows in snapshot.scan(1, snapshot.last(), ALL, 7):
        assert 0 < len(rows) <= 7
        found |= dict(zip(rows.seqs.tolist(), as_tuples(rows), strict=True))
    return found


class RolledBack(Exception):
    """Ends a transaction on purpose."""


class Child:
    """A forked process that runs a function with a pipe to say things; any exception is said too."""

    def __init__(self, work: Callable[[Callable[[str], None]], None]) -> None:
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                os.close(reading)
                work(lambda line: os.write(writing, f"{line}\n".encode()) and None)
                code = 0
            except BaseException:
                os.write(writing, traceback.format_exc().encode())
            finally:
                os._exit(code)
        os.close(writing)
        self.pipe = os.fdopen(reading, "r")

    def ready(self, seconds: float = 60) -> str:
        """The next line that the child says."""
        assert select.select([self.pipe], [], [], seconds)[0], "the child says nothing"
        return self.pipe.readline().strip()

    def kill(self) -> list[str]:
        """Ends the child, and gives the lines it said before."""
        os.kill(self.pid, signal.SIGKILL)
        return self.join()

    def join(self) -> list[str]:
        lines = self.pipe.read().splitlines()
        self.pipe.close()
        os.waitpid(self.pid, 0)
        return lines


def write_batches(place: Place, start: int, say: Callable[[str], None], most: int = 10**9) -> None:
    """Batches of documents that replace the documents of earlier batches, each acknowledged when it is durable."""
    truth = place.open(wait=30)
    for batch in range(start, start + most):
        with truth.writing() as writer:
            writer.insert(new_rows([f"{batch % 5} {row}" for row in range(BATCH)], batch, 3000))
            writer.set_about(batch=str(batch))
        say(str(batch))


def assert_whole(snapshot: Snapshot) -> int:
    """The last batch; every batch is there as a whole, or not at all."""
    batch = int(snapshot.about().get("batch", -1))
    rows = [row for part in snapshot.scan(1, snapshot.last()) for row in part.characters.tolist()]
    expected = range(max(0, batch - 4), batch + 1)
    assert sorted(rows) == [each for each in expected for _ in range(BATCH)]
    assert snapshot.last() == (batch + 1) * BATCH
    assert snapshot.count() == len(rows)
    return batch
