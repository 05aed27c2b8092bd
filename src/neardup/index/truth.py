"""The truth of an index: stored documents by sequence number, in SQLite or PostgreSQL. Everything else is derived.

A sequence number (seq) counts from 1 and is used once: it stands for one version of one document, or that version has
been deleted. Both databases have the same tables, so that one description holds for both:

    documents   seq, id, integer, low, high, characters, tokens, attributes, checksum
    bodies      seq, body, signature, checksum       (one row a document; apart: scans of documents then read little)
    state       last, count, commits, checksum       (one row)
    about       name, value, checksum
    blobs       name, data, checksum

Ids are stored as UTF-8 bytes, lone surrogates included (`surrogatepass`): every str is kept exactly, NUL bytes too,
which PostgreSQL's text could not. An integer is stored as its decimal digits, with a flag: 1 and "1" are one document,
given back in the type that was stored last. Checksums are CRC-32: `check` notices a flipped bit that leaves the
database's own structure whole.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from struct import Struct
from struct import error as StructError
from typing import Any, Protocol

import numpy as np

from neardup.columns import Hashes, Numbers
from neardup.errors import IndexDamaged, InputError, StorageError

__all__ = [
    "MATCH",
    "Attributes",
    "Columns",
    "Id",
    "NewRows",
    "Snapshot",
    "StoredRows",
    "Truth",
    "Writer",
]

Id = str | int
Row = Sequence[Any]
FORMAT = 1  # of the tables; raised when an older version of neardup could not read them


@dataclass(frozen=True)
class Attributes:
    """What decisions know of a document beside its text."""

    access: tuple[str, ...] | None = None  # names of groups; None: everybody
    quality: float | None = None
    time: float | None = None
    url: str | None = None


@dataclass(frozen=True)
class Columns:
    """Columns to read beside those for a match: seq, id, digest, characters and tokens."""

    body: bool = False
    signature: bool = False
    attributes: bool = False


MATCH = Columns()
ALL = Columns(body=True, signature=True, attributes=True)


@dataclass(frozen=True)
class NewRows:
    """Documents to store: columns of one length."""

    ids: Sequence[Id]
    low: Hashes  # the digest of the text, in two halves
    high: Hashes
    characters: Numbers
    tokens: Numbers
    bodies: Sequence[bytes | None]
    signatures: Sequence[bytes | None]
    attributes: Sequence[Attributes | None]

    def __post_init__(self) -> None:
        """Refuses columns of different lengths, which would be stored as other documents."""
        lengths = {name: len(getattr(self, name)) for name in self.__dataclass_fields__}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns of new rows differ in length: {lengths}")

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class StoredRows:
    """Stored documents by ascending seq. A column that was not asked for is empty."""

    seqs: Numbers
    ids: Sequence[Id]
    low: Hashes
    high: Hashes
    characters: Numbers
    tokens: Numbers
    bodies: Sequence[bytes | None] = ()
    signatures: Sequence[bytes | None] = ()
    attributes: Sequence[Attributes | None] = ()

    def __len__(self) -> int:
        return len(self.seqs)


class Snapshot(Protocol):
    """One committed state: all reads of a snapshot see the same. Ranges of seqs include both ends."""

    def last(self) -> int:
        """The highest seq ever used, also if that document was deleted since; 0 for none."""

    def count(self) -> int:
        """The number of documents."""

    def version(self) -> int:
        """The number of write transactions up to this state: other than before iff somebody committed."""

    def fetch(self, seqs: Numbers, columns: Columns = MATCH) -> StoredRows:
        """The rows with these seqs, each once, by ascending seq; deleted ones are left out."""

    def scan(self, low: int, high: int, columns: Columns = MATCH, most: int = 10_000) -> Iterator[StoredRows]:
        """The rows with low ≤ seq ≤ high by ascending seq, in batches of at most so many; none is empty."""

    def find(self, ids: Sequence[Id]) -> Numbers:
        """The seq of each id, 0 without a document."""

    def alive(self, low: int, high: int) -> Numbers:
        """The seqs of documents with low ≤ seq ≤ high, ascending."""

    def about(self) -> dict[str, str]:
        """Names and values that describe the index."""

    def sound_about(self) -> dict[str, str]:
        """As `about`, of an index that may be damaged: without entries that are."""

    def blob(self, name: str) -> bytes | None:
        """Data stored under a name."""


class Writer(Snapshot, Protocol):
    """The state inside a write transaction. Reads see what was written before them."""

    def insert(self, rows: NewRows, known: Numbers | None = None) -> Numbers:
        """The new seqs, consecutive. A document with a known id replaces the stored one.

        Of equal ids in one batch the last wins: the seqs of the others stand for nothing. `known` is what `find` has
        just given for these ids, so that they are not looked up twice.
        """

    def delete(self, ids: Sequence[Id]) -> int:
        """The number of documents deleted; unknown ids are none."""

    def set_about(self, **values: str) -> None:
        """Sets names and values that describe the index; others stay."""

    def set_blob(self, name: str, data: bytes) -> None:
        """Stores data under a name."""


class Truth(Protocol):
    """A store of documents. Threads may share it; each use of `reading` and `writing` has its own connection."""

    def reading(self) -> AbstractContextManager[Snapshot]:
        """A snapshot of the last commit, valid inside the `with`."""

    def writing(self) -> AbstractContextManager[Writer]:
        """The only writer. On exit everything is committed and durable; on an exception nothing is."""

    def version(self) -> int:
        """A number that changes with every commit, of this process or another."""

    def check(self) -> list[str]:
        """What is damaged, one sentence each; empty if all is well. Reads everything."""

    def salvage(self) -> Iterator[StoredRows]:
        """The undamaged rows, with all columns, by ascending seq, from a store that may be damaged."""

    def close(self) -> None:
        """Ends all connections. Further use raises an error."""


def text_bytes(text: str) -> bytes:
    """The stored form of any text; `text_of` gives it back exactly."""
    return text.encode("utf-8", "surrogatepass")


def text_of(data: bytes) -> str:
    """The text of a stored form."""
    return bytes(data).decode("utf-8", "surrogatepass")


def id_key(name: Id) -> bytes:
    """The stored form of an id."""
    if isinstance(name, str):
        return text_bytes(name)
    if isinstance(name, (int, np.integer)) and not isinstance(name, bool):
        try:
            return b"%d" % int(name)
        except ValueError:  # Python refuses to print thousands of digits
            raise InputError("An id has more digits than can be stored; use a string.") from None
    raise InputError(f"The id {name!r} is neither a string nor an integer.")


def id_keys(names: Sequence[Id]) -> list[bytes]:
    """The stored forms of ids."""
    kinds = set(map(type, names))
    if kinds == {str}:
        return [name.encode("utf-8", "surrogatepass") for name in names]  # type: ignore[union-attr]
    return [id_key(name) for name in names]


def id_of(key: bytes, integer: bool) -> Id:
    """The id of a stored form."""
    return int(key) if integer else text_of(key)


def attributes_text(attributes: Attributes | None) -> str | None:
    """Attributes as JSON in ASCII, which has a spelling for every str; without those that are None."""
    if attributes is None:
        return None
    return json.dumps({name: value for name, value in asdict(attributes).items() if value is not None})


def attributes_of(text: str | None) -> Attributes | None:
    """The attributes of a stored form."""
    if text is None:
        return None
    values = json.loads(text)
    if "access" in values:
        values["access"] = tuple(values["access"])
    return Attributes(**values)


_DOCUMENT = Struct("<qqqqq?q")
_BODY = Struct("<qqq")


def document_checksum(row: Row) -> int:
    """The checksum of seq, id, integer, low, high, characters, tokens, attributes."""
    seq, key, integer, low, high, characters, tokens, attributes = row
    length = -1 if attributes is None else len(attributes)
    start = zlib.crc32(_DOCUMENT.pack(seq, low, high, characters, tokens, integer, length))
    return zlib.crc32(key, start if attributes is None else zlib.crc32(attributes.encode(), start))


def body_checksum(row: Row) -> int:
    """The checksum of seq, body, signature."""
    seq, body, signature = row
    start = zlib.crc32(
        _BODY.pack(seq, -1 if body is None else len(body), -1 if signature is None else len(signature))
    )
    return zlib.crc32(signature or b"", zlib.crc32(body or b"", start))


def _document_checksums(*columns: Sequence[Any]) -> list[int]:
    """`document_checksum` of many rows, given as columns: the loops are in C, as bulk loads spend time here."""
    seqs, keys, integers, low, high, characters, tokens, attributes = columns
    lengths = [-1 if text is None else len(text) for text in attributes]
    heads = map(_DOCUMENT.pack, seqs, low, high, characters, tokens, integers, lengths)
    starts: Iterable[int] = map(zlib.crc32, heads)
    if max(lengths, default=-1) >= 0:
        starts = [
            start if text is None else zlib.crc32(text.encode(), start)
            for text, start in zip(attributes, starts, strict=True)
        ]
    return list(map(zlib.crc32, keys, starts))


def _body_checksums(*columns: Sequence[Any]) -> list[int]:
    """`body_checksum` of many rows, given as columns."""
    seqs, bodies, signatures = columns
    lengths = [[-1 if data is None else len(data) for data in column] for column in (bodies, signatures)]
    sums: Iterable[int] = map(zlib.crc32, map(_BODY.pack, seqs, *lengths))
    for column, sizes in zip((bodies, signatures), lengths, strict=True):
        if max(sizes, default=0) > 0:
            sums = map(zlib.crc32, (data or b"" for data in column), sums)
    return list(sums)


def state_checksum(last: int, count: int, commits: int) -> int:
    """The checksum of the one row of the state."""
    return zlib.crc32(_BODY.pack(last, count, commits))


def named_checksum(name: str, data: bytes) -> int:
    """The checksum of a row of `about` or `blobs`."""
    return zlib.crc32(data, zlib.crc32(name.encode()))


@dataclass(frozen=True)
class PreparedRows:
    """Rows as the tables have them. Equal ids: only the last is there."""

    keys: list[bytes]
    documents: list[Row]
    bodies: list[Row]


def prepare(rows: NewRows, first: int) -> PreparedRows:
    """The rows of the tables for new documents that are numbered from `first`."""
    keys = id_keys(rows.ids)
    flags = [not isinstance(name, str) for name in rows.ids]
    low, high = (np.asarray(part, np.uint64).view(np.int64).tolist() for part in (rows.low, rows.high))
    characters, tokens = (np.asarray(part, np.int64).tolist() for part in (rows.characters, rows.tokens))
    texts = [attributes_text(value) for value in rows.attributes]
    seqs = range(first, first + len(rows))
    known = (seqs, keys, flags, low, high, characters, tokens, texts)
    documents: list[Row] = list(zip(*known, _document_checksums(*known), strict=True))
    stored = (seqs, rows.bodies, rows.signatures)
    bodies: list[Row] = list(zip(*stored, _body_checksums(*stored), strict=True))
    final = {key: place for place, key in enumerate(keys)}
    if len(final) < len(keys):
        places = sorted(final.values())
        keys = [keys[place] for place in places]
        documents = [documents[place] for place in places]
        bodies = [bodies[place] for place in places]
    return PreparedRows(keys, documents, bodies)


def selection(columns: Columns) -> str:
    """The SELECT … FROM that `stored_rows` understands; the table of documents is `d`."""
    names = "d.seq, d.id, d.integer, d.low, d.high, d.characters, d.tokens"
    names += ", b.body" if columns.body else ""
    names += ", b.signature" if columns.signature else ""
    names += ", d.attributes" if columns.attributes else ""
    join = " JOIN bodies b ON b.seq = d.seq" if columns.body or columns.signature else ""
    return f"SELECT {names} FROM documents d{join}"


def stored_rows(rows: Iterable[Row], columns: Columns) -> StoredRows:
    """The rows of a `selection`, as columns."""
    found = list(zip(*rows, strict=True)) or [()] * 10
    try:
        seqs, low, high, characters, tokens = (np.array(found[place], np.int64) for place in (0, 3, 4, 5, 6))
        ids = [id_of(key, integer) for key, integer in zip(found[1], found[2], strict=True)]
        rest = iter(found[7:])
        return StoredRows(
            seqs,
            ids,
            low.view(np.uint64),
            high.view(np.uint64),
            characters,
            tokens,
            list(next(rest)) if columns.body else (),
            list(next(rest)) if columns.signature else (),
            [attributes_of(text) for text in next(rest)] if columns.attributes else (),
        )
    except (ValueError, TypeError, AttributeError, OverflowError) as problem:
        raise IndexDamaged(
            f"The index is damaged: documents between {found[0][0]} and {found[0][-1]} cannot be read."
        ) from problem


def sound_document(row: Row) -> bool:
    """Whether a row of `documents` is what was stored."""
    return _sound(document_checksum, row)


def sound_body(row: Row) -> bool:
    """Whether a row of `bodies` is what was stored."""
    return _sound(body_checksum, row)


def sound_name(row: Row) -> bool:
    """Whether a row of `about` or `blobs` is what was stored."""
    return _sound(lambda named: named_checksum(*named), row)


def _sound(checksum: Callable[[Row], int], row: Row) -> bool:
    try:
        return checksum(row[:-1]) == row[-1]
    except (StructError, TypeError, AttributeError, ValueError):  # a value of another type
        return False


Query = Callable[[str], Iterator[Row]]


def find_damage(query: Query) -> Iterator[Callable[[], Iterator[str]]]:
    """Checks of the tables' rows, each of which may fail by itself; `query` runs a statement."""
    yield lambda: _damaged_documents(query)
    yield lambda: _damaged_bodies(query)
    yield lambda: _damaged_names(query)


def _damaged_documents(query: Query) -> Iterator[str]:
    count = last = 0
    names = "seq, id, integer, low, high, characters, tokens, attributes, checksum"
    for row in query(f"SELECT {names} FROM documents ORDER BY seq"):
        count += 1
        if sound_document(row):
            last = row[0]  # of a damaged row it may be anything
        else:
            yield f"Document {row[0]} is damaged: its row has another checksum."
    states = list(query("SELECT last, count, commits, checksum FROM state"))
    if len(states) != 1 or not _sound(lambda state: state_checksum(*state), states[0]):
        yield "The state of the index is damaged: its row has another checksum."
    elif states[0][0] < last or states[0][1] != count:
        yield (
            f"The index should have {states[0][1]} documents up to number {states[0][0]}, "
            f"and has {count} up to number {last}."
        )


def _damaged_bodies(query: Query) -> Iterator[str]:
    for row in query("SELECT seq, body, signature, checksum FROM bodies ORDER BY seq"):
        if not sound_body(row):
            yield f"The body of document {row[0]} is damaged: its row has another checksum."
    for one, other in (("bodies", "documents"), ("documents", "bodies")):
        lost = f"SELECT seq FROM {one} WHERE seq NOT IN (SELECT seq FROM {other}) ORDER BY seq"
        for (seq,) in query(lost):
            yield f"Number {seq} has a row in the table of {one}, and none in the table of {other}."


def _damaged_names(query: Query) -> Iterator[str]:
    for table, column in (("about", "value"), ("blobs", "data")):
        for row in query(f"SELECT name, {column}, checksum FROM {table} ORDER BY name"):
            if not sound_name(row):
                yield f"The entry {row[0]!r} of {table!r} is damaged: its row has another checksum."


def sound_rows(documents: Iterable[Row], bodies: Iterable[Row]) -> StoredRows:
    """The rows, with all columns, of documents that are sound and whose bodies are."""
    found = {row[0]: row for row in bodies if sound_body(row)}
    rows = []
    for row in documents:
        if row[0] in found and sound_document(row):
            _, body, signature, _ = found[row[0]]
            rows.append((*row[:7], body, signature, row[7]))
    return stored_rows(rows, ALL)


def named_rows(values: Mapping[str, bytes]) -> list[Row]:
    """Rows of `about` or `blobs`."""
    return [(name, data, named_checksum(name, data)) for name, data in values.items()]


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
