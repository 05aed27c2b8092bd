"""I-Match: one hash of the words, or of the spot signatures, that are neither common nor very rare."""

from __future__ import annotations

from neardup.candidates.groups import Groups
from neardup.errors import ParameterError
from neardup.features.spots import Spots
from neardup.features.words import ContentWords
from neardup.plan import Feature, Plan, View
from neardup.registry import Chance, Count, Natural, Part, Share, WordList, method
from neardup.signatures.set_hash import SetHash
from neardup.text.words import Words
from neardup.verify.jaccard import SlotAgreement
from neardup.weights.frequency import IdfRange

THIRD = 0.33  # of the lexicon; the papers give no figure for random lexicons


@method(use="Copies with the same vocabulary, one hash a document", speed="medium", exact=True)
def imatch(
    *,
    idf_low: Part = 0.4,
    idf_high: Share = 0.75,
    stopwords: WordList = "en",
    least: Count = 3,
    lexicons: Count = 1,
    drop: Chance | None = None,
    agree: Count = 1,
    seed: Natural = 1,
) -> Plan:
    """Documents that use the same words, once common and very rare words are left out: one hash each.

    The words whose normalised idf lies in a window make the lexicon; a document's words in it are sorted and
    hashed to 64 bits, and equal hashes are near-duplicates. It is cheap and precise, and one word of
    difference inside the window is enough to miss a pair. More lexicons, each without a random share of the
    words, make up for that: documents match when at least `agree` of their hashes are equal.

    Args:
        idf_low: The least normalised idf of a word that counts: 0 is a word of every document.
        idf_high: The greatest normalised idf of a word that counts: 1 is a word of a single document.
        stopwords: The language of the stop words that never count, several codes joined by '+'; or a file of
            words, '@words.txt'.
        least: Documents with fewer different words in the lexicon are not compared.
        lexicons: The number of hashes: the first of the whole lexicon, the others of random parts of it.
        drop: The share of the lexicon that each random part misses; unless given, a third.
        agree: How many hashes must be equal.
        seed: The seed of the random lexicons.
    """
    return _plan("imatch", ContentWords(stopwords), idf_low, idf_high, least, lexicons, drop, agree, seed)


@method(use="As imatch, for articles inside page templates", speed="fast", exact=True)
def imatch_spots(
    *,
    antecedents: WordList = "paper",
    distance: Count = 2,
    chain: Count = 3,
    idf_low: Part = 0.4,
    idf_high: Share = 0.75,
    stopwords: WordList = "en",
    least: Count = 3,
    lexicons: Count = 1,
    drop: Chance | None = None,
    agree: Count = 1,
    seed: Natural = 1,
) -> Plan:
    """Documents with the same spot signatures, once common and very rare ones are left out: one hash each.

    I-Match over spot signatures instead of words (I-Match-S in the SpotSigs paper).

    Args (others as in imatch):
        antecedents: The words that begin a signature: a preset, words and specifications such as 'is(3,1), that', or
            a file of them, '@words.txt'.
        distance: How many tokens lie from one word of a signature to the next.
        chain: How many words follow the antecedent.
        idf_low: The least normalised idf of a signature that counts.
        idf_high: The greatest normalised idf of a signature that counts.
        stopwords: The language of the stop words that are passed over, several codes joined by '+'; or a file of
            words, '@words.txt'.
        least: Documents with fewer different signatures in the lexicon are not compared.
    """
    spots = Spots(antecedents, distance, chain, stopwords)
    return _plan("imatch_spots", spots, idf_low, idf_high, least, lexicons, drop, agree, seed)


def _plan(
    name: str, feature: Feature, low: float, high: float, least: int, lexicons: int, drop: float | None,
    agree: int, seed: int,
) -> Plan:  # fmt: skip
    """The two methods differ in their features only."""
    if low > high:
        raise ParameterError("idf_low", name, f"at most idf_high, {high:g}", low)
    if agree > lexicons:
        raise ParameterError("agree", name, f"at most the number of lexicons, {lexicons}", agree)
    if lexicons == 1 and drop is not None:
        raise ParameterError("drop", name, "left out with a single lexicon, which is whole", drop)
    return Plan(
        method=name,
        text=Words(),
        view=View(
            feature,
            (IdfRange(feature, low, high),),
            SetHash(lexicons, 0.0 if lexicons == 1 else drop or THIRD, least, seed),
        ),
        candidates=Groups(lexicons, 2, agree, seed),
        check=SlotAgreement(2),
        threshold=agree / lexicons,
    )
