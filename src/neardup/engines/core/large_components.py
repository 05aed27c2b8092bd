"""Leaders of large components: a text is compared with the leaders before it together, not with one after the other.

Leaders and evidence are those that comparing pair by pair gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import numpy as np

from neardup.columns import Numbers, Pairs


class LeaderSearch(Protocol):
    """Compares the texts of a component with all leaders that were found among them so far."""

    def blocks(self) -> Iterator[Numbers]: ...  # the texts, in their order
    def add_leader(self, text: int) -> None: ...  # one of the block
    def first_reached(
        self, texts: Numbers, begin: int
    ) -> tuple[
        Numbers, Pairs
    ]: ...  # for each text of the block the first leader from `begin` on that it reaches

    # the threshold with, by number, −1 if none; and the evidence of those that reach one


def search_of(
    measure: Callable[..., Any], texts: Numbers, threshold: float
) -> AbstractContextManager[LeaderSearch | None]:
    """The search of a measure that has one; None where texts cannot be compared so."""
    search = getattr(measure, "search", None)
    return nullcontext() if search is None else search(texts, threshold)


class LargeComponents:
    """The leaders of all texts of large components, and how many leaders each text was compared with.

    `leader` is filled in; `most` leaders of a component are found.
    """

    def __init__(self, leader: Numbers, most: int) -> None:
        self._leader, self._most = leader, most
        self._number = np.full(len(leader), -1, np.int8)  # of each leader in its component
        self._tested = np.zeros(len(leader), np.int8)  # leaders that each text was compared with
        self.evidence: list[Pairs] = []  # of each text with the leader it follows
        self.left: list[Numbers] = []  # texts that follow none of the leaders

    def find(self, search: LeaderSearch) -> None:
        """Find the leaders of a component: the first text leads, and then each that follows no earlier leader."""
        leaders = list[int]()
        for some in search.blocks():
            rest = self._following(some, search, leaders, 0)
            while len(rest) and len(leaders) < self._most:
                self._number[rest[0]] = len(leaders)
                leaders.append(int(rest[0]))
                search.add_leader(leaders[-1])
                rest = self._following(rest[1:], search, leaders, len(leaders) - 1)
            self.left.append(rest)

    def _following(self, texts: Numbers, search: LeaderSearch, leaders: list[int], begin: int) -> Numbers:
        """Have texts follow the first leader that they reach, from number `begin` on; those that reach none."""
        if not leaders:
            return texts
        first, pairs = search.first_reached(texts, begin)
        follows = first >= 0
        self._tested[texts] = np.where(follows, first + 1, len(leaders))
        self._leader[texts[follows]] = np.array(leaders)[first[follows]]
        self.evidence.append(pairs)
        return texts[~follows]

    def compared(self, labels: Numbers, known: Numbers) -> int:
        """How many pairs were compared that are not among known ones, packed, of components with these labels."""
        left, right = np.divmod(known, len(self._leader))
        number, tested = self._number, self._tested
        met = (number[left] >= 0) & (number[left] < tested[right])
        met |= (number[right] >= 0) & (number[right] < tested[left])
        met &= labels[left] == labels[right]
        return int(self._tested.sum(dtype=np.int64)) - int(met.sum())
