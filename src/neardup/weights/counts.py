"""Weights that are frequencies: how often each feature occurs in a document."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup import kernels
from neardup.columns import Features, Tokens
from neardup.errors import PlanError
from neardup.weights.checks import PlainWeight


@dataclass(frozen=True)
class Counts(PlainWeight):
    """Occurrences combined: distinct features sorted by hash, weighted by their number (exact below 2²⁴)."""

    def __call__(
        self, features: Features, tokens: Tokens | None = None, statistics: object = None
    ) -> Features:
        if features.weights is not None:
            raise PlanError(
                "Counts must come before other weights: it counts occurrences, and these are weighted."
            )
        hashes = np.empty(len(features.hashes), np.uint64)
        counts = np.empty(len(features.hashes), np.float32)
        ends = kernels.sets.count_equal(features.hashes, features.offsets, hashes, counts)
        return Features(ends, hashes[: ends[-1]], counts[: ends[-1]], distinct=True)
