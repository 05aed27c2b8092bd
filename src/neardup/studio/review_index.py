"""Clusters of a run for the review: filtered, in order of risk, one at a time. Nothing but the page is in memory."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from neardup.studio.app_gate import Refusal

__all__ = ["ClusterRow", "DocumentRow", "Filters", "LinkRow", "ReviewIndex"]

MOST_FOUND = 20_000  # clusters that a search shows
LONGEST_SEARCH = 1000  # characters
SECONDS = 8.0  # that a search of texts may take
STANDS = "NOT EXISTS (SELECT 1 FROM d.decisions u WHERE u.undoes = x.number)"
DECIDED = f"(SELECT cluster FROM d.decisions x WHERE x.action NOT IN ('skip', 'undo') AND {STANDS})"
SKIPPED = f"(SELECT cluster FROM d.decisions x WHERE x.action = 'skip' AND {STANDS})"
STATUS = {
    "open": f"c.name NOT IN {DECIDED} AND c.name NOT IN {SKIPPED}",
    "decided": f"c.name IN {DECIDED}",
    "skipped": f"c.name IN {SKIPPED} AND c.name NOT IN {DECIDED}",
    "all": "1",
}
KINDS = {
    "": "1",
    "chained": "c.chained",
    "numbers": "c.numbers",
    "direct": "c.tier = 2",
    "copies": "c.tier = 3",
}
CLUSTER = "c.risk, c.name, c.size, c.lowest, c.highest, c.chained, c.numbers, c.tier"


@dataclass(frozen=True)
class Filters:
    """Which clusters are shown; an empty value filters nothing."""

    status: str = "open"
    kind: str = ""
    q: str = ""  # in ids and texts
    low: str = ""  # the least similarity of a removed document
    high: str = ""
    least: str = ""  # documents
    most: str = ""
    source: str = ""
    since: str = ""
    until: str = ""

    @staticmethod
    def of(values: Mapping[str, str]) -> Filters:
        """The filters of an address or a form; unknown values are refused."""
        given = {one.name: values.get(one.name, "").strip() for one in fields(Filters)}
        given["status"] = given["status"] or "open"
        if given["status"] not in STATUS or given["kind"] not in KINDS:
            raise Refusal(422, "The address has a filter that this page does not know.")
        if len(given["q"]) > LONGEST_SEARCH:
            raise Refusal(422, f"Search for at most {LONGEST_SEARCH:,} characters.")
        for name in ("low", "high", "least", "most"):
            try:
                float(given[name] or 0)
            except ValueError:
                raise Refusal(422, f"The filter {name} must be a number.") from None
        return Filters(**given)

    def query(self, **more: object) -> str:
        """The part of an address that has these filters, and more."""
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        shown = {name: value for name, value in own.items() if value and (name, value) != ("status", "open")}
        return urlencode(
            {**shown, **{name: value for name, value in more.items() if value not in ("", None)}}
        )

    @property
    def active(self) -> int:
        """How many filters beside the status are set."""
        return sum(bool(getattr(self, one.name)) for one in fields(self) if one.name != "status")


@dataclass(frozen=True)
class ClusterRow:
    """A cluster: `risk` is its place, 1 the riskiest."""

    risk: int
    name: str
    size: int
    lowest: float | None  # similarity of a removed document with what it duplicates
    highest: float | None
    chained: bool
    numbers: bool  # a removed document differs in numbers only
    tier: int


@dataclass(frozen=True)
class DocumentRow:
    """A document of a cluster, as the machine decided."""

    id: str
    keep: bool
    duplicate_of: str | None
    similarity: float | None
    relation: str | None
    evidence: str | None
    source: str | None
    day: str | None
    digest: bytes


@dataclass(frozen=True)
class LinkRow:
    """A recorded pair."""

    left: str
    right: str
    similarity: float | None
    bridge: bool


class ReviewIndex:
    """Reads the index of a run beside the decisions about it."""

    def __init__(self, path: Path, decisions: Path) -> None:
        self._path, self._decisions = path, decisions
        self._local = threading.local()
        self._search = lru_cache(maxsize=32)(self._find)
        facts = dict(self._rows("SELECT name, value FROM facts"))
        self.notes: list[str] = json.loads(facts["notes"])
        self.source, self.day = facts["source"], facts["day"]
        self.total: int = self._rows("SELECT count(*) FROM clusters")[0][0]
        self.sources: list[tuple[str, int]] = self._rows("SELECT source, clusters FROM sources")

    @property
    def _database(self) -> sqlite3.Connection:
        """A connection of this thread."""
        found: sqlite3.Connection | None = getattr(self._local, "database", None)
        if found is None:
            found = sqlite3.connect(
                f"{self._path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None
            )
            found.execute("ATTACH ? AS d", (f"{self._decisions.resolve().as_uri()}?mode=ro",))
            self._local.database = found
        return found

    def _rows(self, words: str, values: Sequence[object] = ()) -> list[Any]:
        return self._database.execute(words, values).fetchall()

    # clusters -----------------------------------------------------------------------------------

    def near(self, filters: Filters, risk: int, *, before: int = 0, after: int = 0) -> list[ClusterRow]:
        """Clusters in order of risk: some before this place, and some after it; not the one at it."""
        where, values = self._where(filters)
        words = f"SELECT {CLUSTER} FROM clusters c WHERE {where} AND c.risk"
        back = (
            self._rows(f"{words} < ? ORDER BY c.risk DESC LIMIT ?", [*values, risk, before]) if before else []
        )
        on = self._rows(f"{words} > ? ORDER BY c.risk LIMIT ?", [*values, risk, after]) if after else []
        return [_cluster(row) for row in (*back[::-1], *on)]

    def next_after(self, filters: Filters, risk: int) -> ClusterRow | None:
        """The next cluster, from the beginning again at the end; None if no other one is left."""
        found = self.near(filters, risk, after=1) or [
            one for one in self.near(filters, 0, after=1) if one.risk != risk
        ]
        return found[0] if found else None

    def named(self, name: str) -> ClusterRow | None:
        """The cluster of this name."""
        found = self._rows(f"SELECT {CLUSTER} FROM clusters c WHERE c.name = ?", (name,))
        return _cluster(found[0]) if found else None

    def count(self, filters: Filters) -> int:
        """How many clusters the filters leave."""
        where, values = self._where(filters)
        return int(self._rows(f"SELECT count(*) FROM clusters c WHERE {where}", values)[0][0])

    def progress(self) -> tuple[int, int]:
        """How many clusters are decided, and how many are skipped."""
        words = f"SELECT count(*), coalesce(sum(c.name NOT IN {DECIDED}), 0) FROM clusters c WHERE c.name IN "
        decided = self._rows(f"SELECT count(*) FROM clusters c WHERE c.name IN {DECIDED}")[0][0]
        skipped = self._rows(words + SKIPPED)[0][1]
        return int(decided), int(skipped)

    def _where(self, filters: Filters) -> tuple[str, list[object]]:
        parts, values = [STATUS[filters.status], KINDS[filters.kind]], list[object]()
        for text, words in (
            (filters.low, "c.lowest >= ?"),
            (filters.high, "c.lowest <= ?"),
            (filters.least, "c.size >= ?"),
            (filters.most, "c.size <= ?"),
        ):
            if text:
                parts.append(words)
                values.append(float(text))
        for text, words in (
            (filters.source, "c.name IN (SELECT cluster FROM documents WHERE source = ?)"),
            (filters.since, "c.last_day >= ?"),
            (filters.until, "c.first_day <= ?"),
        ):
            if text:
                parts.append(words)
                values.append(text)
        if filters.q:
            parts.append("c.name IN (SELECT value FROM json_each(?))")
            values.append(self._search(filters.q)[0])
        return " AND ".join(parts), values

    def is_complete(self, q: str) -> bool:
        """Whether a search has read everything."""
        return self._search(q)[1]

    def _find(self, q: str) -> tuple[str, bool]:
        """Names of clusters with a document whose id or text has these words, as JSON; and whether all were read."""
        pattern = "%" + q.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        end, complete = time.monotonic() + SECONDS, True
        names = dict.fromkeys(
            row[0]
            for row in self._rows(
                "SELECT DISTINCT cluster FROM documents WHERE id LIKE ? ESCAPE '\\' LIMIT ?",
                (pattern, MOST_FOUND),
            )
        )
        words = "SELECT cluster FROM documents JOIN texts ON document = number WHERE text LIKE ? ESCAPE '\\' LIMIT ?"
        self._database.set_progress_handler(lambda: time.monotonic() > end, 100_000)
        try:
            for row in self._database.execute(words, (pattern, MOST_FOUND)):
                names[row[0]] = None
        except sqlite3.OperationalError:
            complete = False
        finally:
            self._database.set_progress_handler(None, 0)
        return json.dumps(list(names)), complete and len(names) < MOST_FOUND

    # one cluster ---------------------------------------------------------------------------------

    def members(self, name: str) -> list[DocumentRow]:
        """The documents of a cluster, best first."""
        words = (
            "SELECT id, keep, duplicate_of, similarity, relation, evidence, source, day, digest FROM documents "
            "WHERE cluster = ? ORDER BY number"
        )
        return [
            DocumentRow(id, bool(keep), other, similarity, relation, evidence, source, day, digest or b"")
            for id, keep, other, similarity, relation, evidence, source, day, digest in self._rows(
                words, (name,)
            )
        ]

    def text(self, id: str) -> str | None:
        """The text of a document, as it was compared."""
        found = self._rows("SELECT text FROM texts JOIN documents ON document = number WHERE id = ?", (id,))
        return str(found[0][0]) if found else None

    def links(self, name: str) -> list[LinkRow]:
        """The recorded pairs of a cluster."""
        words = "SELECT a, b, similarity, bridge FROM links WHERE cluster = ?"
        return [LinkRow(*row) for row in self._rows(words, (name,))]


def _cluster(row: Sequence[Any]) -> ClusterRow:
    risk, name, size, lowest, highest, chained, numbers, tier = row
    return ClusterRow(risk, name, size, lowest, highest, bool(chained), bool(numbers), tier)
