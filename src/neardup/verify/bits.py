"""Checks of candidates by their share of equal sign bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Numbers, Pairs, Signatures
from neardup.verify.jaccard import Jaccard


@dataclass(frozen=True)
class BitAgreement:
    """The share of equal bits: 1 − Hamming distance / bits."""

    bits: int
    level: Literal["signatures"] = "signatures"
    measures: ClassVar[str] = "equal bits"

    def measure(self, values: Signatures, left: Numbers, right: Numbers) -> Pairs:
        """Equal bits, as if documents had as many features as there are bits in the union."""
        distance = np.zeros(len(left), np.int64)
        kernels.bits.hamming(values.slots, left, right, distance)
        equal = (self.bits - distance).astype(np.float64)
        equal[~(values.present[left] & values.present[right])] = 0  # no features: no agreement
        half = (self.bits + equal) / 2
        return Pairs(left, right, equal, half, half)

    def passes(self, pairs: Pairs, threshold: float) -> NDArray[np.bool_]:
        """Whether enough bits are equal."""
        return Jaccard().passes(pairs, threshold)
