"""Decisions about new documents, and the order to crawl pages, given the documents of an index.

A copy counts only if every group with access to a document has access to the copy: no document is dropped, demoted or
put off because of one that some of its groups cannot see (simhash thesis, 7.1.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from neardup.errors import ParameterError
from neardup.index.documents import (
    Access,
    Document,
    best_first,
    covers,
    find_neighbours,
    find_neighbours_of_new,
)

Action = Literal["keep", "demote", "drop"]


@dataclass(frozen=True)
class IndexDecision:
    """The decision about a new document: keep it, demote it (a lower crawl or index priority) or drop it."""

    action: Action
    because_of: Any = None  # id of the indexed document; for the indexer, never shown to users
    distance: int | None = None


def check_documents(
    new: Sequence[Document],
    indexed: Sequence[Document],
    *,
    distance: int = 3,
    drop: int | None = 0,
    same: int = 0,
) -> list[IndexDecision]:
    """A decision for each new document, by the indexed documents and the new ones before it.

    A document is dropped if a document of the index is within `drop` bits of it (None: never), and demoted if one is
    within `distance` bits, provided that every group with access to the new document has access to the other. A
    document with the id of an indexed one is its new version, not its copy.
    """
    if drop is not None and not 0 <= drop <= distance:
        raise ParameterError("drop", "index check", f"from 0 to the distance, {distance}", drop)
    fingerprints, neighbours = find_neighbours_of_new(indexed, new, distance, same)
    replaced = {document.id for document in new}
    known = _Known(len(neighbours))
    for place, document in enumerate(indexed):
        if document.id not in replaced:
            known.add(fingerprints[place], document)
    decisions = []
    for place, document in enumerate(new, len(indexed)):
        decision = IndexDecision("keep")
        if fingerprints[place] >= 0:
            decision = _decide(known, neighbours[fingerprints[place]], document, drop)
        if decision.action != "drop":
            known.add(fingerprints[place], document)
        decisions.append(decision)
    return decisions


def _decide(
    known: _Known, near: Sequence[tuple[int, int]], document: Document, drop: int | None
) -> IndexDecision:
    """By the nearest document that covers this one; of equally near ones, the first that was indexed."""
    found = [
        (distance, since, other.id)
        for number, distance in near
        for since, other in known.of(number)
        if covers(other.access, document.access)
    ]
    if not found:
        return IndexDecision("keep")
    distance, _, because = min(found, key=lambda item: item[:2])
    action: Action = "drop" if drop is not None and distance <= drop else "demote"
    return IndexDecision(action, because, distance)


class _Known:
    """Of each distinct fingerprint, the first document for each set of groups with access."""

    def __init__(self, fingerprints: int) -> None:
        self._first: list[dict[Access, tuple[int, Document]]] = [{} for _ in range(fingerprints)]
        self._count = 0

    def add(self, fingerprint: int, document: Document) -> None:
        self._count += 1
        if fingerprint >= 0:
            self._first[fingerprint].setdefault(document.access, (self._count, document))

    def of(self, fingerprint: int) -> Sequence[tuple[int, Document]]:
        return list(self._first[fingerprint].values())


def crawl_order(documents: Sequence[Document], *, distance: int = 3, same: int = 0) -> list[Any]:
    """Ids in the order to download them: unique pages first, then second copies, then third ones, …

    Within a round, higher quality comes first. A page is a copy of a better page within the distance if every group
    with access to the page has access to the better one.
    """
    order = best_first(documents, "quality")
    fingerprints, neighbours = find_neighbours(documents, distance, same)
    before: list[dict[Access, int]] = [{} for _ in neighbours]
    rounds = []
    for position, place in enumerate(order):
        access, mine = documents[place].access, fingerprints[place]
        copies = 0
        if mine >= 0:
            copies = sum(
                count
                for number, _ in neighbours[mine]
                for others, count in before[number].items()
                if covers(others, access)
            )
            before[mine][access] = before[mine].get(access, 0) + 1
        rounds.append((copies, position, documents[place].id))
    return [name for _, _, name in sorted(rounds, key=lambda item: item[:2])]
