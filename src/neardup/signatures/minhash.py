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
    estimates = "jaccard"

    def __call__(self, features: Features) -> Signatures:
        a, b = permutations(self.slots, self.seed)
        slots = np.empty((len(features), len(a)), np.uint32)
        kernels.minhash.minhash(features.hashes, features.offsets, a, b, slots)
        return Signatures(slots[:, : self.slots], features.sizes > 0)


@cache
def permutations(slots: int, seed: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Multipliers (odd) and summands of the permutations of 32-bit integers, rounded up to a multiple of four.

    Each is drawn by itself, so that the first slots of a longer signature are those of a shorter one.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    draws = random.integers(0, 2**32, (-(-slots // 4) * 4, 2), dtype=np.uint32)
    return draws[:, 0] | np.uint32(1), np.ascontiguousarray(draws[:, 1])
