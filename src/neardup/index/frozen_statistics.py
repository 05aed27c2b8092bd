"""Statistics of a collection on disk: a frozen table, and beside it what has been counted since it was frozen."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from neardup.index.database import read_about, write_about
from neardup.statistics import Statistics, merge
from neardup.statistics.file import load_statistics, save_statistics


class FrozenStatistics:
    """Parquet files in a folder; which of them count is said by a database, so that both change together.

    A new file is written before the transaction that names it ends; `sweep` removes those that nothing names.
    """

    def __init__(self, folder: Path, store: sqlite3.Connection) -> None:
        self._folder, self._store = folder, store

    @property
    def version(self) -> int:
        """How often a table was frozen."""
        return int(read_about(self._store)["version"])

    @property
    def digest(self) -> str:
        """The name of the frozen table; empty without one."""
        return read_about(self._store)["statistics"]

    def read(self) -> Statistics | None:
        """The frozen table."""
        return load_statistics(self._file("frozen", self.digest)) if self.digest else None

    def since(self) -> Statistics | None:
        """What was counted since it was frozen."""
        name = read_about(self._store)["since"]
        return load_statistics(self._file("since", name)) if name else None

    def freeze(self, statistics: Statistics) -> None:
        """Another table; whatever was made with the one before is stale. Inside a transaction."""
        save_statistics(statistics, self._file("frozen", statistics.digest), force=True)
        write_about(self._store, {"statistics": statistics.digest, "version": self.version + 1, "since": ""})

    def put_aside(self, counted: Statistics) -> None:
        """Count some documents more, for the next time. Inside a transaction."""
        before = self.since()
        whole = counted if before is None else merge([before, counted])
        save_statistics(whole, self._file("since", whole.digest), force=True)
        write_about(self._store, {"since": whole.digest})

    def refresh(self) -> bool:
        """Whether there was anything that the frozen table could take in. Inside a transaction."""
        frozen, counted = self.read(), self.since()
        if frozen is None or counted is None:
            return False
        self.freeze(merge([frozen, counted]))
        return True

    def sweep(self) -> None:
        """Files that nothing refers to any more go."""
        known = read_about(self._store)
        used = {self._file("frozen", known["statistics"]).name, self._file("since", known["since"]).name}
        for path in self._folder.glob("*-*.parquet"):
            if path.name not in used:
                path.unlink(missing_ok=True)

    def _file(self, kind: str, digest: str) -> Path:
        return self._folder / f"{kind}-{digest}.parquet"
