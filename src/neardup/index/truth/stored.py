"""Documents as the tables store them: keys of ids, attributes as JSON, checksums, and which rows can be trusted."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from struct import Struct
from struct import error as StructError
from typing import Any

import numpy as np

from neardup.errors import IndexDamaged, InputError
from neardup.index.truth import ALL, Attributes, Columns, Id, NewRows, Row, StoredRows


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
