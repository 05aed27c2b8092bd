"""SpotSigs: signatures that begin at stop words, matched exactly or by min-hash."""

from __future__ import annotations

from typing import Literal

from neardup.candidates.curve import choose_bands
from neardup.candidates.exact import Exact
from neardup.candidates.groups import Groups
from neardup.errors import ParameterError
from neardup.features.spots import Spots
from neardup.plan import Clustering, Plan, View, Weight
from neardup.registry import Chance, Count, Natural, Part, Share, WordList, method
from neardup.signatures.minhash import MinHash
from neardup.text.words import Words
from neardup.verify.multiset import MultisetJaccard
from neardup.weights.counts import Counts
from neardup.weights.frequency import IdfRange
from neardup.weights.selection import AtLeast


@method(use="News articles on pages of many sites", speed="medium", exact=True)
def spotsigs(
    *,
    threshold: Share = 0.15,
    antecedents: WordList = "paper",
    distance: Count = 1,
    chain: Count = 2,
    stopwords: WordList = "en",
    idf_low: Part = 0.0,
    idf_high: Share = 1.0,
    min_signatures: Natural = 0,
    matcher: Literal["auto", "prefix", "partitions"] = "auto",
) -> Plan:
    """Documents that share the words behind their stop words: boilerplate of pages has few of them and hardly counts.

    A signature begins at an antecedent (an article, a form of be, can, will, have or do) and takes the next
    content words at a distance. Documents match when the Jaccard similarity of their multi-sets of signatures
    reaches the threshold. All these pairs are found, none by chance.

    Args:
        threshold: The least multi-set Jaccard similarity of a near-duplicate.
        antecedents: The words that begin a signature: a preset, words and specifications such as 'is(3,1), that', or
            a file of them, '@words.txt'.
        distance: How many tokens lie from one word of a signature to the next.
        chain: How many words follow the antecedent.
        stopwords: The language of the stop words that are passed over, several codes joined by '+'; or a file of
            words, '@words.txt'.
        idf_low: The least normalised idf of a signature that counts; above 0, a counting pass comes first.
        idf_high: The greatest normalised idf of a signature that counts.
        min_signatures: Documents with fewer signatures are kept and never matched: a few signatures are shared by
            chance.
        matcher: The search; every one gives the same result. In `dedup`, partitions pairs a document with every one
            that shares a frequent signature, and prefix with those nearest in size: its cost stays linear.
    """
    return Plan(
        method="spotsigs",
        text=Words(),
        view=_spots("spotsigs", antecedents, distance, chain, stopwords, idf_low, idf_high, min_signatures),
        candidates=Exact(matcher),
        check=MultisetJaccard(),
        threshold=threshold,
        clustering=Clustering("average"),
    )


@method(use="As spotsigs, for very large collections", speed="fast")
def spotsigs_lsh(
    *,
    threshold: Share = 0.25,
    antecedents: WordList = "paper",
    distance: Count = 1,
    chain: Count = 2,
    stopwords: WordList = "en",
    idf_low: Part = 0.0,
    idf_high: Share = 1.0,
    min_signatures: Natural = 0,
    recall: Chance = 0.95,
    bands: Count | None = None,
    rows: Count | None = None,
    seed: Natural = 1,
) -> Plan:
    """Documents that share the words behind their stop words, found by min-hash bands and verified exactly.

    LSH-S of the SpotSigs paper: the candidates of `bands` bands of `rows` min-hashes of the multi-set of spot
    signatures; each is compared exactly. What the bands miss is missed: below a similarity of 0.2 they need more
    work than the exact search of spotsigs, so the threshold is higher than there.

    Args (others as in spotsigs):
        recall: The share of pairs at the threshold that must be found; bands and rows are chosen for it.
        bands: The number of bands (l in the paper, where it is 32); unless given, chosen for the recall.
        rows: The number of min-hashes in a band (k in the paper, where it is 6); unless given, chosen for the recall.
        seed: The seed of the permutations.
    """
    shape = choose_bands(threshold, recall, bands=bands, rows=rows)
    view = _spots("spotsigs_lsh", antecedents, distance, chain, stopwords, idf_low, idf_high, min_signatures)
    return Plan(
        method="spotsigs_lsh",
        text=Words(),
        view=View(view.features, view.weights, MinHash(shape.slots, seed, multiset=True)),
        candidates=Groups(shape.bands, shape.rows, seed=seed),
        check=MultisetJaccard(),
        threshold=threshold,
        recall=recall,
        clustering=Clustering("average"),
    )


def _spots(
    name: str,
    antecedents: WordList,
    distance: int,
    chain: int,
    stopwords: WordList,
    low: float,
    high: float,
    least: int,
) -> View:
    """Counted spot signatures, those outside an idf range left out, of documents with enough of them."""
    if low > high:
        raise ParameterError("idf_low", name, f"at most idf_high, {high:g}", low)
    spots = Spots(antecedents, distance, chain, stopwords)
    limits: tuple[Weight, ...] = () if (low, high) == (0.0, 1.0) else (IdfRange(spots, low, high),)
    enough: tuple[Weight, ...] = (AtLeast(least),) if least else ()
    return View(spots, (*limits, Counts(), *enough))
