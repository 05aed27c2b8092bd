"""The index on disk: fingerprints by document id, computed with frozen statistics that are refreshed now and then.

An index is a folder: documents.db (SQLite), and the statistics in parquet files. New documents are counted in a second
table while their fingerprints use the frozen one. After `refresh_after` new documents, the two tables are merged and
frozen; the fingerprints of the old table are stale and are recomputed from the source files (simhash thesis, 3.3).
Every change is one transaction: a kill leaves the index as it was before or after the change.
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
from neardup.index.document_rows import AttributeColumns, IndexBatch, read_batch, reopen_source, to_document
from neardup.index.documents import Document
from neardup.index.frozen_statistics import FrozenStatistics
from neardup.plan import Plan
from neardup.plurals import counted
from neardup.statistics import Statistics

FORMAT = "2"
REFRESH_AFTER = 1_000_000  # documents (thesis, 3.3: "say 1 million")
TABLES = """
CREATE TABLE IF NOT EXISTS documents (
    id TEXT PRIMARY KEY, digest BLOB NOT NULL, fingerprint BLOB, length INTEGER NOT NULL, access TEXT, time REAL,
    quality REAL, url TEXT, source INTEGER NOT NULL, statistics INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS sources (number INTEGER PRIMARY KEY, description TEXT NOT NULL UNIQUE);
CREATE INDEX IF NOT EXISTS by_digest ON documents (digest);
CREATE INDEX IF NOT EXISTS by_age ON documents (statistics, source);
"""
COLUMNS = "digest fingerprint length access time quality url source statistics".split()
REPLACED = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS)


@dataclass(frozen=True)
class Update:
    """Counts of documents that were added."""

    documents: int
    new: int  # ids that were not in the index
    changed: int  # ids whose text is not the indexed one
    refreshed: bool  # the statistics were refreshed
    recomputed: int  # fingerprints
    stale: int  # fingerprints that cannot be recomputed: their files are missing or have changed

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


class IndexedDocuments:
    """An index in a folder: created with a plan, which it keeps; opened without a plan, or with the same."""

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
            raise InputError(
                f"{self.folder} is not an index. Create one with: neardup index add {self.folder} INPUT"
            )
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._store = open_database(self.folder / "documents.db", TABLES)
        except FileExistsError:
            raise InputError(f"{self.folder} cannot be used as an index: a file has this name") from None
        except (OSError, sqlite3.Error) as error:
            why = getattr(error, "strerror", None) or error
            raise InputError(f"{self.folder} cannot be used as an index: {why}") from None
        self._open(plan, statistics, refresh_after)

    def _open(self, plan: Plan | None, statistics: Statistics | None, refresh_after: int | None) -> None:
        self._frozen = FrozenStatistics(self.folder, self._store)
        if statistics is not None and statistics.df_unit != "texts":
            raise PlanError(
                f"These statistics have the unit of document frequency '{statistics.df_unit}'; an index adds distinct "
                "texts to its statistics. Count them with --df-unit texts."
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
            raise InputError(
                f"{self.folder} has index format {known.get('format')}; this version of neardup reads {FORMAT}."
            )
        self.plan = Plan.from_json(known["plan"])
        if plan is not None and plan.with_(statistics="") != self.plan:
            raise PlanError(
                f"The index {self.folder} has other method options; fingerprints of different plans cannot be "
                "compared. Omit the method options, or create another index."
            )
        if statistics is not None and known.get("statistics") != statistics.digest and len(self):
            raise PlanError(
                f"The index {self.folder} has other statistics ({known.get('statistics')}) than the given ones "
                f"({statistics.digest}). Omit --stats, or create another index."
            )

    def __enter__(self) -> IndexedDocuments:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.close()

    def __len__(self) -> int:
        return int(self._store.execute("SELECT count(*) FROM documents").fetchone()[0])

    # documents ----------------------------------------------------------------------------------

    def documents(self, stale: bool = False) -> list[Document]:
        """All documents in the order they were added; stale fingerprints are refused, or with `stale` skipped."""
        if not stale and (count := self.count_stale()):
            raise PlanError(
                f"{count:,} of {counted(len(self), 'fingerprint')} in {self.folder} are stale: the statistics were "
                "refreshed, and the source files are missing or have changed. Add these documents again (neardup "
                "index add), or skip them (--skip-stale)."
            )
        rows = self._store.execute(
            "SELECT id, fingerprint, access, time, length, quality, url, digest FROM documents WHERE statistics = ? "
            "ORDER BY rowid",
            (self._frozen.version,),
        )
        return [to_document(row) for row in rows]

    def count_stale(self) -> int:
        """How many fingerprints were computed with statistics that have been replaced."""
        found = self._store.execute(
            "SELECT count(*) FROM documents WHERE statistics < ?", (self._frozen.version,)
        )
        return int(found.fetchone()[0])

    def info(self) -> dict[str, Any]:
        """A summary of the index, as plain values."""
        known, since = read_about(self._store), self._frozen.counted_since()
        return {
            "documents": len(self), "stale": self.count_stale(), "statistics": known["statistics"],
            "refreshes": max(0, self._frozen.version - 1), "counted_since": since.documents if since else 0,
            "refresh_after": int(known["refresh_after"]), "plan": self.plan.digest,
        }  # fmt: skip

    @property
    def statistics(self) -> Statistics | None:
        """The frozen table, if the plan weighs by document frequency and a document has been counted."""
        return self._frozen.read()

    # changes ------------------------------------------------------------------------------------

    def add(
        self,
        sources: Sequence[Any],
        columns: InputColumns | None = None,
        attributes: AttributeColumns | None = None,
        *,
        threads: int = 1,
        progress: Progress | None = None,
        problems: Problems | None = None,
    ) -> Update:
        """Add documents; the statistics are refreshed after `refresh_after` new ones."""
        frozen = self.statistics
        batch = read_batch(self.plan, sources, columns or InputColumns(), attributes or AttributeColumns(), frozen,
                           self._has, threads, progress or Progress(), problems)  # fmt: skip
        before = dict(self._known(batch.ids))
        new = sum(name not in before for name in batch.ids)
        changed = sum(
            before.get(name, digest) != digest for name, digest in zip(batch.ids, batch.digests, strict=True)
        )
        with transaction(self._store):
            if frozen is None and batch.counted is not None:
                self._frozen.freeze(batch.counted)
            elif batch.counted is not None:
                self._frozen.count_new(batch.counted)
            self._write(batch)
        since, limit = self._frozen.counted_since(), int(read_about(self._store)["refresh_after"])
        refreshed, recomputed = False, 0
        if since is not None and since.documents >= limit:
            recomputed, refreshed = self.refresh(threads=threads, progress=progress), True
        self._frozen.remove_unused_files()
        return Update(len(batch.ids), new, changed, refreshed, recomputed, self.count_stale())

    def fingerprint(
        self,
        sources: Sequence[Any],
        columns: InputColumns | None = None,
        attributes: AttributeColumns | None = None,
        *,
        threads: int = 1,
        progress: Progress | None = None,
        problems: Problems | None = None,
    ) -> list[Document]:
        """Documents with fingerprints that can be compared with the indexed ones; the index does not change."""
        if self.plan.counts and self.statistics is None:
            raise PlanError(f"The index {self.folder} is empty: it has no document frequencies to weigh by.")
        return read_batch(
            self.plan, sources, columns or InputColumns(), attributes or AttributeColumns(), self.statistics, None,
            threads, progress or Progress(), problems,
        ).documents()  # fmt: skip

    def refresh(self, *, threads: int = 1, progress: Progress | None = None) -> int:
        """Merge the new counts into the frozen statistics; returns how many fingerprints were recomputed."""
        with transaction(self._store):
            self._frozen.refresh()
        return self.recompute(threads=threads, progress=progress)

    def recompute(self, *, threads: int = 1, progress: Progress | None = None) -> int:
        """Recompute stale fingerprints from their source files; returns how many could be."""
        done = 0
        stale = "SELECT source FROM documents WHERE statistics < ?"
        query = f"SELECT number, description FROM sources WHERE number IN ({stale})"
        sources = self._store.execute(query, (self._frozen.version,)).fetchall()
        for number, description in sources:
            try:
                inputs, columns = reopen_source(description)
                batch = read_batch(self.plan, inputs, columns, AttributeColumns(), self.statistics, None,
                                   threads, progress or Progress())  # fmt: skip
            except NeardupError:
                continue  # missing or another file by now: its documents stay stale
            with transaction(self._store):
                version = self._frozen.version
                rows = [(batch.fingerprints[n], version, name, batch.digests[n], number, version)
                        for n, name in enumerate(batch.ids)]  # fmt: skip
                found = self._store.executemany(
                    "UPDATE documents SET fingerprint = ?, statistics = ? WHERE id = ? AND digest = ? AND source = ? "
                    "AND statistics < ?",
                    rows,
                )
                done += max(0, found.rowcount)
        self._frozen.remove_unused_files()
        return done

    def _write(self, batch: IndexBatch) -> None:
        self._store.executemany(
            "INSERT OR IGNORE INTO sources (description) VALUES (?)", [(one,) for one in batch.sources]
        )
        number = dict(self._store.execute("SELECT description, number FROM sources").fetchall())
        sources = [
            number[one] for one, size in zip(batch.sources, batch.sizes, strict=True) for _ in range(size)
        ]
        version = self._frozen.version
        self._store.executemany(
            f"INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET {REPLACED}",
            [(*row, source, version) for row, source in zip(batch.rows(), sources, strict=True)],
        )

    def _known(self, ids: list[str]) -> Iterator[tuple[str, bytes]]:
        for start in range(0, len(ids), 500):
            some = ids[start : start + 500]
            marks = ",".join("?" * len(some))
            yield from self._store.execute(f"SELECT id, digest FROM documents WHERE id IN ({marks})", some)

    def _has(self, digest: bytes) -> bool:
        """Whether a text is indexed, so that it is not counted again."""
        return (
            self._store.execute("SELECT 1 FROM documents WHERE digest = ?", (digest,)).fetchone() is not None
        )
