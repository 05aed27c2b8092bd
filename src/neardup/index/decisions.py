"""Decisions about new documents, and the order to crawl pages, given the documents of an index.

A copy counts only if every group with access to a document has access to the copy: no document is dropped, demoted or
put off because of one that some of its groups cannot see (simhash thesis, 7.1.3).

Equal fingerprints do not prove equal texts: an edited document can have the fingerprint of the original. A document is
dropped only if the digest of its text is that of the other; near fingerprints alone demote it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from neardup.index.documents import (
    Access,
    Document,
    best_first,
    covers,
    find_neighbours,
    find_neighbours_of_new,
)

Action = Literal["keep", "demote", "drop"]
Evidence = Literal["copy", "likely"]


@dataclass(frozen=True)
class IndexDecision:
    """The decision about a new document: keep it, demote it (a lower crawl or index priority) or drop it."""

    action: Action
    because_of: Any = None  # id of the indexed document; for the indexer, never shown to users
    distance: int | None = None
    evidence: Evidence | None = None  # copy: the texts are equal; likely: only the fingerprints are near


def check_documents(
    new: Sequence[Document],
    indexed: Sequence[Document],
    *,
    distance: int = 3,
    drop: bool = True,
    same: int = 0,
) -> list[IndexDecision]:
    """A decision for each new document, by the indexed documents and the new ones before it.

    A document is dropped if a document of the index has the same text (with `drop` false it is demoted), and demoted
    if a fingerprint is within `distance` bits of its own, provided that every group with access to the new document has
    access to the other. A document with the id of an indexed one is its new version, not its copy.
    """
    fingerprints, neighbours = find_neighbours_of_new(indexed, new, distance, same)
    replaced = {document.id for document in new}
    known = _FirstDocuments(len(neighbours))
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
    known: _FirstDocuments, near: Sequence[tuple[int, int]], document: Document, drop: bool
) -> IndexDecision:
    """By the first copy that covers this document, or by the nearest document; of equally near ones, by the first."""
    copies = [place for place in known.copies(document) if covers(place[1].access, document.access)]
    if copies:
        return IndexDecision("drop" if drop else "demote", min(copies, key=_since)[1].id, 0, "copy")
    found = [
        (distance, since, other.id)
        for number, distance in near
        for since, other in known.of(number)
        if covers(other.access, document.access)
    ]
    if not found:
        return IndexDecision("keep")
    distance, _, because = min(found, key=lambda item: item[:2])
    return IndexDecision("demote", because, distance, "likely")


Place = tuple[int, Document]  # a document, and the number of documents up to it


def _since(place: Place) -> int:
    return place[0]


class _FirstDocuments:
    """Of each distinct fingerprint and of each distinct text, the first document for each set of groups with access."""

    def __init__(self, fingerprints: int) -> None:
        self._near: list[dict[Access, Place]] = [{} for _ in range(fingerprints)]
        self._equal: dict[bytes, dict[Access, Place]] = {}
        self._count = 0

    def add(self, fingerprint: int, document: Document) -> None:
        self._count += 1
        if fingerprint < 0:
            return
        self._near[fingerprint].setdefault(document.access, (self._count, document))
        if document.digest is not None:
            texts = self._equal.setdefault(document.digest, {})
            texts.setdefault(document.access, (self._count, document))

    def of(self, fingerprint: int) -> Sequence[Place]:
        return list(self._near[fingerprint].values())

    def copies(self, document: Document) -> Sequence[Place]:
        return [] if document.digest is None else list(self._equal.get(document.digest, {}).values())


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
