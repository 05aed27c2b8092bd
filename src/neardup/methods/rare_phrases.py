"""Rare phrases: running text that few others have, by consistent weighted samples."""

from __future__ import annotations

from typing import Literal

from neardup.candidates.curve import choose_bands
from neardup.candidates.groups import Groups
from neardup.errors import ParameterError
from neardup.features.passages import PassageWords
from neardup.features.shingles import Shingles
from neardup.plan import Check, Clustering, Feature, Plan, View
from neardup.registry import Chance, Count, Natural, Part, Share, method
from neardup.signatures.consistent import Consistent
from neardup.text.words import TokenKind, Words
from neardup.verify.jaccard import SlotAgreement
from neardup.verify.weighted import WeightedJaccard
from neardup.weights.phrases import Function, PhraseWeight

GROUPS, WIDTH = 6, 14  # of super-shingles


@method(use="Rewritten articles; web pages with their boilerplate", speed="slow")
def rare_phrases(
    *,
    threshold: Share = 0.25,
    ngram: Count = 3,
    tokens: TokenKind = "words",
    function: Function = "df2",
    around: Natural = 20,
    passage: Natural = 50,
    inverse: bool = False,
    inside: bool = False,
    rare: Part = 1.0,
    common_above: Count | None = None,
    recall: Chance = 0.95,
    num_perm: Count | None = None,
    bands: Count | None = None,
    rows: Count | None = None,
    agree: Count = 1,
    sampler: Literal["auto", "ioffe"] = "auto",
    verify: Literal["exact", "estimate"] = "exact",
    seed: Natural = 1,
) -> Plan:
    """Documents that share running text which few others have: boilerplate and shared notices do not count.

    A phrase counts by how common the words around it are (running text is full of 'the' and 'of', menus and lists
    are not), and not at all if many different documents have it. Documents match when the weighted Jaccard
    similarity of their phrases reaches the threshold. Frequencies come from the documents themselves, each
    cluster of near-duplicates counting once (--df-unit), or from a background collection (--stats). Presets:
    news-pages, for pages with much boilerplate, and news-2013, the paper's own weighting.

    Args:
        threshold: The least weighted Jaccard similarity of a near-duplicate.
        ngram: How many consecutive tokens make one phrase.
        tokens: The unit of text: a word, a string between white space, a character, or a token of code.
        function: The weight as a function of the document frequency of words (df; df2 is its square, ln_df its
            logarithm; ln_idf is ln(N/df) for N documents, with around=0 and passage=0; idf is ln(1 + N/df)).
        around: How many words to either side the frequency is averaged over; 0 takes the first word of the phrase.
        passage: Words are counted once in each passage of so many words; 0 counts them once in each document.
        inverse: Divide the weight by the document frequency of the phrase.
        inside: With inverse: divide the frequency of the words by that of the phrase before the function is applied.
        rare: The share of the phrases of two documents or more that count as rare, the least frequent ones; 1,
            the default, leaves it to common_above. The paper has 0.5, which is worse on small collections.
        common_above: Phrases in more documents than this are common at any share. Unless given: 5 if clusters
            are the unit of document frequency, else 8 √documents, at least 42.
        recall: The share of pairs at the threshold that must be found; bands and rows are chosen for it.
        num_perm: The number of samples, split into bands and rows; unless given, as many as the recall takes.
        bands: The number of bands; unless given, chosen for the recall.
        rows: The number of samples in a band; unless given, chosen for the recall.
        agree: How many bands must agree. More than one are super-shingles of the samples, for close copies alone: 6
            bands of 14 samples unless given.
        sampler: Ioffe's sampler, as in the paper, or the cheapest one that is unbiased for these weights.
        verify: Compare candidates exactly, or estimate from the samples.
        seed: The seed of the samples.
    """
    if agree > 1:
        bands, rows = bands or GROUPS, rows or WIDTH
    shape = choose_bands(threshold, recall, num_perm=num_perm, bands=bands, rows=rows)
    if agree > shape.bands:
        raise ParameterError("agree", "rare_phrases", f"at most the number of bands, {shape.bands}", agree)
    phrases = Shingles(ngram)
    words: Feature = PassageWords(passage) if passage else Shingles(1)
    weight = PhraseWeight(phrases, words, function, around, inverse, inside, rare, common_above)
    checks: dict[str, Check] = {"exact": WeightedJaccard(), "estimate": SlotAgreement()}
    usual: Literal["clocks", "darts"] = "clocks" if weight.by_phrase else "darts"
    return Plan(
        method="rare_phrases",
        text=Words(tokens),
        view=View(phrases, (weight,), Consistent(shape.slots, seed, usual if sampler == "auto" else sampler)),
        candidates=Groups(shape.bands, shape.rows, agree, seed),
        check=checks[verify],
        threshold=threshold,
        recall=recall if agree == 1 else None,
        df_unit="clusters",
        clustering=Clustering("average"),  # chains are long where little is shared
    )
