"""The state of an item, from its judgements.

waiting      a pair whose documents are not labelled yes yet
excluded     a pair with a document that is not labelled yes
open         needs more judgements
agreed       the judges agree: labelled
disputed     the judges disagree: somebody has to adjudicate
adjudicated  somebody has: labelled
honey        a honey pot: its answer is known
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence

from neardup.labelling.answers import SKIP
from neardup.labelling.settings import LabelSettings

__all__ = ["LABELLED", "STATES", "excluded_judges", "settle", "update_all", "update_item"]

STATES = ("waiting", "excluded", "open", "agreed", "disputed", "adjudicated", "honey")
LABELLED = ("agreed", "adjudicated", "honey")


def settle(votes: Sequence[str], needed: int, consensus: str) -> tuple[str, str | None]:
    """The state and the answer of an item with these votes."""
    if len(votes) < needed:
        return "open", None
    answer, most = Counter(votes).most_common(1)[0]
    if most == len(votes) or (consensus == "majority" and 2 * most > len(votes)):
        return "agreed", answer
    return "disputed", None


def excluded_judges(db: sqlite3.Connection) -> set[str]:
    """The judges whose judgements are left out."""
    last = db.execute("SELECT judge, left_out FROM judges ORDER BY seq").fetchall()
    return {judge for judge, left_out in dict(last).items() if left_out}


def update_item(
    db: sqlite3.Connection, item: int, settings: LabelSettings, left_out: set[str] | None = None
) -> None:
    """Writes the state of an item, and of the pairs of a document."""
    out = excluded_judges(db) if left_out is None else left_out
    kind, a, b, gold = db.execute("SELECT kind, a, b, gold FROM items WHERE item = ?", (item,)).fetchone()
    rows = db.execute(
        "SELECT role, judge, answer FROM standing WHERE item = ? ORDER BY seq", (item,)
    ).fetchall()
    votes = [
        answer for role, judge, answer in rows if role == "judge" and judge not in out and answer != SKIP
    ]
    decided = [answer for role, _, answer in rows if role == "adjudicator"]
    if gold is not None:
        state, answer = "honey", gold
    elif decided:
        state, answer = "adjudicated", decided[-1]
    elif kind == "pair" and (before := _of_documents(db, a, b, settings)):
        state, answer = before, None
    else:
        state, answer = settle(votes, settings.needed(kind), settings.consensus)
    db.execute(
        "UPDATE items SET state = ?, judged = ?, answer = ? WHERE item = ?", (state, len(votes), answer, item)
    )
    if kind == "document":
        for (pair,) in db.execute(
            "SELECT item FROM items WHERE kind = 'pair' AND (a = ? OR b = ?)", (a, a)
        ).fetchall():
            update_item(db, pair, settings, out)


def _of_documents(db: sqlite3.Connection, a: str, b: str, settings: LabelSettings) -> str:
    """The state of a pair by the labels of its documents; empty if they are both labelled yes."""
    if settings.scheme != "two phases":
        return ""
    rows = db.execute(
        "SELECT state, answer FROM items WHERE kind = 'document' AND a IN (?, ?)", (a, b)
    ).fetchall()
    if any(state in LABELLED and answer != "yes" for state, answer in rows):
        return "excluded"
    return "" if all(state in LABELLED for state, _ in rows) else "waiting"


def update_all(db: sqlite3.Connection, settings: LabelSettings) -> None:
    """Writes the state of every item: after a change of the protocol, or of who is left out."""
    out = excluded_judges(db)
    for kind in ("document", "pair"):
        for (item,) in db.execute("SELECT item FROM items WHERE kind = ?", (kind,)).fetchall():
            update_item(db, item, settings, out)
