"""A cluster as a person sees it: the machine's decisions, with those of people in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neardup.decisions.rules import DocumentState
from neardup.decisions.store import Decision, DecisionStore, StandingDecision
from neardup.studio.review_index import ClusterRow, DocumentRow, LinkRow, ReviewIndex

__all__ = ["ShownCluster", "ShownDocument", "load_cluster"]

SHOWN = 100  # documents of a page


@dataclass(frozen=True)
class ShownDocument:
    """A document with what stands about it."""

    row: DocumentRow
    state: DocumentState
    person: StandingDecision | None  # who has the last word; None: the machine

    @property
    def id(self) -> str:
        """Its name."""
        return self.row.id


@dataclass(frozen=True)
class ShownCluster:
    """A cluster with everything that its page shows but the texts."""

    row: ClusterRow
    documents: list[ShownDocument]
    history: list[Decision]
    links: list[LinkRow]

    @property
    def version(self) -> int:
        """What a decision about this state names."""
        return self.history[-1].number if self.history else 0

    @property
    def states(self) -> list[DocumentState]:
        """The states of all documents, best first."""
        return [one.state for one in self.documents]

    @property
    def standing(self) -> list[Decision]:
        """The decisions that are not undone."""
        undone = {one.undoes for one in self.history}
        return [one for one in self.history if one.action != "undo" and one.number not in undone]

    def find(self, id: str) -> ShownDocument | None:
        """The document of this name."""
        return next((one for one in self.documents if one.id == id), None)

    def selected(self, id: str) -> ShownDocument:
        """The document that is asked for; else the riskiest one that nobody has decided about."""
        found = self.find(id) if id else None
        if found is not None:
            return found
        removed = [one for one in self.documents if not one.row.keep]
        undecided = [one for one in removed if one.person is None] or removed or self.documents
        return min(undecided, key=lambda one: (one.row.evidence == "copy", _risk(one)))

    def partner(self, one: ShownDocument) -> ShownDocument | None:
        """The document to compare with: what it duplicates, or did; for a kept one the least similar duplicate."""
        other = self.find(one.state.duplicate_of or one.row.duplicate_of or "")
        if other is not None:
            return other
        followers = [
            two for two in self.documents if one.id in (two.state.duplicate_of, two.row.duplicate_of)
        ]
        others = followers or [two for two in self.documents if two is not one]
        return min(others, key=_risk, default=None)

    def part(self, selected: ShownDocument) -> tuple[int, list[ShownDocument]]:
        """The documents of the page that has this one, and the place of the first of them."""
        place = self.documents.index(selected)
        first = place // SHOWN * SHOWN
        return first, self.documents[first : first + SHOWN]

    def beside(self, selected: ShownDocument, step: int) -> ShownDocument | None:
        """The document before or after this one."""
        place = self.documents.index(selected) + step
        return self.documents[place] if 0 <= place < len(self.documents) else None

    def similarity(self, left: ShownDocument, right: ShownDocument) -> float | None:
        """The recorded similarity of two documents."""
        for one, other in ((left, right), (right, left)):
            if one.row.duplicate_of == other.id:
                return one.row.similarity
        ends = {left.id, right.id}
        return next((link.similarity for link in self.links if {link.left, link.right} == ends), None)


def _risk(one: ShownDocument) -> float:
    return -1.0 if one.row.similarity is None else one.row.similarity


def load_cluster(index: ReviewIndex, store: DecisionStore, row: ClusterRow) -> ShownCluster:
    """The cluster as it stands now."""
    history = store.of_cluster(row.name)  # before the states: a decision in between is a conflict, not lost
    members = index.members(row.name)
    standing = store.standing([one.id for one in members])
    documents = [_shown(one, standing.get(one.id)) for one in members]
    return ShownCluster(row, documents, history, index.links(row.name))


def _shown(row: DocumentRow, person: StandingDecision | None) -> ShownDocument:
    if person is not None and person.state.digest == row.digest:
        return ShownDocument(row, person.state, person)
    return ShownDocument(row, DocumentState(row.id, row.digest, row.keep, row.duplicate_of), None)


def groups_of(documents: Sequence[ShownDocument]) -> dict[str | None, int]:
    """The groups of a cluster, numbered from 1; people make more than one."""
    return {
        group: place for place, group in enumerate(dict.fromkeys(one.state.group for one in documents), 1)
    }
