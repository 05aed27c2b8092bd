"""Decisions for an index, a crawler and a result page; with permissions, from what a reader may see and nothing else.

Everything here that a reader sees is computed from the documents that this reader may see, as if there were no others:
no document that is hidden from a reader is named, counted, or has an effect on what the reader is shown. In particular
two visible documents are never folded together because both resemble a hidden one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from neardup.candidates.hamming import Held
from neardup.columns import Hashes
from neardup.errors import ParameterError

Readers = frozenset[str] | None  # groups that may see a document; None: everybody


def may_see(groups: Collection[str], readers: Readers) -> bool:
    """Whether someone of these groups may see a document."""
    return readers is None or not readers.isdisjoint(groups)


def covers(held: Readers, wanted: Readers) -> bool:
    """Whether everyone who may see the wanted document may see the held one."""
    return held is None or (wanted is not None and wanted <= held)


@dataclass(frozen=True)
class Document:
    """What a result page knows of a document."""

    id: Any
    fingerprint: int | None  # None: no features, near to nothing
    readers: Readers = None
    time: float = 0.0
    length: int = 0
    quality: float | None = None


@dataclass(frozen=True)
class IndexDecision:
    """What to do with a document at index time."""

    action: Literal["keep", "lower", "discard"]
    because_of: Any = None  # the document already held; for the indexer, not for readers
    distance: int | None = None


def decide_at_index_time(
    new: Sequence[Document], held: Sequence[Document], *, distance: int = 3, discard: int | None = 0
) -> list[IndexDecision]:
    """For each new document: discard it, index it with less priority, or keep it, given what the index holds.

    A document is discarded when one within `discard` bits is held (None: never), lowered when one within `distance`
    bits is: but only if everyone who may see the new one may see the other. New documents are held in turn.
    """
    everything = [*held, *new]
    columns, places = _columns(everything)
    tables = Held.of(columns, distance)
    queries = {len(held) + number: number for number in range(len(new))}
    wanted = [number for number in queries if everything[number].fingerprint is not None]
    query, found, apart = tables.search(columns[:, [places[number] for number in wanted]])
    number_of = {place: number for number, place in places.items()}
    decisions = [IndexDecision("keep")] * len(new)
    gone: set[int] = set()
    for at, place, d in sorted(zip(query.tolist(), found.tolist(), apart.tolist(), strict=True)):
        mine, other = wanted[at], number_of[place]
        if other >= mine or other in gone or mine in gone:
            continue
        if not covers(everything[other].readers, everything[mine].readers):
            continue
        action: Literal["lower", "discard"] = "discard" if discard is not None and d <= discard else "lower"
        known = decisions[queries[mine]]
        if (
            known.action == "keep"
            or (action == "discard" and known.action == "lower")
            or (known.action == action and known.distance is not None and d < known.distance)
        ):
            decisions[queries[mine]] = IndexDecision(action, everything[other].id, d)
        if action == "discard":
            gone.add(mine)
    return decisions


def crawl_order(documents: Sequence[Document], *, distance: int = 3) -> list[Any]:
    """The ids in the order to download them: unique content first, then second copies, then third ones, …

    Within a round, higher quality first. A page counts as a copy of better ones that it is near to.
    """
    order = sorted(range(len(documents)), key=lambda n: (-(documents[n].quality or 0.0), n))
    near = _neighbours([documents[n] for n in order], distance)
    rounds = []
    for place in range(len(order)):
        rounds.append(sum(other < place for other in near[place]))
    return [documents[order[place]].id for place in sorted(range(len(order)), key=lambda p: (rounds[p], p))]


@dataclass(frozen=True)
class Group:
    """A result, and the near-duplicates that are folded under it."""

    shown: Document
    folded: list[Document] = field(default_factory=list)


def collapse(
    results: Sequence[Document],
    groups: Collection[str] = (),
    *,
    distance: int = 3,
    order: Literal["rank", "time", "length"] = "rank",
) -> list[Group]:
    """A result list, best first, in which near-duplicates fold under the best one that the reader may see.

    Of a group the document of highest quality stands for the others (without qualities, the one ranked first), at
    the place of the first; each of the others is within the distance of it. They are listed by rank, time (newest
    first) or length (longest first).
    """
    if order not in ("rank", "time", "length"):
        raise ParameterError("order", "collapse", "'rank', 'time' or 'length'", order)
    visible = [document for document in results if may_see(groups, document.readers)]
    near = _neighbours(visible, distance)
    best = sorted(range(len(visible)), key=lambda n: (-(visible[n].quality or 0.0), n))
    leader = [-1] * len(visible)
    for number in best:  # clusters keyed by a master: nobody is further than the distance from it
        if leader[number] < 0:
            leader[number] = number
            for other in near[number]:
                leader[other] = number if leader[other] < 0 else leader[other]
    members: dict[int, list[int]] = {}
    for number in range(len(visible)):
        members.setdefault(leader[number], []).append(number)
    ordered = sorted(members.items(), key=lambda item: min(item[1]))
    return [
        Group(visible[master], _listed([visible[n] for n in some if n != master], order))
        for master, some in ordered
    ]


def _listed(documents: list[Document], order: str) -> list[Document]:
    if order == "time":
        return sorted(documents, key=lambda document: -document.time)
    return sorted(documents, key=lambda document: -document.length) if order == "length" else documents


def _columns(documents: Sequence[Document]) -> tuple[Hashes, dict[int, int]]:
    """The fingerprints of those that have one, and the place of each document among them."""
    numbers = [n for n, document in enumerate(documents) if document.fingerprint is not None]
    values = np.array([[documents[n].fingerprint for n in numbers]], np.uint64).reshape(1, len(numbers))
    return values, {number: place for place, number in enumerate(numbers)}


def _neighbours(documents: Sequence[Document], distance: int) -> list[list[int]]:
    """For each document those within the distance of it."""
    near: list[list[int]] = [[] for _ in documents]
    columns, places = _columns(documents)
    if len(places) > 1:
        from neardup.candidates.hamming import near_pairs

        numbers = list(places)
        left, right, _ = near_pairs(columns, distance)
        for a, b in zip(left.tolist(), right.tolist(), strict=True):
            near[numbers[a]].append(numbers[b])
            near[numbers[b]].append(numbers[a])
    return near
