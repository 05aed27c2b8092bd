"""Weight stages that select: a sample of the features, or the documents with enough of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.columns import Features, Hashes, Tokens
from neardup.statistics import Statistics
from neardup.weights.checks import PlainWeight, keep_only


@dataclass(frozen=True)
class OneIn(PlainWeight):
    """Only features whose hash is 0 mod `p` stay: the same ones in every document, one in p on average.

    The sampling by remainder of Broder and others (simhash thesis, 2.3.1; SpotSigs, 5.3.1). A document may be left
    without features; it is then never matched.
    """

    p: int

    def __call__(
        self, features: Features, tokens: Tokens | None = None, statistics: Statistics | None = None
    ) -> Features:
        return keep_only(features, stirred(features.hashes) % np.uint64(self.p) == 0)


@dataclass(frozen=True)
class AtLeast(PlainWeight):
    """No features for documents that have fewer than `count`: they are never matched (SpotSigs, section 5.4)."""

    count: int

    def __call__(
        self, features: Features, tokens: Tokens | None = None, statistics: Statistics | None = None
    ) -> Features:
        weights = np.ones(len(features.hashes)) if features.weights is None else features.weights
        before = np.concatenate([[0.0], np.cumsum(weights, dtype=np.float64)])
        enough = before[features.offsets[1:]] - before[features.offsets[:-1]] >= self.count
        return keep_only(features, np.repeat(enough, features.sizes))


def stirred(hashes: Hashes) -> Hashes:
    """Independent hashes of the same features: sampling by the hashes that min-hash uses would bias it."""
    once = (hashes ^ (hashes >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    twice = (once ^ (once >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return twice ^ (twice >> np.uint64(33))


def one_in(p: int) -> tuple[OneIn, ...]:
    """The weight stages that select one feature in p: none if that is all of them."""
    return () if p == 1 else (OneIn(p),)
