"""How many documents each source copies from each other: removed documents by the sources of the two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email.utils import parseaddr
from typing import Any

import pyarrow as pa

from neardup.documents import Batch, Problems, document_ids, plain_column
from neardup.errors import InputError
from neardup.review.breakdown import host_of, source_column
from neardup.review.folder import RunFolder
from neardup.review.texts import Place

NONE = "(none)"  # documents without a value
ADDRESSES = ("url", "uri")
SENDERS = ("from", "sender")  # of mail: they count by address, whatever name stands before it


@dataclass(frozen=True)
class Copied:
    """The documents of one source that repeat documents of another one, or of itself."""

    copies: str
    copied: str
    documents: int
    exact: int  # … of which are exact copies
    share: float  # of the documents of the source that copies


@dataclass(frozen=True)
class Spread:
    """A cluster, its documents, and how many sources they have: newsletters have one sender, spam has many."""

    cluster: str
    documents: int
    sources: int
    largest: str  # the source of most of them


@dataclass(frozen=True)
class CopiesBySource:
    """Who copies from whom, most first; how many documents each source has; and the clusters, the largest first."""

    column: str
    documents: dict[str, int]
    rows: list[Copied]
    clusters: list[Spread]


def count_copies(folder: RunFolder, column: str | None) -> CopiesBySource:
    """Removed documents of a result by source, with the sources of the documents that they duplicate."""
    places = [place for place in folder.places() if place is not None]
    chosen = column or _usual(places)
    cluster_of, pairs = _clusters(folder)
    documents: Counter[str] = Counter()
    source_of: dict[str, str] = {}
    for names, values in _values(places, chosen):
        for name, value in zip(names, values, strict=True):
            documents[value] += 1
            if name in cluster_of:
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
    return CopiesBySource(chosen, dict(documents.most_common()), rows, _spread(cluster_of, source_of))


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


def _clusters(folder: RunFolder) -> tuple[dict[str, str], list[tuple[str, str, bool]]]:
    """The cluster of each document; each removed one with the one that it duplicates, and whether they are equal."""
    cluster_of: dict[str, str] = {}
    pairs = []
    for batch in folder.table("clusters", ["id", "cluster", "duplicate_of", "relation"]):
        for name, cluster, other, kind in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            cluster_of[str(name)] = str(cluster)
            if other is not None:
                pairs.append((str(name), str(other), kind == "copy"))
                cluster_of.setdefault(str(other), str(cluster))
    return cluster_of, pairs


def _spread(cluster_of: dict[str, str], source_of: dict[str, str]) -> list[Spread]:
    """The sources of each cluster."""
    found: dict[str, Counter[str]] = {}
    for name, cluster in cluster_of.items():
        found.setdefault(cluster, Counter())[source_of.get(name, NONE)] += 1
    rows = [
        Spread(cluster, counts.total(), len(counts), min(counts, key=lambda one: (-counts[one], one)))
        for cluster, counts in found.items()
    ]
    return sorted(rows, key=lambda row: (-row.documents, row.cluster))


def _values(places: list[Place], column: str) -> Iterator[tuple[list[str], list[str]]]:
    """The names of all documents and their sources, from the result, or from the input if the result has none."""
    own = [place for place in places if place.is_output]
    how = _reading(column)
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
                ids = document_ids(batch, identity).cast(pa.string()).to_pylist()
                yield ids, [how(value) for value in _texts(batch, column)]


def _reading(column: str) -> Callable[[str], str]:
    """The source that a value of the column names: a host, the address of a sender, or the value."""
    if column.lower() in ADDRESSES:
        return host_of
    return _sender if column.lower() in SENDERS else str


def _sender(value: str) -> str:
    """The address of a sender, or the whole if it has none."""
    return parseaddr(value)[1].lower() or value


def _texts(batch: Batch, column: str) -> list[str]:
    found: list[Any] = plain_column(batch, column).to_pylist()
    return [NONE if value is None else str(value) for value in found]
