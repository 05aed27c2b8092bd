"""Min-hash of real weights: each is cut into levels, and a k-gram of level w counts as w features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Features, Signatures, make_distinct
from neardup.signatures.minhash import permutations

LEVELS = 8  # of a weight of 1
SPREAD, AGAIN = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


@dataclass(frozen=True)
class QuantisedMinHash:
    """`slots` min-hashes of weights as whole numbers of 1/levels (ANDD paper, section 3.2, after Gionis).

    P(a slot is equal) = Σ min / Σ max of the levels: this is not the extended Jaccard of formula (3), and equals it
    only if all weights are equal. The paper multiplies by "a big integer" and cuts; a hash takes as many steps as a
    document has levels. Here a k-gram's fraction of a level counts as a whole one with that probability, drawn by its
    hash, the same in every document: few levels then estimate without bias. Weights above `largest` are clipped.
    """

    slots: int = 80
    levels: int = LEVELS
    largest: int = 8
    seed: int = 1
    estimates: ClassVar[str] = "weighted_jaccard"

    def __call__(self, features: Features) -> Signatures:
        features = make_distinct(features)
        levels = quantise(features, self.levels, self.largest, self.seed)
        mix, places = permutations(self.slots, self.seed)
        slots = np.empty((len(features), self.slots), np.uint32)
        steps = places[: self.slots].astype(np.uint32)
        kernels.grams.minhash_levels(features.hashes, levels, features.offsets, mix, steps, slots)
        sums = np.concatenate([[0], np.cumsum(levels)])
        return Signatures(slots, sums[features.offsets[1:]] > sums[features.offsets[:-1]])


def quantise(features: Features, levels: int, largest: int, seed: int) -> NDArray[np.int64]:
    """The level of each weight, its fraction rounded up if it exceeds a number that the hash of the k-gram draws."""
    if features.weights is None:
        return np.full(len(features.hashes), levels, np.int64)
    mixed = (features.hashes ^ np.uint64(seed)) * SPREAD
    mixed = (mixed ^ mixed >> np.uint64(29)) * AGAIN
    drawn = (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53  # from 0 up to, but not including, 1
    scaled = np.clip(features.weights.astype(np.float64), 0, largest) * levels
    return np.floor(scaled + drawn).astype(np.int64)
