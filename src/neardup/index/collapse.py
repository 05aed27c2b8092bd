"""Clusters keyed by a master, and result lists, restricted to the documents that some groups have access to.

Hidden documents have no effect: every result is computed from the visible documents alone, so that it neither names
nor counts a hidden one. In particular two visible documents are never folded because both resemble a hidden one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

from neardup.errors import ParameterError
from neardup.index.documents import Document, Master, best_first, find_neighbours, may_see

Order = Literal["rank", "time", "length"]


@dataclass(frozen=True)
class CollapsedResult:
    """A document of a result list, and the near-duplicates folded under it."""

    shown: Document
    folded: list[Document] = field(default_factory=list)


def clusters_by_master(
    documents: Sequence[Document], *, distance: int = 3, master: Master = "rank", same: int = 0
) -> list[list[int]]:
    """Clusters as positions of documents, the master first: every member is within the distance of its master.

    In the order of `master`, each document without a cluster takes all neighbours without one. A document without a
    fingerprint is a cluster of its own. Clusters are ordered by their first document. The bits of `same` must be
    equal (see `reserved_bits`).
    """
    order = best_first(documents, master)
    fingerprints, neighbours = find_neighbours(documents, distance, same)
    # The documents of each fingerprint without a cluster, in order.
    free: list[list[int]] = [[] for _ in neighbours]
    for place, number in enumerate(fingerprints):
        if number >= 0:
            free[number].append(place)
    taken = [False] * len(documents)
    clusters = []
    for place in order:
        if taken[place]:
            continue
        members = [place]
        if fingerprints[place] >= 0:  # equal fingerprints join together, so that each is visited once
            near = neighbours[fingerprints[place]]
            members = [other for number, _ in near for other in free[number]]
            for number, _ in near:
                free[number] = []
        for other in members:
            taken[other] = True
        clusters.append([place, *sorted(other for other in members if other != place)])
    return sorted(clusters, key=min)


def collapse(
    results: Sequence[Document],
    groups: Collection[str] = (),
    *,
    distance: int = 3,
    order: Order = "rank",
    master: Master = "quality",
    same: int = 0,
) -> list[CollapsedResult]:
    """A result list, best first, with near-duplicates folded under the best one that these groups may see.

    The visible document of highest quality represents its near-duplicates (without qualities the one ranked first; or
    by another `master`), at the position of the first; each of the others is within the distance of it. They are
    listed by rank, time (newest first) or length (longest first).
    """
    if order not in ("rank", "time", "length"):
        raise ParameterError("order", "collapse", "'rank', 'time' or 'length'", order)
    if isinstance(groups, str):
        raise ParameterError("groups", "collapse", "a list of names", groups)
    visible = [document for document in results if may_see(groups, document.access)]
    clusters = clusters_by_master(visible, distance=distance, master=master, same=same)
    return [
        CollapsedResult(visible[place], listed([visible[other] for other in others], order))
        for place, *others in clusters
    ]


def listed(documents: list[Document], order: Order) -> list[Document]:
    """The members of a cluster by rank (as given), newest first, or longest first."""
    if order == "time":
        return sorted(documents, key=lambda document: -document.time)
    return sorted(documents, key=lambda document: -document.length) if order == "length" else documents
