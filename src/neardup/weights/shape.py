"""Weight stages by rank among the weights of a document: thresholds, top, middle, outliers (5.1, 7.1.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Features, Numbers
from neardup.weights.checks import PlainWeight, keep_only
from neardup.weights.position import as_bag

Floats = NDArray[np.float32]


def largest_weights(bag: Features) -> Floats:
    """For each feature the largest weight of its document."""
    assert bag.weights is not None
    largest = np.zeros(len(bag), np.float32)
    filled = np.flatnonzero(bag.sizes > 0)
    if len(filled):
        largest[filled] = np.maximum.reduceat(bag.weights, bag.offsets[filled])
    return np.repeat(largest, bag.sizes)


def ranks(bag: Features) -> Numbers:
    """The rank of each feature by weight in its document, 0 for the heaviest; of equal ones the smaller hash first."""
    assert bag.weights is not None
    document = np.repeat(np.arange(len(bag)), bag.sizes)
    order = np.lexsort((-bag.weights, document))
    found = np.empty(len(order), np.int64)
    found[order] = np.arange(len(order)) - np.repeat(bag.offsets[:-1], bag.sizes)
    return found


class _Shape(PlainWeight):
    """A weight stage that depends on weights alone."""

    def __call__(self, features: Features, tokens: object = None, statistics: object = None) -> Features:
        bag = as_bag(features)
        return keep_only(bag, self.keeps(bag))

    def keeps(self, bag: Features) -> NDArray[np.bool_]:
        """Which features stay."""
        raise NotImplementedError


@dataclass(frozen=True)
class Threshold(_Shape):
    """Features of at least a share of the document's largest weight.

    The thesis (6.4) drops half of the features of a document, or nine tenths of them. With its weights, tf / df, the
    shares are 0.01 and 0.5; with the logarithm of idf weights are closer, and 0.1 and 0.3 drop as many.
    """

    share: float = 0.1

    def keeps(self, bag: Features) -> NDArray[np.bool_]:
        """Those that reach the share."""
        assert bag.weights is not None
        return bag.weights >= np.float32(self.share) * largest_weights(bag)


@dataclass(frozen=True)
class Top(_Shape):
    """The features of largest weight (5.1: 20)."""

    count: int = 20

    def keeps(self, bag: Features) -> NDArray[np.bool_]:
        """The first ones."""
        return ranks(bag) < self.count


@dataclass(frozen=True)
class TopShare(_Shape):
    """A share of the features, those of largest weight, at least one (6.4.4: 10 %)."""

    share: float = 0.1

    def keeps(self, bag: Features) -> NDArray[np.bool_]:
        """The first ones."""
        return ranks(bag) < np.repeat(np.maximum(np.ceil(self.share * bag.sizes), 1), bag.sizes)


@dataclass(frozen=True)
class Middle(_Shape):
    """Features between two shares of the largest weight; all of them if none lies between (7.1.2)."""

    low: float = 0.1
    high: float = 0.5

    def keeps(self, bag: Features) -> NDArray[np.bool_]:
        """Those inside."""
        assert bag.weights is not None
        largest = largest_weights(bag)
        inside = (bag.weights >= np.float32(self.low) * largest) & (
            bag.weights <= np.float32(self.high) * largest
        )
        document = np.repeat(np.arange(len(bag)), bag.sizes)
        none = np.bincount(document, inside, len(bag)) == 0
        return inside | none[document]


@dataclass(frozen=True)
class Damp(PlainWeight):
    """Weights above the `rank`-th largest, times a factor, are lowered to that (7.1.2: the top ones were ten times
    the fifth)."""

    rank: int = 5
    factor: float = 1.0

    def __call__(self, features: Features, tokens: object = None, statistics: object = None) -> Features:
        bag = as_bag(features)
        assert bag.weights is not None
        at = ranks(bag) == np.repeat(np.minimum(self.rank, bag.sizes), bag.sizes) - 1
        limit = np.repeat(bag.weights[at], bag.sizes[bag.sizes > 0]) * np.float32(self.factor)
        return replace(bag, weights=np.minimum(bag.weights, limit))
