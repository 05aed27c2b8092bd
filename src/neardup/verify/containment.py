"""Checks of candidates by containment: the share of the smaller document in the larger one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Features, Numbers, Pairs
from neardup.verify.weighted import TOLERANCE, WeightedJaccard


@dataclass(frozen=True)
class Containment:
    """The shared weight as a share of the smaller document's: 1 if one contains the other."""

    level: Literal["features"] = "features"
    measures: ClassVar[str] = "containment"

    def measure(self, values: Features, left: Numbers, right: Numbers) -> Pairs:
        """The evidence for each pair of documents of a batch."""
        return replace(WeightedJaccard().measure(values, left, right), kind="containment")

    def passes(self, pairs: Pairs, threshold: float) -> NDArray[np.bool_]:
        """Whether the containment of each pair reaches the threshold."""
        return (pairs.containment >= threshold - TOLERANCE) & (pairs.shared > 0)
