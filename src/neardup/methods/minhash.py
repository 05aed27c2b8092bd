"""Min-hash and bands: the default method."""

from __future__ import annotations

from typing import Literal

from neardup.candidates.curve import choose_bands
from neardup.candidates.groups import Groups
from neardup.features.shingles import Shingles
from neardup.plan import Check, Plan, View
from neardup.registry import Chance, Count, Natural, Share, method
from neardup.signatures.minhash import MinHash
from neardup.text.words import TokenKind, Words
from neardup.verify.jaccard import Jaccard, SlotAgreement, Unverified
from neardup.weights.selection import one_in as select


@method(use="Copies and light edits of any text; the default", speed="fast")
def minhash(
    *,
    threshold: Share = 0.7,
    ngram: Count = 5,
    tokens: TokenKind = "words",
    one_in: Count = 1,
    recall: Chance = 0.99,
    num_perm: Count | None = None,
    bands: Count | None = None,
    rows: Count | None = None,
    verify: Literal["exact", "estimate", "none"] = "exact",
    seed: Natural = 1,
) -> Plan:
    """Documents that share most of their word n-grams, found by min-hash bands and verified exactly.

    Two documents match when the Jaccard similarity of their sets of n-grams reaches the threshold. Bands of
    min-hashes find the candidates without comparing everything with everything; each candidate is then
    compared exactly, so that no pair below the threshold is reported.

    Args:
        threshold: The least similarity of a near-duplicate, as a share of all n-grams of both texts.
        ngram: How many consecutive tokens make one feature.
        tokens: The unit of text: a word, a string between white space, a character, or a token of code.
        one_in: Compare only the n-grams whose hash is a multiple of this number; 1 compares all.
        recall: The share of pairs at the threshold that must be found; bands and rows are chosen for it.
        num_perm: The number of min-hashes, split into bands and rows; unless given, as many as the recall takes.
        bands: The number of bands; unless given, chosen for the recall.
        rows: The number of min-hashes in a band; unless given, chosen for the recall.
        verify: Compare candidates exactly; or estimate from the signatures, which is cheaper and has a
            standard error of about 0.06; or not at all, which reports all documents that share a band.
        seed: The seed of the permutations.
    """
    shape = choose_bands(threshold, recall, num_perm=num_perm, bands=bands, rows=rows)
    checks: dict[str, Check] = {"exact": Jaccard(), "estimate": SlotAgreement(), "none": Unverified()}
    return Plan(
        method="minhash",
        text=Words(tokens),
        view=View(Shingles(ngram), select(one_in), MinHash(shape.slots, seed)),
        candidates=Groups(shape.bands, shape.rows, seed=seed),
        check=checks[verify],
        threshold=threshold,
        recall=recall,
    )
