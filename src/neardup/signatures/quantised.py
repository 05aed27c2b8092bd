"""Min-hash of real weights: each is cut into levels, and a k-gram of level w counts as w features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Features, Signatures, make_distinct
from neardup.signatures.minhash import permutations


@dataclass(frozen=True)
class QuantisedMinHash:
    """`slots` min-hashes of weights as whole numbers of 1/levels (ANDD paper, section 3.2, after Gionis).

    P(a slot is equal) = Σ min / Σ max of the levels: this is not the extended Jaccard of formula (3), and equals it
    only if all weights are equal. Weights below half a level do not count; weights above `most` levels are clipped.
    """

    slots: int = 80
    levels: int = 8  # of a weight of 1
    most: int = 64
    seed: int = 1
    estimates: ClassVar[str] = "weighted_jaccard"

    def __call__(self, features: Features) -> Signatures:
        features = make_distinct(features)
        levels = quantise(features, self.levels, self.most)
        mix, places = permutations(self.slots, self.seed)
        slots = np.empty((len(features), self.slots), np.uint32)
        steps = places[: self.slots].astype(np.uint32)
        kernels.grams.minhash_levels(features.hashes, levels, features.offsets, mix, steps, slots)
        sums = np.concatenate([[0], np.cumsum(levels)])
        return Signatures(slots, sums[features.offsets[1:]] > sums[features.offsets[:-1]])


def quantise(features: Features, levels: int, most: int) -> NDArray[np.int64]:
    """The level of each weight."""
    if features.weights is None:
        return np.full(len(features.hashes), levels, np.int64)
    return np.clip(np.rint(features.weights.astype(np.float64) * levels), 0, most).astype(np.int64)
