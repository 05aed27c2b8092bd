"""Documents that are held: fingerprints by id, made with frozen statistics that are refreshed now and then.

A folder: documents.db (SQLite) and the statistics in parquet files. New documents are counted aside while fingerprints
go on being made with the frozen table; after a set number of them the table becomes frozen ∪ new, and what was made
with the old one is stale and is made again from the files that the documents came from (simhash thesis, 3.3). Every
change is one transaction: a kill leaves the collection as it was before or after it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from neardup.documents import Problems
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.progress import Progress
from neardup.errors import InputError, NeardupError, PlanError
from neardup.index.database import open_database, read_about, transaction, write_about
from neardup.index.documents import Document
from neardup.index.frozen_statistics import FrozenStatistics
from neardup.index.rows import Batch, Extra, read_batch, reopened, to_document
from neardup.plan import Plan
from neardup.statistics import Statistics

FORMAT = "1"
REFRESH_AFTER = 1_000_000  # documents (thesis, 3.3: "say 1 million")
TABLES = """
CREATE TABLE IF NOT EXISTS documents (
    id TEXT PRIMARY KEY, digest BLOB NOT NULL, fingerprint BLOB, length INTEGER NOT NULL, readers TEXT, time REAL,
    quality REAL, url TEXT, source INTEGER NOT NULL, made INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS sources (number INTEGER PRIMARY KEY, description TEXT NOT NULL UNIQUE);
CREATE INDEX IF NOT EXISTS by_digest ON documents (digest);
CREATE INDEX IF NOT EXISTS by_age ON documents (made, source);
"""
COLUMNS = "digest fingerprint length readers time quality url source made".split()
RENEWED = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS)  # of a document that was held before


@dataclass(frozen=True)
class Update:
    """What came of adding documents."""

    documents: int
    new: int  # ids that were not held
    changed: int  # held with another text
    refreshed: bool  # the statistics were
    recomputed: int  # stale fingerprints that were made again
    stale: int  # … that could not be: their files are gone or have changed

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


class IndexedDocuments:
    """A collection on disk. Made with a plan, which it keeps; opened again without one, or with the same."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        plan: Plan | None = None,
        *,
        statistics: Statistics | None = None,
        refresh_after: int | None = None,
    ) -> None:
        self.folder = Path(folder)
        if plan is None and not (self.folder / "documents.db").exists():
            raise InputError(f"{self.folder} is no collection: begin one with  neardup held add.")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._store = open_database(self.folder / "documents.db", TABLES)
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"{self.folder} cannot be used as a collection: {error}") from None
        self._begin(plan, statistics, refresh_after)

    def _begin(self, plan: Plan | None, statistics: Statistics | None, refresh_after: int | None) -> None:
        self._frozen = FrozenStatistics(self.folder, self._store)
        if statistics is not None and statistics.df_unit != "texts":
            raise PlanError(
                f"These statistics count each of '{statistics.df_unit}' once; new documents, which are counted one "
                "by one, could not be added to them: give statistics of contents."
            )
        known = read_about(self._store)
        with transaction(self._store):
            if not known and plan is not None:
                about = {
                    "format": FORMAT,
                    "plan": plan.with_(statistics="").to_json(),
                    "version": 0,
                    "since": "",
                }
                write_about(self._store, {**about, "statistics": "", "refresh_after": REFRESH_AFTER})
                if statistics is not None:
                    self._frozen.freeze(statistics)
            if refresh_after is not None:
                write_about(self._store, {"refresh_after": refresh_after})
        known = read_about(self._store)
        if known.get("format") != FORMAT:
            raise InputError(f"{self.folder} has format {known.get('format')}; this version reads {FORMAT}.")
        self.plan = Plan.from_json(known["plan"])
        if plan is not None and plan.with_(statistics="") != self.plan:
            raise PlanError(
                f"The documents in {self.folder} are held with other options: fingerprints of different plans cannot "
                "be compared. Leave the method's options out, or begin another collection."
            )
        if statistics is not None and known.get("statistics") != statistics.digest and len(self):
            raise PlanError(
                f"The fingerprints in {self.folder} were made with other statistics ({known.get('statistics')}) "
                f"than those given ({statistics.digest}): begin another collection, or leave --stats "
                "out and have them refreshed."
            )

    def __enter__(self) -> IndexedDocuments:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.close()

    def __len__(self) -> int:
        return int(self._store.execute("SELECT count(*) FROM documents").fetchone()[0])

    # what is held -------------------------------------------------------------------------------

    def documents(self, stale: bool = False) -> list[Document]:
        """All that is held, in the order in which it came; stale fingerprints are refused unless told otherwise."""
        if not stale and (count := self.count_stale()):
            raise PlanError(
                f"{count:,} of {len(self):,} fingerprints in {self.folder} were made with statistics that have been "
                "replaced since, and their files are gone or have changed: add these documents again (neardup held "
                "add), or leave them out (--skip-stale)."
            )
        rows = self._store.execute(
            "SELECT id, fingerprint, readers, time, length, quality, url FROM documents WHERE made = ? ORDER BY rowid",
            (self._frozen.version,),
        )
        return [to_document(row) for row in rows]

    def count_stale(self) -> int:
        """How many fingerprints were made with statistics that have been replaced."""
        found = self._store.execute("SELECT count(*) FROM documents WHERE made < ?", (self._frozen.version,))
        return int(found.fetchone()[0])

    def info(self) -> dict[str, Any]:
        """What there is, as plain values."""
        known, since = read_about(self._store), self._frozen.since()
        return {
            "documents": len(self), "stale": self.count_stale(), "statistics": known["statistics"],
            "refreshes": max(0, self._frozen.version - 1), "counted_since": since.documents if since else 0,
            "refresh_after": int(known["refresh_after"]), "plan": self.plan.digest,
        }  # fmt: skip

    @property
    def statistics(self) -> Statistics | None:
        """The frozen table, if the plan weighs by document frequency and anything has been counted."""
        return self._frozen.read()

    # what changes it ----------------------------------------------------------------------------

    def add(
        self,
        sources: Sequence[Any],
        columns: InputColumns | None = None,
        extra: Extra | None = None,
        *,
        threads: int = 1,
        progress: Progress | None = None,
        problems: Problems | None = None,
    ) -> Update:
        """Hold documents; the statistics are refreshed when enough have been counted since the last time."""
        frozen = self.statistics
        batch = read_batch(self.plan, sources, columns or InputColumns(), extra or Extra(), frozen, self._has,
                           threads, progress or Progress(), problems)  # fmt: skip
        before = dict(self._known(batch.ids))
        new = sum(name not in before for name in batch.ids)
        changed = sum(
            before.get(name, digest) != digest for name, digest in zip(batch.ids, batch.digests, strict=True)
        )
        with transaction(self._store):
            if frozen is None and batch.counted is not None:
                self._frozen.freeze(batch.counted)
            elif batch.counted is not None:
                self._frozen.put_aside(batch.counted)
            self._write(batch)
        since, limit = self._frozen.since(), int(read_about(self._store)["refresh_after"])
        refreshed, made = False, 0
        if since is not None and since.documents >= limit:
            made, refreshed = self.refresh(threads=threads, progress=progress), True
        self._frozen.sweep()
        return Update(len(batch.ids), new, changed, refreshed, made, self.count_stale())

    def looked_at(
        self,
        sources: Sequence[Any],
        columns: InputColumns | None = None,
        extra: Extra | None = None,
        *,
        threads: int = 1,
        progress: Progress | None = None,
        problems: Problems | None = None,
    ) -> list[Document]:
        """Documents with fingerprints that can be compared with what is held; they are not held by this."""
        if self.plan.counts and self.statistics is None:
            raise PlanError(f"Nothing is held in {self.folder} yet, so there are no frequencies to weigh by.")
        return read_batch(
            self.plan, sources, columns or InputColumns(), extra or Extra(), self.statistics, None, threads,
            progress or Progress(), problems,
        ).documents()  # fmt: skip

    def refresh(self, *, threads: int = 1, progress: Progress | None = None) -> int:
        """How many stale fingerprints were made again, after the statistics took in what was counted since."""
        with transaction(self._store):
            self._frozen.refresh()
        return self.recompute(threads=threads, progress=progress)

    def recompute(self, *, threads: int = 1, progress: Progress | None = None) -> int:
        """How many stale fingerprints could be made again from the files that their documents came from."""
        done, stale = (
            0,
            "SELECT number, description FROM sources WHERE number IN (SELECT source FROM documents ",
        )
        sources = self._store.execute(stale + "WHERE made < ?)", (self._frozen.version,)).fetchall()
        for number, description in sources:
            try:
                inputs, columns = reopened(description)
                batch = read_batch(self.plan, inputs, columns, Extra(), self.statistics, None,
                                   threads, progress or Progress())  # fmt: skip
            except NeardupError:
                continue  # gone, or another file by now: what came from it stays stale
            with transaction(self._store):
                version = self._frozen.version
                rows = [(batch.fingerprints[n], version, name, batch.digests[n], number, version)
                        for n, name in enumerate(batch.ids)]  # fmt: skip
                found = self._store.executemany(
                    "UPDATE documents SET fingerprint = ?, made = ? WHERE id = ? AND digest = ? AND source = ? "
                    "AND made < ?",
                    rows,
                )
                done += max(0, found.rowcount)
        self._frozen.sweep()
        return done

    def _write(self, batch: Batch) -> None:
        self._store.executemany(
            "INSERT OR IGNORE INTO sources (description) VALUES (?)", [(one,) for one in batch.sources]
        )
        number = dict(self._store.execute("SELECT description, number FROM sources").fetchall())
        sources = [
            number[one] for one, size in zip(batch.sources, batch.sizes, strict=True) for _ in range(size)
        ]
        version = self._frozen.version
        self._store.executemany(
            f"INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET {RENEWED}",
            [(*row, source, version) for row, source in zip(batch.rows(), sources, strict=True)],
        )

    def _known(self, ids: list[str]) -> Iterator[tuple[str, bytes]]:
        for start in range(0, len(ids), 500):
            some = ids[start : start + 500]
            marks = ",".join("?" * len(some))
            yield from self._store.execute(f"SELECT id, digest FROM documents WHERE id IN ({marks})", some)

    def _has(self, digest: bytes) -> bool:
        """Whether a content is held, so that it is not counted again."""
        return (
            self._store.execute("SELECT 1 FROM documents WHERE digest = ?", (digest,)).fetchone() is not None
        )
