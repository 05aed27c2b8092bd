"""Candidates that agree in a band of sampled sign bits: for cosines too low for Hamming tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import comb, lgamma, log
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.candidates.groups import check_tables, least_found
from neardup.columns import Hashes, Numbers, Signatures
from neardup.errors import PlanError
from neardup.plan import Distribution
from neardup.signatures.sign_bits import bit_agreement

Kind = Literal["cosine", "jaccard"]
Mask = NDArray[np.bool_]
MOST_BANDS = 256  # keys of a document, at most
WIDTHS = range(32, 3, -1)  # bits of a band to try, the most selective first
UNLIKELY = 3e-4  # the chance that a pair at the threshold differs in more bits than `most_different`
ENOUGH = 32  # features from which on the bits of a document say as much


def least_cosine(similarity: float, kind: Kind) -> float:
    """The least cosine of two vectors of this similarity: a² + b² ≥ 2ab makes it 2s / (1 + s) for extended Jaccard."""
    return similarity if kind == "cosine" else 2 * similarity / (1 + similarity)


def equal_share(similarity: float, kind: Kind) -> float:
    """The least share of equal bits that vectors of this similarity are expected to have: 1 − θ/π."""
    return bit_agreement(least_cosine(similarity, kind))


@dataclass(frozen=True)
class Sieve:
    """Leaves the pairs of documents that differ in few bits, or of which one is exempt."""

    words: Hashes
    exempt: Mask
    most: int

    def __call__(self, left: Numbers, right: Numbers) -> tuple[Numbers, Numbers]:
        """Such pairs; what is given is overwritten."""
        kept = kernels.bits.keep_near(self.words, self.exempt, self.most, left, right)
        return left[:kept], right[:kept]

    def among(
        self,
        members: Numbers,
        starts: Numbers,
        id_hashes: Hashes,
        rule: tuple[int, int, int],
        packed: Numbers,
    ) -> Numbers:
        """Such pairs of buckets by a rule, left · n + right; `packed` has room for all pairs of the rule."""
        sieve = (self.words, self.exempt, self.most)
        kept = kernels.bits.near_pairs(members, starts, id_hashes, rule, sieve, packed)
        return packed[:kept].copy()


@dataclass(frozen=True)
class BitBands:
    """`bands` samples of `width` of the signature's bits; documents that agree in all bits of one are candidates.

    Each band draws its bits from all of them, so that a signature of 48 bytes serves any number of bands.
    """

    bits: int = 384
    bands: int = 128
    width: int = 16
    kind: Kind = "cosine"  # the similarity of the plan's threshold
    seed: int = 1
    level: ClassVar[Literal["signatures"]] = "signatures"
    distribution: ClassVar[Distribution] = "keys"
    decides: ClassVar[str] = ""  # no band decides without chance

    def __post_init__(self) -> None:
        """Refuses more bands than a run can fill and sort."""
        check_tables(self.bands)

    @property
    def tables(self) -> int:
        """The number of tables of keys."""
        return self.bands

    def keys(self, signatures: Signatures) -> Hashes:
        """A 64-bit key for each band and document."""
        if 32 * signatures.slots.shape[1] < self.bits:
            raise PlanError(
                f"The signature has {32 * signatures.slots.shape[1]} bits, and the bands need {self.bits}."
            )
        keys = np.empty((self.bands, len(signatures)), np.uint64)
        kernels.bits.sampled_keys(signatures.slots, sampled_bits(self), self.seed, keys)
        return keys

    def keys_of_table(self, slots: NDArray[np.uint32], table: int) -> Hashes:
        """The keys of one band alone, from signatures: cheaper than to store those of all bands."""
        keys = np.empty((1, len(slots)), np.uint64)
        kernels.bits.sampled_keys(slots, sampled_bits(self)[table : table + 1], self.seed + table, keys)
        return keys[0]

    def probability(self, similarity: float) -> float:
        """The probability that a pair of this similarity becomes a candidate.

        If m of B bits are equal, a band of w bits finds the pair with probability C(m, w) / C(B, w); m is binomial.
        """
        agree = equal_share(similarity, self.kind)
        return _found(agree, self.bits, self.bands, self.width)

    def reach(self, recall: float) -> float:
        """The least similarity that is found with at least this probability."""
        return least_found(self.probability, recall, steps=40)

    def most_different(self, similarity: float) -> int:
        """The bits, of the whole signature, in which a pair of this similarity differs at most, nearly always."""
        return distance_for(equal_share(similarity, self.kind), 1 - UNLIKELY, self.bits)

    def sieve(self, signatures: Signatures, similarity: float, exempt: Mask) -> Sieve:
        """Pairs without those that are not this similar by all their bits; the function overwrites what it is given.

        A band of few bits is shared by many unrelated documents, and nearly none of these agree in enough of all bits:
        that is seen in a hundredth of the time of a comparison. Pairs with an exempt document stay.
        """
        words = np.ascontiguousarray(signatures.slots).view(np.uint64)
        return Sieve(words, exempt, self.most_different(similarity))


@cache
def sampled_bits(bands: BitBands) -> Numbers:
    """The bits of each band, none twice in a band."""
    rng = np.random.Generator(np.random.PCG64(bands.seed))
    return np.stack([rng.permutation(bands.bits)[: bands.width] for _ in range(bands.bands)]).astype(np.int64)


@cache
def choose_bit_bands(threshold: float, recall: float, bits: int, kind: Kind, seed: int) -> BitBands:
    """The widest bands, and as few of them as are needed, that find pairs at the threshold with this probability."""
    agree = equal_share(threshold, kind)
    for width in WIDTHS:
        if width > bits or _found(agree, bits, MOST_BANDS, width) < recall:
            continue
        low, high = 1, MOST_BANDS
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if _found(agree, bits, middle, width) >= recall else (middle + 1, high)
        return BitBands(bits, high, width, kind, seed)
    return BitBands(bits, MOST_BANDS, min(WIDTHS[-1], bits), kind, seed)


def distance_for(agree: float, recall: float, bits: int) -> int:
    """The least distance that holds a pair with probability `recall`, if each bit is equal with probability `agree`."""
    chances = np.cumsum(binomial(bits, agree)[::-1])  # of at most so many different bits
    return min(bits, int(np.searchsorted(chances, recall - 1e-12)))


def _found(agree: float, bits: int, bands: int, width: int) -> float:
    """The probability that a band finds a pair whose bits are equal with probability `agree`."""
    equal = np.arange(bits + 1)
    missed = (1 - all_equal(bits, width)) ** bands
    return float(1 - (binomial(bits, agree)[equal] * missed).sum())


@cache
def all_equal(bits: int, width: int) -> NDArray[np.float64]:
    """For each number of equal bits the probability that `width` sampled bits are among them."""
    return np.array([comb(m, width) / comb(bits, width) for m in range(bits + 1)])


@cache
def binomial(bits: int, agree: float) -> NDArray[np.float64]:
    """The probability of each number of equal bits."""
    if agree >= 1 or agree <= 0:
        return np.eye(bits + 1)[bits if agree >= 1 else 0]
    ways = [lgamma(bits + 1) - lgamma(m + 1) - lgamma(bits - m + 1) for m in range(bits + 1)]
    return np.array([np.exp(w + m * log(agree) + (bits - m) * log(1 - agree)) for m, w in enumerate(ways)])
