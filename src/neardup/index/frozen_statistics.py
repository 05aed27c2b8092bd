"""Statistics of an index: a frozen table, and the counts of documents added since it was frozen."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from neardup.index.database import read_about, write_about
from neardup.statistics import Statistics, merge
from neardup.statistics.file import load_statistics, save_statistics


class FrozenStatistics:
    """Parquet files in a folder, named by the database, so that both change in one transaction.

    A file is written before the transaction that names it ends; `remove_unused_files` removes the unnamed ones.
    """

    def __init__(self, folder: Path, store: sqlite3.Connection) -> None:
        self._folder, self._store = folder, store

    @property
    def version(self) -> int:
        """How many times a table was frozen."""
        return int(read_about(self._store)["version"])

    @property
    def digest(self) -> str:
        """The digest of the frozen table; empty without a table."""
        return read_about(self._store)["statistics"]

    def read(self) -> Statistics | None:
        """The frozen table."""
        return load_statistics(self._file("frozen", self.digest)) if self.digest else None

    def counted_since(self) -> Statistics | None:
        """The counts since the table was frozen."""
        name = read_about(self._store)["since"]
        return load_statistics(self._file("since", name)) if name else None

    def freeze(self, statistics: Statistics) -> None:
        """Replace the table: fingerprints of the previous one become stale. Call inside a transaction."""
        save_statistics(statistics, self._file("frozen", statistics.digest), force=True)
        write_about(self._store, {"statistics": statistics.digest, "version": self.version + 1, "since": ""})

    def count_new(self, counted: Statistics) -> None:
        """Add counts of new documents, for the next refresh. Call inside a transaction."""
        before = self.counted_since()
        whole = counted if before is None else merge([before, counted])
        save_statistics(whole, self._file("since", whole.digest), force=True)
        write_about(self._store, {"since": whole.digest})

    def refresh(self) -> bool:
        """Merge the new counts into the frozen table; False if nothing is new. Call inside a transaction."""
        frozen, counted = self.read(), self.counted_since()
        if frozen is None or counted is None:
            return False
        self.freeze(merge([frozen, counted]))
        return True

    def remove_unused_files(self) -> None:
        """Remove the files that the database does not name."""
        known = read_about(self._store)
        used = {self._file("frozen", known["statistics"]).name, self._file("since", known["since"]).name}
        for path in self._folder.glob("*-*.parquet"):
            if path.name not in used:
                path.unlink(missing_ok=True)

    def _file(self, kind: str, digest: str) -> Path:
        return self._folder / f"{kind}-{digest}.parquet"
