"""Exact Jaccard of multi-sets: Σ min / Σ max of the frequencies (SpotSigs, formula 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Features, Numbers, Pairs
from neardup.errors import PlanError
from neardup.verify.jaccard import Jaccard


@dataclass(frozen=True)
class MultisetJaccard:
    """Frequencies that two documents share, of all that they have; equal to Jaccard if every frequency is 1."""

    level: Literal["features"] = "features"
    measures: ClassVar[str] = "multi-set jaccard"

    def measure(self, values: Features, left: Numbers, right: Numbers) -> Pairs:
        """The evidence for each pair: shared = Σ min, sizes = Σ frequencies, so that Pairs divides by Σ max."""
        if values.weights is None or not values.distinct:
            raise PlanError("Multi-sets need counted features: put the weight stage Counts into the view.")
        shared = np.zeros(len(left), np.float64)
        kernels.sets.intersect_weighted(values.hashes, values.weights, values.offsets, left, right, shared)
        sizes = np.zeros(len(values))
        kernels.weighted.sum_weights(values.offsets, values.weights, False, sizes)
        return Pairs(left, right, shared, sizes[left], sizes[right])

    def passes(self, pairs: Pairs, threshold: float) -> NDArray[np.bool_]:
        """Whether each pair reaches the threshold, in whole numbers."""
        return Jaccard().passes(pairs, threshold)
