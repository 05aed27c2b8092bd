"""Two results compared pair by pair: which pairs one of them merges, and which it keeps apart.

Both are read from their indexes of the review (review_build). A pair is a removed document with the one that it
duplicates. It is in both results if both documents are in one cluster there, whichever of them stays.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

__all__ = ["ComparedRuns", "compare_indexes"]

SIDES = ("merged", "split", "swapped")
# A removed document of one result whose pair is no pair of the other: its documents are in two clusters there, or none.
ONLY = """
INSERT INTO pairs (side, id, duplicate_of, similarity)
SELECT '{side}', d.id, d.duplicate_of, d.similarity FROM {here}.documents d
LEFT JOIN {there}.documents x ON x.id = d.id LEFT JOIN {there}.documents y ON y.id = d.duplicate_of
WHERE NOT d.keep AND d.duplicate_of IS NOT NULL AND (x.cluster IS NULL OR y.cluster IS NULL OR x.cluster != y.cluster)
ORDER BY {order}, d.id
"""
# A document that one result keeps and the other removes, although both have its pair.
SWAPPED = """
INSERT INTO pairs (side, id, duplicate_of, similarity)
SELECT 'swapped', b.id, b.duplicate_of, b.similarity FROM b.documents b
JOIN a.documents x ON x.id = b.id JOIN a.documents y ON y.id = b.duplicate_of
WHERE NOT b.keep AND x.keep AND x.cluster = y.cluster ORDER BY b.similarity, b.id
"""
COUNTS = """
SELECT (SELECT count(*) FROM a.clusters), (SELECT count(*) FROM b.clusters),
    (SELECT count(*) FROM a.documents WHERE NOT keep), (SELECT count(*) FROM b.documents WHERE NOT keep),
    (SELECT count(*) FROM a.documents d JOIN b.documents e ON e.id = d.id WHERE NOT d.keep AND NOT e.keep)
"""
TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE pairs (number INTEGER PRIMARY KEY, side TEXT, id TEXT, duplicate_of TEXT, similarity REAL);
"""


@dataclass(frozen=True)
class ComparedRuns:
    """The comparison of two results."""

    path: Path
    counts: dict[str, int]  # clusters and removals of both, pairs on each side


def compare_indexes(a: Path, b: Path) -> ComparedRuns:
    """The comparison of two indexes; it is stored beside the first one, and rebuilt if one has changed."""
    stamp = json.dumps([[str(one.resolve()), one.stat().st_mtime_ns, one.stat().st_size] for one in (a, b)])
    path = a.parent / f"compare-{blake2b(str(b.resolve()).encode(), digest_size=8).hexdigest()}.db"
    known = _stored(path, stamp)
    if known is None:
        made = path.with_suffix(".partial")
        made.unlink(missing_ok=True)
        known = _make(made, a, b, stamp)
        made.replace(path)
    return ComparedRuns(path, known)


def _stored(path: Path, stamp: str) -> dict[str, int] | None:
    if not path.is_file():
        return None
    try:
        with closing(sqlite3.connect(path)) as database:
            facts = dict(database.execute("SELECT name, value FROM facts"))
    except sqlite3.Error:
        return None
    return (
        {name: int(count) for name, count in json.loads(facts["counts"]).items()}
        if facts.get("stamp") == stamp
        else None
    )


def _make(path: Path, a: Path, b: Path, stamp: str) -> dict[str, int]:
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA journal_mode = OFF")
        database.executescript(TABLES)
        for name, index in (("a", a), ("b", b)):
            database.execute(f"ATTACH ? AS {name}", (str(index),))
        # Nearest to what decided first: of new pairs the least similar ones, of lost pairs the most similar ones.
        database.execute(ONLY.format(side="merged", here="b", there="a", order="d.similarity"))
        database.execute(ONLY.format(side="split", here="a", there="b", order="d.similarity DESC"))
        database.execute(SWAPPED)
        names = ("clusters_a", "clusters_b", "removed_a", "removed_b", "removed_both")
        counts = dict(zip(names, database.execute(COUNTS).fetchone(), strict=True))
        found = dict(database.execute("SELECT side, count(*) FROM pairs GROUP BY side"))
        counts |= {side: found.get(side, 0) for side in SIDES}
        database.execute("CREATE INDEX pairs_by_side ON pairs (side, number)")
        database.executemany(
            "INSERT INTO facts VALUES (?, ?)", [("stamp", stamp), ("counts", json.dumps(counts))]
        )
        database.commit()
    return counts
