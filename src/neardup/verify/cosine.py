"""The cosine of the angle between weighted documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Features, Numbers, Pairs
from neardup.thresholds import TOLERANCE


@dataclass(frozen=True)
class Cosine:
    """Dot products of weights over the shared features, and squared norms."""

    level: Literal["features"] = "features"
    measures: ClassVar[str] = "cosine"

    def measure(self, values: Features, left: Numbers, right: Numbers) -> Pairs:
        """The evidence for each pair of documents of a batch; features must be distinct and sorted."""
        weights = np.ones(len(values.hashes)) if values.weights is None else values.weights.astype(np.float64)
        dots = np.zeros(len(left))
        kernels.weighted.dot(values.hashes, weights, values.offsets, left, right, dots)
        norms = np.zeros(len(values))
        kernels.weighted.sum_weights(values.offsets, weights, True, norms)
        return Pairs(left, right, dots, norms[left], norms[right], "cosine")

    def passes(self, pairs: Pairs, threshold: float) -> NDArray[np.bool_]:
        """Whether each pair reaches the threshold."""
        return (pairs.similarity >= threshold - TOLERANCE) & (pairs.shared > 0)
