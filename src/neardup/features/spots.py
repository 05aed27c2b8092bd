"""Features that begin at frequent words: spot signatures (Theobald et al., SpotSigs, SIGIR 2008, section 3)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Features, Hashes, Numbers, Tokens
from neardup.errors import ParameterError
from neardup.features.antecedents import parse_antecedents
from neardup.features.shingles import factors
from neardup.text.stopwords import stop_words
from neardup.text.words import hash_words

MOST_RULES = 31  # pairs of (distance, chain): bits of a word's mark


@dataclass(frozen=True)
class Spots:
    """A signature at each antecedent, repeats included: the antecedent and `chain` content words.

    The distance counts all tokens; the next word at or after it that is no stop word is taken, and counting continues
    from there. A chain is cut off at the document's end; a chain without words is no signature. Signatures are
    equal when their words are, whichever specification they come from.

    antecedents  a preset's name, words, or specifications: 'paper', 'is, the, said', 'is(3,1), that(5,2)'
    distance     tokens from one word of a signature to the next, if a specification has no figure of its own
    chain        content words behind the antecedent
    stopwords    a language code, several joined by '+', or a tuple of words, which may be empty
    """

    antecedents: str | tuple[str, ...] = "paper"
    distance: int = 2
    chain: int = 3
    stopwords: str | tuple[str, ...] = "en"
    details = False

    def __post_init__(self) -> None:
        """Refuses invalid parameters before any text is read."""
        _table(self)

    def __call__(self, tokens: Tokens) -> Features:
        table = _table(self)
        words = tokens.hashes[tokens.offsets[0] : tokens.offsets[-1]]
        marks = np.empty(len(words), np.uint32)
        antecedents = kernels.spots.mark_words(words, table.keys, table.slots, marks)
        hashes = np.empty(antecedents * len(table.chains) + 1, np.uint64)
        rules = (table.distances, table.chains)
        ends = kernels.spots.chain_words(tokens.hashes, tokens.offsets, marks, rules, table.factors, hashes)
        return Features(ends, hashes[: ends[-1]])


class SpotTable(NamedTuple):
    """A hash table of stop words and antecedents, and the rules of the antecedents."""

    keys: Hashes
    slots: NDArray[np.uint32]
    distances: Numbers
    chains: Numbers
    factors: Hashes


@cache
def _table(spots: Spots) -> SpotTable:
    stops = stop_words(spots.stopwords) if isinstance(spots.stopwords, str) else spots.stopwords
    chosen = parse_antecedents(spots.antecedents, spots.distance, spots.chain, stops)
    rules = sorted({(item.distance, item.chain) for item in chosen})
    if len(rules) > MOST_RULES:
        constraint = f"of at most {MOST_RULES} different pairs of distance and chain"
        raise ParameterError("antecedents", "spots", constraint, spots.antecedents)
    packaged = isinstance(spots.stopwords, str)
    hashes = [_hash_list("stopwords", stops, packaged)]
    marks = [np.full(len(hashes[0]), kernels.spots.STOP, np.uint32)]
    for number, rule in enumerate(rules):
        words = tuple(item.word for item in chosen if (item.distance, item.chain) == rule)
        hashes.append(_hash_list("antecedents", words, packaged and words == stops))
        marks.append(np.full(len(hashes[-1]), 1 << (number + 1), np.uint32))
    size = 1 << max(4 * sum(map(len, hashes)), 8).bit_length()  # sparse: most lookups end at once
    keys, slots = np.zeros(size, np.uint64), np.zeros(size, np.uint32)
    kernels.spots.fill_table(np.concatenate(hashes), np.concatenate(marks), keys, slots)
    distances, chains = np.array(rules, np.int64).T.copy()
    return SpotTable(keys, slots, distances, chains, factors(int(chains.max()) + 1))


def _hash_list(name: str, words: tuple[str, ...], packaged: bool) -> Hashes:
    """The hashes of a list of words; warns of entries of a user's list that are not single words."""
    hashes, others = hash_words(words)
    if others and not packaged:
        if len(hashes) == 0:
            raise ParameterError(name, "spots", "single words", words)
        listed = ", ".join(map(repr, others[:5])) + (" …" if len(others) > 5 else "")
        warnings.warn(
            f"The '{name}' of spots include {listed}, which are not single words: they match only tokens between "
            "white space.",
            stacklevel=2,
        )
    return hashes
