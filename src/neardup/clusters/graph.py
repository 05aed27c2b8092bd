"""Clusters of documents from verified pairs: components, leaders, weakest links, bridges."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Numbers, Pairs
from neardup.sorted_sets import distinct


def components(n: int, left: NDArray[Any], right: NDArray[Any]) -> Numbers:
    """A label for each of n documents: equal where pairs connect them, however long the chain."""
    labels: Numbers = kernels.graph.components(n, left, right)
    return labels


def neighbours(n: int, left: Numbers, right: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Adjacency lists: starts, neighbours, and the number of the edge to each."""
    found: tuple[Numbers, Numbers, Numbers] = kernels.graph.neighbours(n, left, right)
    return found


def leaders(n: int, left: Numbers, right: Numbers, order: Numbers) -> Numbers:
    """The leader of each document: every member has a verified pair with its leader, so nothing drifts.

    In the given order (best first), a document that is still free leads and takes its free neighbours.
    """
    starts, others, _ = neighbours(n, left, right)
    found: Numbers = kernels.graph.leaders(order, starts, others)
    return found


def weakest_links(pairs: Pairs, labels: Numbers) -> dict[int, float]:
    """For each label the least similarity on a maximum spanning tree: above it the cluster would fall apart."""
    similarity = pairs.similarity
    order = np.lexsort((pairs.right, pairs.left, -similarity))
    joins = kernels.graph.spanning_links(len(labels), pairs.left[order], pairs.right[order])
    links = order[joins]
    names, least = labels[pairs.left[links]], similarity[links]
    found = np.full(len(labels), np.inf)
    with np.errstate(invalid="ignore"):  # NaN, where nothing was measured, is the least
        np.minimum.at(found, names, least)
    return {name: float(found[name]) for name in distinct(names).tolist()}


def bridges(n: int, left: Numbers, right: Numbers) -> NDArray[np.bool_]:
    """Which pairs are bridges: without one its cluster falls apart."""
    found: NDArray[np.bool_] = kernels.graph.bridges(*neighbours(n, left, right))
    return found


def complete_groups(members: Numbers, labels: Numbers, most: int, n: int) -> Numbers:
    """All pairs a < b inside groups of 2 … `most` members, packed: a · n + b."""
    order = np.lexsort((members, labels))
    members, labels = members[order], labels[order]
    begins = np.flatnonzero(np.diff(labels, prepend=-1))
    sizes = np.diff(np.append(begins, len(labels)))
    found = [np.zeros(0, np.int64)]
    for size in range(2, most + 1):
        rows = begins[sizes == size]
        if len(rows):
            group = members[rows[:, None] + np.arange(size)]
            i, j = np.triu_indices(size, 1)
            found.append((group[:, i] * n + group[:, j]).ravel())
    return np.concatenate(found)
