"""Snapshots and the writer in SQL that both databases understand; each database fills in how it runs a statement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from neardup.columns import Numbers
from neardup.errors import IndexDamaged, StorageError
from neardup.index.truth import MATCH, Columns, Id, NewRows, Row, StoredRows
from neardup.index.truth.stored import (
    PreparedRows,
    id_key,
    id_keys,
    named_rows,
    prepare,
    selection,
    sound_name,
    state_checksum,
    stored_rows,
    text_bytes,
    text_of,
)


class SqlSnapshot:
    """One state, read by statements that both databases understand; `?` stands for a value."""

    def __init__(self, place: str) -> None:
        """Reads the state first: that is what fixes the snapshot."""
        self._place, self.ended = place, False
        states = self._all("SELECT last, count, commits FROM state")
        if len(states) != 1:
            raise IndexDamaged(f"{place}: the index is damaged: its state is lost.")
        self._last, self._count, self._commits = states[0]

    def _run(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """The rows of a statement."""
        raise NotImplementedError

    def _listed(self, begin: str, values: Sequence[object], end: str = "") -> list[Row]:
        """The rows of a statement `begin IN values end`, over any number of values."""
        raise NotImplementedError

    def _by_id(self, select: str, keys: Sequence[bytes]) -> list[Row]:
        """The rows of a statement over the documents with these ids."""
        return self._listed(f"{select} WHERE id", keys)

    def _all(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        if self.ended:
            raise RuntimeError("a snapshot was used after its `with` ended")
        return self._run(sql, values)

    def last(self) -> int:
        """The highest seq ever used, also if that document was deleted since; 0 for none."""
        return self._last

    def count(self) -> int:
        """The number of documents."""
        return self._count

    def version(self) -> int:
        """The number of write transactions up to this state."""
        return self._commits

    def fetch(self, seqs: Numbers, columns: Columns = MATCH) -> StoredRows:
        """The rows with these seqs, each once, by ascending seq; deleted ones are left out."""
        rows = self._listed(selection(columns) + " WHERE d.seq", np.unique(seqs).tolist(), " ORDER BY d.seq")
        return stored_rows(rows, columns)

    def scan(self, low: int, high: int, columns: Columns = MATCH, most: int = 10_000) -> Iterator[StoredRows]:
        """The rows with low ≤ seq ≤ high by ascending seq, in batches of at most so many; none is empty."""
        sql = selection(columns) + " WHERE d.seq BETWEEN ? AND ? ORDER BY d.seq LIMIT ?"
        while rows := self._all(sql, (low, high, most)):
            found = stored_rows(rows, columns)
            if found.seqs[0] < low or found.seqs[-1] > high or (np.diff(found.seqs) <= 0).any():
                raise IndexDamaged(f"{self._place}: the index is damaged: its documents are not in order.")
            low = int(found.seqs[-1]) + 1  # a damaged tree could lead back, and the scan would never end
            yield found

    def find(self, ids: Sequence[Id]) -> Numbers:
        """The seq of each id, 0 without a document."""
        keys = id_keys(ids)
        if not self._count:
            return np.zeros(len(keys), np.int64)
        rows = self._by_id("SELECT id, seq FROM documents", list(dict.fromkeys(keys)))
        if any(type(seq) is not int for _, seq in rows):
            raise IndexDamaged(f"{self._place}: the index is damaged: a document has no number.")
        known: dict[bytes, int] = {bytes(key): seq for key, seq in rows}
        return np.array([known.get(key, 0) for key in keys], np.int64)

    def alive(self, low: int, high: int) -> Numbers:
        """The seqs of documents with low ≤ seq ≤ high, ascending."""
        rows = self._all("SELECT seq FROM documents WHERE seq BETWEEN ? AND ? ORDER BY seq", (low, high))
        return np.fromiter((row[0] for row in rows), np.int64, len(rows))

    def about(self) -> dict[str, str]:
        """Names and values that describe the index."""
        rows = self._all("SELECT name, value, checksum FROM about")
        for row in rows:
            self._refuse_damaged(row)
        return {name: text_of(value) for name, value, _ in rows}

    def sound_about(self) -> dict[str, str]:
        """As `about`, of an index that may be damaged: without entries that are."""
        rows = self._all("SELECT name, value, checksum FROM about")
        return {row[0]: text_of(row[1]) for row in rows if sound_name(row)}

    def _refuse_damaged(self, row: Row) -> None:
        """A damaged plan or table of frequencies would give other answers."""
        if not sound_name(row):
            raise IndexDamaged(
                f"{self._place}: the index is damaged: its entry {row[0]!r} has another checksum."
            )

    def blob(self, name: str) -> bytes | None:
        """Data stored under a name."""
        rows = self._all("SELECT name, data, checksum FROM blobs WHERE name = ?", (name,))
        for row in rows:
            self._refuse_damaged(row)
        return bytes(rows[0][1]) if rows else None


class SqlWriter(SqlSnapshot):
    """The state inside a write transaction. Reads see what was written before them."""

    def __init__(self, *place: Any) -> None:
        super().__init__(*place)
        self._changed = self._failed = False

    def _store(self, rows: PreparedRows) -> None:
        """Writes new rows."""
        raise NotImplementedError

    def _discard(self, seqs: Sequence[Row]) -> None:
        """Removes the rows with these seqs."""
        raise NotImplementedError

    def insert(self, rows: NewRows, known: Numbers | None = None) -> Numbers:
        """The new seqs, consecutive. A document with a known id replaces the stored one; of equal ids the last wins."""
        first = self._last + 1
        prepared = prepare(rows, first)
        with self._change():
            if known is not None:
                self._drop([(seq,) for seq in np.unique(known[known > 0]).tolist()])
            elif self._count:
                self._remove(prepared.keys)
            self._store(prepared)
            self._last += len(rows)
            self._count += len(prepared.keys)
        return np.arange(first, first + len(rows), dtype=np.int64)

    def delete(self, ids: Sequence[Id]) -> int:
        """The number of documents deleted; unknown ids are none."""
        keys = list(dict.fromkeys(id_key(name) for name in ids))
        with self._change():
            return self._remove(keys)

    def set_about(self, **values: str) -> None:
        """Sets names and values that describe the index; others stay."""
        self._name("about", {name: text_bytes(value) for name, value in values.items()})

    def set_blob(self, name: str, data: bytes) -> None:
        """Stores data under a name."""
        self._name("blobs", {name: data})

    def finish(self) -> int:
        """Makes everything durable, or raises an error and changes nothing; returns the number of commits so far."""
        if self._failed:
            raise StorageError(f"{self._place}: a change failed, so the transaction was rolled back.")
        if self._changed:
            state = (self._last, self._count, self._commits + 1)
            self._all(
                "UPDATE state SET last = ?, count = ?, commits = ?, checksum = ?",
                (*state, state_checksum(*state)),
            )
        self._commit()
        return self._commits + self._changed

    def _commit(self) -> None:
        self._all("COMMIT")

    def _name(self, table: str, values: Mapping[str, bytes]) -> None:
        with self._change():
            for row in named_rows(values):
                self._all(f"DELETE FROM {table} WHERE name = ?", row[:1])
                self._all(f"INSERT INTO {table} VALUES (?, ?, ?)", row)

    def _remove(self, keys: list[bytes]) -> int:
        return self._drop(self._by_id("SELECT seq FROM documents", keys))

    def _drop(self, gone: Sequence[Row]) -> int:
        if gone:
            self._discard(gone)
        self._count -= len(gone)
        return len(gone)

    @contextmanager
    def _change(self) -> Iterator[None]:
        """Remembers a change that failed half-way: the transaction must not be committed then."""
        if self.ended:
            raise RuntimeError("a writer was used after its `with` ended")
        try:
            yield
            self._changed = True
        except BaseException:
            self._failed = True
            raise
