"""Simhash: 64 sign bits of weighted words, near in Hamming distance."""

from __future__ import annotations

from typing import Annotated, Literal

from neardup.candidates.hamming import Hamming
from neardup.errors import ParameterError
from neardup.features.fielded import Cleaned, Fielded
from neardup.features.shingles import Shingles
from neardup.plan import Feature, Plan, Signature, Text, View
from neardup.registry import Between, Count, Natural, Share, method
from neardup.signatures.sign_bits import ReservedBits, SignBits
from neardup.text.fields import FieldedWords, parse_fields
from neardup.text.stemmed import Stemmed
from neardup.text.tagged import TaggedWords
from neardup.text.words import TokenKind, Words
from neardup.verify.bits import BitAgreement
from neardup.verify.cosine import Cosine
from neardup.weights.notation import parse_weights
from neardup.weights.position import TagBoost

Bits = Annotated[int, Between(8, 4096)]
USUAL_COSINE = 0.9  # the least cosine with verify=cosine


@method(use="Fingerprints of 64 bits for an index or a crawler", speed="fast", exact=True)
def simhash(
    *,
    distance: Natural | None = None,
    threshold: Share | None = None,
    bits: Bits = 64,
    verify: Literal["bits", "cosine"] = "bits",
    ngram: Count = 1,
    tokens: TokenKind = "words",
    weights: str = "tfidf",
    fields: str | None = None,
    reserve: str | None = None,
    stopwords: str | None = None,
    strip_numbers: bool = False,
    stem: str | None = None,
    seed: Natural = 1,
) -> Plan:
    """Documents whose weighted words point in nearly the same direction: fingerprints that differ in few bits.

    Each bit of a fingerprint is the sign of a random ±1 projection of the document's weighted words (Charikar;
    the thesis' chapter 3). Two documents match when their fingerprints differ in at most `distance` bits. All these
    pairs are found: the search is exact, the fingerprint is the estimate.

    Args:
        distance: In how many bits fingerprints may differ; unless this or a threshold is given, 3 of 64 bits, and in
            proportion for other lengths.
        threshold: The least share of equal bits, 1 − distance / bits; with verify=cosine, the least cosine. Unless
            given, that of the distance; 0.9 with verify=cosine.
        bits: The length of a fingerprint.
        verify: The test for a pair within the distance: its equal bits, or the exact cosine of the weighted words.
        ngram: How many consecutive tokens make one feature.
        tokens: The unit of text: a word, a string between white space, a character, or a token of code.
        weights: Names of weights in the order in which they apply, such as 'tfidf, position(1/x), low(0.1)'.
        fields: Columns whose words are features of their own, separated by commas; none unless given. COLUMN:value
            takes each value as one feature, COLUMN:number:LOW:HIGH (or log:LOW:HIGH) a number of that range.
        reserve: A field and a number of bits that hold its hash alone, such as 'section:8'; documents match only if all
            of these bits are equal. None unless given.
        stopwords: The language whose stop words are left out, such as en; several joined by '+'; none unless given.
        strip_numbers: Leave out numbers and words of dates.
        stem: The language by whose rules words are cut to their stems (english, german, …); none unless given.
        seed: The seed of the projections.
    """
    columns, types = parse_fields(fields or "")
    feature: Feature = Shingles(ngram)
    if stopwords or strip_numbers:
        feature = Cleaned(feature, stopwords or (), strip_numbers, stem or "")
    if columns:
        single = tuple(place for place, kind in enumerate(types, 1) if kind != "words")
        feature = Fielded(feature, single if ngram > 1 else ())
    stages = parse_weights(weights, feature, fields=columns, types=types, bits=bits, seed=seed)
    words: Words | Stemmed = Stemmed(stem, Words(tokens)) if stem else Words(tokens)
    beside: FieldedWords | Stemmed | None = FieldedWords(columns, tokens, types) if columns else None
    if stem and isinstance(beside, FieldedWords):
        beside = Stemmed(stem, beside)
    tagged = any(isinstance(stage, TagBoost) for stage in stages)
    text: Text = TaggedWords(words, beside) if tagged else beside or words
    signature = _signature(bits, reserve, columns, seed)
    exact = signature.reserved if isinstance(signature, ReservedBits) else 0
    view = View(feature, stages, signature)
    if verify == "cosine":
        within = 3 * bits // 64 if distance is None else distance
        least = USUAL_COSINE if threshold is None else threshold
        bits_threshold(within, None, bits)
        return Plan("simhash", text, view, Hamming(bits, within, exact=exact), Cosine(), least)
    limit = bits_threshold(distance, threshold, bits)
    return Plan("simhash", text, view, Hamming(bits, exact=exact), BitAgreement(bits), limit)


def _signature(bits: int, reserve: str | None, columns: tuple[str, ...], seed: int) -> Signature:
    if reserve is None:
        return SignBits(bits, seed)
    name, _, size = reserve.partition(":")
    if name not in columns or not size.isdigit() or not 0 < int(size) < bits:
        known = ", ".join(columns) or "none were given"
        constraint = f"FIELD:BITS, one of the fields ({known}) and fewer bits than {bits}"
        raise ParameterError("reserve", "simhash", constraint, reserve)
    return ReservedBits(bits, int(size), columns.index(name) + 1, seed)


def bits_threshold(distance: int | None, threshold: float | None, bits: int) -> float:
    """The least share of equal bits, from the distance or the threshold."""
    if distance is not None and threshold is not None:
        raise ParameterError("distance", "simhash", "left out if a threshold is given", distance)
    if threshold is not None:
        return threshold
    distance = 3 * bits // 64 if distance is None else distance
    if distance >= bits:
        raise ParameterError("distance", "simhash", f"less than the number of bits, {bits}", distance)
    return (bits - distance) / bits
