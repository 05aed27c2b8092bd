"""Exact Jaccard of weighted documents: Σ min / Σ max of the weights (Alonso, Fetterly and Manasse, section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Features, Numbers, Pairs, make_distinct
from neardup.errors import PlanError
from neardup.weights.checks import check_weights

TOLERANCE = 1e-9  # of rounded sums: a pair at the threshold is not lost


@dataclass(frozen=True)
class WeightedJaccard:
    """Weight that two documents share, of all that they have; plain Jaccard if every weight is 1."""

    level: Literal["features"] = "features"
    measures: ClassVar[str] = "weighted jaccard"

    def measure(self, values: Features, left: Numbers, right: Numbers) -> Pairs:
        """The evidence for each pair: shared = Σ min, sizes = Σ weights, summed in the order of the features."""
        if values.weights is not None and not values.distinct:
            raise PlanError("Weighted features must be distinct: the last weight stage leaves repeated ones.")
        check_weights(values)
        sets = make_distinct(values)
        weights = np.ones(len(sets.hashes), np.float32) if sets.weights is None else sets.weights
        shared = np.zeros(len(left), np.float64)
        kernels.sets.intersect_weighted(sets.hashes, weights, sets.offsets, left, right, shared)
        sizes = np.zeros(len(sets))
        kernels.weighted.sum_weights(sets.offsets, weights, False, sizes)
        return Pairs(left, right, shared, sizes[left], sizes[right])

    def passes(self, pairs: Pairs, threshold: float) -> NDArray[np.bool_]:
        """Whether each pair reaches the threshold."""
        return (pairs.similarity >= threshold - TOLERANCE) & (pairs.shared > 0)
