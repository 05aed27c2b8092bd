"""A SQLite file of an index: its tables and settings, how it is made and opened, and its errors as sentences."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from neardup.errors import IndexBusy, IndexDamaged, InputError, StorageError
from neardup.index.truth import FORMAT, stored
from neardup.output import sync

APPLICATION = 0x4E445550  # "NDUP": in the header of the file
PATIENCE = 30.0  # seconds: a reader may have to wait for the recovery after a crash
SETTINGS = (
    "synchronous = FULL",
    "cache_size = -16384",
    "wal_autocheckpoint = 8192",  # pages
    "journal_size_limit = 67108864",  # a log that grew in a bulk load shrinks again
    "cell_size_check = ON",  # damaged pages are noticed earlier
)
NOT_OURS = "it is not an index of neardup. Name another folder"
TABLES = f"""
PRAGMA page_size = 8192;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {FORMAT};
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
INSERT INTO state VALUES (1, 0, 0, 0, {stored.state_checksum(0, 0, 0)});
"""


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
        return IndexDamaged(f"{path}: the file is damaged, or {NOT_OURS}.")
    if code == sqlite3.SQLITE_CORRUPT:
        return IndexDamaged(
            f"{path}: the index is damaged ({problem}). Export what is readable, and build it again."
        )
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return IndexBusy(str(path.parent), "another program that opened truth.db", PATIENCE)
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return StorageError(
            f"{path}: the file cannot be opened for writing ({problem}). Check its permissions."
        )
    if code == sqlite3.SQLITE_TOOBIG:
        return InputError(f"{path}: a document is larger than 1,000,000,000 bytes. Leave it out.")
    if code == sqlite3.SQLITE_ERROR:  # a table is not there
        return IndexDamaged(f"{path}: the index is damaged ({problem}).")
    return StorageError(f"{path}: the index cannot be used ({problem}).")


def connect(path: Path) -> sqlite3.Connection:
    """A connection with our settings."""
    with translated(path):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw",
            uri=True,
            isolation_level=None,
            timeout=PATIENCE,
            check_same_thread=False,  # one use at a time, by any thread
        )
        try:
            for setting in SETTINGS:
                connection.execute(f"PRAGMA {setting}")
        except BaseException:
            connection.close()
            raise
        return connection


def refuse_others(connection: sqlite3.Connection, path: Path) -> None:
    """Refuses a file that is not ours, or of a newer format."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise IndexDamaged(f"{path}: the file is damaged, or {NOT_OURS}.")
    if version != FORMAT:
        raise InputError(
            f"{path}: the index has format {version}, this version of neardup reads {FORMAT}. "
            "Use the version that made it."
        )


def create_file(folder: Path, about: Mapping[str, str]) -> None:
    """Writes a new file aside and renames it. A log left by a removed file would be read as the new one's."""
    path, aside = folder / "truth.db", folder / "truth.db.new"
    for end in ("-wal", "-shm", ".new", ".new-journal", ".new-wal", ".new-shm"):
        (folder / f"truth.db{end}").unlink(missing_ok=True)
    with translated(path), closing(sqlite3.connect(aside, isolation_level=None)) as connection:
        connection.executescript(TABLES)
        rows = stored.named_rows({name: stored.text_bytes(value) for name, value in about.items()})
        connection.executemany("INSERT INTO about VALUES (?, ?, ?)", rows)
        mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != ("wal",):  # an I/O error leaves the mode as it was, without an exception
        raise StorageError(f"{folder}: the index cannot be made: its log cannot be written. Check the disk.")
    sync(aside)
    aside.rename(path)
    sync(folder)


def make_folder(folder: Path) -> None:
    """Makes a folder whose name, and those of the folders above that are new, survive a power loss."""
    new = [folder, *(above for above in folder.parents if not above.exists())]
    folder.mkdir(parents=True, exist_ok=True)
    for each in new:  # also if it was there: whoever made it may not have synced its name
        with suppress(PermissionError):  # a folder above that cannot be read cannot be synced
            sync(each.parent)
