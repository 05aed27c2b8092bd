"""Henzinger's hybrid: shingles propose, sign bits of the words decide."""

from __future__ import annotations

from neardup.candidates.groups import Groups
from neardup.errors import ParameterError
from neardup.features.shingles import Shingles
from neardup.plan import Plan, View
from neardup.registry import Count, Natural, Share, method
from neardup.signatures.minhash import MinHash
from neardup.signatures.sign_bits import SignBits
from neardup.text.words import TokenKind, Words
from neardup.verify.bits import BitAgreement
from neardup.weights.notation import parse_weights


@method(use="Close copies, with fewer false pairs than super_shingles", speed="fast")
def hybrid(
    *,
    threshold: Share = 0.925,
    ngram: Count = 8,
    tokens: TokenKind = "words",
    num_perm: Count = 84,
    groups: Count = 6,
    agree: Count = 2,
    bits: Count = 384,
    weights: str = "tf",
    seed: Natural = 1,
) -> Plan:
    """Documents that share super-shingles and whose words point in nearly the same direction.

    Shingling alone confuses pages that share a template; random projection alone confuses pages that share a
    vocabulary. The hybrid takes the pairs of the first (at least `agree` of 6 super-shingles equal) and keeps
    those for which the second agrees: the share of equal bits among 384 signs of random projections of the
    word counts reaches the threshold.

    Args:
        threshold: The least share of equal sign bits.
        ngram: How many consecutive tokens make one shingle.
        tokens: The unit of text: a word, a string between white space, a character, or a token of code.
        num_perm: The number of min-hashes of shingles.
        groups: The number of super-shingles that they are cut into.
        agree: How many super-shingles must be equal.
        bits: The number of sign bits.
        weights: Names of weights of the words, in the order in which they apply, such as 'tfidf, low(0.1)'.
        seed: The seed of permutations and projections.
    """
    if agree > groups:
        raise ParameterError("agree", "hybrid", f"at most the number of groups, {groups}", agree)
    if num_perm < groups:
        raise ParameterError("num_perm", "hybrid", f"at least the number of groups, {groups}", num_perm)
    width, words = num_perm // groups, Shingles(1)
    return Plan(
        method="hybrid",
        text=Words(tokens),
        view=View(Shingles(ngram), signature=MinHash(groups * width, seed)),
        candidates=Groups(groups, width, agree, seed),
        check=BitAgreement(bits),
        check_view=View(words, parse_weights(weights, words), SignBits(bits, seed)),
        threshold=threshold,
    )
