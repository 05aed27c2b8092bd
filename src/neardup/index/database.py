"""SQLite files that survive a kill: a transaction is on disk as a whole, or not at all."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from neardup.errors import InputError
from neardup.output import one_line, reason, sync

ABOUT = "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"


def open_database(path: str | os.PathLike[str], tables: str, kind: str) -> sqlite3.Connection:
    """A connection to a file with these tables and the table `about`, of names and values.

    A file is made if none is there. One without the tables is another's, or has lost them: it is refused.
    """
    place = Path(path)
    if not os.path.lexists(place):
        _create(place, ABOUT + tables)
    elif place.is_file() and not place.stat().st_size:
        raise InputError(f"{place} is empty, and no longer {kind}: remove it to begin a new one.")
    store = sqlite3.connect(place, isolation_level=None, timeout=60)
    try:
        expected = tables.count("CREATE TABLE") + 1
        found = store.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        made = {name for (name,) in found if f"CREATE TABLE {name} " in ABOUT + tables}
        if len(made) < expected:
            raise InputError(f"{place} is not {kind}, or has lost its tables: name another file.")
        store.execute("PRAGMA journal_mode = WAL")
        store.execute("PRAGMA synchronous = FULL")
    except BaseException:
        store.close()
        raise
    return store


def _create(path: Path, tables: str) -> None:
    """Writes a new file aside and gives it its name, unless another process was first."""
    with tempfile.TemporaryDirectory(prefix=".neardup-", dir=path.absolute().parent) as folder:
        aside = Path(folder, "new.db")
        with closing(sqlite3.connect(aside, isolation_level=None)) as store:
            store.executescript(tables)
            store.execute("PRAGMA journal_mode = WAL")
        sync(aside)
        try:
            path.hardlink_to(aside)
        except FileExistsError:
            return
        except OSError:  # a file system without links
            aside.replace(path)
    sync(path.absolute().parent)


@contextmanager
def translated(path: str | os.PathLike[str], kind: str) -> Iterator[None]:
    """Errors of SQLite, and of text that is none, become a sentence about the file."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise InputError(f"{os.fspath(path)} cannot be used as {kind}: {one_line(error)}") from None
    except OSError as error:
        raise InputError(f"{os.fspath(path)} cannot be used as {kind}: {reason(error)}") from None


@contextmanager
def transaction(store: sqlite3.Connection) -> Iterator[None]:
    """Commit everything done inside, or nothing."""
    store.execute("BEGIN IMMEDIATE")
    try:
        yield
        store.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # a damaged file may have ended it already
            store.execute("ROLLBACK")
        raise


def read_about(store: sqlite3.Connection) -> dict[str, str]:
    """The names and values of the table `about`."""
    return dict(store.execute("SELECT name, value FROM about").fetchall())


def write_about(store: sqlite3.Connection, values: Mapping[str, object]) -> None:
    """Set values in the table `about`. Call inside a transaction."""
    rows = [(name, str(value)) for name, value in values.items()]
    store.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", rows)
