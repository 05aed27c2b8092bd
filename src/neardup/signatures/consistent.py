"""Consistent weighted sampling: slots that agree as often as the documents' weights do (weighted Jaccard)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup import kernels
from neardup.columns import Features, Signatures
from neardup.weights.checks import check_weights, positive


@dataclass(frozen=True)
class Consistent:
    """`slots` samples (phrase, t), one document's independent of each other.

    P(a slot is equal) = Σ min(w, w') / Σ max(w, w') over all phrases: Ioffe's sampler for any weights, or one
    exponential clock per phrase, much cheaper, where a phrase has the same weight in every document.
    """

    slots: int = 128
    seed: int = 1
    by_phrase: bool = False  # weights depend on the phrase alone
    estimates = "weighted_jaccard"

    def __call__(self, features: Features) -> Signatures:
        check_weights(features)
        some = positive(features)
        slots = np.zeros((len(features), self.slots), np.uint32)
        weights = np.ones(len(some.hashes), np.float32) if some.weights is None else some.weights
        if self.by_phrase:
            times = weights.astype(np.float64)
            kernels.consistent.race(some.hashes, times, some.offsets, self.seed, slots)
        else:
            logs = np.log(weights.astype(np.float64)).astype(np.float32)
            seed = (self.seed * 0x9E3779B1 + 1) & 0xFFFFFFFF
            kernels.consistent.sample(some.hashes, logs, some.offsets, seed, slots)
        return Signatures(slots, some.sizes > 0)
