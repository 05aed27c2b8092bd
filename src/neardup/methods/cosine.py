"""Cosine on tf-idf: the baseline of the papers, by an exact search."""

from __future__ import annotations

from neardup.candidates.inverted import Inverted
from neardup.errors import ParameterError
from neardup.features.shingles import Shingles
from neardup.plan import Clustering, Plan, View, Weight
from neardup.registry import Count, Part, Share, method
from neardup.text.words import TokenKind, Words
from neardup.verify.cosine import Cosine
from neardup.weights.frequency import IdfRange
from neardup.weights.notation import parse_weights

# The logarithm of tf: a ruled line, "=====…", is dozens of tokens, and as a count it outweighs all words of a text.
WEIGHTS = "tfidf(log, log)"


@method(use="The tf-idf baseline, for thousands of documents", speed="slow", exact=True)
def cosine(
    *,
    threshold: Share = 0.7,
    ngram: Count = 1,
    tokens: TokenKind = "words",
    idf_low: Part = 0.0,
    idf_high: Share = 1.0,
    weights: str = WEIGHTS,
) -> Plan:
    """Documents whose words, weighted by tf-idf, point in nearly the same direction; no pair is missed.

    The baseline that the papers measure themselves by. The search is exact, by inverted lists, and its work
    grows with the square of how often rare features are shared: it is for thousands of documents.

    Args:
        threshold: The least cosine similarity of a near-duplicate.
        ngram: How many consecutive tokens make one feature.
        tokens: The unit of text: a word, a string between white space, a character, or a token of code.
        idf_low: The least normalised idf of a feature that counts: 0 is a feature of every document.
        idf_high: The greatest normalised idf of a feature that counts: 1 is a feature of a single document.
        weights: Names of weights in the order in which they apply, such as 'tfidf, position(1/x), low(0.1)'.
    """
    if idf_low > idf_high:
        raise ParameterError("idf_low", "cosine", f"at most idf_high, {idf_high:g}", idf_low)
    feature = Shingles(ngram)
    limits: tuple[Weight, ...] = (IdfRange(feature, idf_low, idf_high),)
    whole = (idf_low, idf_high) == (0.0, 1.0)
    return Plan(
        method="cosine",
        text=Words(tokens),
        view=View(feature, (*(() if whole else limits), *parse_weights(weights, feature))),
        candidates=Inverted("cosine"),
        check=Cosine(),
        threshold=threshold,
        clustering=Clustering("average"),
    )
