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

from neardup.errors import IndexBusy, IndexDamaged, InputError, OutputError, StorageError
from neardup.index import truth
from neardup.index.truth import StoredRows
from neardup.index.writer_lock import read_commits, writer_lock
from neardup.plurals import counted

APPLICATION = 0x4E445550  # "NDUP": in the header of the file
_PATIENCE = 30.0  # seconds: a reader may have to wait for the recovery after a crash
_IDLE = 16  # connections kept open between uses
_LISTED = (1, 8, 64, 512)  # lengths of lists in a statement: few, so that each is compiled once
_MOST_SENTENCES = 100  # of a check
_SALVAGED = 1024  # documents at a time
_MOST_FAILURES = 100_000  # of a salvage: a damaged root makes every statement fail
_SETTINGS = (
    "synchronous = FULL",
    "cache_size = -16384",
    "wal_autocheckpoint = 8192",  # pages
    "journal_size_limit = 67108864",  # a log that grew in a bulk load shrinks again
    "cell_size_check = ON",  # damaged pages are noticed earlier
)
_LEFT_BEHIND = ("writer.lock", "truth.db.new", "truth.db.new-journal", "truth.db.new-wal", "truth.db.new-shm")
_NOT_OURS = "it is not an index of neardup. Name another folder"
_TABLES = f"""
PRAGMA page_size = 8192;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {truth.FORMAT};
CREATE TABLE documents (
    seq INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, integer INTEGER NOT NULL, low INTEGER NOT NULL,
    high INTEGER NOT NULL, characters INTEGER NOT NULL, tokens INTEGER NOT NULL, attributes TEXT,
    checksum INTEGER NOT NULL);
CREATE TABLE bodies (seq INTEGER PRIMARY KEY, body BLOB, signature BLOB, checksum INTEGER NOT NULL);
CREATE TABLE state (
    one INTEGER PRIMARY KEY CHECK (one = 1), last INTEGER NOT NULL, count INTEGER NOT NULL,
    commits INTEGER NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE about (name TEXT PRIMARY KEY, value BLOB NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE blobs (name TEXT PRIMARY KEY, data BLOB NOT NULL, checksum INTEGER NOT NULL);
INSERT INTO state VALUES (1, 0, 0, 0, {truth.state_checksum(0, 0, 0)});
"""


class SqliteTruth:
    """The truth in a folder's `truth.db`. Readers and one writer at a time, in any threads and processes."""

    def __init__(self, folder: Path, *, wait: float = 10.0, checked: bool = True) -> None:
        """Opens a truth; without `checked` also one that cannot be read, for `check` and `salvage`."""
        self.folder, self.path, self.wait = Path(folder), Path(folder) / "truth.db", wait
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
        return (Path(folder) / "truth.db").exists()

    @staticmethod
    def unfinished(folder: Path) -> bool:
        """Whether the folder has nothing but what a `create` that was killed leaves behind."""
        return all(path.name in _LEFT_BEHIND for path in Path(folder).iterdir())

    @staticmethod
    def create(folder: Path, about: Mapping[str, str], *, wait: float = 10.0) -> SqliteTruth:
        """A new truth; a kill leaves a whole one or none. Refused if the folder has one already."""
        folder = Path(folder)
        try:
            _make_folder(folder.absolute())
        except OSError as problem:
            raise OutputError(f"{folder}: the folder cannot be made ({problem.strerror}).") from problem
        with writer_lock(folder / "writer.lock", wait) as held:
            if SqliteTruth.exists(folder):
                raise OutputError(f"{folder}: the folder has an index already.")
            held.commits = 0
            try:
                _create(folder, about)
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
        with writer_lock(self.folder / "writer.lock", self.wait) as held:
            connection = self._connection()
            writer = None
            try:
                with translated(self.path):
                    connection.execute(
                        "PRAGMA cache_size = -65536"
                    )  # random ids touch pages all over the index
                    connection.execute("BEGIN IMMEDIATE")
                    writer = SqliteWriter(connection, self.path)
                    if writer.version() < held.commits:
                        raise IndexDamaged(_lost(self.path, held.commits - writer.version()))
                yield writer
                held.commits = writer.finish()
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
            with closing(_connect(self.path)) as connection:
                connection.text_factory = _lenient
                found = list(itertools.islice(_damage(connection, self.path), _MOST_SENTENCES))
                lost = commits - _commits(connection)
                return [*found, *([_lost(self.path, lost)] if lost > 0 and not found else [])]
        except StorageError as problem:
            return [str(problem)]

    def salvage(self) -> Iterator[StoredRows]:
        """The undamaged rows, with all columns, by ascending seq, from a file that may be damaged."""
        try:
            connection = _connect(self.path)
        except IndexDamaged:
            return  # not even the description of the tables can be read
        with closing(connection):
            connection.text_factory = _lenient
            yield from _readable(connection, 1, _highest(connection))

    def close(self) -> None:
        """Ends all connections that are not in use; those in use end with their `with`."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    def _connection(self) -> sqlite3.Connection:
        """A connection that nobody else uses."""
        if self._closed:
            raise StorageError(f"{self.folder}: the index was closed. Open it again.")
        if self.path.absolute() in _unsafe:
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
        connection = _connect(self.path)
        try:
            with translated(self.path):
                _refuse_others(connection, self.path)
        except BaseException:
            connection.close()
            raise
        return connection

    def _give_back(self, connection: sqlite3.Connection) -> None:
        """Ends what the connection was doing, and keeps it for the next use if it is sound."""
        if self.path.absolute() in _unsafe:  # inherited: it is the parent's to end
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
            _unsafe.add(self.path.absolute())


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


class SqliteSnapshot(truth.SqlSnapshot):
    """One committed state. Ranges of seqs include both ends."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path
        super().__init__(str(path))

    def _run(self, sql: str, values: Sequence[object] = ()) -> list[truth.Row]:
        with translated(self._path):
            return self._connection.execute(sql, values).fetchall()

    def _listed(self, begin: str, values: Sequence[object], end: str = "") -> list[truth.Row]:
        rows: list[truth.Row] = []
        for start in range(0, len(values), _LISTED[-1]):
            part = list(values[start : start + _LISTED[-1]])
            length = next(size for size in _LISTED if size >= len(part))
            part += part[-1:] * (length - len(part))  # a value twice finds its row once
            rows += self._all(f"{begin} IN ({','.join('?' * length)}){end}", part)
        return rows


class SqliteWriter(SqliteSnapshot, truth.SqlWriter):
    """The state inside a write transaction. Reads see what was written before them."""

    def _store(self, rows: truth.PreparedRows) -> None:
        with translated(self._path):
            self._connection.executemany(
                "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows.documents
            )
            self._connection.executemany("INSERT INTO bodies VALUES (?, ?, ?, ?)", rows.bodies)

    def _discard(self, seqs: Sequence[truth.Row]) -> None:
        with translated(self._path):
            self._connection.executemany("DELETE FROM documents WHERE seq = ?", seqs)
            self._connection.executemany("DELETE FROM bodies WHERE seq = ?", seqs)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Errors of SQLite become a sentence about the file."""
    try:
        yield
    except sqlite3.Error as problem:
        raise _error(path, problem) from problem
    except UnicodeDecodeError as problem:  # of text, or of a message that quotes the file
        raise IndexDamaged(f"{path}: the index is damaged (a text is not UTF-8).") from problem


def _error(path: Path, problem: sqlite3.Error) -> Exception:
    code = (getattr(problem, "sqlite_errorcode", None) or 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return StorageError(f"{path}: the disk is full. Nothing was changed; make room and try again.")
    if code == sqlite3.SQLITE_IOERR:
        return StorageError(
            f"{path}: the disk reports an error ({problem}). Nothing was changed; check the disk."
        )
    if code == sqlite3.SQLITE_NOTADB:
        return IndexDamaged(f"{path}: the file is damaged, or {_NOT_OURS}.")
    if code == sqlite3.SQLITE_CORRUPT:
        return IndexDamaged(
            f"{path}: the index is damaged ({problem}). Export what is readable, and build it again."
        )
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return IndexBusy(str(path.parent), "another program that opened truth.db", _PATIENCE)
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return StorageError(
            f"{path}: the file cannot be opened for writing ({problem}). Check its permissions."
        )
    if code == sqlite3.SQLITE_TOOBIG:
        return InputError(f"{path}: a document is larger than 1,000,000,000 bytes. Leave it out.")
    if code == sqlite3.SQLITE_ERROR:  # a table is not there
        return IndexDamaged(f"{path}: the index is damaged ({problem}).")
    return StorageError(f"{path}: the index cannot be used ({problem}).")


def _connect(path: Path) -> sqlite3.Connection:
    with translated(path):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw",
            uri=True,
            isolation_level=None,
            timeout=_PATIENCE,
            check_same_thread=False,  # one use at a time, by any thread
        )
        try:
            for setting in _SETTINGS:
                connection.execute(f"PRAGMA {setting}")
        except BaseException:
            connection.close()
            raise
        return connection


def _refuse_others(connection: sqlite3.Connection, path: Path) -> None:
    """Refuses a file that is not ours, or of a newer format."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise IndexDamaged(f"{path}: the file is damaged, or {_NOT_OURS}.")
    if version != truth.FORMAT:
        raise InputError(
            f"{path}: the index has format {version}, this version of neardup reads {truth.FORMAT}. "
            "Use the version that made it."
        )


def _create(folder: Path, about: Mapping[str, str]) -> None:
    """Writes a new file aside and renames it. A log left by a removed file would be read as the new one's."""
    path, aside = folder / "truth.db", folder / "truth.db.new"
    for end in ("-wal", "-shm", ".new", ".new-journal", ".new-wal", ".new-shm"):
        (folder / f"truth.db{end}").unlink(missing_ok=True)
    with translated(path), closing(sqlite3.connect(aside, isolation_level=None)) as connection:
        connection.executescript(_TABLES)
        rows = truth.named_rows({name: truth.text_bytes(value) for name, value in about.items()})
        connection.executemany("INSERT INTO about VALUES (?, ?, ?)", rows)
        mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != ("wal",):  # an I/O error leaves the mode as it was, without an exception
        raise StorageError(f"{folder}: the index cannot be made: its log cannot be written. Check the disk.")
    _sync(aside)
    aside.rename(path)
    _sync(folder)


def _make_folder(folder: Path) -> None:
    """Makes a folder whose name, and those of the folders above that are new, survive a power loss."""
    new = [folder, *(above for above in folder.parents if not above.exists())]
    folder.mkdir(parents=True, exist_ok=True)
    for each in new:  # also if it was there: whoever made it may not have synced its name
        with suppress(PermissionError):  # a folder above that cannot be read cannot be synced
            _sync(each.parent)


def _sync(path: Path) -> None:
    """Makes a file, or the names in a folder, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lost(path: Path, commits: int) -> str:
    return (
        f"{path}: the index has lost its last {counted(commits, 'commit')}: its log truth.db-wal was damaged, or an "
        "older copy was put in its place. Delete writer.lock, and add those documents again."
    )


def _commits(connection: sqlite3.Connection) -> int:
    """The number of commits; 0 if it cannot be read."""
    try:
        ((commits,),) = connection.execute("SELECT commits FROM state").fetchall()
        return int(commits)
    except (sqlite3.Error, ValueError, TypeError):
        return 0


def _lenient(data: bytes) -> str:
    """Damaged text, which its checksum then reveals."""
    return data.decode("utf-8", "replace")


def _damage(connection: sqlite3.Connection, path: Path) -> Iterator[str]:
    """What is damaged: first the structure of the file, then rows whose checksum is another."""

    def query(sql: str) -> Iterator[truth.Row]:
        return iter(connection.execute(sql))

    def structure() -> Iterator[str]:
        _refuse_others(connection, path)
        connection.execute("BEGIN")
        for (line,) in query(f"PRAGMA integrity_check({_MOST_SENTENCES})"):
            if line != "ok":
                yield f"{path}: {line.strip().replace(chr(10), '; ')}."
        if list(query("PRAGMA journal_mode")) != [("wal",)]:
            yield f"{path}: the header is damaged: the file has no write-ahead log."
        if list(query(_SCHEMA)) != _schema():
            yield f"{path}: the tables are described otherwise than neardup makes them."

    for check in (structure, *truth.find_damage(query)):
        try:
            yield from check()
        except (sqlite3.Error, UnicodeDecodeError) as problem:
            yield f"{path}: a part of the file cannot be read ({problem})."
        except (IndexDamaged, InputError) as problem:
            yield str(problem)


_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name"


def _schema() -> list[truth.Row]:
    """The description of the tables in a sound file."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_TABLES)
        return connection.execute(_SCHEMA).fetchall()


def _highest(connection: sqlite3.Connection) -> int:
    """The highest seq by whichever table can be read."""
    found = [0]
    for sql in ("SELECT last FROM state", "SELECT max(seq) FROM documents", "SELECT max(seq) FROM bodies"):
        with suppress(sqlite3.Error, UnicodeDecodeError):
            found += [value for (value,) in connection.execute(sql) if isinstance(value, int)]
    return max(found)


def _readable(connection: sqlite3.Connection, low: int, high: int) -> Iterator[StoredRows]:
    """The sound rows of a range of seqs: a range that cannot be read is halved until one document is left out."""
    ends = "SELECT min(seq), max(seq) FROM (SELECT seq FROM documents WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT ?)"
    failures, ranges = 0, [(low, high)]
    while ranges and failures < _MOST_FAILURES:
        low, high = ranges.pop()
        try:  # a batch at a time: numbers may have gaps, and a damaged state may promise far too many
            first, last = connection.execute(ends, (low, high, _SALVAGED)).fetchone()
            if first is not None and not low <= first <= last <= high:
                raise IndexDamaged("The documents are not in order.")  # the search would lead back
            rows = None if first is None else _sound_rows(connection, first, last)
        except (sqlite3.Error, IndexDamaged, UnicodeDecodeError):
            failures += 1
            middle = (low + high) // 2
            ranges += [(middle + 1, high), (low, middle)] if low < high else []
            continue
        if rows is not None:
            if len(rows):
                yield rows
            ranges += [(last + 1, high)] if last < high else []


def _sound_rows(connection: sqlite3.Connection, low: int, high: int) -> StoredRows:
    documents = connection.execute(
        "SELECT seq, id, integer, low, high, characters, tokens, attributes, checksum FROM documents "
        "WHERE seq BETWEEN ? AND ? ORDER BY seq",
        (low, high),
    )
    bodies = "SELECT seq, body, signature, checksum FROM bodies WHERE seq BETWEEN ? AND ?"
    return truth.sound_rows(documents.fetchall(), connection.execute(bodies, (low, high)))
