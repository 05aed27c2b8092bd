"""Decisions about new documents, and the order to crawl pages, given documents and who is near whom.

A copy counts only if every group with access to a document has access to the copy: no document is dropped, demoted or
put off because of one that some of its groups cannot see (simhash thesis, 7.1.3).

A near-duplicate is no copy, however similar: a document is dropped only if the 128-bit digest of its text is that of
the other; a near one demotes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from neardup.index.documents import Access, FingerprintedDocument, Near, Neighbours, best_first, covers

Action = Literal["keep", "demote", "drop"]


@dataclass(frozen=True)
class IndexDecision:
    """The decision about a new document: keep it, demote it (a lower crawl or index priority) or drop it."""

    action: Action
    because_of: Any = None  # id of the indexed document; for the indexer, never shown to users
    similarity: float | None = None  # None: no document is near, or the method measures nothing
    relation: str | None = (
        None  # of the new document to the indexed one: copy, near-duplicate, contains, contained
    )


def check_documents(
    new: Sequence[FingerprintedDocument],
    indexed: Sequence[FingerprintedDocument],
    neighbours: Neighbours,
    *,
    drop: bool = True,
) -> list[IndexDecision]:
    """A decision for each new document, by the indexed documents and the new ones before it.

    A document is dropped if another one has the same text (with `drop` false it is demoted), and demoted if another
    one is near, provided that every group with access to the new document has access to the other. A document with
    the id of an indexed one is its new version, not its copy.

    Args:
        new: The documents to decide about, in order.
        indexed: Documents of the index, in the order they were added; those near no new one may be left out.
        neighbours: Who is near whom, among the indexed documents and then the new ones.
        drop: Whether copies are dropped.
    """
    nodes, near = neighbours
    replaced = {str(document.id) for document in new}
    known = _FirstDocuments(len(near))
    for place, document in enumerate(indexed):
        if str(document.id) not in replaced:
            known.add(nodes[place], document)
    decisions = []
    for place, document in enumerate(new, len(indexed)):
        decision = IndexDecision("keep")
        if nodes[place] >= 0:
            decision = _decide(known, near[nodes[place]], document, drop)
        if decision.action != "drop":
            known.add(nodes[place], document)
        decisions.append(decision)
    return decisions


def _decide(
    known: _FirstDocuments, near: Sequence[Near], document: FingerprintedDocument, drop: bool
) -> IndexDecision:
    """By the first copy that covers this document, or by the nearest document; of equally near ones, by the first."""
    copies = [place for place in known.copies(document) if covers(place[1].access, document.access)]
    if copies:
        first = min(copies, key=lambda place: place[0])[1]
        return IndexDecision("drop" if drop else "demote", first.id, 1.0, "copy")
    found = [
        (other, since, one.id)
        for other in near
        for since, one in known.of(other.node)
        if covers(one.access, document.access)
    ]
    if not found:
        return IndexDecision("keep")
    nearest, _, because = min(found, key=lambda item: (-(item[0].similarity or 0.0), item[1]))
    return IndexDecision("demote", because, nearest.similarity, nearest.relation)


Place = tuple[int, FingerprintedDocument]  # a document, and the number of documents up to it


class _FirstDocuments:
    """Of each node and of each distinct text, the first document for each set of groups with access."""

    def __init__(self, nodes: int) -> None:
        self._near: list[dict[Access, Place]] = [{} for _ in range(nodes)]
        self._equal: dict[bytes, dict[Access, Place]] = {}
        self._count = 0

    def add(self, node: int, document: FingerprintedDocument) -> None:
        self._count += 1
        if node < 0:
            return
        self._near[node].setdefault(document.access, (self._count, document))
        if document.digest is not None:
            texts = self._equal.setdefault(document.digest, {})
            texts.setdefault(document.access, (self._count, document))

    def of(self, node: int) -> Sequence[Place]:
        return list(self._near[node].values())

    def copies(self, document: FingerprintedDocument) -> Sequence[Place]:
        return [] if document.digest is None else list(self._equal.get(document.digest, {}).values())


def crawl_order(documents: Sequence[FingerprintedDocument], neighbours: Neighbours) -> list[Any]:
    """Ids in the order to download them: unique pages first, then second copies, then third ones, …

    Within a round, higher quality comes first. A page is a copy of a better page that is near if every group with
    access to the page has access to the better one.
    """
    nodes, near = neighbours
    before: list[dict[Access, int]] = [{} for _ in near]
    rounds = []
    for position, place in enumerate(best_first(documents, "quality")):
        access, mine = documents[place].access, nodes[place]
        copies = 0
        if mine >= 0:
            copies = sum(
                count
                for other in near[mine]
                for others, count in before[other.node].items()
                if covers(others, access)
            )
            before[mine][access] = before[mine].get(access, 0) + 1
        rounds.append((copies, position, documents[place].id))
    return [name for _, _, name in sorted(rounds, key=lambda item: item[:2])]
