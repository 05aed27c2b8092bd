"""Sign bits of random projections: equal as often as the angle between weighted documents is small."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from math import acos, pi
from statistics import NormalDist
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Features, Signatures, field_of, make_distinct

Projection = Literal["signs", "gaussian", "uniform"]
FIXED_POINT = 1 << 20  # of the largest weight of a document: weights are whole numbers of this share of it


def bit_agreement(cosine: float) -> float:
    """The share of equal sign bits that a cosine similarity gives: 1 − θ/π (Charikar)."""
    return 1 - acos(max(-1.0, min(1.0, cosine))) / pi


@dataclass(frozen=True)
class SignBits:
    """`bits` signs of random projections (Charikar; section 2.3 of the ANDD paper), packed into 32-bit slots.

    P(a bit is equal) = 1 − θ/π, θ being the angle between the documents' weighted features: exactly for gaussian
    coefficients, and for ±1 and uniform ones the closer the more features a document has. ±1 (`signs`) is the cheapest
    by far.
    """

    bits: int = 64
    seed: int = 1
    projection: Projection = "signs"
    estimates: ClassVar[str] = "angle"

    @property
    def slots(self) -> int:
        """32-bit words."""
        return -(-self.bits // 64) * 2

    def __call__(self, features: Features) -> Signatures:
        features = make_distinct(features)
        out = np.empty((len(features), self.slots), np.uint32)
        values = (features.hashes, fixed_point(features), features.offsets, self.seed)
        if self.projection == "signs":
            kernels.bits.sign_bits(*values, out)
        else:
            kernels.bits.table_signs(*values, coefficients(self.projection), out)
        valid = np.clip(self.bits - 32 * np.arange(self.slots), 0, 32)
        out &= ((np.int64(1) << valid) - 1).astype(np.uint32)  # the kernel makes a multiple of 64 bits
        return Signatures(out, features.sizes > 0)


@cache
def coefficients(projection: Projection) -> NDArray[np.int64]:
    """256 equally likely coefficients of a projection, as whole numbers."""
    middles = (np.arange(256) + 0.5) / 256
    if projection == "uniform":
        return np.rint(2 * middles * 256 - 256).astype(np.int64) | 1  # odd: -255, -253, … 255, none of them 0
    return np.array([round(1024 * NormalDist().inv_cdf(share)) for share in middles.tolist()], np.int64)


def fixed_point(features: Features) -> NDArray[np.int64]:
    """The weights as whole numbers, relative to the largest of each document: a scale changes no sign."""
    if features.weights is None:
        return np.ones(len(features.hashes), np.int64)
    out = np.empty(len(features.hashes), np.int64)
    kernels.bits.to_fixed_point(features.weights, features.offsets, FIXED_POINT, out)
    return out


@dataclass(frozen=True)
class ReservedBits:
    """Sign bits of all features but those of a field, and behind them `reserved` bits that are a hash of the field.

    Documents whose field is equal agree in the reserved bits; others differ in half of them (thesis, 7.1.1).
    """

    bits: int = 64
    reserved: int = 8
    field: int = 1
    seed: int = 1
    estimates: ClassVar[str] = "angle"

    @property
    def slots(self) -> int:
        """32-bit words."""
        return -(-self.bits // 64) * 2

    def __call__(self, features: Features) -> Signatures:
        features = make_distinct(features)
        own = field_of(features) == self.field
        weights = np.ones(len(own), np.float32) if features.weights is None else features.weights
        rest = replace(features, weights=np.where(own, np.float32(0), weights))
        signs = SignBits(self.bits - self.reserved, self.seed)(rest)
        out = np.zeros((len(features), self.slots), np.uint32)
        out[:, : signs.slots.shape[1]] = signs.slots
        document = np.repeat(np.arange(len(features)), features.sizes)
        digest = np.zeros(len(features), np.uint64)
        np.add.at(digest, document[own], features.hashes[own] * np.uint64(0xD6E8FEB86659FD93))
        digest = (digest ^ digest >> np.uint64(32)) * np.uint64(0xC2B2AE3D27D4EB4F) >> np.uint64(32)
        for bit in range(self.reserved):
            place = self.bits - self.reserved + bit
            out[:, place // 32] |= (
                (digest >> np.uint64(bit) & np.uint64(1)) << np.uint64(place % 32)
            ).astype(np.uint32)
        return Signatures(out, features.sizes > 0)
