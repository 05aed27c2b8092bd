"""The tables of a label store, one SQLite file.

`judgements`, `tags` and `judges` are the record: rows are only added, which triggers enforce. `standing` and the
columns state, judged and answer of `items` follow from them and are written in the same transaction.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from neardup.errors import StorageError

__all__ = ["connect"]

APPLICATION = 0x6E644C62  # "ndLb"
FORMAT = 1
WAIT = 30.0  # seconds for another writer
SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (id TEXT PRIMARY KEY, text TEXT NOT NULL, raw TEXT) WITHOUT ROWID;
CREATE TABLE items (
  item INTEGER PRIMARY KEY, kind TEXT NOT NULL, a TEXT NOT NULL, b TEXT NOT NULL DEFAULT '',
  similarity REAL, source TEXT NOT NULL DEFAULT '', place INTEGER NOT NULL DEFAULT 0,
  gold TEXT, gold_at REAL,
  state TEXT NOT NULL DEFAULT 'open', judged INTEGER NOT NULL DEFAULT 0, answer TEXT,
  UNIQUE (kind, a, b)
);
CREATE INDEX items_by_state ON items (kind, state, judged DESC, place, item);
CREATE INDEX items_by_b ON items (kind, b);
CREATE TABLE judgements (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, item INTEGER NOT NULL, judge TEXT NOT NULL, role TEXT NOT NULL,
  answer TEXT NOT NULL, at REAL NOT NULL, seconds REAL, undoes INTEGER
);
CREATE INDEX judgements_by_judge ON judgements (judge, role, seq);
CREATE TABLE standing (
  item INTEGER NOT NULL, role TEXT NOT NULL, judge TEXT NOT NULL, seq INTEGER NOT NULL, answer TEXT NOT NULL,
  at REAL NOT NULL, seconds REAL, PRIMARY KEY (item, role, judge)
) WITHOUT ROWID;
CREATE INDEX standing_by_judge ON standing (judge, role, seq);
CREATE TABLE leases (
  judge TEXT NOT NULL, kind TEXT NOT NULL, item INTEGER NOT NULL, since REAL NOT NULL, until REAL NOT NULL,
  PRIMARY KEY (judge, kind)
) WITHOUT ROWID;
CREATE INDEX leases_by_item ON leases (item, until);
CREATE TABLE judges (seq INTEGER PRIMARY KEY AUTOINCREMENT, judge TEXT NOT NULL, left_out INTEGER NOT NULL, who TEXT,
  at REAL NOT NULL);
CREATE TABLE tags (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, cluster TEXT NOT NULL, id TEXT NOT NULL, tag TEXT NOT NULL,
  judge TEXT NOT NULL, at REAL NOT NULL, seconds REAL, batch INTEGER NOT NULL, undoes INTEGER
);
CREATE INDEX tags_by_cluster ON tags (cluster, seq);
CREATE TABLE pool (
  a TEXT NOT NULL, b TEXT NOT NULL, similarity REAL NOT NULL, source TEXT NOT NULL, score REAL, probability REAL,
  PRIMARY KEY (a, b)
) WITHOUT ROWID;
"""
ONLY_ADDED = ("judgements", "tags", "judges")
TRIGGER = """
CREATE TRIGGER {table}_{verb} BEFORE {verb} ON {table}
BEGIN SELECT RAISE(ABORT, 'rows of {table} are only added'); END;
"""


def connect(path: Path) -> sqlite3.Connection:
    """A connection to a label store, which is made if the file does not exist; each commit is on the disk."""
    try:
        db = sqlite3.connect(path, timeout=WAIT, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        _prepare(db, path)
    except sqlite3.Error as error:
        raise StorageError(f"{path} cannot be used as a store of labels: {error}.") from error
    return db


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    """Makes the tables of a new file; refuses a file of another kind."""
    db.execute("BEGIN IMMEDIATE")
    try:
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables == 0:
            triggers = "".join(
                TRIGGER.format(table=table, verb=verb)
                for table in ONLY_ADDED
                for verb in ("UPDATE", "DELETE")
            )
            for statement in _statements(SCHEMA + triggers):
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            db.execute(f"PRAGMA user_version = {FORMAT}")
        elif application != APPLICATION:
            raise StorageError(f"{path} is no store of labels: name another file.")
        elif version != FORMAT:
            raise StorageError(
                f"{path} has format {version}; this neardup reads {FORMAT}: use the version that wrote it."
            )
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise


def _statements(script: str) -> list[str]:
    found, part = [], ""
    for line in script.strip().splitlines():
        part += line + "\n"
        if sqlite3.complete_statement(part):
            found.append(part)
            part = ""
    return found
