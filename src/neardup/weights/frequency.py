"""Weights by document frequency: what is rare says more, what is everywhere says nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Features, Tokens
from neardup.errors import StatisticsError
from neardup.plan import Feature, stage_json
from neardup.statistics import Statistics
from neardup.weights.checks import keep_only
from neardup.weights.counts import Counts


def frequencies(of: Feature, features: Features, statistics: Statistics | None) -> NDArray[np.int64]:
    """The document frequency of each feature of a batch; what was never seen counts as seen once."""
    if statistics is None:
        raise StatisticsError("This plan weighs features by their document frequency: count them first.")
    return np.maximum(statistics.table(stage_json(of)).of(features.hashes), 1)


def normalised_idf(counts: NDArray[np.int64], documents: int) -> NDArray[np.float64]:
    """log(N / df) / log N: 0 for a feature of every document, 1 for one of a single document.

    A single document tells nothing about what is frequent (log 1 = 0): everything then counts as rare.
    """
    if documents <= 1:
        return np.ones(len(counts))
    rest = np.log(documents / np.minimum(counts, documents))
    return rest / np.log(documents)


@dataclass(frozen=True)
class IdfRange:
    """Only features whose normalised idf lies in [low, high] stay."""

    of: Feature
    low: float = 0.2
    high: float = 0.85
    details: ClassVar[bool] = False

    @property
    def counts(self) -> tuple[Feature, ...]:
        """The features themselves are counted."""
        return (self.of,)

    def __call__(self, features: Features, tokens: Tokens, statistics: Statistics | None) -> Features:
        counts = frequencies(self.of, features, statistics)
        assert statistics is not None
        idf = normalised_idf(counts, statistics.documents)
        return keep_only(features, (idf >= self.low) & (idf <= self.high))


@dataclass(frozen=True)
class TfIdf:
    """Distinct features weighted by tf · log(N / df), tf being the number of occurrences.

    In a single document, or for features of every document, log(N / df) is 0; one is added inside (N + 1) so
    that a document does not vanish.
    """

    of: Feature
    details: ClassVar[bool] = False

    @property
    def counts(self) -> tuple[Feature, ...]:
        """The features themselves are counted."""
        return (self.of,)

    def __call__(self, features: Features, tokens: Tokens, statistics: Statistics | None) -> Features:
        bag = features if features.distinct else Counts()(features)
        counts = frequencies(self.of, bag, statistics)
        assert statistics is not None
        occurrences = 1 if bag.weights is None else bag.weights
        idf = np.log((statistics.documents + 1) / np.minimum(counts, statistics.documents))
        return replace(bag, weights=(occurrences * idf).astype(np.float32))
