"""Clusters keyed by a master, and result lists; with permissions, from what a reader may see and nothing else.

Everything here that a reader sees is computed from the documents that this reader may see, as if there were no others:
no document that is hidden from a reader is named, counted, or has an effect on what the reader is shown. In particular
two visible documents are never folded together because both resemble a hidden one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

from neardup.errors import ParameterError
from neardup.index.documents import Document, Master, best_first, find_near, may_see

Order = Literal["rank", "time", "length"]


@dataclass(frozen=True)
class Group:
    """A document that stands for others, and the near-duplicates that are folded under it."""

    shown: Document
    folded: list[Document] = field(default_factory=list)


def clusters_by_master(
    documents: Sequence[Document], *, distance: int = 3, master: Master = "rank", same: int = 0
) -> list[list[int]]:
    """Clusters of documents by place, each with its master first: nobody is further than the distance from it.

    In the order of `master`, a document that is still free takes all that are near it and free. A document without
    a fingerprint is a cluster of its own. Clusters come in the order of their first document. The bits of `same` must
    be equal, if there are any (see `reserved_bits`).
    """
    order = best_first(documents, master)
    group, near = find_near(documents, distance, same)
    free: list[list[int]] = [[] for _ in near]  # the members of each group, in order of place
    for place, number in enumerate(group):
        if number >= 0:
            free[number].append(place)
    taken = [False] * len(documents)
    found = []
    for place in order:
        if taken[place]:
            continue
        members = [place]
        if group[place] >= 0:  # a group is taken as a whole, so that each is looked at once
            members = [other for number, _ in near[group[place]] for other in free[number]]
            for number, _ in near[group[place]]:
                free[number] = []
        for other in members:
            taken[other] = True
        found.append([place, *sorted(other for other in members if other != place)])
    return sorted(found, key=min)


def collapse(
    results: Sequence[Document],
    groups: Collection[str] = (),
    *,
    distance: int = 3,
    order: Order = "rank",
    master: Master = "quality",
    same: int = 0,
) -> list[Group]:
    """A result list, best first, in which near-duplicates fold under the best one that the reader may see.

    Of a group the document of highest quality stands for the others (without qualities, the one ranked first; or
    by another `master`), at the place of the first; each of the others is within the distance of it. They are
    listed by rank, time (newest first) or length (longest first).
    """
    if order not in ("rank", "time", "length"):
        raise ParameterError("order", "collapse", "'rank', 'time' or 'length'", order)
    if isinstance(groups, str):
        raise ParameterError("groups", "collapse", "a list of names", groups)
    visible = [document for document in results if may_see(groups, document.readers)]
    clusters = clusters_by_master(visible, distance=distance, master=master, same=same)
    return [
        Group(visible[place], listed([visible[other] for other in others], order))
        for place, *others in clusters
    ]


def listed(documents: list[Document], order: Order) -> list[Document]:
    """The members of a cluster as they are, newest first, or longest first."""
    if order == "time":
        return sorted(documents, key=lambda document: -document.time)
    return sorted(documents, key=lambda document: -document.length) if order == "length" else documents
