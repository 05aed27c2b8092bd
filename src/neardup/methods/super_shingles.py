"""Super-shingles: groups of min-hashes that agree as a whole."""

from __future__ import annotations

from typing import Literal

from neardup.candidates.groups import Groups
from neardup.errors import ParameterError
from neardup.features.shingles import Shingles
from neardup.plan import Plan, View
from neardup.registry import Count, Natural, Share, method
from neardup.signatures.minhash import MinHash
from neardup.text.words import TokenKind, Words
from neardup.verify.jaccard import Jaccard, SlotAgreement
from neardup.weights.selection import one_in as select


@method(use="Close copies at little memory, six 64-bit keys a document", speed="fast", exact=True)
def super_shingles(
    *,
    threshold: Share | None = None,
    ngram: Count = 5,
    tokens: TokenKind = "words",
    one_in: Count = 1,
    num_perm: Count = 84,
    groups: Count = 6,
    agree: Count = 2,
    verify: Literal["agreement", "exact"] | None = None,
    seed: Natural = 1,
) -> Plan:
    """Documents that agree in whole groups of min-hashes: little is kept, and only close copies are found.

    84 min-hashes of word n-grams are hashed in 6 groups of 14 to 64 bits each. Documents match when at least
    `agree` of the groups are equal. The similarity that is reported is the share of equal groups. Where a
    threshold is given it is the Jaccard similarity of the n-grams, which must reach it.

    Args:
        threshold: The least Jaccard similarity, by which candidates are compared exactly; unless given, equal
            super-shingles decide (verify=exact: 0.7).
        ngram: How many consecutive tokens make one feature.
        tokens: The unit of text: a word, a string between white space, a character, or a token of code.
        one_in: Compare only the n-grams whose hash is a multiple of this number; 1 compares all.
        num_perm: The number of min-hashes.
        groups: The number of super-shingles that they are cut into.
        agree: How many super-shingles must be equal.
        verify: Let the super-shingles decide (agreement), or compare each candidate with the threshold (exact); unless
            given, exact if a threshold is given.
        seed: The seed of the permutations.
    """
    if agree > groups:
        raise ParameterError("agree", "super_shingles", f"at most the number of groups, {groups}", agree)
    if num_perm < groups:
        raise ParameterError(
            "num_perm", "super_shingles", f"at least the number of groups, {groups}", num_perm
        )
    if verify == "agreement" and threshold is not None:
        raise ParameterError("threshold", "super_shingles", "left out with verify=agreement", threshold)
    width, exact = num_perm // groups, verify == "exact" or threshold is not None
    return Plan(
        method="super_shingles",
        text=Words(tokens),
        view=View(Shingles(ngram), select(one_in), MinHash(groups * width, seed)),
        candidates=Groups(groups, width, agree, seed),
        check=Jaccard() if exact else SlotAgreement(width),
        threshold=(threshold or 0.7) if exact else agree / groups,
    )
