"""A file of decisions: every row is on disk before it is acknowledged, and nothing is ever overwritten.

A decision names the cluster that a person saw, and the version of it: the number of its last decision. If somebody else
has decided in between, nothing is stored and the other decision is shown.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from neardup.checked_json import Invalid, check, fits, parse_json
from neardup.decisions.rules import ACTIONS, Action, DocumentState
from neardup.errors import InputError, OutputError

__all__ = ["Conflict", "Decision", "DecisionStore", "StandingDecision", "read_decisions"]

APPLICATION, VERSION = 0x6E644443, 1  # "ndDC"
WAIT = 10.0  # seconds for another writer
SCHEMA = """
CREATE TABLE decisions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    cluster TEXT NOT NULL,
    action TEXT NOT NULL,
    documents TEXT NOT NULL,
    person TEXT NOT NULL,
    time TEXT NOT NULL,
    undoes INTEGER UNIQUE REFERENCES decisions (number)
);
CREATE INDEX decisions_by_cluster ON decisions (cluster);
CREATE TABLE states (
    id TEXT NOT NULL,
    decision INTEGER NOT NULL REFERENCES decisions (number),
    digest BLOB NOT NULL,
    keep INTEGER NOT NULL,
    duplicate_of TEXT,
    made_group TEXT,
    PRIMARY KEY (id, decision)
) WITHOUT ROWID;
CREATE INDEX states_by_decision ON states (decision);
"""
STANDS = "NOT EXISTS (SELECT 1 FROM decisions u WHERE u.undoes = d.number)"
STANDING = f"""
SELECT s.id, s.digest, s.keep, s.duplicate_of, s.made_group, d.number, d.cluster, d.action, d.person, d.time
FROM states s JOIN decisions d ON d.number = s.decision
WHERE {STANDS} AND NOT EXISTS (
    SELECT 1 FROM states t WHERE t.id = s.id AND t.decision > s.decision
    AND NOT EXISTS (SELECT 1 FROM decisions u WHERE u.undoes = t.decision))
"""
STANDING_TYPES = tuple[str, bytes, int, str | None, str | None, int, str, str, str, str]
ROW = "number, cluster, action, documents, person, time, undoes"
DECISION_TYPES = tuple[int, str, str, str, str, str, int | None]


@dataclass(frozen=True)
class Decision:
    """A row: what a person did to a cluster, and when."""

    number: int
    cluster: str
    action: str  # one of ACTIONS, or undo
    documents: tuple[str, ...]  # that were chosen
    person: str
    time: str  # ISO 8601, UTC
    undoes: int | None = None


@dataclass(frozen=True)
class StandingDecision:
    """The last word of people about a document."""

    state: DocumentState
    number: int
    cluster: str
    action: str
    person: str
    time: str


class Conflict(InputError):
    """Somebody else has decided about the cluster in between; `since` has what."""

    def __init__(self, since: Sequence[Decision]) -> None:
        self.since = tuple(since)
        last = self.since[-1] if self.since else None
        who = (
            f"{last.person} has decided about this cluster in between" if last else "The cluster has changed"
        )
        super().__init__(f"{who}: nothing of yours was stored. Look again, then decide.")


class DecisionStore:
    """The decisions of a file, which is made if it does not exist."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._open("rwc") as database:
            _check(database, path)

    @contextmanager
    def _open(self, mode: str = "rw") -> Iterator[sqlite3.Connection]:
        """The file as it is: one that vanished is an error, and not an empty file."""
        address = f"{self.path.resolve().as_uri()}?mode={mode}"
        try:
            with closing(sqlite3.connect(address, uri=True, timeout=WAIT, isolation_level=None)) as database:
                database.execute("PRAGMA synchronous = FULL")
                yield database
        except sqlite3.Error as error:
            raise OutputError(f"{self.path} cannot be read or written ({error}).") from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that nobody else can write in; it is on disk when the block has ended."""
        with self._open() as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
                database.execute("COMMIT")
            except BaseException:
                if database.in_transaction:  # SQLite itself has ended it on a full disk
                    database.execute("ROLLBACK")
                raise

    def record(
        self,
        cluster: str,
        version: int,
        action: Action,
        documents: Sequence[str],
        states: Iterable[DocumentState],
        person: str,
    ) -> Decision:
        """The decision, stored; a Conflict if the cluster has another version by now."""
        if action not in ACTIONS:
            raise InputError(f"{action!r} is no action: take one of {', '.join(ACTIONS)}.")
        with self._writing() as database:
            self._check_version(database, cluster, version)
            made = _insert(database, cluster, action, documents, person)
            database.executemany(
                "INSERT INTO states VALUES (?, ?, ?, ?, ?, ?)",
                ((one.id, made.number, one.digest, one.keep, one.duplicate_of, one.group) for one in states),
            )
        return made

    def undo(self, number: int, person: str) -> Decision:
        """A row that takes a decision back; a Conflict if others have decided about its cluster since."""
        with self._writing() as database:
            found = _rows(database, "d.number = ?", (number,))
            if not found or found[0].action == "undo":
                raise InputError(f"No decision has the number {number}.")
            taken, cluster = found[0], found[0].cluster
            if _rows(database, "d.undoes = ?", (number,)):
                raise InputError("This decision is undone already.")
            where = f"d.cluster = ? AND d.number > ? AND d.action != 'undo' AND {STANDS}"
            later = _rows(database, where, (cluster, number))
            if later:
                raise Conflict(later)
            return _insert(database, cluster, "undo", taken.documents, person, number)

    def _check_version(self, database: sqlite3.Connection, cluster: str, version: int) -> None:
        since = _rows(database, "d.cluster = ? AND d.number > ?", (cluster, version))
        if since:
            raise Conflict(since)

    def of_cluster(self, cluster: str) -> list[Decision]:
        """Everything that was decided about a cluster, undone or not, in order."""
        with self._open() as database:
            return _rows(database, "d.cluster = ?", (cluster,))

    def last_of(self, person: str) -> Decision | None:
        """The last decision of a person that stands: the one that an undo takes back."""
        with self._open() as database:
            found = _rows(
                database, f"d.person = ? AND d.action != 'undo' AND {STANDS}", (person,), "DESC LIMIT 1"
            )
            return found[0] if found else None

    def find(self, number: int) -> Decision | None:
        """The decision of this number."""
        with self._open() as database:
            found = _rows(database, "d.number = ?", (number,))
            return found[0] if found else None

    def standing(self, ids: Sequence[str] | None = None) -> dict[str, StandingDecision]:
        """The last word about each document, or about these ones."""
        with self._open() as database:
            if ids is None:
                return _standing(database)
            database.execute("CREATE TEMP TABLE asked (id TEXT PRIMARY KEY) WITHOUT ROWID")
            database.executemany("INSERT OR IGNORE INTO asked VALUES (?)", ((one,) for one in ids))
            return _standing(database, " AND s.id IN (SELECT id FROM asked)")

    def people(self) -> dict[str, int]:
        """How many decisions of each person stand."""
        with self._open() as database:
            words = f"SELECT person, count(*) FROM decisions d WHERE action != 'undo' AND {STANDS} GROUP BY person"
            return dict(database.execute(words).fetchall())


def read_decisions(path: Path) -> list[StandingDecision]:
    """The last word about each document in a file of decisions, in the order of ids; the file is not changed."""
    if not path.is_file():
        raise InputError(f"{path} does not exist: name the decisions.db of a studio.")
    try:
        with closing(_opened_to_read(path)) as database:
            if database.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
                raise InputError(f"{path} is no file of decisions: name the decisions.db of a studio.")
            found = _standing(database)
    except sqlite3.Error as error:
        raise InputError(f"{path} cannot be read as decisions ({error}).") from None
    return [found[name] for name in sorted(found)]


def _opened_to_read(path: Path) -> sqlite3.Connection:
    """The file; one whose folder cannot be written has no other user."""
    address = path.resolve().as_uri()
    database = sqlite3.connect(f"{address}?mode=ro", uri=True, timeout=WAIT)
    try:
        database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        database.close()
        database = sqlite3.connect(f"{address}?mode=ro&immutable=1", uri=True, timeout=WAIT)
    return database


def _check(database: sqlite3.Connection, path: Path) -> None:
    """Makes the tables of a new file; refuses one of something else, or of a later version."""
    known = database.execute("PRAGMA application_id").fetchone()[0]
    tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if known == 0 and tables == 0:
        database.execute("PRAGMA journal_mode = WAL")
        database.executescript(
            f"BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};\n"
            f"{SCHEMA}COMMIT;"
        )
        return
    if known != APPLICATION:
        raise InputError(f"{path} is no file of decisions: move it away.")
    if database.execute("PRAGMA user_version").fetchone()[0] > VERSION:
        raise InputError(f"{path} is of a later version of neardup.")


def _insert(
    database: sqlite3.Connection,
    cluster: str,
    action: str,
    documents: Sequence[str],
    person: str,
    undoes: int | None = None,
) -> Decision:
    time = datetime.now(UTC).isoformat(timespec="milliseconds")
    words = (
        "INSERT INTO decisions (cluster, action, documents, person, time, undoes) VALUES (?, ?, ?, ?, ?, ?)"
    )
    values = (cluster, action, json.dumps(list(documents)), person, time, undoes)
    number = database.execute(words, values).lastrowid
    return Decision(number or 0, cluster, action, tuple(documents), person, time, undoes)


def _rows(
    database: sqlite3.Connection, where: str, values: Sequence[object], more: str = ""
) -> list[Decision]:
    found = database.execute(f"SELECT {ROW} FROM decisions d WHERE {where} ORDER BY number {more}", values)
    return [
        Decision(number, cluster, action, _documents(documents), person, time, undoes)
        for number, cluster, action, documents, person, time, undoes in _checked(found, DECISION_TYPES)
    ]


def _checked(rows: Iterable[Any], types: Any) -> Iterator[Any]:
    """The rows, as long as their values have these types: SQLite keeps any value in any column."""
    for row in rows:
        if not fits(row, types):
            raise sqlite3.DataError("a row holds values of other types")
        yield row


def _documents(text: str) -> tuple[str, ...]:
    try:
        return tuple(check(parse_json(text), list[str], "the list of documents"))
    except Invalid as error:
        raise sqlite3.DataError(str(error)) from None


def _standing(database: sqlite3.Connection, which: str = "") -> dict[str, StandingDecision]:
    return {
        id: StandingDecision(DocumentState(id, digest, bool(keep), other, group), *rest)
        for id, digest, keep, other, group, *rest in _checked(
            database.execute(STANDING + which), STANDING_TYPES
        )
    }
