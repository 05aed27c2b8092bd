"""What is damaged in a SQLite file of an index, and what of it can still be read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from neardup.errors import IndexDamaged, InputError
from neardup.index.truth import Row, StoredRows, stored
from neardup.index.truth.sqlite_file import TABLES, refuse_others
from neardup.plurals import counted

MOST_SENTENCES = 100  # of a check
_SALVAGED = 1024  # documents at a time
_MOST_FAILURES = 100_000  # of a salvage: a damaged root makes every statement fail


def lost_commits(path: Path, commits: int) -> str:
    """The sentence about commits that the log had and the file has not."""
    return (
        f"{path}: the index has lost its last {counted(commits, 'commit')}: its log truth.db-wal was damaged, or an "
        "older copy was put in its place. Delete writer.lock, and add those documents again."
    )


def commits_of(connection: sqlite3.Connection) -> int:
    """The number of commits; 0 if it cannot be read."""
    try:
        ((commits,),) = connection.execute("SELECT commits FROM state").fetchall()
        return int(commits)
    except (sqlite3.Error, ValueError, TypeError):
        return 0


def lenient(data: bytes) -> str:
    """Damaged text, which its checksum then reveals."""
    return data.decode("utf-8", "replace")


def damage(connection: sqlite3.Connection, path: Path) -> Iterator[str]:
    """What is damaged: first the structure of the file, then rows whose checksum is another."""

    def query(sql: str) -> Iterator[Row]:
        return iter(connection.execute(sql))

    def structure() -> Iterator[str]:
        refuse_others(connection, path)
        connection.execute("BEGIN")
        for (line,) in query(f"PRAGMA integrity_check({MOST_SENTENCES})"):
            if line != "ok":
                yield f"{path}: {line.strip().replace(chr(10), '; ')}."
        if list(query("PRAGMA journal_mode")) != [("wal",)]:
            yield f"{path}: the header is damaged: the file has no write-ahead log."
        if list(query(_SCHEMA)) != _schema():
            yield f"{path}: the tables are described otherwise than neardup makes them."

    for check in (structure, *stored.find_damage(query)):
        try:
            yield from check()
        except (sqlite3.Error, UnicodeDecodeError) as problem:
            yield f"{path}: a part of the file cannot be read ({problem})."
        except (IndexDamaged, InputError) as problem:
            yield str(problem)


_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name"


def _schema() -> list[Row]:
    """The description of the tables in a sound file."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(TABLES)
        return connection.execute(_SCHEMA).fetchall()


def highest(connection: sqlite3.Connection) -> int:
    """The highest seq by whichever table can be read."""
    found = [0]
    for sql in ("SELECT last FROM state", "SELECT max(seq) FROM documents", "SELECT max(seq) FROM bodies"):
        with suppress(sqlite3.Error, UnicodeDecodeError):
            found += [value for (value,) in connection.execute(sql) if isinstance(value, int)]
    return max(found)


def readable(connection: sqlite3.Connection, low: int, high: int) -> Iterator[StoredRows]:
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
    return stored.sound_rows(documents.fetchall(), connection.execute(bodies, (low, high)))
