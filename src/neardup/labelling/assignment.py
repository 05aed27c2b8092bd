"""The item that a judge gets next.

An item is lent to a judge for a while, so that no two judges work on what needs one more judgement; a lease without an
answer expires. Items that others have begun come first, so that phase 2 can begin early.
"""

from __future__ import annotations

import random
import sqlite3
import time
from zlib import crc32

from neardup.labelling.answers import SKIP
from neardup.labelling.settings import LabelSettings
from neardup.labelling.store import Item, LabelStore, lease_kind, lend

__all__ = ["next_disputed", "next_item"]

NEXT = """
SELECT item FROM items i WHERE kind = :kind AND state = 'open'
AND judged + (SELECT count(*) FROM leases l WHERE l.item = i.item AND l.judge <> :judge AND until > :now) < :needed
AND NOT EXISTS (SELECT 1 FROM standing s WHERE s.item = i.item AND s.role = 'judge' AND s.judge = :judge)
ORDER BY judged DESC, place, item LIMIT 1
"""
HONEY = """
SELECT item FROM items i WHERE kind = :kind AND state = 'honey'
AND NOT EXISTS (SELECT 1 FROM standing s WHERE s.item = i.item AND s.role = 'judge' AND s.judge = :judge)
ORDER BY item
"""
DISPUTED = """
SELECT item FROM items i WHERE state = 'disputed'
AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.item = i.item AND l.judge <> :judge AND until > :now)
AND NOT EXISTS (SELECT 1 FROM standing s WHERE s.item = i.item AND s.role = 'adjudicator' AND s.judge = :judge)
ORDER BY kind, place, item LIMIT 1
"""


def next_item(store: LabelStore, judge: str, kind: str, now: float | None = None) -> Item | None:
    """The document or pair that a judge gets next, lent to the judge; None if nothing is left for this judge."""
    at, settings = time.time() if now is None else now, store.settings
    if judge in store.left_out:
        return None
    with store.writing() as db:
        values = {"judge": judge, "kind": kind, "now": at, "needed": settings.needed(kind)}
        found = _lent(db, judge, kind, at)
        if found is None:
            found = _honey(db, values, settings) or _first(db, NEXT, values)
            if found is not None:
                lend(db, judge, kind, found, at, settings.lease_seconds)
    return None if found is None else store.item(found)


def next_disputed(store: LabelStore, judge: str, now: float | None = None) -> Item | None:
    """The next item on which judges disagree, lent to the adjudicator; None if they agree on all."""
    at, settings = time.time() if now is None else now, store.settings
    with store.writing() as db:
        found = _lent(db, judge, "adjudicated document", at) or _lent(db, judge, "adjudicated pair", at)
        if found is None and (found := _first(db, DISPUTED, {"judge": judge, "now": at})) is not None:
            (kind,) = db.execute("SELECT kind FROM items WHERE item = ?", (found,)).fetchone()
            lend(db, judge, lease_kind(kind, "adjudicator"), found, at, settings.lease_seconds)
    return None if found is None else store.item(found)


def _lent(db: sqlite3.Connection, judge: str, kind: str, now: float) -> int | None:
    """The item that the judge has, if it still needs the judge's answer: a page that is loaded again shows it again."""
    wanted = ("disputed",) if kind.startswith("adjudicated") else ("open", "honey")
    return _first(
        db,
        "SELECT item FROM leases l JOIN items USING (item) WHERE judge = :judge AND l.kind = :lease AND until > :now "
        f"AND state IN ({', '.join(repr(state) for state in wanted)})",
        {"judge": judge, "lease": kind, "now": now},
    )


def _first(db: sqlite3.Connection, query: str, values: dict[str, object]) -> int | None:
    row = db.execute(query, values).fetchone()
    return None if row is None else int(row[0])


def _honey(db: sqlite3.Connection, values: dict[str, object], settings: LabelSettings) -> int | None:
    """A honey pot at random places, in the share that the protocol says; None if it is not its turn."""
    if not settings.honey_share:
        return None
    rows = db.execute(
        "SELECT gold IS NOT NULL AND at > ifnull(gold_at, 0), count(*) FROM standing s JOIN items USING (item) "
        "WHERE judge = :judge AND role = 'judge' AND s.answer <> :skip AND kind = :kind GROUP BY 1",
        {**values, "skip": SKIP},
    ).fetchall()
    honey = sum(count for is_honey, count in rows if is_honey)
    total = sum(count for _, count in rows)
    left = [int(row[0]) for row in db.execute(HONEY, values)]
    rng = random.Random(crc32(f"{values['judge']} {values['kind']} {total}".encode()))
    # A share that fell behind catches up, so that few items have their honey pots too.
    due = rng.random() < settings.honey_share or honey < int(settings.honey_share * (total + 1))
    return rng.choice(left) if left and due else None
