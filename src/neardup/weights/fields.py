"""Weights of fields: a share of the largest weight of the text, or enough to flip bits (4.1, 7.1.1)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, log2

import numpy as np

from neardup import kernels
from neardup.columns import Features, field_of
from neardup.errors import ParameterError
from neardup.weights.checks import PlainWeight
from neardup.weights.position import as_bag
from neardup.weights.shape import largest_weights


@dataclass(frozen=True)
class FieldShare(PlainWeight):
    """Features of fields weigh a share of the largest weight in the document's text, whatever they weighed (4.1).

    A document without text keeps its fields, all of weight 1.
    """

    share: float = 1.0
    field: int = 0  # the number of the field; 0: all of them

    def __call__(self, features: Features, tokens: object = None, statistics: object = None) -> Features:
        bag = as_bag(features)
        assert bag.weights is not None
        fields = field_of(bag)
        text = replace(bag, weights=np.where(fields == 0, bag.weights, np.float32(0)))
        largest = largest_weights(text)
        largest[largest == 0] = 1
        chosen = fields > 0 if self.field == 0 else fields == self.field
        return replace(
            bag, weights=np.where(chosen, np.float32(self.share) * largest, bag.weights).astype(np.float32)
        )


FIXED = 1 << 20  # the largest weight of a document as a whole number


@dataclass(frozen=True)
class FlipWeight(PlainWeight):
    """Features of a field weigh as much as makes a change of the field flip a bit with a stated probability (7.1.1).

    Of q bits whose sum over the other features is smaller than the weight, each flips with probability ½ when the
    field becomes another: at least one does with 1 − 2^−q. The thesis' least sum (q = 1) flips every second time, and
    guarantees nothing. `bits` and `seed` are those of the signature; the field should be one feature, such as a name.
    """

    field: int
    probability: float = 0.99
    bits: int = 64
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuses a probability of 1, or one that needs more bits than there are."""
        if not 0 < self.probability < 1 or self.needed > self.bits:
            limit = f"above 0 and at most 1 − 2^−{self.bits}"
            raise ParameterError("probability", "a field that flips bits", limit, self.probability)

    @property
    def needed(self) -> int:
        """The number of bits that a change must be able to flip."""
        return max(1, ceil(-log2(1 - self.probability) - 1e-9))

    def __call__(self, features: Features, tokens: object = None, statistics: object = None) -> Features:
        bag = as_bag(features)
        assert bag.weights is not None
        own = field_of(bag) == self.field
        rest = np.where(own, np.float32(0), bag.weights)
        fixed = np.empty(len(rest), np.int64)
        kernels.bits.to_fixed_point(rest, bag.offsets, FIXED, fixed)
        sums = np.empty((len(bag), -(-self.bits // 64) * 64), np.int64)
        kernels.bits.projections(bag.hashes, fixed, bag.offsets, self.seed, sums)
        reach = np.sort(np.abs(sums[:, : self.bits]), axis=1)[:, self.needed - 1] + 1.0
        weight = np.repeat(reach / FIXED, bag.sizes) * np.maximum(
            largest_weights(replace(bag, weights=rest)), 1e-6
        )
        return replace(bag, weights=np.where(own, weight, bag.weights).astype(np.float32))
