"""Documents without their text: attributes, groups with access, and which are near each other.

`neardup collapse` finds neighbours by fingerprint; an index by its verified matches (neighbours.py).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from neardup.candidates.hamming import near_pairs
from neardup.columns import Hashes
from neardup.errors import ParameterError
from neardup.plan import Plan

Access = frozenset[str] | None  # groups with access to a document; None: everybody
Master = Literal["rank", "quality", "newest", "shortest_url", "longest"]
MASTERS = ("rank", "quality", "newest", "shortest_url", "longest")


def may_see(groups: Collection[str], access: Access) -> bool:
    """Whether any of these groups has access to a document."""
    return access is None or not access.isdisjoint(groups)


def covers(indexed: Access, new: Access) -> bool:
    """Whether every group with access to the new document has access to the indexed one."""
    return indexed is None or (new is not None and new <= indexed)


@dataclass(frozen=True)
class FingerprintedDocument:
    """A document without its text."""

    id: Any
    fingerprint: int | None = None  # None: no features, never matched by fingerprint
    access: Access = None
    time: float = 0.0
    length: int = 0
    quality: float | None = None
    url: str | None = None
    digest: bytes | None = None  # of the text; None: unknown, equal to no other


def best_first(documents: Sequence[FingerprintedDocument], master: Master) -> list[int]:
    """Positions of documents, the best master first; ties by rank.

    Newest, highest quality, shortest URL or longest (simhash thesis, 2.6.2); documents without the value come last.
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


class Near(NamedTuple):
    """A distinct text, or fingerprint, that is near another one, and how that other one relates to it."""

    node: int
    similarity: float | None  # None: the method measures nothing
    relation: str | None = "near-duplicate"


class Neighbours(NamedTuple):
    """The distinct texts or fingerprints of documents, and which are near each other: equal ones need no pair each."""

    nodes: list[int]  # of each document the number of its distinct text or fingerprint; -1: never matched
    near: list[list[Near]]  # of each node


def reserved_bits(plan: Plan) -> int:
    """A mask of the bits that the plan reserves for a field, which must be equal."""
    bits, last = int(plan.candidates.bits), int(getattr(plan.candidates, "exact", 0))  # type: ignore[attr-defined]
    return (1 << bits) - (1 << (bits - last))


def find_neighbours(documents: Sequence[FingerprintedDocument], distance: int, same: int = 0) -> Neighbours:
    """The neighbours of every document by fingerprint: within the distance, and equal in the bits of `same`.

    Each fingerprint is its own first neighbour. A similarity is the share of equal bits, of 64 or a multiple.
    """
    nodes, values, columns = _distinct_fingerprints(documents)
    bits = 64 * len(columns)
    near = [[Near(number, 1.0)] for number in range(columns.shape[1])]
    if columns.shape[1] > 1:
        for a, b, apart in zip(*(part.tolist() for part in near_pairs(columns, distance)), strict=True):
            if not (values[a] ^ values[b]) & same:
                near[a].append(Near(b, 1 - apart / bits))
                near[b].append(Near(a, 1 - apart / bits))
    return Neighbours(nodes, near)


def _distinct_fingerprints(documents: Sequence[FingerprintedDocument]) -> tuple[list[int], list[int], Hashes]:
    """The number of each document's distinct fingerprint, the distinct fingerprints, and these as columns of words."""
    known: dict[int, int] = {}
    numbers = [
        -1 if document.fingerprint is None else known.setdefault(document.fingerprint, len(known))
        for document in documents
    ]
    words = max([1, *(-(-value.bit_length() // 64) for value in known)])
    data = b"".join(value.to_bytes(8 * words, "little") for value in known)
    rows = np.frombuffer(data, "<u8").astype(np.uint64).reshape(len(known), words)
    return numbers, list(known), np.ascontiguousarray(rows.T)
