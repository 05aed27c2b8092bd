"""Pages over time: the history of each page's fingerprint in one SQLite file (simhash thesis, 2.6.1).

A version costs 8 bytes (for 64 bits), whatever the page's length. A batch is committed before its visits are returned,
so that every reported visit is on disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any, Literal

from neardup.errors import InputError, PlanError
from neardup.index.database import open_database, read_about, transaction, translated, write_about
from neardup.index.fingerprints import Fingerprints, bits_apart
from neardup.plan import Plan, stage_json

FORMAT = "2"
TYPES = (bytes, bytes, int, float, int)  # of what is known of a page
BATCH = 1000  # pages that are committed together
DAY = 86400.0
KIND = "a store of pages"
Status = Literal["new", "unchanged", "slightly changed", "changed", "empty"]

TABLES = """
CREATE TABLE pages (
    id TEXT PRIMARY KEY, digest BLOB NOT NULL, history BLOB NOT NULL, streak INTEGER NOT NULL,
    interval REAL NOT NULL, visited REAL NOT NULL, made INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE stale (
    id TEXT NOT NULL, made INTEGER NOT NULL, history BLOB NOT NULL, PRIMARY KEY (id, made)
) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class VisitSchedule:
    """Intervals between visits: three without a change in a row double the interval, three changes halve it."""

    first: float = DAY  # seconds
    least: float = DAY / 24
    most: float = 90 * DAY
    patience: int = 3  # "if the previous three times … were all the same"

    def next(self, interval: float, streak: int) -> tuple[float, int]:
        """The interval after a visit, and the streak that goes on: above 0 unchanged visits, below 0 changes."""
        if abs(streak) < self.patience:
            return interval, streak
        interval = interval * 2 if streak > 0 else interval / 2
        return min(max(interval, self.least), self.most), 0


@dataclass(frozen=True)
class Visit:
    """The outcome of a visit to a page."""

    id: str
    status: Status
    distance: int | None  # bits between this fingerprint and the last one
    text_changed: bool | None  # whether the exact text differs, however little
    versions: int  # distinct texts so far
    next_visit: float  # seconds until the next visit
    priority: float  # for indexing, from 0 (nothing new) to 1

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


class Tracker:
    """The store of pages. It refuses another plan than that of its fingerprints.

    With `rebase` it takes the new plan and archives the histories so far as stale. A page whose text is the same at
    its next visit is unchanged and gets a new fingerprint; for another text the amount of change is unknown.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        plan: Plan,
        *,
        statistics: str | None = None,
        schedule: VisitSchedule | None = None,
        rebase: bool = False,
    ) -> None:
        self.schedule = schedule or VisitSchedule()
        self.bits = int(plan.candidates.bits)  # type: ignore[attr-defined]
        self.slight_change = int(plan.candidates.distance(plan.threshold))  # type: ignore[attr-defined]
        self._path = os.fspath(path)
        with translated(path, KIND):
            self._store = open_database(path, TABLES, KIND)
            self._check_plan(path, {"view": _view_of(plan), "statistics": statistics or ""}, rebase)

    def _check_plan(self, path: str | os.PathLike[str], mine: dict[str, str], rebase: bool) -> None:
        with transaction(self._store):
            for name, value in {"format": FORMAT, **mine, "made": "1"}.items():
                self._store.execute("INSERT OR IGNORE INTO about VALUES (?, ?)", (name, value))
        known = read_about(self._store)
        if known.get("format") != FORMAT:
            raise InputError(
                f"{os.fspath(path)} has format {known.get('format')}; this version of neardup reads format {FORMAT}."
            )
        wrong = [name for name, value in mine.items() if known.get(name) != value]
        if wrong and not rebase:
            raise PlanError(
                f"The fingerprints in {os.fspath(path)} have another {' and '.join(wrong)} and cannot be compared with "
                "new ones. Use the options of the first visit, switch to the new ones with --rebase, or create another "
                "store."
            )
        made = str(known.get("made"))
        if not (made.isascii() and made.isdecimal() and len(made) < 10):
            raise InputError(f"{os.fspath(path)} is damaged: it does not know how often its options changed.")
        self._made = int(made) + bool(wrong)
        if wrong:
            with transaction(self._store):
                write_about(self._store, {**mine, "made": self._made})

    def __enter__(self) -> Tracker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.close()

    def visit(self, pages: Fingerprints, now: float) -> Iterator[Visit]:
        """The outcome for each page; a batch is on disk before its visits are returned."""
        for start in range(0, len(pages), BATCH):
            with translated(self._path, KIND), transaction(self._store):
                done = [
                    self._one(pages, number, now) for number in range(start, min(start + BATCH, len(pages)))
                ]
            yield from done

    def history(self, page: str) -> list[int]:
        """The fingerprints of a page's versions, oldest first."""
        with translated(self._path, KIND):
            row = self._stored(page)
        if row is None:
            raise InputError(f"The store has no page {page!r}.")
        size, history = self._size, row[1]
        return [int.from_bytes(history[i : i + size], "little") for i in range(0, len(history), size)]

    def _stored(self, page: str) -> tuple[bytes, bytes, int, float, int] | None:
        """What is known of a page: digest, history, streak, interval and the options it was made with."""
        row: tuple[bytes, bytes, int, float, int] | None = self._store.execute(
            "SELECT digest, history, streak, interval, made FROM pages WHERE id = ?", (page,)
        ).fetchone()
        if row is not None and tuple(map(type, row)) != TYPES:
            raise InputError(f"{self._path} is damaged: what it knows of the page {page!r} has other types.")
        return row

    @property
    def _size(self) -> int:
        """Bytes of a fingerprint."""
        return -(-self.bits // 64) * 8

    def _one(self, pages: Fingerprints, number: int, now: float) -> Visit:
        page, digest = str(pages.ids[number]), pages.digests[number].tobytes()
        row = self._stored(page)
        first = row is None
        before, history, streak, interval, made = row or (digest, b"", 0, self.schedule.first, self._made)
        stale = made < self._made and bool(history)
        if stale:
            self._store.execute("INSERT INTO stale VALUES (?, ?, ?)", (page, made, history))
            history = b""
        present = bool(pages.present[number])
        mine = pages.of(number) if present else b""
        text_changed = None if first else digest != before
        last = history[-self._size :]
        distance = bits_apart(mine, last) if present and last else None
        status = self._status(present, first or not last, distance)
        if stale and status == "new":
            status = "changed" if text_changed else "unchanged"
        if not first:
            same = status in ("unchanged", "empty")
            streak = max(streak, 0) + 1 if same else min(streak, 0) - 1
            interval, streak = self.schedule.next(interval, streak)
        if present and (not last or text_changed):
            history += mine
        self._store.execute(
            "INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?)",
            (page, digest, history, streak, interval, now, self._made),
        )
        return Visit(page, status, distance, text_changed, len(history) // self._size, interval,
                     self._priority(status, distance))  # fmt: skip

    def _status(self, present: bool, new: bool, distance: int | None) -> Status:
        if not present:
            return "empty"
        if new or distance is None:
            return "new"
        if distance == 0:
            return "unchanged"
        return "slightly changed" if distance <= self.slight_change else "changed"

    def _priority(self, status: Status, distance: int | None) -> float:
        """How much indexing the page would gain: unrelated texts differ in half of the bits."""
        if status in ("new", "empty"):
            return 1.0 if status == "new" else 0.0
        if status == "changed" and distance is None:
            return 1.0  # how much is unknown
        return min(1.0, 2 * (distance or 0) / max(self.bits, 1))


def _view_of(plan: Plan) -> str:
    """The stages a fingerprint depends on, as JSON: text, features, weights and signature, not the distance."""
    return stage_json(plan.text) + stage_json(plan.view)
