"""Sketches in sorted prefixes: the k that are likely to be the most similar ones."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class MinHashLSHForest:
    """Keys by their sketches; `query` gives the k whose sketches share the longest prefixes with another one."""

    def __init__(self, num_perm: int = 128, l: int = 8) -> None:  # noqa: E741 - the name that users write
        if l <= 0 or num_perm <= 0:
            raise ValueError("num_perm and l must be positive")
        if l > num_perm:
            raise ValueError("l cannot be greater than num_perm")
        self.l, self.k, self._num_perm = l, num_perm // l, num_perm
        self.keys: dict[Hashable, NDArray[np.uint32]] = {}
        self._trees: list[list[tuple[bytes, int]]] = [[] for _ in range(l)]
        self._names: list[Hashable] = []

    def _prefixes(self, slots: NDArray[np.uint32]) -> list[bytes]:
        """The bytes of each tree's slots, which sort as their prefixes do."""
        big = slots[: self.l * self.k].astype(">u4").reshape(self.l, self.k)
        return [row.tobytes() for row in big]

    def add(self, key: Hashable, minhash: Any) -> None:
        """Adds a sketch under a new key; `index` makes it visible."""
        if len(minhash) < self.k * self.l:
            raise ValueError(f"the num_perm of the MinHash must be at least {self.k * self.l}")
        if key in self.keys:
            raise ValueError("the given key has already been added")
        self.keys[key] = minhash.digest()

    def index(self) -> None:
        """Makes all added sketches visible to queries."""
        self._names = list(self.keys)
        every = [self._prefixes(slots) for slots in self.keys.values()]
        self._trees = [
            sorted((prefixes[tree], place) for place, prefixes in enumerate(every)) for tree in range(self.l)
        ]

    def query(self, minhash: Any, k: int) -> list[Hashable]:
        """Up to k keys, those that share longer prefixes first found."""
        if k <= 0:
            raise ValueError("k must be positive")
        if len(minhash) < self.k * self.l:
            raise ValueError(f"the num_perm of the MinHash must be at least {self.k * self.l}")
        prefixes, found = self._prefixes(minhash.hashvalues), dict[Hashable, None]()
        for depth in range(self.k, 0, -1):
            for tree, prefix in zip(self._trees, prefixes, strict=True):
                start = prefix[: 4 * depth]
                at = bisect_left(tree, (start, -1))
                while at < len(tree) and tree[at][0].startswith(start):
                    found[self._names[tree[at][1]]] = None
                    if len(found) >= k:
                        return list(found)
                    at += 1
        return list(found)

    def get_minhash_hashvalues(self, key: Hashable) -> NDArray[np.uint32]:
        """The slots of a key; KeyError if nothing has it."""
        return self.keys[key].copy()

    def is_empty(self) -> bool:
        """Whether nothing is visible to queries."""
        return not any(self._trees)

    def __contains__(self, key: Hashable) -> bool:
        return key in self.keys
