"""What can be known about a k-gram of a document, and the features that learned weights are made of.

The features of table 1 of the ANDD paper, each with the transform that makes it useful in a linear model, stand in
a registry: `@gram_feature` adds another, and a model names those that it uses.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Features, Hashes, Numbers, Offsets, Tokens
from neardup.errors import ParameterError, PlanError, StatisticsError
from neardup.features.shingles import Shingles
from neardup.plan import stage_json
from neardup.statistics import Statistics
from neardup.weights.frequency import normalised_idf

Floats = NDArray[np.float64]
Columns = NDArray[np.uint32]
TEXT_FIELD, TITLE_FIELD, URL_FIELD = 0, 1, 2  # of Tokens.fields
NEAR, FAR = 32.0, 256.0  # tokens from an end of the text at which closeness to it is one half
MOST_REPEATS = 32  # occurrences beyond which another one says nothing


@dataclass(frozen=True)
class Grams:
    """The distinct k-grams of a batch, by document and sorted by hash, and what was counted of each."""

    width: int
    offsets: Offsets
    hashes: Hashes
    counts: Columns
    firsts: Columns  # tokens before the first occurrence
    capitals: Columns  # occurrences whose first token is capitalised
    digits: Columns  # … begins with a digit
    fields: Columns  # bit f: it occurs in field f
    tokens: Tokens
    statistics: Statistics

    @cached_property
    def owners(self) -> Numbers:
        """The document of each k-gram."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    @cached_property
    def lengths(self) -> Numbers:
        """The length in tokens of the document of each k-gram."""
        return np.repeat(np.diff(self.tokens.offsets), np.diff(self.offsets))

    @cached_property
    def rarity(self) -> Floats:
        """log(N / df) / log N: 0 for a k-gram of every document, 1 for one of a single document."""
        return self._rarity(Shingles(self.width), self.hashes)

    @cached_property
    def terms(self) -> Floats:
        """The rarities of the words of each k-gram, at its first occurrence: k-grams × width."""
        if len(self.hashes) == 0:
            return np.zeros((0, self.width))
        words = self._rarity(Shingles(1), Shingles(1)(self.tokens).hashes)
        last = np.repeat(self.tokens.offsets[1:] - 1, np.diff(self.offsets))
        first = np.repeat(self.tokens.offsets[:-1], np.diff(self.offsets)) + self.firsts
        places = np.minimum(first[:, None] + np.arange(self.width), last[:, None])
        return words[places]

    @cached_property
    def repeats(self) -> Floats:
        """log₂ of the number of occurrences, by fifths up to 1: 0 for one, 1 for 32 and more."""
        table = np.log2(np.maximum(np.arange(MOST_REPEATS + 1), 1)) / np.log2(MOST_REPEATS)
        return table[np.minimum(self.counts, MOST_REPEATS)]

    @cached_property
    def front(self) -> Floats:
        """1 at the beginning of the text, ½ after 256 tokens, and ever less: what stands far down may be anything."""
        return FAR / (FAR + self.firsts.astype(np.float64))

    def share(self, part: Columns) -> Floats:
        """The share of occurrences that were counted in `part`."""
        shares: Floats = part / np.maximum(self.counts, 1)
        return shares

    def _rarity(self, stage: Shingles, hashes: Hashes) -> Floats:
        counts = np.maximum(self.statistics.table(stage_json(stage)).of(hashes), 1)
        return normalised_idf(counts, self.statistics.documents)


def find_grams(features: Features, tokens: Tokens, width: int, statistics: Statistics | None) -> Grams:
    """The distinct k-grams of a batch whose occurrences `Shingles(width)` has listed."""
    if statistics is None:
        raise StatisticsError("Learned weights ask for document frequencies: count the features first.")
    if features.distinct or len(tokens.marks) != len(tokens.hashes):
        raise PlanError("Learned weights need every occurrence of a k-gram, and the marks of its tokens.")
    none = np.zeros(0, np.uint8)
    fields = none if tokens.fields is None else tokens.fields
    module = kernels.learned
    source = module.Occurrences(features.hashes, features.offsets, tokens.offsets, tokens.marks, fields)
    size = len(features.hashes)
    out = module.Grams(np.empty(size, np.uint64), *(np.empty(size, np.uint32) for _ in range(5)))
    ends = module.tabulate(source, out)
    hashes, counts, firsts, capitals, digits, places = (column[: ends[-1]] for column in out)
    return Grams(width, ends, hashes, counts, firsts, capitals, digits, places, tokens, statistics)


# Features ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GramFeature:
    """One φ of formula (1): a number for each k-gram of a document, mostly between 0 and 1."""

    name: str
    meaning: str
    compute: Callable[[Grams], Floats]


_FEATURES: dict[str, GramFeature] = {}


def gram_feature(function: Callable[[Grams], Floats]) -> Callable[[Grams], Floats]:
    """Register a feature under its function's name; its docstring says what it is."""
    meaning = (inspect.getdoc(function) or "").partition("\n")[0]
    _FEATURES[function.__name__] = GramFeature(function.__name__, meaning, function)
    return function


def gram_features() -> dict[str, GramFeature]:
    """All features by name."""
    return dict(_FEATURES)


def get_features(names: Sequence[str]) -> list[GramFeature]:
    """The features of these names, or an error that lists the known ones."""
    for name in names:
        if name not in _FEATURES:
            raise ParameterError("features", "andd", "some of " + ", ".join(_FEATURES), name)
    return [_FEATURES[name] for name in names]


def compute_features(grams: Grams, names: Sequence[str]) -> Floats:
    """φ: k-grams × features."""
    columns = [feature.compute(grams) for feature in get_features(names)]
    return np.stack(columns, axis=1) if columns else np.zeros((len(grams.hashes), 0))


@gram_feature
def bias(grams: Grams) -> Floats:
    """1: every k-gram counts the same."""
    return np.ones(len(grams.hashes))


@gram_feature
def idf(grams: Grams) -> Floats:
    """Rarity, log(N / df) / log N."""
    return grams.rarity


def _add_bend(limit: float) -> None:
    """idf is bent at some places: a weight may rise, fall and rise again with rarity."""

    def bend(grams: Grams) -> Floats:
        return np.maximum(grams.rarity - limit, 0.0)

    bend.__name__ = f"idf_above_{round(100 * limit)}"
    bend.__doc__ = f"How far rarity is above {limit:g}."
    gram_feature(bend)


for _limit in (0.2, 0.4, 0.6, 0.8):
    _add_bend(_limit)


@gram_feature
def tf(grams: Grams) -> Floats:
    """Occurrences in the document: log₂, as a share of that of 32."""
    return grams.repeats


@gram_feature
def tf_idf(grams: Grams) -> Floats:
    """tf · idf."""
    return grams.repeats * grams.rarity


@gram_feature
def capitalised(grams: Grams) -> Floats:
    """The share of occurrences whose first word is capitalised."""
    return grams.share(grams.capitals)


@gram_feature
def capitalised_idf(grams: Grams) -> Floats:
    """capitalised · idf: names rather than beginnings of sentences."""
    return grams.share(grams.capitals) * grams.rarity


@gram_feature
def digit(grams: Grams) -> Floats:
    """The share of occurrences whose first word begins with a digit."""
    return grams.share(grams.digits)


@gram_feature
def front(grams: Grams) -> Floats:
    """Closeness to the beginning: 1 at it, ½ after 256 words."""
    return grams.front


@gram_feature
def front_idf(grams: Grams) -> Floats:
    """front · idf."""
    return grams.front * grams.rarity


@gram_feature
def front_tf(grams: Grams) -> Floats:
    """front · tf."""
    return grams.front * grams.repeats


@gram_feature
def front_capitalised(grams: Grams) -> Floats:
    """front · capitalised."""
    return grams.front * grams.share(grams.capitals)


@gram_feature
def location(grams: Grams) -> Floats:
    """The place of the first occurrence, from 0 (beginning) to 1 (end)."""
    return grams.firsts / np.maximum(grams.lengths, 1)


@gram_feature
def opening(grams: Grams) -> Floats:
    """Closeness to the beginning: 1 at it, ½ after 32 words."""
    return NEAR / (NEAR + grams.firsts.astype(np.float64))


@gram_feature
def ending(grams: Grams) -> Floats:
    """Closeness of the first occurrence to the end: 1 at it, ½ 32 words before."""
    return NEAR / (NEAR + (grams.lengths - grams.firsts).astype(np.float64))


@gram_feature
def length(grams: Grams) -> Floats:
    """The length of the document: log₂ of its words, as a share of that of 65,536."""
    return np.log2(np.maximum(grams.lengths, 1)) / 16


@gram_feature
def in_title(grams: Grams) -> Floats:
    """1 if it occurs in the title or subject."""
    return (grams.fields >> TITLE_FIELD & 1).astype(np.float64)


@gram_feature
def in_title_idf(grams: Grams) -> Floats:
    """in_title · idf."""
    return in_title(grams) * grams.rarity


@gram_feature
def in_url(grams: Grams) -> Floats:
    """1 if it occurs in the url."""
    return (grams.fields >> URL_FIELD & 1).astype(np.float64)


@gram_feature
def idf_average(grams: Grams) -> Floats:
    """The mean rarity of the words of a k-gram (for k > 1)."""
    return grams.terms.mean(axis=1)


@gram_feature
def idf_median(grams: Grams) -> Floats:
    """The median rarity of the words of a k-gram (for k > 1)."""
    ordered = np.sort(grams.terms, axis=1)
    return (ordered[:, (grams.width - 1) // 2] + ordered[:, grams.width // 2]) / 2
