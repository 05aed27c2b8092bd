"""An index of the clusters of a run: read once, stored beside the result, so that a page reads one cluster alone.

The index is derived: it can be deleted at any time, and is rebuilt if the result has changed.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from neardup.decisions.rules import text_digest
from neardup.errors import InputError, OutputError
from neardup.review.breakdown import date_column, day_of, host_of, source_column
from neardup.review.evidence import COLUMNS, INDIRECT, decided_by
from neardup.review.finished import booleans, floats, names_of, strings
from neardup.review.folder import RunFolder
from neardup.review.texts import DocumentPart, changed_inputs, matching_documents

__all__ = ["FOLDER", "index_file", "make_index"]

FOLDER = ".studio"
VERSION = 2
SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE documents (
    number INTEGER PRIMARY KEY, cluster TEXT, id TEXT, keep INTEGER, duplicate_of TEXT, similarity REAL,
    relation TEXT, evidence TEXT, source TEXT, day TEXT, digest BLOB, wordless BLOB
);
CREATE TABLE texts (document INTEGER PRIMARY KEY, text TEXT);
CREATE TABLE links (cluster TEXT, a TEXT, b TEXT, similarity REAL, bridge INTEGER);
CREATE TABLE clusters (
    risk INTEGER PRIMARY KEY, name TEXT UNIQUE, size INTEGER, lowest REAL, highest REAL, chained INTEGER,
    numbers INTEGER, tier INTEGER, first_day TEXT, last_day TEXT
);
"""
# Clusters by what their worst removal rests on: without evidence of its own, different in numbers only, the nearest to
# the threshold, and copies alone.
CLUSTERS = f"""
INSERT INTO clusters
SELECT row_number() OVER (ORDER BY tier, lowest, size DESC, name), name, size, lowest, highest, chained, numbers, tier,
    first_day, last_day
FROM (SELECT *, CASE WHEN chained THEN 0 WHEN numbers THEN 1 WHEN different THEN 2 ELSE 3 END AS tier FROM (
    SELECT d.cluster AS name, count(*) AS size, min(d.similarity) AS lowest, max(d.similarity) AS highest,
        coalesce(max(d.evidence IN {INDIRECT}), 0) AS chained,
        coalesce(max(d.wordless = o.wordless AND d.digest != o.digest), 0) AS numbers,
        coalesce(max(NOT d.keep AND d.evidence != 'copy'), 0) AS different,
        min(d.day) AS first_day, max(d.day) AS last_day
    FROM documents d LEFT JOIN documents o ON o.id = d.duplicate_of AND NOT d.keep GROUP BY d.cluster))
"""
INDEXES = """
CREATE INDEX documents_by_similarity ON documents (keep, similarity);
CREATE INDEX links_by_a ON links (a, similarity);
CREATE INDEX links_by_b ON links (b, similarity);
CREATE INDEX clusters_by_size ON clusters (size);
CREATE TABLE sources AS SELECT source, count(DISTINCT cluster) AS clusters FROM documents WHERE source IS NOT NULL
    GROUP BY source ORDER BY clusters DESC, source LIMIT 200;
"""
Say = Callable[[str], None]


def index_file(run: RunFolder, by: str | None, date: str | None, say: Say) -> Path:
    """The index of a run; it is made if the result, or what to count by, has changed since."""
    path = run.path / FOLDER / "review.db"
    stamp = _stamp(run, by, date)
    if _stored_stamp(path) == stamp:
        return path
    try:
        path.parent.mkdir(exist_ok=True)
        made = path.with_suffix(".partial")
        made.unlink(missing_ok=True)
        make_index(run, made, by, date, stamp, say)
        made.replace(path)
    except OSError as error:
        raise OutputError(
            f"{path.parent} cannot be written ({error.strerror}): the studio keeps its index there."
        ) from error
    return path


def _stamp(run: RunFolder, by: str | None, date: str | None) -> str:
    files = [run.path / "report.json", run.file("clusters"), run.file("pairs")]
    return json.dumps([VERSION, by, date, [[one.stat().st_mtime_ns, one.stat().st_size] for one in files]])


def _stored_stamp(path: Path) -> str | None:
    if not path.is_file():
        return None
    try:
        with closing(sqlite3.connect(path)) as database:
            found = database.execute("SELECT value FROM facts WHERE name = 'stamp'").fetchone()
            return str(found[0]) if found else None
    except sqlite3.Error:
        return None


def make_index(run: RunFolder, path: Path, by: str | None, date: str | None, stamp: str, say: Say) -> None:
    """Writes the index, in one pass over each table and over the documents."""
    names = run.columns()
    for asked in (by, date):
        if asked is not None and asked not in names:
            raise InputError(f"{run.name} has no column {asked!r}: name one of its documents.")
    source, day = by or source_column(names), date or date_column(names)
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA journal_mode = OFF")
        database.executescript(SCHEMA)
        say(f"reading the clusters of {run.name}")
        numbers = _add_documents(run, database)
        _add_links(run, database, numbers)
        say(f"reading the texts of {len(numbers):,} documents in clusters")
        notes = _add_texts(run, database, numbers, source, day)
        database.execute("CREATE INDEX documents_by_id ON documents (id)")
        database.execute("CREATE INDEX documents_by_cluster ON documents (cluster, number)")
        database.execute("CREATE INDEX links_by_cluster ON links (cluster)")
        database.execute(CLUSTERS)
        database.executescript(INDEXES)
        facts = {"notes": json.dumps(notes), "source": source or "", "day": day or "", "stamp": stamp}
        database.executemany("INSERT INTO facts VALUES (?, ?)", facts.items())
        database.commit()


def _add_documents(run: RunFolder, database: sqlite3.Connection) -> dict[str, int]:
    """The rows of documents in clusters of two and more, and their numbers by id."""
    numbers: dict[str, int] = {}
    measure = decided_by(run.plan)
    for batch in run.table("clusters", COLUMNS):
        batch = batch.filter(pa.array(floats(batch, "size") > 1))
        ids = names_of(batch, "id").to_pylist()
        first = len(numbers)
        numbers.update((name, first + k) for k, name in enumerate(ids))
        rows = zip(
            range(first, first + len(ids)),
            names_of(batch, "cluster").to_pylist(),
            ids,
            booleans(batch, "keep").tolist(),
            strings(batch, "duplicate_of").to_pylist(),
            floats(batch, measure).tolist(),
            strings(batch, "relation").to_pylist(),
            strings(batch, "evidence").to_pylist(),
            strict=True,
        )
        words = "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL, NULL)"
        database.executemany(words, rows)
    return numbers


def _add_links(run: RunFolder, database: sqlite3.Connection, numbers: dict[str, int]) -> None:
    """The recorded pairs inside clusters; a pair that a cluster does not join is of the left document's."""
    measure = decided_by(run.plan)
    clusters = [row[0] for row in database.execute("SELECT cluster FROM documents ORDER BY number")]
    for batch in run.table("pairs", ("left", "right", "similarity", "containment", "bridge")):
        ends = (names_of(batch, side).to_pylist() for side in ("left", "right"))
        rows = zip(*ends, floats(batch, measure).tolist(), booleans(batch, "bridge").tolist(), strict=True)
        database.executemany(
            "INSERT INTO links VALUES (?, ?, ?, ?, ?)",
            ((clusters[numbers[row[0]]], *row) for row in rows if row[0] in numbers),
        )


def _add_texts(
    run: RunFolder, database: sqlite3.Connection, numbers: dict[str, int], source: str | None, day: str | None
) -> list[str]:
    """The texts of the documents, their sources and days; returns sentences about what could not be read."""
    asked = pa.array(list(numbers), pa.string())
    seen, notes = 0, list[str]()
    columns = [name for name in (source, day) if name is not None]
    for place in run.places():
        if seen >= len(numbers):
            break
        try:
            sources = place.open()
            if not place.is_output:
                notes += changed_inputs(sources, run.finished_at)
            for part in matching_documents(place, run.plan, lambda: asked, columns, sources):
                seen += _add_part(database, part, numbers, source, day)
        except InputError as error:
            if place.is_output:
                raise
            notes.append(f"The input cannot be read any more: {error}.")
    known = database.execute("SELECT count(*) FROM texts").fetchone()[0]
    if known < len(numbers):
        notes.append(f"The texts of {len(numbers) - known:,} documents were not found.")
    return notes


def _add_part(
    database: sqlite3.Connection,
    part: DocumentPart,
    numbers: dict[str, int],
    source: str | None,
    day: str | None,
) -> int:
    """Stores a batch of documents; returns how many."""
    places = [numbers[name] for name in part.names.to_pylist()]
    texts = [text or "" for text in part.texts.to_pylist()]
    database.executemany("INSERT OR IGNORE INTO texts VALUES (?, ?)", zip(places, texts, strict=True))
    rows = zip(
        _values(part, source, host_of if source and source.lower() in ("url", "uri") else str),
        _values(part, day, day_of),
        map(text_digest, texts),
        _wordless(part.texts),
        places,
        strict=True,
    )
    database.executemany(
        "UPDATE documents SET source = ?, day = ?, digest = ?, wordless = ? WHERE number = ?", rows
    )
    return len(places)


def _values(part: DocumentPart, name: str | None, shown: Callable[[Any], str]) -> Iterator[str | None]:
    if name is None or name not in part.columns.schema.names:
        yield from [None] * len(part.names)
        return
    for value in part.columns.column(name).to_pylist():
        yield None if value is None else shown(value) or None


def _wordless(texts: pa.Array) -> Iterator[bytes]:
    """A digest of each text without words that have a digit: equal for texts that differ in numbers only."""
    plain = pc.utf8_lower(texts.cast(pa.large_string()).fill_null(""))
    words = pc.replace_substring_regex(plain, r"[\pL\pN_]*\pN[\pL\pN_]*", "")
    letters = pc.replace_substring_regex(words, r"[^\pL]+", " ")
    for text in letters.to_pylist():
        yield blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
