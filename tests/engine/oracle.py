"""What a run must answer, by brute force in plain Python: sets, fractions and loops, nothing of neardup's.

Only the tokens come from the plan (its text stage has naive twins of its own). Documents are numbers 0 … n − 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from neardup.columns import Texts
from neardup.plan import Plan

Pair = tuple[int, int]


def token_lists(plan: Plan, texts: Sequence[str | None]) -> list[list[int]]:
    """The tokens of each text, one text at a time."""
    return [plan.text(Texts.from_strings([text or ""])).hashes.tolist() for text in texts]


def shingles(tokens: Sequence[int], width: int) -> frozenset[tuple[int, ...]]:
    """Every run of `width` tokens; all of a shorter text; nothing of an empty one."""
    if not tokens:
        return frozenset()
    runs = max(len(tokens) - width + 1, 1)
    return frozenset(tuple(tokens[k : k + width]) for k in range(runs))


def jaccard(a: frozenset[Any], b: frozenset[Any]) -> Fraction:
    """The shared part of the union, 0 where there is nothing."""
    return Fraction(len(a & b), len(a | b)) if a | b else Fraction(0)


def containment(a: frozenset[Any], b: frozenset[Any]) -> Fraction:
    """The shared part of the smaller one, 0 where that is nothing."""
    smaller = min(len(a), len(b))
    return Fraction(len(a & b), smaller) if smaller else Fraction(0)


def components(nodes: Iterable[int], edges: Iterable[Pair]) -> list[list[int]]:
    """The connected components, each sorted, in the order of their smallest nodes."""
    near: dict[int, set[int]] = {node: set() for node in nodes}
    for a, b in edges:
        near[a].add(b)
        near[b].add(a)
    found, seen = [], set()
    for node in sorted(near):
        if node in seen:
            continue
        reached, fresh = {node}, [node]
        while fresh:
            fresh = [other for x in fresh for other in near[x] - reached]
            reached.update(fresh)
        seen |= reached
        found.append(sorted(reached))
    return found


def weakest_link(members: Sequence[int], similarity: Callable[[int, int], Fraction]) -> Fraction:
    """The largest s at which the members still hang together: the minimum of a maximum spanning tree."""
    pairs = {(a, b): similarity(a, b) for a, b in combinations(members, 2)}
    for least in sorted(set(pairs.values()), reverse=True):
        strong = [pair for pair, value in pairs.items() if value >= least]
        if len(components(members, strong)) == 1:
            return least
    raise AssertionError("fewer than two members")


def bridges(edges: Sequence[Pair]) -> set[Pair]:
    """The edges without which there are more components: each taken out in turn."""
    nodes = {node for edge in edges for node in edge}
    whole = len(components(nodes, edges))
    return {
        edge for edge in edges if len(components(nodes, [other for other in edges if other != edge])) > whole
    }


@dataclass(frozen=True)
class Decision:
    """What becomes of a document that is in a cluster."""

    cluster: int
    leader: int
    keep: bool
    duplicate_of: int | None
    similarity: Fraction | None
    containment: Fraction | None
    size: int


class Truth:
    """All answers about one collection, for a threshold written as a decimal."""

    def __init__(self, plan: Plan, texts: Sequence[str | None], threshold: str, width: int) -> None:
        self.n, self.texts, self.threshold = len(texts), [text or "" for text in texts], Fraction(threshold)
        self.tokens = token_lists(plan, texts)
        self.sets = [shingles(tokens, width) for tokens in self.tokens]

    def similarity(self, a: int, b: int) -> Fraction:
        """Jaccard of two documents."""
        return jaccard(self.sets[a], self.sets[b])

    def containment(self, a: int, b: int) -> Fraction:
        """Containment of two documents."""
        return containment(self.sets[a], self.sets[b])

    def copies(self, a: int, b: int) -> bool:
        """Whether two documents are the same text, with at least one token."""
        return bool(self.tokens[a]) and self.texts[a] == self.texts[b]

    def pairs(self) -> list[Pair]:
        """Every pair at or above the threshold, copies included."""
        return [
            (a, b)
            for a, b in combinations(range(self.n), 2)
            if self.sets[a] and self.similarity(a, b) >= self.threshold
        ]

    def contents(self) -> list[int]:
        """The first document of each content, and every document without a token."""
        return [a for a in range(self.n) if not any(self.copies(a, b) for b in range(a))]

    def content_pairs(self) -> list[Pair]:
        """The pairs among different contents, each content by its first document."""
        inside = set(self.contents())
        return [(a, b) for a, b in self.pairs() if a in inside and b in inside]

    def clusters(self) -> list[list[int]]:
        """The components of two documents or more."""
        return [group for group in components(range(self.n), self.pairs()) if len(group) > 1]

    def led_clusters(self, worth: Callable[[int], Any]) -> list[list[int]]:
        """Clusters by leaders: the best free document takes all free ones that are similar to it."""
        free, found = sorted(range(self.n), key=worth), []
        near = set(self.pairs())
        while free:
            leader = free[0]
            group = [x for x in free if x == leader or (min(x, leader), max(x, leader)) in near]
            free = [x for x in free if x not in group]
            if len(group) > 1:
                found.append(sorted(group))
        return sorted(found)

    def decisions(
        self,
        groups: Sequence[Sequence[int]],
        worth: Callable[[int], Any],
        count: int,
        by_id: Callable[[int], Any],
    ) -> dict[int, Decision]:
        """What becomes of each document of the groups: the `count` best stay, the others copy the best."""
        found = {}
        for group in groups:
            ranked = sorted(group, key=worth)
            for place, x in enumerate(ranked):
                keep = place < count
                other = None if keep else ranked[0] if place else ranked[1]
                found[x] = Decision(
                    min(group, key=by_id),
                    ranked[0],
                    keep,
                    other,
                    None if other is None else self.similarity(x, other),
                    None if other is None else self.containment(x, other),
                    len(group),
                )
        return found
