"""Clusters keyed by a master, and result lists, restricted to the documents that some groups have access to.

Hidden documents have no effect: every result is computed from the visible documents alone, so that it neither names
nor counts a hidden one. In particular two visible documents are never folded because both resemble a hidden one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from neardup.errors import ParameterError
from neardup.index.documents import (
    FingerprintedDocument,
    Master,
    Neighbours,
    best_first,
    find_neighbours,
    may_see,
)

Order = Literal["rank", "time", "length"]
ORDERS = ("rank", "time", "length")


@dataclass(frozen=True)
class CollapsedResult:
    """A document of a result list, and the near-duplicates folded under it."""

    shown: FingerprintedDocument
    folded: list[FingerprintedDocument] = field(default_factory=list)


def clusters_by_master(
    documents: Sequence[FingerprintedDocument], neighbours: Neighbours, *, master: Master = "rank"
) -> list[list[int]]:
    """Clusters as positions of documents, the master first: every member is a neighbour of its master.

    In the order of `master`, each document without a cluster takes all neighbours without one. A document that is
    never matched is a cluster of its own. Clusters are ordered by their first document.
    """
    nodes, near = neighbours
    # The documents of each node without a cluster, in order.
    free: list[list[int]] = [[] for _ in near]
    for place, node in enumerate(nodes):
        if node >= 0:
            free[node].append(place)
    taken = [False] * len(documents)
    clusters = []
    for place in best_first(documents, master):
        if taken[place]:
            continue
        members = [place]
        if nodes[place] >= 0:  # documents of one node join together, so that each is visited once
            others = [other.node for other in near[nodes[place]]]
            members = [member for node in others for member in free[node]]
            for node in others:
                free[node] = []
        for member in members:
            taken[member] = True
        clusters.append([place, *sorted(member for member in members if member != place)])
    return sorted(clusters, key=min)


def collapse(
    results: Sequence[FingerprintedDocument],
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
    listed by rank, time (newest first) or length (longest first). Neighbours are found by fingerprint, among visible
    documents alone; the bits of `same` must be equal (see `reserved_bits`).
    """
    if isinstance(groups, str):
        raise ParameterError("groups", "collapse", "a list of names", groups)
    visible = [document for document in results if may_see(groups, document.access)]
    return folded(visible, find_neighbours(visible, distance, same), order=order, master=master)


def folded(
    visible: Sequence[FingerprintedDocument],
    neighbours: Neighbours,
    *,
    order: Order = "rank",
    master: Master = "quality",
) -> list[CollapsedResult]:
    """Visible documents, best first, with near-duplicates folded under the master of each."""
    if order not in ORDERS:
        raise ParameterError("order", "collapse", "'rank', 'time' or 'length'", order)
    clusters = clusters_by_master(visible, neighbours, master=master)
    return [
        CollapsedResult(visible[place], listed([visible[other] for other in others], order))
        for place, *others in clusters
    ]


def listed_clusters(
    documents: Sequence[FingerprintedDocument], neighbours: Neighbours, master: Master, order: Order
) -> Iterator[list[Any]]:
    """The ids of clusters of two or more documents, the master first and the others by rank, time or length."""
    if order not in ORDERS:
        raise ParameterError("order", "clusters", "'rank', 'time' or 'length'", order)
    for place, *others in clusters_by_master(documents, neighbours, master=master):
        if others:
            members = listed([documents[other] for other in others], order)
            yield [documents[place].id, *(member.id for member in members)]


def listed(documents: list[FingerprintedDocument], order: Order) -> list[FingerprintedDocument]:
    """The members of a cluster by rank (as given), newest first, or longest first."""
    if order == "time":
        return sorted(documents, key=lambda document: -document.time)
    return sorted(documents, key=lambda document: -document.length) if order == "length" else documents
