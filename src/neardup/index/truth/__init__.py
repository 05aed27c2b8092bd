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

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from neardup.columns import Hashes, Numbers

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


class StoreWriter(Snapshot, Protocol):
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


class DocumentStore(Protocol):
    """A store of documents. Threads may share it; each use of `reading` and `writing` has its own connection."""

    def reading(self) -> AbstractContextManager[Snapshot]:
        """A snapshot of the last commit, valid inside the `with`."""

    def writing(self) -> AbstractContextManager[StoreWriter]:
        """The only writer. On exit everything is committed and durable; on an exception nothing is."""

    def version(self) -> int:
        """A number that changes with every commit, of this process or another."""

    def check(self) -> list[str]:
        """What is damaged, one sentence each; empty if all is well. Reads everything."""

    def salvage(self) -> Iterator[StoredRows]:
        """The undamaged rows, with all columns, by ascending seq, from a store that may be damaged."""

    def close(self) -> None:
        """Ends all connections. Further use raises an error."""
