"""Checks of candidates as weighted vectors: cosine, and extended Jaccard."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Features, Numbers, Pairs
from neardup.plan import Check
from neardup.thresholds import TOLERANCE

Curve = tuple[float, float]


def probabilities(check: Check, similarity: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """How likely pairs of these scores are near-duplicates; None if they were not learned."""
    curve = getattr(check, "curve", None)
    if curve is None:
        return None
    from neardup.learn.model.file import Probability

    return np.asarray(Probability(*curve).of(similarity), np.float64)


@dataclass(frozen=True)
class Cosine:
    """Dot products of weights over the shared features, and squared norms."""

    level: Literal["features"] = "features"
    curve: Curve | None = None  # slope and midpoint from score to probability, if learned
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


@dataclass(frozen=True)
class ExtendedJaccard:
    """The shared part of two vectors: x·y / (x² + y² − x·y), formula (3) of the ANDD paper."""

    level: Literal["features"] = "features"
    curve: Curve | None = None
    measures: ClassVar[str] = "extended_jaccard"

    def measure(self, values: Features, left: Numbers, right: Numbers) -> Pairs:
        """The same evidence as for the cosine, combined by formula (3)."""
        return replace(Cosine().measure(values, left, right), kind="jaccard")

    def passes(self, pairs: Pairs, threshold: float) -> NDArray[np.bool_]:
        """Whether each pair reaches the threshold."""
        return Cosine().passes(pairs, threshold)
