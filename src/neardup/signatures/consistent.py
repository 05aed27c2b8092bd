"""Consistent weighted sampling: slots that agree as often as the documents' weights do (weighted Jaccard)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from neardup import kernels
from neardup.columns import Features, Signatures
from neardup.weights.checks import check_weights, positive


@dataclass(frozen=True)
class Consistent:
    """`slots` independent samples (phrase, t) of each document.

    P(a slot is equal) = Σ min(w, w') / Σ max(w, w') over all phrases.

    darts   for any weights: the first darts of a Poisson process over phrases; the cheapest
    ioffe   for any weights: Ioffe's sampler, features · slots steps; the paper's, and the reference
    clocks  one exponential clock per phrase, if a phrase has the same weight in every document
    """

    slots: int = 128
    seed: int = 1
    sampler: Literal["darts", "ioffe", "clocks"] = "darts"
    estimates = "weighted_jaccard"

    def __call__(self, features: Features) -> Signatures:
        check_weights(features)
        some = positive(features)
        slots = np.zeros((len(features), self.slots), np.uint32)
        weights = np.ones(len(some.hashes), np.float32) if some.weights is None else some.weights
        if self.sampler == "ioffe":
            logs = np.log(weights.astype(np.float64)).astype(np.float32)
            seed = (self.seed * 0x9E3779B1 + 1) & 0xFFFFFFFF
            kernels.consistent.sample(some.hashes, logs, some.offsets, seed, slots)
        else:
            kernel = kernels.consistent.darts if self.sampler == "darts" else kernels.consistent.race
            kernel(some.hashes, weights.astype(np.float64), some.offsets, self.seed, slots)
        return Signatures(slots, some.sizes > 0)
