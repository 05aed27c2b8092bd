"""What a crawler, an indexer or a result page knows of a document, who may see it, and which others are near it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from neardup.candidates.hamming import FingerprintIndex, near_pairs
from neardup.columns import Hashes
from neardup.errors import ParameterError
from neardup.plan import Plan

Readers = frozenset[str] | None  # groups that may see a document; None: everybody
Master = Literal["rank", "quality", "newest", "shortest_url", "longest"]
MASTERS = ("rank", "quality", "newest", "shortest_url", "longest")


def may_see(groups: Collection[str], readers: Readers) -> bool:
    """Whether someone of these groups may see a document."""
    return readers is None or not readers.isdisjoint(groups)


def covers(held: Readers, wanted: Readers) -> bool:
    """Whether everyone who may see the wanted document may see the held one."""
    return held is None or (wanted is not None and wanted <= held)


@dataclass(frozen=True)
class Document:
    """A document without its text."""

    id: Any
    fingerprint: int | None  # None: no features, near to nothing
    readers: Readers = None
    time: float = 0.0
    length: int = 0
    quality: float | None = None
    url: str | None = None


def best_first(documents: Sequence[Document], master: Master) -> list[int]:
    """The places of documents, the one that should stand for the others first; of equals the one ranked first.

    newest, highest quality, shortest url or longest (simhash thesis, 2.6.2); what has no such value comes last.
    """
    keys: dict[str, Any] = {
        "rank": lambda document: 0,
        "quality": lambda document: -(float("-inf") if document.quality is None else document.quality),
        "newest": lambda document: -document.time,
        "shortest_url": lambda document: float("inf") if not document.url else len(document.url),
        "longest": lambda document: -document.length,
    }
    if master not in keys:
        raise ParameterError("master", "clusters", "one of " + ", ".join(MASTERS), master)
    return sorted(range(len(documents)), key=lambda number: (keys[master](documents[number]), number))


class NearGroups(NamedTuple):
    """Documents in groups of equal fingerprints, and which groups are near: equal ones need no pair each."""

    group: list[int]  # of each document; -1 where it has no fingerprint
    near: list[list[tuple[int, int]]]  # of each group: (group, distance), itself at 0 first


def reserved_bits(plan: Plan) -> int:
    """The bits that must be equal, set: those that the plan has reserved for a field."""
    bits, last = int(plan.candidates.bits), int(getattr(plan.candidates, "exact", 0))  # type: ignore[attr-defined]
    return (1 << bits) - (1 << (bits - last))


def find_near(documents: Sequence[Document], distance: int, same: int = 0) -> NearGroups:
    """The groups of all documents, and of each those within the distance that have the bits of `same` in common."""
    group, values, columns = _groups(documents)
    near: list[list[tuple[int, int]]] = [[(number, 0)] for number in range(columns.shape[1])]
    if columns.shape[1] > 1:
        for a, b, apart in zip(*(part.tolist() for part in near_pairs(columns, distance)), strict=True):
            if not (values[a] ^ values[b]) & same:
                near[a].append((b, apart))
                near[b].append((a, apart))
    return NearGroups(group, near)


def find_near_new(
    held: Sequence[Document], new: Sequence[Document], distance: int, same: int = 0
) -> NearGroups:
    """The groups of held documents, then of new ones; neighbours are looked up for the new ones only."""
    group, values, columns = _groups([*held, *new])
    near: list[list[tuple[int, int]]] = [[] for _ in range(columns.shape[1])]
    wanted = np.unique(np.array([number for number in group[len(held) :] if number >= 0], np.int64))
    if len(wanted):
        found = FingerprintIndex.of(columns, distance).search(np.ascontiguousarray(columns[:, wanted]))
        for query, other, apart in zip(*(part.tolist() for part in found), strict=True):
            mine = int(wanted[query])
            if not (values[mine] ^ values[other]) & same:
                near[mine].append((other, apart))
    return NearGroups(group, near)


def _groups(documents: Sequence[Document]) -> tuple[list[int], list[int], Hashes]:
    """The number of each document's fingerprint among the different ones, those, and the same as columns of words."""
    known: dict[int, int] = {}
    group = [
        -1 if document.fingerprint is None else known.setdefault(document.fingerprint, len(known))
        for document in documents
    ]
    words = max([1, *(-(-value.bit_length() // 64) for value in known)])
    data = b"".join(value.to_bytes(8 * words, "little") for value in known)
    rows = np.frombuffer(data, "<u8").astype(np.uint64).reshape(len(known), words)
    return group, list(known), np.ascontiguousarray(rows.T)
