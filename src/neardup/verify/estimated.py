"""Checks of candidates by their signatures alone: a cosine from sign bits, or a similarity from min-hashes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import cos, pi
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Numbers, Pairs, Signatures
from neardup.thresholds import TOLERANCE
from neardup.verify.bits import BitAgreement
from neardup.verify.cosine import Curve
from neardup.verify.jaccard import SlotAgreement

Units = Literal["bits", "slots"]
Kind = Literal["cosine", "jaccard"]


@dataclass(frozen=True)
class Estimated:
    """The similarity that short signatures show; texts are not read again (ANDD paper, 4.1.3).

    bits   the cosine of the angle that the share of different bits says: cos(π · share)
    slots  the share j of equal samples is Σ min / Σ max of the weights; of vectors with equal entries that is the
           extended Jaccard, and the cosine is 2j / (1 + j)
    """

    size: int  # bits or slots of a signature
    units: Units = "bits"
    kind: Kind = "cosine"
    curve: Curve | None = None  # slope and midpoint from score to probability, if learned
    level: Literal["signatures"] = "signatures"

    @property
    def measures(self) -> str:
        """The similarity, which is an estimate."""
        return f"estimated {self.kind}"

    def measure(self, values: Signatures, left: Numbers, right: Numbers) -> Pairs:
        """The estimate for each pair, as if documents had one feature in their union."""
        agreement = BitAgreement(self.size) if self.units == "bits" else SlotAgreement()
        equal = np.rint(agreement.measure(values, left, right).shared).astype(np.int64)
        found = estimates(self.size, self.units, self.kind)[equal]
        half = (1 + found) / 2
        return Pairs(left, right, found, half, half)

    def passes(self, pairs: Pairs, threshold: float) -> NDArray[np.bool_]:
        """Whether each estimate reaches the threshold."""
        return (pairs.shared >= threshold - TOLERANCE) & (pairs.shared > 0)

    def least_equal(self, threshold: float) -> int:
        """The fewest equal bits or slots that pass; one more than there are if none do."""
        return int((estimates(self.size, self.units, self.kind) < threshold - TOLERANCE).sum())


@cache
def estimates(size: int, units: Units, kind: Kind) -> NDArray[np.float64]:
    """The estimate for each number of equal bits or slots, from 0 to all; below 0 it is 0."""
    shares = [equal / size for equal in range(size + 1)]
    if units == "bits":
        cosines = [max(0.0, cos(pi * (1 - share))) for share in shares]
        found = cosines if kind == "cosine" else [one / (2 - one) for one in cosines]
    else:
        found = shares if kind == "jaccard" else [2 * share / (1 + share) for share in shares]
    table = np.array(found)
    table.flags.writeable = False
    return table
