"""Buckets and graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

from naive.bits import keep_near
from naive.common import MASK, STIR, Edge


def may_repeat(keys: Sequence[int]) -> list[int]:
    """Where keys stand that occur twice: what the kernel finds at least."""
    counts = Counter(keys)
    return [place for place, key in enumerate(keys) if counts[key] > 1]


def fill_pairs(
    bucket: Sequence[int], id_hashes: Sequence[int], limit: int, pivots: int, begin: int = 0
) -> set[Edge]:
    """All pairs of a bucket of up to `limit`; of a larger one those with one of its first members by id hash.

    Without those of the first of them, up to number `begin`.
    """
    firsts = sorted(bucket, key=lambda member: id_hashes[member])
    others = {*bucket} - {*firsts[:begin]}
    if len(bucket) > limit:
        firsts = firsts[:pivots]
    return {(min(a, b), max(a, b)) for a, b in combinations(others, 2) if a in firsts or b in firsts}


def least_partners(pairs: Sequence[Edge], ranks: Sequence[int], n: int, most: int) -> list[list[int]]:
    """For each of n documents the smallest ranks of those it meets that are before it, and 2³² − 1 for want of more."""
    ordered = [sorted(pair, key=lambda one: ranks[one]) for pair in pairs]
    met = [sorted(ranks[low] for low, high in ordered if high == x) for x in range(n)]
    return [[*some, *[2**32 - 1] * most][:most] for some in met]


def equal_runs(keys: Sequence[int]) -> list[list[int]]:
    """The places of each key that occurs more than once, by ascending key."""
    runs = [[place for place, one in enumerate(keys) if one == key] for key in sorted(set(keys))]
    return [run for run in runs if len(run) > 1]


def near_pairs(
    buckets: Sequence[Sequence[int]],
    id_hashes: Sequence[int],
    rule: tuple[int, int, int],
    sieve: tuple[Sequence[Sequence[int]], Sequence[bool], int],
) -> list[Edge]:
    """The pairs of each bucket that differ in few bits, and those of exempt documents."""
    words, exempt, most = sieve
    pairs = [pair for bucket in buckets for pair in fill_pairs(bucket, id_hashes, *rule)]
    return keep_near(words, exempt, most, pairs)


def star_rounds(pairs: Sequence[Edge], id_hashes: Sequence[int], most: int) -> list[int]:
    """For each pair, how many of the documents that its later one, by rank, meets come before its earlier one."""
    ordered = [sorted(pair, key=lambda one: id_hashes[one]) for pair in pairs]
    return [
        min(most, sum(id_hashes[other] < id_hashes[low] for other, later in ordered if later == high))
        for low, high in ordered
    ]


def components(n: int, edges: Iterable[Edge]) -> list[int]:
    """For each node the smallest that can be reached from it."""
    labels = list(range(n))
    for a, b in edges:
        low, high = sorted((labels[a], labels[b]))
        labels = [low if label == high else label for label in labels]
    return labels


def join_packed(n: int, packed: Iterable[int]) -> tuple[list[int], list[bool]]:
    """The same for edges a · n + b, and which nodes have any."""
    edges = [divmod(pair, n) for pair in packed]
    return components(n, edges), [any(node in edge for edge in edges) for node in range(n)]


def neighbours(n: int, edges: Sequence[Edge]) -> list[list[Edge]]:
    """For each node its neighbours, each with the number of the edge."""
    right = [[(b, p) for p, (a, b) in enumerate(edges) if a == x] for x in range(n)]
    left = [[(a, p) for p, (a, b) in enumerate(edges) if b == x] for x in range(n)]
    return [some + others for some, others in zip(right, left, strict=True)]


def leaders(order: Sequence[int], edges: Iterable[Edge]) -> list[int]:
    """In the given order, a free node leads and takes its free neighbours."""
    edges = [*edges]
    leader: dict[int, int] = {}
    for x in order:
        if x not in leader:
            leader[x] = x
            around = {b for a, b in edges if a == x} | {a for a, b in edges if b == x}
            leader |= {y: x for y in around if y not in leader}
    return [leader[x] for x in range(len(order))]


def spanning_links(n: int, edges: Sequence[Edge]) -> list[bool]:
    """Which edges connect what the edges before them do not."""
    joins = []
    for place, (a, b) in enumerate(edges):
        labels = components(n, edges[:place])
        joins.append(labels[a] != labels[b])
    return joins


def bridges(n: int, edges: Sequence[Edge]) -> list[bool]:
    """Which edges leave their ends apart when they are taken away."""
    found = []
    for place, (a, b) in enumerate(edges):
        labels = components(n, [*edges[:place], *edges[place + 1 :]])
        found.append(labels[a] != labels[b])
    return found


def look_up(table: Mapping[int, int], wanted: Sequence[int]) -> list[int]:
    """The value of each key, 0 where there is none."""
    return [table.get(key, 0) for key in wanted]


def number_occurrences(hashes: Sequence[int], weights: Sequence[int]) -> list[int]:
    """A hash for each occurrence of each feature, the first one the feature itself."""
    found = []
    for h, weight in zip(hashes, weights, strict=True):
        for _ in range(weight):
            found.append(h)
            h = (h ^ h >> 29) * STIR & MASK
            h ^= h >> 32
    return found


def linkage(
    n: int, similarity: Mapping[Edge, float], least: float, complete: bool
) -> tuple[list[int], list[float]]:
    """The first member of each node's cluster, and the similarity of the cluster's last merge; in exact fractions."""
    clusters, heights = {x: [x] for x in range(n)}, dict.fromkeys(range(n), 1.0)
    while len(clusters) > 1:
        links = {}
        for a, b in combinations(sorted(clusters), 2):
            pairs = [Fraction(similarity[min(x, y), max(x, y)]) for x in clusters[a] for y in clusters[b]]
            links[a, b] = float(min(pairs) if complete else sum(pairs) / len(pairs))
        a, b = max(links, key=lambda pair: (links[pair], -pair[0], -pair[1]))
        if links[a, b] < least:
            break
        clusters[a] += clusters.pop(b)
        heights[a] = links[a, b]
    name = {x: a for a, members in clusters.items() for x in members}
    return [name[x] for x in range(n)], [heights[name[x]] for x in range(n)]
