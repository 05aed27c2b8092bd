"""Checks of candidates by Jaccard: exact, estimated from signatures, or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Features, Numbers, Pairs, Signatures, make_distinct
from neardup.thresholds import as_fraction


@dataclass(frozen=True)
class Jaccard:
    """Counts of shared and distinct features; no estimate, no rounding."""

    level: Literal["features"] = "features"
    measures: ClassVar[str] = "jaccard"

    def measure(self, values: Features, left: Numbers, right: Numbers) -> Pairs:
        """The evidence for each pair of documents of a batch."""
        sets = make_distinct(values)
        shared = np.zeros(len(left), np.int64)
        kernels.sets.intersect(sets.hashes, sets.offsets, left, right, shared)
        sizes = sets.sizes.astype(np.float64)
        return Pairs(left, right, shared.astype(np.float64), sizes[left], sizes[right])

    def passes(self, pairs: Pairs, threshold: float) -> NDArray[np.bool_]:
        """Whether each pair reaches the threshold, in whole numbers: a tie passes (with floats some would not)."""
        limit = as_fraction(threshold)
        shared = pairs.shared.astype(np.int64)
        union = (pairs.left_size + pairs.right_size).astype(np.int64) - shared
        passed: NDArray[np.bool_] = (shared * limit.denominator >= limit.numerator * union) & (shared > 0)
        return passed


@dataclass(frozen=True)
class SlotAgreement:
    """The share of equal slots: an estimate, with a standard error of √(s(1−s)/slots).

    With a width, the share of equal groups of so many slots: super-shingles, or hashes of 64 bits.
    """

    width: int = 1
    level: Literal["signatures"] = "signatures"

    @property
    def measures(self) -> str:
        """The share of equal groups, each counting as a whole."""
        return f"equal groups of {self.width}"

    def measure(self, values: Signatures, left: Numbers, right: Numbers) -> Pairs:
        """Evidence as if documents had as many features as there are slots (or groups) in the union."""
        groups = values.slots.shape[1] // self.width
        slots = values.slots[:, : groups * self.width].reshape(len(values), groups, self.width)
        equal = np.zeros(len(left))
        for start in range(0, len(left), 1 << 14):
            part = slice(start, start + (1 << 14))
            equal[part] = (slots[left[part]] == slots[right[part]]).all(axis=2).sum(axis=1)
        equal[~(values.present[left] & values.present[right])] = 0  # no features: no agreement
        half = (groups + equal) / 2
        return Pairs(left, right, equal, half, half)

    def passes(self, pairs: Pairs, threshold: float) -> NDArray[np.bool_]:
        """Whether each estimate reaches the threshold."""
        return Jaccard().passes(pairs, threshold)


@dataclass(frozen=True)
class Unverified:
    """Every candidate passes; its similarity is unknown."""

    level: Literal["none"] = "none"
    measures: ClassVar[str] = "nothing"

    def measure(self, values: object, left: Numbers, right: Numbers) -> Pairs:
        """Evidence without figures."""
        unknown = np.full(len(left), np.nan)
        return Pairs(left, right, unknown, unknown, unknown)

    def passes(self, pairs: Pairs, threshold: float) -> NDArray[np.bool_]:
        """All of them."""
        return np.ones(len(pairs), np.bool_)
