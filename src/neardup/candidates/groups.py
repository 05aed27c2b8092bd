"""Candidates that agree in groups of slots: bands (1 of b), super-shingles (m of g), Hamming blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import ClassVar, Literal

import numpy as np

from neardup import kernels
from neardup.columns import Hashes, Signatures
from neardup.errors import PlanError
from neardup.plan import Distribution

MOST_TABLES = 4096
MOST_COMBINATIONS = 1024  # tables of keys of several groups


def check_tables(tables: int) -> None:
    """Refuse more tables of keys than a run can fill and sort."""
    if tables > MOST_TABLES:
        raise PlanError(
            f"{tables:,} tables of keys would take {8 * tables / 1024:,.0f} kB a document and a sort each: "
            f"{MOST_TABLES:,} is the limit, so take fewer bands."
        )


@dataclass(frozen=True)
class Groups:
    """`groups` groups of `width` slots; documents that agree in at least `agree` groups are candidates.

    Each choice of `agree` groups is a table of its own with one composite key, so that no counting over buckets
    is needed (and a hot bucket may be reduced to its pivots without losing pairs of other tables).
    """

    groups: int
    width: int
    agree: int = 1
    seed: int = 1
    level: ClassVar[Literal["signatures"]] = "signatures"
    distribution: ClassVar[Distribution] = "keys"

    def __post_init__(self) -> None:
        """Refuses settings that would need too many tables."""
        if not 1 <= self.agree <= self.groups:
            raise PlanError(
                f"{self.agree} of {self.groups} groups cannot agree: take from 1 to {self.groups}."
            )
        if self.agree == 1:
            check_tables(self.groups)
        elif self.tables > MOST_COMBINATIONS:
            ways = f"{self.tables:,}" if self.tables < 1 << 63 else "more than 2^63"
            raise PlanError(
                f"{self.agree} of {self.groups} groups can agree in {ways} ways. Each is a table of keys, and "
                f"{MOST_COMBINATIONS:,} is the limit: take fewer groups, or let 1, 2 or nearly all of them agree."
            )

    @property
    def decides(self) -> str:
        """The measure that makes a candidate: the share of equal groups."""
        return f"equal groups of {self.width}"

    @property
    def tables(self) -> int:
        """The number of tables of keys."""
        return comb(self.groups, self.agree)

    def keys(self, signatures: Signatures) -> Hashes:
        """A 64-bit key for each table and document."""
        if signatures.slots.shape[1] < self.groups * self.width:
            raise PlanError(
                f"{self.groups} groups of {self.width} slots do not fit in a signature of "
                f"{signatures.slots.shape[1]} slots."
            )
        keys = np.empty((self.groups, len(signatures)), np.uint64)
        kernels.minhash.band_keys(signatures.slots, self.width, self.seed, keys)
        if self.agree == 1:
            return keys
        mixed = np.zeros((self.tables, len(signatures)), np.uint64)
        for table, chosen in enumerate(combinations(range(self.groups), self.agree)):
            for group in chosen:
                mixed[table] = (mixed[table] ^ keys[group]) * np.uint64(0xD6E8FEB86659FD93)
                mixed[table] ^= mixed[table] >> np.uint64(32)
        return mixed

    def probability(self, similarity: float) -> float:
        """The probability that a pair whose slots agree with this probability becomes a candidate."""
        p = similarity**self.width
        few = sum(comb(self.groups, k) * p**k * (1 - p) ** (self.groups - k) for k in range(self.agree))
        return max(0.0, 1.0 - few)

    def reach(self, recall: float) -> float:
        """The least similarity that is found with at least this probability."""
        return least_found(self.probability, recall)


def least_found(probability: Callable[[float], float], recall: float, steps: int = 60) -> float:
    """The least similarity that has at least this probability, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (low, middle) if probability(middle) >= recall else (middle, high)
    return high
