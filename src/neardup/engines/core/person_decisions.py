"""Decisions of people, applied to those of a run.

A document that a person decided about is in the output exactly if the person left it in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.columns import Numbers, Pairs
from neardup.decisions.store import StandingDecision
from neardup.engines.core.decide import Decisions
from neardup.engines.core.documents import DocumentTable
from neardup.engines.core.duplicates import ClusterLayout
from neardup.engines.core.keep_order import id_places
from neardup.engines.core.leaders import Measure, packed
from neardup.engines.core.removal_evidence import look_up
from neardup.plan import Plan
from neardup.sorted_sets import distinct, without

__all__ = ["PersonDecisions", "follow"]

FIRST = 20  # decisions that are not applied, in the report
LONGEST_CHAIN = 1000  # of documents, each removed for the next
Digests = Callable[[Numbers], Sequence[bytes]]


@dataclass(frozen=True)
class PersonDecisions:
    """What people decided of the documents of a run, and what was decided without them."""

    applied: dict[int, StandingDecision]  # by document
    machine_keep: NDArray[np.bool_]  # of every document
    machine_duplicate_of: Numbers
    missed: tuple[dict[str, Any], ...]  # decisions that are not applied, and why
    changed: Counter[str]  # documents that stay or go against the machine

    def report(self) -> dict[str, Any]:
        """Counts for the report."""
        return {
            "applied": len(self.applied),
            "people": len({one.person for one in self.applied.values()}),
            "restored": self.changed["restored"],
            "removed": self.changed["removed"],
            "absent": sum(one["why"] == "absent" for one in self.missed),
            "changed": sum(one["why"] == "changed" for one in self.missed),
            "not_applied": list(self.missed[:FIRST]),
        }


def follow(
    plan: Plan,
    documents: DocumentTable,
    digests: Digests,
    decisions: Decisions,
    given: Sequence[StandingDecision],
    measure: Measure,
) -> Decisions:
    """The decisions, with those of people in their place; what a document duplicates now is measured."""
    keep, duplicate_of, labels = _by_document(documents, decisions)
    before = keep.copy(), duplicate_of.copy()
    applied, missed = _applicable(documents, digests, given)
    numbers = {one.state.id: number for number, one in applied.items()}
    groups: dict[str, int] = {}
    for number, one in applied.items():
        state, n = one.state, len(documents)
        keep[number] = state.keep
        duplicate_of[number] = numbers[state.duplicate_of] if state.duplicate_of is not None else -1
        if state.group is not None:
            labels[number] = 2 * n + groups.setdefault(state.group, len(groups))
        elif labels[number] < 0:
            labels[number] = n + number
    _follow_chains(applied, keep, duplicate_of)
    removed = np.flatnonzero(duplicate_of >= 0)
    labels[removed] = _joined(labels, duplicate_of, removed)
    changed = Counter(
        {
            "restored": int((keep & ~before[0]).sum()),
            "removed": int((before[0] & ~keep).sum()),
        }
    )
    people = PersonDecisions(applied, *before, tuple(missed), changed)
    return _remade(plan, documents, decisions, people, (keep, duplicate_of, labels), measure)


def _by_document(
    documents: DocumentTable, decisions: Decisions
) -> tuple[NDArray[np.bool_], Numbers, Numbers]:
    """For every document whether it stays, what it duplicates, and the label of its cluster; -1 without one."""
    n, members = len(documents), decisions.documents
    duplicate_of, labels = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    duplicate_of[members] = decisions.duplicate_of
    labels[members] = decisions.cluster
    return decisions.kept.copy(), duplicate_of, labels


def _applicable(
    documents: DocumentTable, digests: Digests, given: Sequence[StandingDecision]
) -> tuple[dict[int, StandingDecision], list[dict[str, Any]]]:
    """Decisions about documents that are there with the text that the person saw; and the others, with the reason."""
    names = documents.ids.cast(pa.string())
    rows = pc.indices_nonzero(
        pc.is_in(names, pa.array([one.state.id for one in given], pa.string()))
    ).to_numpy()
    rows = rows.astype(np.int64)
    known = dict(zip(names.take(pa.array(rows)).to_pylist(), rows.tolist(), strict=True))
    same = dict(zip(known, digests(rows), strict=True))
    fate = {
        one.state.id: "absent"
        if one.state.id not in known
        else "changed"
        if same[one.state.id] != one.state.digest
        else ""
        for one in given
    }
    applied, missed = {}, []
    for one in given:
        # A document must not go for one that is gone, or that says something else by now.
        why = fate[one.state.id] or (
            "" if one.state.keep else fate.get(one.state.duplicate_of or "", "absent")
        )
        if why:
            missed.append({"id": one.state.id, "why": why, "action": one.action, "person": one.person})
        else:
            applied[known[one.state.id]] = one
    return applied, missed


def _follow_chains(
    applied: dict[int, StandingDecision], keep: NDArray[np.bool_], duplicate_of: Numbers
) -> None:
    """A document whose duplicate people removed goes for the one that stays in the end."""
    gone = np.array([number for number in applied if not keep[number]], np.int64)
    affected = np.flatnonzero(np.isin(duplicate_of, gone) & (duplicate_of >= 0))
    for number in affected.tolist():
        at = int(duplicate_of[number])
        for _ in range(LONGEST_CHAIN):
            if keep[at] or duplicate_of[at] < 0 or at == number:
                break
            at = int(duplicate_of[at])
        stays = at == number or not keep[at]
        keep[number], duplicate_of[number] = (True, -1) if stays else (keep[number], at)


def _joined(labels: Numbers, duplicate_of: Numbers, removed: Numbers) -> Numbers:
    """The labels of removed documents: those of what they duplicate, which gets its own if it has none."""
    other = duplicate_of[removed]
    alone = other[labels[other] < 0]
    labels[alone] = len(labels) + alone
    return labels[other]


def _remade(
    plan: Plan,
    documents: DocumentTable,
    decisions: Decisions,
    people: PersonDecisions,
    state: tuple[NDArray[np.bool_], Numbers, Numbers],
    measure: Measure,
) -> Decisions:
    """Decisions with every column for these clusters."""
    keep, duplicate_of, labels = state
    members = _ordered(decisions, people, keep, labels)
    layout = ClusterLayout.of(labels[members])
    leader, other = members[layout.first], duplicate_of[members]
    representative = decisions.representative
    measured = _measured(plan, representative, members, other, decisions.measured, measure)
    links = look_up(plan, measured, representative, members, other)
    to_leader = look_up(plan, measured, representative, members, np.where(leader == members, -1, leader))
    return replace(
        decisions,
        documents=members,
        cluster=layout.named(members, id_places(documents, members)),
        leader=leader,
        keep=keep[members],
        duplicate_of=other,
        similarity=links.similarity,
        containment=links.containment,
        relation=links.relation,
        direct=links.direct,
        to_leader=to_leader.similarity,
        size=layout.size,
        weakest_link=_weakest(decisions, layout, members),
        kept=keep,
        measured=measured,
        people=people,
    )


def _ordered(
    decisions: Decisions, people: PersonDecisions, keep: NDArray[np.bool_], labels: Numbers
) -> Numbers:
    """The members of clusters, cluster by cluster, one that stays first; alone only if a person decided so."""
    place = np.full(len(labels), len(decisions.documents), np.int64)
    place[decisions.documents] = np.arange(len(decisions.documents))
    decided = np.array(sorted(people.applied), np.int64)
    inside = np.flatnonzero(labels >= 0)
    _, number, size = np.unique(labels[inside], return_inverse=True, return_counts=True)
    inside = inside[(size[number] > 1) | np.isin(inside, decided)]
    _, number = np.unique(labels[inside], return_inverse=True)
    first = np.full(number.max(initial=-1) + 1, len(labels), np.int64)
    np.minimum.at(first, number, place[inside])
    return inside[np.lexsort((inside, place[inside], ~keep[inside], number, first[number]))]


def _measured(
    plan: Plan, representative: Numbers, members: Numbers, other: Numbers, known: Pairs, measure: Measure
) -> Pairs:
    """The evidence with the pairs that people made."""
    if plan.check.level == "none":
        return known
    n, removed = len(representative), other >= 0
    asked = distinct(packed(representative[members[removed]], representative[other[removed]], n))
    asked = asked[asked // n != asked % n]
    missing = without(asked, np.sort(packed(known.left, known.right, n)))
    return Pairs.concatenate([known, measure(missing // n, missing % n)]) if len(missing) else known


def _weakest(decisions: Decisions, layout: ClusterLayout, members: Numbers) -> NDArray[np.float64]:
    """The weakest link of clusters that are as the machine made them; NaN for the others."""
    n = len(decisions.representative)
    old, size, value = np.full(n, -1, np.int64), np.zeros(n, np.int64), np.full(n, np.nan)
    old[decisions.documents], size[decisions.documents] = decisions.cluster, decisions.size
    value[decisions.documents] = decisions.weakest_link
    same = old[members] == old[members[layout.first]]
    whole = np.logical_and.reduceat(same, np.flatnonzero(layout.place == 0)) if len(members) else same
    fits = whole[layout.number] & (size[members] == layout.size) & (old[members] >= 0)
    return np.where(fits, value[members], np.nan)
