"""The label store: what is judged, and every judgement, in one SQLite file.

A judgement that `judge` has acknowledged survives a kill and a power loss. Nothing is overwritten: to undo a judgement
adds a row too.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from neardup.checked_json import Invalid
from neardup.errors import InputError, ParameterError, StorageError
from neardup.labelling.answers import SKIP, answers_of
from neardup.labelling.schema import connect
from neardup.labelling.settings import LabelSettings
from neardup.labelling.states import excluded_judges, update_all, update_item

__all__ = ["FOUND", "Item", "LabelStore", "NewPair"]

FOUND = "found pairs"  # the source of pairs that were drawn from those that a run found, to estimate its precision
WHOLE_SAMPLES = (FOUND,)  # an estimate needs every pair of these, also those that were labelled before
ITEM = "item, kind, a, b, similarity, source, state, judged, answer, gold"


@dataclass(frozen=True)
class NewPair:
    """A pair of documents to label."""

    a: str
    b: str
    similarity: float | None = None
    source: str = ""  # how it was chosen


@dataclass(frozen=True)
class Item:
    """A document or a pair with the state of its label."""

    item: int
    kind: str  # document or pair
    a: str
    b: str  # empty for a document
    similarity: float | None
    source: str
    state: str
    judged: int
    answer: str | None
    gold: str | None


class LabelStore:
    """A label store; its methods may be called from any thread, and by several processes."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._db = connect(self.path)
        self._lock = threading.RLock()

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            self._db.close()

    @contextmanager
    def _used(self) -> Iterator[sqlite3.Connection]:
        """The connection, for this thread alone; a StorageError if the file cannot be used (a full disk, damage)."""
        try:
            with self._lock:
                yield self._db
        except sqlite3.IntegrityError:  # a rule of ours, not the file
            raise
        except sqlite3.Error as error:
            raise StorageError(
                f"{self.path} cannot be used as a store of labels ({error}): nothing was stored."
            ) from error

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all of it is on the disk at the end, or nothing."""
        with self._used() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:  # SQLite itself has ended it on a full disk
                    db.execute("ROLLBACK")
                raise

    def rows(self, query: str, values: Sequence[object] = ()) -> list[tuple]:  # type: ignore[type-arg]
        """The rows of a query."""
        with self._used() as db:
            return db.execute(query, values).fetchall()

    # The protocol and the items ---------------------------------------------------------------------

    @property
    def settings(self) -> LabelSettings:
        """The protocol."""
        found = self.rows("SELECT value FROM meta WHERE name = 'settings'")
        try:
            return LabelSettings.from_json(found[0][0]) if found else LabelSettings()
        except (Invalid, ParameterError, TypeError) as error:
            raise StorageError(f"{self.path} has a protocol that cannot be read: {error}.") from None

    def change_settings(self, settings: LabelSettings) -> None:
        """Stores a protocol; labels are settled by it again. The scheme is fixed once a pair is judged."""
        with self.writing() as db:
            judged = db.execute(
                "SELECT 1 FROM standing JOIN items USING (item) WHERE kind = 'pair' LIMIT 1"
            ).fetchone()
            five = "five labels" in (settings.scheme, self.settings.scheme)
            if judged and five and settings.scheme != self.settings.scheme:
                raise InputError(
                    f"{self.path} has judgements with other answers: use another store for {settings.scheme}."
                )
            db.execute("REPLACE INTO meta VALUES ('settings', ?)", (settings.to_json(),))
            if settings.scheme == "two phases":
                _add_documents_of_pairs(db)
            update_all(db, settings)

    def add(
        self,
        pairs: Iterable[NewPair],
        texts: Mapping[str, str],
        raw: Mapping[str, str] | None = None,
    ) -> int:
        """Adds pairs to label with the texts of their documents; the number of new ones.

        A pair that is known keeps its label, and its source unless a sample would lack it. `raw` are texts as they were
        read, where they differ.
        """
        given = [replace(one, a=min(one.a, one.b), b=max(one.a, one.b)) for one in pairs]
        missing = next((end for one in given for end in (one.a, one.b) if end not in texts), None)
        if missing is not None:
            raise InputError(f"the document {missing!r} of a pair has no text: is the input the same?")
        settings, added = self.settings, 0
        with self.writing() as db:
            self._store_texts(db, {end for one in given for end in (one.a, one.b)}, texts, raw or {})
            (last,) = db.execute("SELECT ifnull(max(place), 0) FROM items").fetchone()
            for place, one in enumerate(given, last + 1):
                done = db.execute(
                    "INSERT OR IGNORE INTO items (kind, a, b, similarity, source, place) "
                    "VALUES ('pair', ?, ?, ?, ?, ?)",
                    (one.a, one.b, one.similarity, one.source, place),
                )
                added += done.rowcount
                if not done.rowcount and one.source in WHOLE_SAMPLES:
                    values = (one.source, one.a, one.b)
                    db.execute("UPDATE items SET source = ? WHERE kind = 'pair' AND a = ? AND b = ?", values)
            if settings.scheme == "two phases":
                _add_documents_of_pairs(db)
            for one in given:
                update_item(db, find_item(db, "pair", one.a, one.b), settings)
        return added

    def add_documents(
        self, ids: Sequence[str], texts: Mapping[str, str], raw: Mapping[str, str] | None = None
    ) -> None:
        """Adds documents to label, of which the store has the text or gets it here."""
        settings = self.settings
        with self.writing() as db:
            self._store_texts(db, set(ids) & set(texts), texts, raw or {})
            (place,) = db.execute("SELECT ifnull(max(place), 0) FROM items").fetchone()
            db.executemany(
                "INSERT OR IGNORE INTO items (kind, a, source, place) VALUES ('document', ?, 'import', ?)",
                [(one, place + k) for k, one in enumerate(ids, 1)],
            )
            for one in ids:
                update_item(db, find_item(db, "document", one), settings)

    def find(self, kind: str, a: str, b: str = "") -> int:
        """The number of an item; 0 if the store does not have it."""
        with self._used() as db:
            return find_item(db, kind, min(a, b) if b else a, max(a, b) if b else "")

    @staticmethod
    def _store_texts(
        db: sqlite3.Connection, ids: Iterable[str], texts: Mapping[str, str], raw: Mapping[str, str]
    ) -> None:
        db.executemany(
            "INSERT OR IGNORE INTO documents VALUES (?, ?, ?)",
            (
                (
                    one,
                    _storable(texts[one]),
                    _storable(raw[one]) if raw.get(one, texts[one]) != texts[one] else None,
                )
                for one in sorted(ids)
            ),
        )

    def item(self, number: int) -> Item:
        """An item by its number."""
        found = self.rows(f"SELECT {ITEM} FROM items WHERE item = ?", (number,))
        if not found:
            raise InputError(f"{self.path} has no item {number}")
        return Item(*found[0])

    def items(self, where: str = "1", values: Sequence[object] = ()) -> list[Item]:
        """Items in their order."""
        return [
            Item(*row)
            for row in self.rows(f"SELECT {ITEM} FROM items WHERE {where} ORDER BY place, item", values)
        ]

    def texts(self, ids: Iterable[str]) -> dict[str, tuple[str, str | None]]:
        """The text of each document, and the text as it was read if that differs."""
        found = {}
        for one in dict.fromkeys(ids):
            row = self.rows("SELECT text, raw FROM documents WHERE id = ?", (one,))
            if row:
                found[one] = row[0]
        return found

    # Judgements -------------------------------------------------------------------------------------

    def judge(
        self, item: int, judge: str, answer: str, role: str = "judge", *, seconds: float | None = None,
        at: float | None = None,
    ) -> int:  # fmt: skip
        """Adds a judgement and returns its number; it is on the disk then.

        An InputError says why the item does not take it: it has enough judgements, or another judge adjudicates it.
        """
        now, settings = time.time() if at is None else at, self.settings
        with self.writing() as db:
            kind, state, judged = _known(db, item, self.path)
            names = {one.name for one in answers_of(kind, settings.scheme)}
            if answer not in names | {SKIP}:
                raise InputError(f"an answer must be one of {', '.join(sorted(names))}, not {answer!r}")
            lease = db.execute(
                "SELECT since FROM leases WHERE judge = ? AND kind = ? AND item = ?",
                (judge, lease_kind(kind, role), item),
            ).fetchone()
            if role == "judge":
                _check_room(db, item, judge, state, judged, settings.needed(kind), now)
            spent = seconds if seconds is not None else now - lease[0] if lease and at is None else None
            seq = _append(db, item, judge, role, answer, now, spent)
            db.execute("DELETE FROM leases WHERE judge = ? AND item = ?", (judge, item))
            update_item(db, item, settings)
        return seq

    def record(self, item: int, judge: str, answer: str, role: str = "judge") -> int:
        """Adds a judgement that was made elsewhere, whether the item needs it or not; its number."""
        settings = self.settings
        with self.writing() as db:
            seq = _append(db, item, judge, role, answer, time.time(), None)
            update_item(db, item, settings)
        return seq

    def undo(self, judge: str, role: str = "judge") -> int | None:
        """Withdraws a judge's last judgement and gives the item back; its number, or None if nothing is left."""
        now, settings = time.time(), self.settings
        with self.writing() as db:
            last = db.execute(
                "SELECT seq, item, answer FROM standing WHERE judge = ? AND role = ? ORDER BY seq DESC LIMIT 1",
                (judge, role),
            ).fetchone()
            if last is None:
                return None
            seq, item, answer = last
            db.execute(
                "INSERT INTO judgements (item, judge, role, answer, at, undoes) VALUES (?, ?, ?, ?, ?, ?)",
                (item, judge, role, answer, now, seq),
            )
            db.execute("DELETE FROM standing WHERE item = ? AND role = ? AND judge = ?", (item, role, judge))
            kind = _known(db, item, self.path)[0]
            lend(db, judge, lease_kind(kind, role), item, now, settings.lease_seconds)
            update_item(db, item, settings)
        return int(item)

    def make_honey(self, items: Iterable[int]) -> int:
        """Makes honey pots of labelled items; the number of them."""
        settings, count = self.settings, 0
        with self.writing() as db:
            for item in items:
                done = db.execute(
                    "UPDATE items SET gold = answer, gold_at = ? "
                    "WHERE item = ? AND answer IS NOT NULL AND gold IS NULL",
                    (time.time(), item),
                )
                count += done.rowcount
                update_item(db, item, settings)
        return count

    def set_gold(self, item: int, answer: str) -> None:
        """Makes a honey pot with this answer."""
        with self.writing() as db:
            db.execute("UPDATE items SET gold = ?, gold_at = ? WHERE item = ?", (answer, time.time(), item))
            update_item(db, item, self.settings)

    def leave_out(self, judge: str, left_out: bool, who: str = "") -> None:
        """Leaves a judge's judgements out, or takes them in again; items get other judges where they need them."""
        with self.writing() as db:
            db.execute(
                "INSERT INTO judges (judge, left_out, who, at) VALUES (?, ?, ?, ?)",
                (judge, int(left_out), who, time.time()),
            )
            update_all(db, self.settings)

    @property
    def left_out(self) -> set[str]:
        """The judges whose judgements are left out."""
        with self._used() as db:
            return excluded_judges(db)


def lease_kind(kind: str, role: str) -> str:
    """What a lease is for: a judge has one item of each phase at a time, and one to adjudicate."""
    return kind if role == "judge" else f"adjudicated {kind}"


def lend(db: sqlite3.Connection, judge: str, kind: str, item: int, now: float, seconds: float) -> None:
    """Reserves an item for a judge."""
    db.execute("REPLACE INTO leases VALUES (?, ?, ?, ?, ?)", (judge, kind, item, now, now + seconds))


def find_item(db: sqlite3.Connection, kind: str, a: str, b: str = "") -> int:
    """The number of an item; 0 if it is not there."""
    row = db.execute("SELECT item FROM items WHERE kind = ? AND a = ? AND b = ?", (kind, a, b)).fetchone()
    return int(row[0]) if row else 0


def _storable(text: str) -> str:
    """The text as SQLite can store it: lone surrogates replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _known(db: sqlite3.Connection, item: int, path: Path) -> tuple[str, str, int]:
    row = db.execute("SELECT kind, state, judged FROM items WHERE item = ?", (item,)).fetchone()
    if row is None:
        raise InputError(f"{path} has no item {item}")
    return row


def _check_room(
    db: sqlite3.Connection, item: int, judge: str, state: str, judged: int, needed: int, now: float
) -> None:
    """Refuses a judgement that the item does not need: the judge has judged it, or others have meanwhile."""
    if db.execute(
        "SELECT 1 FROM standing WHERE item = ? AND role = 'judge' AND judge = ?", (item, judge)
    ).fetchone():
        raise InputError("You have judged this item: undo that first, to change it.")
    if state == "honey":
        return
    (lent,) = db.execute(
        "SELECT count(*) FROM leases WHERE item = ? AND judge <> ? AND until > ?", (item, judge, now)
    ).fetchone()
    if state != "open" or judged + lent >= needed:
        raise InputError(
            "Others have judged this item meanwhile: your answer is not needed and was not stored."
        )


def _append(
    db: sqlite3.Connection, item: int, judge: str, role: str, answer: str, at: float, seconds: float | None
) -> int:
    cursor = db.execute(
        "INSERT INTO judgements (item, judge, role, answer, at, seconds) VALUES (?, ?, ?, ?, ?, ?)",
        (item, judge, role, answer, at, seconds),
    )
    seq = int(cursor.lastrowid or 0)
    db.execute(
        "REPLACE INTO standing (item, role, judge, seq, answer, at, seconds) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (item, role, judge, seq, answer, at, seconds),
    )
    return seq


def _add_documents_of_pairs(db: sqlite3.Connection) -> None:
    """Adds the documents of all pairs as items of phase 1, in the order of their pairs."""
    db.execute(
        "INSERT OR IGNORE INTO items (kind, a, source, place) SELECT 'document', id, 'phase 1', min(place) FROM ("
        "SELECT a AS id, place FROM items WHERE kind = 'pair' UNION ALL SELECT b, place FROM items WHERE kind = 'pair'"
        ") GROUP BY id ORDER BY min(place), id"
    )
