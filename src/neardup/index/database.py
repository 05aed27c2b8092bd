"""SQLite files that survive a kill: a transaction is on disk as a whole, or not at all."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


def open_database(path: str | os.PathLike[str], tables: str) -> sqlite3.Connection:
    """A connection to a file with these tables and the table `about`, of names and values."""
    store = sqlite3.connect(os.fspath(path), isolation_level=None, timeout=60)
    store.execute("PRAGMA journal_mode = WAL")
    store.execute("PRAGMA synchronous = FULL")
    about = "CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    store.executescript(about + tables)
    return store


@contextmanager
def transaction(store: sqlite3.Connection) -> Iterator[None]:
    """Commit everything done inside, or nothing."""
    store.execute("BEGIN IMMEDIATE")
    try:
        yield
        store.execute("COMMIT")
    except BaseException:
        store.execute("ROLLBACK")
        raise


def read_about(store: sqlite3.Connection) -> dict[str, str]:
    """The names and values of the table `about`."""
    return dict(store.execute("SELECT name, value FROM about").fetchall())


def write_about(store: sqlite3.Connection, values: Mapping[str, object]) -> None:
    """Set values in the table `about`. Call inside a transaction."""
    rows = [(name, str(value)) for name, value in values.items()]
    store.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", rows)
