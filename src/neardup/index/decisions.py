"""What an indexer does with new documents, and a crawler with pages to fetch, given what is already held.

A copy counts only where everyone who may see a document may see the copy: nothing is discarded, lowered or put off
because of a document that some of its readers cannot see (simhash thesis, 7.1.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from neardup.errors import ParameterError
from neardup.index.documents import Document, Readers, best_first, covers, find_near, find_near_new

Action = Literal["keep", "lower", "discard"]


@dataclass(frozen=True)
class IndexDecision:
    """What to do with a document at index time."""

    action: Action
    because_of: Any = None  # the document already held; for the indexer, not for readers
    distance: int | None = None


def decide_at_index_time(
    new: Sequence[Document],
    held: Sequence[Document],
    *,
    distance: int = 3,
    discard: int | None = 0,
    same: int = 0,
) -> list[IndexDecision]:
    """For each new document: discard it, index it with less priority, or keep it, given what the index holds.

    A document is discarded when one within `discard` bits is held (None: never), lowered when one within `distance`
    bits is: but only if everyone who may see the new one may see the other. New documents are held in turn. A new
    version of a held document (the same id) is no copy of the old one, which it will replace.
    """
    if discard is not None and not 0 <= discard <= distance:
        raise ParameterError("discard", "index decisions", f"from 0 to the distance, {distance}", discard)
    group, near = find_near_new(held, new, distance, same)
    renewed = {document.id for document in new}
    known = _Known(len(near))
    for place, document in enumerate(held):
        if document.id not in renewed:
            known.add(group[place], document)
    decisions = []
    for place, document in enumerate(new, len(held)):
        decision = IndexDecision("keep")
        if group[place] >= 0:
            decision = _decide(known, near[group[place]], document, discard)
        if decision.action != "discard":
            known.add(group[place], document)
        decisions.append(decision)
    return decisions


def _decide(
    known: _Known, near: Sequence[tuple[int, int]], document: Document, discard: int | None
) -> IndexDecision:
    """By the nearest that covers the document, of equally near ones the first that was held."""
    found = [
        (apart, since, held.id)
        for number, apart in near
        for since, held in known.of(number)
        if covers(held.readers, document.readers)
    ]
    if not found:
        return IndexDecision("keep")
    apart, _, because = min(found, key=lambda item: item[:2])
    action: Action = "discard" if discard is not None and apart <= discard else "lower"
    return IndexDecision(action, because, apart)


class _Known:
    """Of each group of equal fingerprints the first document for each kind of readers."""

    def __init__(self, groups: int) -> None:
        self._held: list[dict[Readers, tuple[int, Document]]] = [{} for _ in range(groups)]
        self._count = 0

    def add(self, group: int, document: Document) -> None:
        self._count += 1
        if group >= 0:
            self._held[group].setdefault(document.readers, (self._count, document))

    def of(self, group: int) -> Sequence[tuple[int, Document]]:
        return list(self._held[group].values())


def crawl_order(documents: Sequence[Document], *, distance: int = 3, same: int = 0) -> list[Any]:
    """The ids in the order to download them: unique content first, then second copies, then third ones, …

    Within a round, higher quality first. A page counts as a copy of better ones that it is near to, and that
    everyone may see who may see the page itself.
    """
    order = best_first(documents, "quality")
    group, near = find_near(documents, distance, same)
    before: list[dict[Readers, int]] = [{} for _ in near]
    rounds = []
    for rank, place in enumerate(order):
        readers, mine = documents[place].readers, group[place]
        copies = 0
        if mine >= 0:
            copies = sum(
                count
                for number, _ in near[mine]
                for others, count in before[number].items()
                if covers(others, readers)
            )
            before[mine][readers] = before[mine].get(readers, 0) + 1
        rounds.append((copies, rank, documents[place].id))
    return [name for _, _, name in sorted(rounds, key=lambda item: item[:2])]
