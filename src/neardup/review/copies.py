"""How many documents each source copies from each other: removed documents by the sources of the two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from neardup.documents import Batch, Problems, document_ids, plain_column
from neardup.errors import InputError
from neardup.review.breakdown import host_of, source_column
from neardup.review.folder import RunFolder
from neardup.review.texts import Place

NONE = "(none)"  # documents without a value
ADDRESSES = ("url", "uri")


@dataclass(frozen=True)
class Copied:
    """The documents of one source that repeat documents of another one, or of itself."""

    copies: str
    copied: str
    documents: int
    exact: int  # … of which are exact copies
    share: float  # of the documents of the source that copies


@dataclass(frozen=True)
class CopiesBySource:
    """Who copies from whom, most first; and how many documents each source has."""

    column: str
    documents: dict[str, int]
    rows: list[Copied]


def count_copies(folder: RunFolder, column: str | None) -> CopiesBySource:
    """Removed documents of a result by source, with the sources of the documents that they duplicate."""
    places = [place for place in folder.places() if place is not None]
    chosen = column or _usual(places)
    pairs = list(_removed(folder))
    wanted = {name for pair in pairs for name in pair[:2]}
    documents: Counter[str] = Counter()
    source_of: dict[str, str] = {}
    for names, values in _values(places, chosen):
        for name, value in zip(names, values, strict=True):
            documents[value] += 1
            if name in wanted:
                source_of[name] = value
    found: Counter[tuple[str, str]] = Counter()
    exact: Counter[tuple[str, str]] = Counter()
    for name, other, copy in pairs:
        pair = source_of.get(name, NONE), source_of.get(other, NONE)
        found[pair] += 1
        exact[pair] += copy
    rows = [
        Copied(*pair, count, exact[pair], count / max(documents[pair[0]], 1)) for pair, count in found.items()
    ]
    rows.sort(key=lambda row: (-row.documents, row.copies, row.copied))
    return CopiesBySource(chosen, dict(documents.most_common()), rows)


def _usual(places: list[Place]) -> str:
    names = list(
        dict.fromkeys(name for place in places for source in place.open() for name in source.names())
    )
    found = source_column(names)
    if found is None:
        raise InputError(
            f"no column of the documents says where they come from: name one with --by ({', '.join(names)})"
        )
    return found


def _removed(folder: RunFolder) -> Iterator[tuple[str, str, bool]]:
    """Each removed document, the one that it duplicates, and whether the two are equal."""
    for batch in folder.table("clusters", ["id", "duplicate_of", "relation"]):
        rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
        yield from (
            (str(name), str(other), kind == "copy") for name, other, kind in rows if other is not None
        )


def _values(places: list[Place], column: str) -> Iterator[tuple[list[str], list[str]]]:
    """The names of all documents and their sources, from the result, or from the input if the result has none."""
    own = [place for place in places if place.is_output]
    host = column.lower() in ADDRESSES
    for place in own or places[:1]:
        for source in place.open():
            names = source.names()
            if column not in names:
                raise InputError(
                    f"{source.name} has no column {column!r} (--by); its columns are {', '.join(names)}"
                )
            identity = place.id_column(source)
            for batch in source.read(
                list(dict.fromkeys([*([identity] if identity else []), column])), Problems()
            ):
                values = _texts(batch, column)
                ids = document_ids(batch, identity).cast(pa.string()).to_pylist()
                yield ids, [host_of(value) for value in values] if host else values


def _texts(batch: Batch, column: str) -> list[str]:
    found: list[Any] = plain_column(batch, column).to_pylist()
    return [NONE if value is None else str(value) for value in found]
