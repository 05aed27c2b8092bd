"""Simhash: 64 sign bits of weighted words, near in Hamming distance."""

from __future__ import annotations

from typing import Annotated

from neardup.candidates.hamming import Hamming
from neardup.errors import ParameterError
from neardup.features.shingles import Shingles
from neardup.plan import Plan, View
from neardup.registry import Between, Count, Natural, Share, method
from neardup.signatures.sign_bits import SignBits
from neardup.text.words import TokenKind, Words
from neardup.verify.bits import BitAgreement
from neardup.weights.frequency import TfIdf

Bits = Annotated[int, Between(8, 4096)]


@method
def simhash(
    *,
    distance: Natural | None = None,
    threshold: Share | None = None,
    bits: Bits = 64,
    ngram: Count = 1,
    tokens: TokenKind = "words",
    seed: Natural = 1,
) -> Plan:
    """Documents whose weighted words point in nearly the same direction: fingerprints that differ in few bits.

    Each bit of a fingerprint is the sign of a random ±1 projection of the document's weighted words (Charikar;
    the thesis' chapter 3). Two documents match when their fingerprints differ in at most `distance` bits. All such
    pairs are found: the search is exact, the fingerprint is the estimate.

    Args:
        distance: In how many bits fingerprints may differ; 3 of 64 bits, and in proportion, unless a threshold says so.
        threshold: The same as a share of equal bits: 1 − distance / bits.
        bits: The length of a fingerprint.
        ngram: How many consecutive tokens make one feature.
        tokens: What a token is: a word, whatever stands between white space, or a character.
        seed: The seed of the projections.
    """
    feature = Shingles(ngram)
    return Plan(
        method="simhash",
        text=Words(tokens),
        view=View(feature, (TfIdf(feature),), SignBits(bits, seed)),
        candidates=Hamming(bits),
        check=BitAgreement(bits),
        threshold=bits_threshold(distance, threshold, bits),
    )


def bits_threshold(distance: int | None, threshold: float | None, bits: int) -> float:
    """The share of equal bits that is asked for, in one way or the other."""
    if distance is not None and threshold is not None:
        raise ParameterError("distance", "simhash", "left out where a threshold is given", distance)
    if threshold is not None:
        return threshold
    distance = 3 * bits // 64 if distance is None else distance
    if distance >= bits:
        raise ParameterError("distance", "simhash", f"less than the number of bits, {bits}", distance)
    return (bits - distance) / bits
