"""Sketches in bands: which of many are likely to be as similar as a threshold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

_STEPS = 1000  # of the integrals over similarity


@cache
def optimal_bands(threshold: float, num_perm: int, weights: tuple[float, float]) -> tuple[int, int]:
    """The bands and rows with the least weighted area of false positives and false negatives."""
    x = (np.arange(_STEPS) + 0.5) / _STEPS
    low = x < threshold
    best, found = np.inf, (1, 1)
    for bands in range(1, num_perm + 1):
        for rows in range(1, num_perm // bands + 1):
            chance = 1 - (1 - x**rows) ** bands
            cost = weights[0] * chance[low].sum() + weights[1] * (1 - chance[~low]).sum()
            if cost < best:
                best, found = cost, (bands, rows)
    return found


class MinHashLSH:
    """Keys by their sketches; `query` gives those that share a band with another sketch."""

    def __init__(
        self,
        threshold: float = 0.9,
        num_perm: int = 128,
        weights: tuple[float, float] = (0.5, 0.5),
        params: tuple[int, int] | None = None,
        storage_config: dict[str, Any] | None = None,
        prepickle: bool | None = None,
        hashfunc: Any = None,
    ) -> None:
        if (storage_config or {"type": "dict"}).get("type") != "dict":
            raise ValueError("sketches are kept in memory; for a stored index see neardup index")
        if not 0 <= threshold <= 1:
            raise ValueError("threshold must be from 0 to 1")
        if num_perm < 2:
            raise ValueError("num_perm must be at least 2")
        if any(not 0 <= weight <= 1 for weight in weights) or abs(sum(weights) - 1) > 1e-6:
            raise ValueError("weights must be from 0 to 1 and sum to 1")
        self.threshold, self.h = threshold, num_perm
        self.b, self.r = params or optimal_bands(threshold, num_perm, tuple(weights))
        if self.b * self.r > num_perm:
            raise ValueError(f"{self.b} bands of {self.r} rows need more than num_perm={num_perm} slots")
        if self.b < 2:
            raise ValueError("there must be at least two bands: take a lower threshold or more permutations")
        self.hashtables: list[dict[bytes, dict[Hashable, None]]] = [{} for _ in range(self.b)]
        self.keys: dict[Hashable, list[bytes]] = {}
        self._asked: list[set[Hashable]] = []

    def _bands(self, minhash: Any) -> list[bytes]:
        if len(minhash) != self.h:
            raise ValueError(f"expecting a MinHash with num_perm={self.h}, got {len(minhash)}")
        slots, rows = minhash.hashvalues, self.r
        return [slots[band * rows : (band + 1) * rows].tobytes() for band in range(self.b)]

    def insert(self, key: Hashable, minhash: Any, check_duplication: bool = True) -> None:
        """Adds a sketch under a key that is new."""
        bands = self._bands(minhash)
        if key in self.keys:
            if check_duplication:
                raise ValueError("the given key already exists")
            self.remove(key)
        self.keys[key] = bands
        for table, band in zip(self.hashtables, bands, strict=True):
            table.setdefault(band, {})[key] = None

    def query(self, minhash: Any) -> list[Hashable]:
        """The keys of sketches that share a band: likely to reach the threshold, and not verified."""
        found: dict[Hashable, None] = {}
        for table, band in zip(self.hashtables, self._bands(minhash), strict=True):
            found |= table.get(band, {})
        return list(found)

    def add_to_query_buffer(self, minhash: Any) -> None:
        """Asks now, and keeps the answer for `collect_query_buffer`."""
        self._asked.append(set(self.query(minhash)))

    def collect_query_buffer(self) -> list[Hashable]:
        """The keys that all queries since the last call have found."""
        asked, self._asked = self._asked, []
        return list(set.intersection(*asked)) if asked else []

    def remove(self, key: Hashable) -> None:
        """Takes a key out."""
        if key not in self.keys:
            raise ValueError("the given key does not exist")
        for table, band in zip(self.hashtables, self.keys.pop(key), strict=True):
            del table[band][key]
            if not table[band]:
                del table[band]

    def __contains__(self, key: Hashable) -> bool:
        return key in self.keys

    def __len__(self) -> int:
        return len(self.keys)

    def is_empty(self) -> bool:
        """Whether it has no sketch."""
        return not self.keys

    def merge(self, other: MinHashLSH, check_overlap: bool = False) -> None:
        """Adds the sketches of another one of the same shape."""
        if (self.b, self.r, self.h) != (other.b, other.r, other.h):
            raise ValueError("cannot merge MinHashLSH with different parameters")
        both = self.keys.keys() & other.keys.keys()
        if check_overlap and both:
            raise ValueError("cannot merge MinHashLSH with overlapping keys")
        for key in both:
            self.remove(key)
        for key, bands in other.keys.items():
            self.keys[key] = bands
            for table, band in zip(self.hashtables, bands, strict=True):
                table.setdefault(band, {})[key] = None

    def get_counts(self) -> list[dict[bytes, int]]:
        """How many keys each bucket of each band has."""
        return [{band: len(keys) for band, keys in table.items()} for table in self.hashtables]

    def get_subset_counts(self, *keys: Hashable) -> list[dict[bytes, int]]:
        """The same for some keys alone."""
        chosen = [self.keys[key] for key in set(keys) if key in self.keys]
        return [dict(Counter(bands[place] for bands in chosen)) for place in range(self.b)]

    @contextmanager
    def insertion_session(self, buffer_size: int = 50000) -> Iterator[MinHashLSH]:
        """Insertions; in memory they need no buffer."""
        yield self

    @contextmanager
    def deletion_session(self, buffer_size: int = 50000) -> Iterator[MinHashLSH]:
        """Removals; in memory they need no buffer."""
        yield self
