"""Min-hash: slots that agree as often as the documents' feature sets do (Jaccard)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Features, Signatures


@dataclass(frozen=True)
class MinHash:
    """The least value of `slots` random permutations over a document's features.

    P(a slot is equal) = |A ∩ B| / |A ∪ B| (slides, 'Detecting near-duplicates from sketches'). Repeated
    features change nothing, so they need not be removed first.
    """

    slots: int = 128
    seed: int = 1
    multiset: bool = False  # a feature of weight w counts as w features: estimates Σ min / Σ max
    estimates = "jaccard"

    def __call__(self, features: Features) -> Signatures:
        if self.multiset:
            features = number_occurrences(features)
        mix, places = permutations(self.slots, self.seed)
        slots = np.empty((len(features), len(places)), np.uint32)
        kernels.minhash.minhash(features.hashes, features.offsets, mix, places, slots)
        return Signatures(slots[:, : self.slots], features.sizes > 0)


def number_occurrences(features: Features) -> Features:
    """Counted features as single occurrences, so that sets of them are what multi-sets were."""
    if features.weights is None:
        return features
    hashes = np.empty(int(features.weights.sum(dtype=np.float64)), np.uint64)
    ends = kernels.sets.number_occurrences(features.hashes, features.weights, features.offsets, hashes)
    return Features(ends, hashes[: ends[-1]])


@cache
def permutations(slots: int, seed: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The mixing of the halves of a hash (a, b of each), and the position of each slot of the kernel.

    The kernel makes a multiple of four slots.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    mix = random.integers(0, 2**32, 4, dtype=np.uint32)
    mix[[0, 2]] |= np.uint32(1)
    return mix, random.permutation(-(-slots // 4) * 4)
