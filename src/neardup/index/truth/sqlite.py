"""The truth in a folder: a SQLite file with a write-ahead log, and the lock of its one writer.

A commit returns when the log is on the disk (synchronous=FULL). Readers see the last commit and never wait for the
writer. Pages have 8 KiB and the log is copied into the file every 64 MiB: ids in random order touch a page of their
index each, and a longer log writes a page once for many batches.
"""

from __future__ import annotations

import itertools
import os
import sqlite3
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from neardup.errors import IndexDamaged, InputError, OutputError, StorageError
from neardup.index.truth import Row, StoredRows, stored
from neardup.index.truth.sql import SqlSnapshot, SqlWriter
from neardup.index.truth.sqlite_damage import (
    MOST_SENTENCES,
    commits_of,
    damage,
    highest,
    lenient,
    lost_commits,
    readable,
)
from neardup.index.truth.sqlite_file import connect, create_file, make_folder, refuse_others, translated
from neardup.index.truth.writer_lock import read_commits, writer_lock

_IDLE = 16  # connections kept open between uses
_LISTED = (1, 8, 64, 512)  # lengths of lists in a statement: few, so that each is compiled once
_LEFT_BEHIND = ("writer.lock", "truth.db.new", "truth.db.new-journal", "truth.db.new-wal", "truth.db.new-shm")


class SqliteTruth:
    """The truth in a folder's `truth.db`. Readers and one writer at a time, in any threads and processes."""

    def __init__(self, folder: Path, *, wait: float = 10.0, checked: bool = True) -> None:
        """Opens a truth; without `checked` also one that cannot be read, for `check` and `salvage`."""
        self.folder, self.path, self.wait = Path(folder), Path(folder) / "truth.db", wait
        self._place = self.path.absolute()  # made once: it is looked for in `_unsafe` at every use
        self._idle: list[sqlite3.Connection] = []
        self._used: set[int] = set()  # connections in use
        self._closed = False
        _truths.add(self)
        if not SqliteTruth.exists(folder):
            raise InputError(f"{folder}: the folder has no index.")
        if checked:
            with self.reading():
                pass

    @staticmethod
    def exists(folder: Path) -> bool:
        """Whether the folder has a truth."""
        with suppress(OSError, ValueError):  # a name that no file can have, a folder that is closed
            return (Path(folder) / "truth.db").exists()
        return False

    @staticmethod
    def unfinished(folder: Path) -> bool:
        """Whether the folder has nothing but what a `create` that was killed leaves behind."""
        return all(path.name in _LEFT_BEHIND for path in Path(folder).iterdir())

    @staticmethod
    def create(folder: Path, about: Mapping[str, str], *, wait: float = 10.0) -> SqliteTruth:
        """A new truth; a kill leaves a whole one or none. Refused if the folder has one already."""
        folder = Path(folder)
        try:
            make_folder(folder.absolute())
        except OSError as problem:
            raise OutputError(f"{folder}: the folder cannot be made ({problem.strerror}).") from problem
        with writer_lock(folder / "writer.lock", wait) as lock:
            if SqliteTruth.exists(folder):
                raise OutputError(f"{folder}: the folder has an index already.")
            lock.commits = 0
            try:
                create_file(folder, about)
            except OSError as problem:
                raise StorageError(f"{folder}: the index cannot be made ({problem.strerror}).") from problem
        return SqliteTruth(folder, wait=wait)

    @contextmanager
    def reading(self) -> Iterator[SqliteSnapshot]:
        """A snapshot of the last commit, valid inside the `with`."""
        connection = self._connection()
        snapshot = None
        try:
            with translated(self.path):
                connection.execute("BEGIN")
                snapshot = SqliteSnapshot(connection, self.path)
            yield snapshot
        finally:
            if snapshot is not None:
                snapshot.ended = True
            self._give_back(connection)

    @contextmanager
    def writing(self) -> Iterator[SqliteWriter]:
        """The only writer. On exit everything is committed and durable; on an exception nothing is."""
        with writer_lock(self.folder / "writer.lock", self.wait) as lock:
            connection = self._connection()
            writer = None
            try:
                with translated(self.path):
                    connection.execute(
                        "PRAGMA cache_size = -65536"
                    )  # random ids touch pages all over the index
                    connection.execute("BEGIN IMMEDIATE")
                    writer = SqliteWriter(connection, self.path)
                    if writer.version() < lock.commits:
                        raise IndexDamaged(lost_commits(self.path, lock.commits - writer.version()))
                yield writer
                lock.commits = writer.finish()
            finally:
                if writer is not None:
                    writer.ended = True
                self._give_back(connection)

    def version(self) -> int:
        """The number of write transactions: changes with every commit, of this process or another."""
        with self.reading() as snapshot:
            return snapshot.version()

    def check(self) -> list[str]:
        """What is damaged, one sentence each; empty if all is well. Reads everything."""
        commits = read_commits(self.folder / "writer.lock")  # before the snapshot, which then has them
        try:
            with closing(connect(self.path)) as connection:
                connection.text_factory = lenient
                found = list(itertools.islice(damage(connection, self.path), MOST_SENTENCES))
                lost = commits - commits_of(connection)
                return [*found, *([lost_commits(self.path, lost)] if lost > 0 and not found else [])]
        except StorageError as problem:
            return [str(problem)]

    def salvage(self) -> Iterator[StoredRows]:
        """The undamaged rows, with all columns, by ascending seq, from a file that may be damaged."""
        try:
            connection = connect(self.path)
        except IndexDamaged:
            return  # not even the description of the tables can be read
        with closing(connection):
            connection.text_factory = lenient
            yield from readable(connection, 1, highest(connection))

    def close(self) -> None:
        """Ends all connections that are not in use; those in use end with their `with`."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    def _connection(self) -> sqlite3.Connection:
        """A connection that nobody else uses."""
        if self._closed:
            raise StorageError(f"{self.folder}: the index was closed. Open it again.")
        if self._place in _unsafe:
            raise StorageError(
                f"{self.folder}: the index was in use when this process was forked. Open it in a new process."
            )
        connection = None
        with suppress(IndexError):
            connection = self._idle.pop()
        connection = connection or self._open()
        self._used.add(id(connection))
        return connection

    def _open(self) -> sqlite3.Connection:
        connection = connect(self.path)
        try:
            with translated(self.path):
                refuse_others(connection, self.path)
        except BaseException:
            connection.close()
            raise
        return connection

    def _give_back(self, connection: sqlite3.Connection) -> None:
        """Ends what the connection was doing, and keeps it for the next use if it is sound."""
        if self._place in _unsafe:  # inherited: it is the parent's to end
            _inherited.append(connection)
            return
        self._used.discard(id(connection))
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            connection.close()
            return
        if self._closed or len(self._idle) >= _IDLE:
            connection.close()
        else:
            self._idle.append(connection)

    def _before_fork(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _after_fork(self) -> None:
        if self._used or self._idle:
            _inherited.extend(self._idle)
            _unsafe.add(self._place)


# SQLite remembers, for each process, which locks it holds on a file. A forked child inherits that memory without the
# locks, and could lose the log to the parent. So idle connections are closed before a fork, and a file that is in use
# meanwhile is refused in the child.
_truths: weakref.WeakSet[SqliteTruth] = weakref.WeakSet()
_unsafe: set[Path] = set()
_inherited: list[sqlite3.Connection] = []  # kept: closing them would touch the parent's files


def _before_fork() -> None:
    for each in list(_truths):
        each._before_fork()


def _after_fork() -> None:
    for each in list(_truths):
        each._after_fork()


os.register_at_fork(before=_before_fork, after_in_child=_after_fork)


class SqliteSnapshot(SqlSnapshot):
    """One committed state. Ranges of seqs include both ends."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path
        super().__init__(str(path))

    def _run(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        with translated(self._path):
            return self._connection.execute(sql, values).fetchall()

    def _listed(self, begin: str, values: Sequence[object], end: str = "") -> list[Row]:
        rows: list[Row] = []
        for start in range(0, len(values), _LISTED[-1]):
            part = list(values[start : start + _LISTED[-1]])
            length = next(size for size in _LISTED if size >= len(part))
            part += part[-1:] * (length - len(part))  # a value twice finds its row once
            rows += self._all(f"{begin} IN ({','.join('?' * length)}){end}", part)
        return rows


class SqliteWriter(SqliteSnapshot, SqlWriter):
    """The state inside a write transaction. Reads see what was written before them."""

    def _store(self, rows: stored.PreparedRows) -> None:
        with translated(self._path):
            self._connection.executemany(
                "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows.documents
            )
            self._connection.executemany("INSERT INTO bodies VALUES (?, ?, ?, ?)", rows.bodies)

    def _discard(self, seqs: Sequence[Row]) -> None:
        with translated(self._path):
            self._connection.executemany("DELETE FROM documents WHERE seq = ?", seqs)
            self._connection.executemany("DELETE FROM bodies WHERE seq = ?", seqs)
