"""The S-curve of signatures that decide: which pairs reach the threshold by their estimate, and are found at all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import comb, pi, sin, sqrt

import numpy as np
from numpy.typing import NDArray

from neardup.candidates.bit_bands import BitBands, all_equal, binomial, equal_share
from neardup.candidates.groups import Groups
from neardup.candidates.hamming import Hamming
from neardup.plan import Plan
from neardup.verify.estimated import Estimated


@dataclass(frozen=True)
class Decided:
    """What becomes of a pair of some true similarity: m of its B bits or slots are equal, m being binomial.

    The pair passes if m is large enough, and it is compared if one band has equal bits only. Both depend on m.
    """

    check: Estimated
    threshold: float
    candidates: BitBands | Groups | Hamming

    @property
    def found_by_equal(self) -> NDArray[np.float64]:
        """For each number of equal bits or slots the probability that the pair is a candidate."""
        found, size = self.candidates, self.check.size
        if isinstance(found, BitBands):
            return 1 - (1 - all_equal(found.bits, found.width)) ** found.bands
        if isinstance(found, Groups):
            return _found_by_equal_slots(size, found.groups, found.width)
        within = size - found.distance(self.threshold)
        return (np.arange(size + 1) >= within).astype(np.float64)

    def share(self, similarity: float) -> float:
        """The probability that a bit or slot is equal: of vectors with equal entries, where samples are taken."""
        if self.check.units == "bits":
            return equal_share(similarity, self.check.kind)
        return similarity if self.check.kind == "jaccard" else similarity / (2 - similarity)

    def candidate(self, similarity: float) -> float:
        """The probability that a pair of this similarity is a candidate; 1 where tables find all pairs that pass."""
        if isinstance(self.candidates, Hamming):
            return 1.0
        samples = isinstance(self.candidates, Groups)
        return self.candidates.probability(self.share(similarity) if samples else similarity)

    def passes(self, similarity: float) -> float:
        """The probability that the estimate of a pair of this similarity reaches the threshold."""
        least = self.check.least_equal(self.threshold)
        return min(1.0, float(binomial(self.check.size, self.share(similarity))[least:].sum()))

    def probability(self, similarity: float) -> float:
        """The probability that it reaches the threshold, and the pair is a candidate."""
        least = self.check.least_equal(self.threshold)
        chances = binomial(self.check.size, self.share(similarity)) * self.found_by_equal
        return min(1.0, float(chances[least:].sum()))

    def error(self, similarity: float) -> float:
        """The standard error of the estimate for a pair of this similarity, to the first order."""
        share = self.share(similarity)
        of_share = sqrt(share * (1 - share) / self.check.size)
        if self.check.units == "bits":
            of_cosine = pi * sin(pi * (1 - share)) * of_share
            cosine = similarity if self.check.kind == "cosine" else 2 * similarity / (1 + similarity)
            return of_cosine if self.check.kind == "cosine" else 2 * of_cosine / (2 - cosine) ** 2
        return of_share if self.check.kind == "jaccard" else 2 * of_share / (1 + share) ** 2

    def rows(self, similarities: list[float]) -> list[dict[str, float]]:
        """For each similarity the chance to be a candidate, and one that passes; and the error of its estimate."""
        return [
            {
                "similarity": one,
                "candidate": self.candidate(one),
                "decided": self.probability(one),
                "standard_error": self.error(one),
            }
            for one in similarities
        ]

    @property
    def bytes(self) -> int:
        """The memory of a signature: a bit each, or four bytes a slot."""
        return -(-self.check.size // 64) * 8 if self.check.units == "bits" else 4 * self.check.size


def decided_curve(plan: Plan) -> Decided | None:
    """The curve of a plan whose signatures decide; None for another plan."""
    found = plan.candidates
    if not isinstance(plan.check, Estimated) or not isinstance(found, BitBands | Groups | Hamming):
        return None
    return Decided(plan.check, plan.threshold, found)


@cache
def _found_by_equal_slots(slots: int, bands: int, rows: int) -> NDArray[np.float64]:
    """For each number of equal slots, at random places, the probability that a band has equal slots only.

    Choices of m slots that fill no band are the coefficient of x^m in ((1 + x)^rows − x^rows)^bands, times the choices
    among the slots that belong to no band.
    """
    one = np.array([comb(rows, k) for k in range(rows)] + [0], dtype=object)  # a band that is not full
    none = np.array([1], dtype=object)
    for _ in range(bands):
        none = np.convolve(none, one)
    rest = slots - bands * rows
    none = np.convolve(none, np.array([comb(rest, k) for k in range(rest + 1)], dtype=object))
    return np.array([1 - float(int(none[m]) / comb(slots, m)) for m in range(slots + 1)])
