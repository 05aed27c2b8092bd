"""Weights by document frequency: idf windows and tf-idf."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Features, Tokens
from neardup.errors import StatisticsError
from neardup.plan import Feature, stage_json
from neardup.statistics import Statistics
from neardup.weights.checks import keep_only
from neardup.weights.counts import Counts


def frequencies(of: Feature, features: Features, statistics: Statistics | None) -> NDArray[np.int64]:
    """The document frequency of each feature of a batch; 1 for a feature that was not counted."""
    if statistics is None:
        raise StatisticsError("This plan weighs features by document frequency: count them first.")
    return np.maximum(statistics.table(stage_json(of)).of(features.hashes), 1)


def normalised_idf(counts: NDArray[np.int64], documents: int) -> NDArray[np.float64]:
    """log(N / df) / log N: 0 for a feature of every document, 1 for one of a single document.

    In a single document (log 1 = 0) every feature counts as rare.
    """
    if documents <= 1:
        return np.ones(len(counts))
    rest = np.log(documents / np.minimum(counts, documents))
    return rest / np.log(documents)


class _FrequencyWeight:
    """A weight stage by the document frequencies of its own features."""

    of: Feature
    details: ClassVar[bool] = False

    @property
    def counts(self) -> tuple[Feature, ...]:
        """The features themselves are counted."""
        return (self.of,)


@dataclass(frozen=True)
class IdfRange(_FrequencyWeight):
    """Only features whose normalised idf lies in [low, high] stay."""

    of: Feature
    low: float = 0.2
    high: float = 0.85

    def __call__(self, features: Features, tokens: Tokens, statistics: Statistics | None) -> Features:
        counts = frequencies(self.of, features, statistics)
        assert statistics is not None
        idf = normalised_idf(counts, statistics.documents)
        return keep_only(features, (idf >= self.low) & (idf <= self.high))


Tf = Literal["count", "log", "once"]
Idf = Literal["log", "inverse", "normalised", "smooth"]
KNOWN = 1 << 20  # document frequencies whose idf is computed once


@dataclass(frozen=True)
class TfIdf(_FrequencyWeight):
    """Distinct features weighted by tf · idf, in several forms.

    tf   count: the number of occurrences; log: 1 + log of it; once: 1
    idf  log: log((N + 1) / df), one being added so that a feature of every document does not vanish; inverse: 1 / df
         (section 3.3 of the simhash thesis); normalised: log(N / df) / log N; smooth: 1 + log((N + 1) / (df + 1))
    """

    of: Feature
    tf: Tf = "count"
    idf: Idf = "log"

    def __call__(self, features: Features, tokens: Tokens | None, statistics: Statistics | None) -> Features:
        bag = features if features.distinct else Counts()(features)
        counts = frequencies(self.of, bag, statistics)
        assert statistics is not None
        known = known_idf(self.idf, statistics.documents)
        weights = np.empty(len(counts), np.float32)
        kernels.weighted.weigh(counts, known, self._tf(bag), weights)
        if statistics.documents >= KNOWN and (often := counts >= KNOWN).any():
            idf = compute_idf(self.idf, counts[often], statistics.documents)
            weights[often] *= idf / known[-1]
        return replace(bag, weights=weights)

    def _tf(self, bag: Features) -> NDArray[np.float32]:
        """The factor of each feature; none where all are 1."""
        if bag.weights is None or self.tf == "once":
            return np.zeros(0, np.float32)
        return bag.weights if self.tf == "count" else 1 + np.log(np.maximum(bag.weights, np.float32(1)))


@lru_cache(maxsize=8)
def known_idf(form: Idf, documents: int) -> NDArray[np.float32]:
    """The idf of each document frequency from 0 (which counts as 1) up to all documents, or so many."""
    counts = np.maximum(np.arange(min(documents, KNOWN) + 1), 1)
    return compute_idf(form, counts, documents)


def compute_idf(form: Idf, counts: NDArray[np.int64], documents: int) -> NDArray[np.float32]:
    """The idf of document frequencies; a frequency above the number of documents counts as that."""
    df = np.minimum(counts, documents := max(documents, 1))
    if form == "log":
        idf = np.log((documents + 1) / df)
    elif form == "inverse":
        idf = 1 / df
    elif form == "normalised":
        idf = normalised_idf(counts, documents)
    else:
        idf = 1 + np.log((documents + 1) / (df + 1))
    return idf.astype(np.float32)
