"""Agglomerative clustering: average and complete linkage of small groups whose similarities are all known."""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit


@inline
def link(links, sizes, complete, a, b):
    """The similarity of two clusters: the mean over all pairs, or the least."""
    return links[a, b] if complete else links[a, b] / (sizes[a] * sizes[b])


@inline
def find_nearest(links, sizes, complete, nearest, best, x):
    """Stores the most similar one of the clusters after x, the first of several."""
    nearest[x], best[x] = -1, -1.0
    for y in range(x + 1, len(sizes)):
        if sizes[y] > 0:
            value = link(links, sizes, complete, x, y)
            if value > best[x]:
                nearest[x], best[x] = y, value


@inline
def merge(links, sizes, complete, a, b):
    """Adds cluster b to cluster a."""
    for x in range(len(sizes)):
        if sizes[x] > 0 and x != a and x != b:
            both = min(links[a, x], links[b, x]) if complete else links[a, x] + links[b, x]
            links[a, x] = links[x, a] = both
    sizes[a] += sizes[b]
    sizes[b] = 0


@inline
def agglomerate(links, least, complete, label, height):
    """Merges the two most similar clusters, the first of several, as long as they reach `least`.

    A cluster is named by its first member. The mean or minimum of two links is at most the larger one, so that only
    clusters whose nearest was one of the two have to look for another.
    """
    n = len(links)
    sizes, nearest, best = np.ones(n), np.zeros(n, np.int64), np.zeros(n)
    for x in range(n):
        find_nearest(links, sizes, complete, nearest, best, x)
    while True:
        a = np.argmax(best)
        if best[a] < least:
            break
        b = nearest[a]
        label[b], height[a], best[b] = a, best[a], -1.0
        merge(links, sizes, complete, a, b)
        for x in range(b):
            if sizes[x] == 0:
                continue
            if x == a or nearest[x] == a or nearest[x] == b:
                find_nearest(links, sizes, complete, nearest, best, x)
            elif x < a < nearest[x] and link(links, sizes, complete, x, a) == best[x]:
                nearest[x] = a
    for x in range(n):
        label[x] = label[label[x]]  # a name is smaller than its members, so it is already final
        height[x] = height[label[x]]


@jit
def linkage(group_sizes, similarity, least, complete):
    """For each member of each group the first member of its cluster, and the similarity of the cluster's last merge.

    `similarity` has all pairs (i, j) of each group in the order (0, 1), (0, 2), (1, 2), (0, 3) … A cluster of one has
    the height 1.
    """
    label, height = np.zeros(group_sizes.sum(), np.int64), np.ones(group_sizes.sum())
    start = pair = 0
    for n in group_sizes:
        links = np.zeros((n, n))
        for j in range(n):
            for i in range(j):
                links[i, j] = links[j, i] = similarity[pair]
                pair += 1
        own = np.arange(n)
        agglomerate(links, least, complete, own, height[start : start + n])
        label[start : start + n] = start + own
        start += n
    return label, height
