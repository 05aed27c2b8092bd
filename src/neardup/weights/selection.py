"""Weight stages that sample: a part of the features represents all of them."""

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


def stirred(hashes: Hashes) -> Hashes:
    """Independent hashes of the same features: sampling by the hashes that min-hash uses would bias it."""
    once = (hashes ^ (hashes >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    twice = (once ^ (once >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return twice ^ (twice >> np.uint64(33))


def one_in(p: int) -> tuple[OneIn, ...]:
    """The weight stages that select one feature in p: none if that is all of them."""
    return () if p == 1 else (OneIn(p),)
