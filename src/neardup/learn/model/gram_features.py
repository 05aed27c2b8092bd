"""Features of k-grams that learned weights combine: a registry of numbers for each k-gram of a document.

The features of table 1 of the ANDD paper, each transformed for a linear model, and some for particular domains.
`@gram_feature` registers another; a model names the features it uses.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from neardup.errors import ParameterError
from neardup.learn.model.grams import TAG_BITS, TITLES, URLS, Floats, GramTable
from neardup.text.tagged import TAGS

Computation = Callable[[GramTable], Floats]
HALF_CLOSENESS = 32.0  # tokens from an end of the text at which closeness is one half


@dataclass(frozen=True)
class GramFeature:
    """One φ of formula (1): a number for each k-gram of a document, mostly between 0 and 1."""

    name: str
    description: str
    compute: Computation


_FEATURES: dict[str, GramFeature] = {}


def gram_feature(function: Computation) -> Computation:
    """Registers a feature of k-grams under its function's name.

    Args:
        function: Computes one number for each k-gram; the first line of its docstring describes the feature.
    """
    description = (inspect.getdoc(function) or "").partition("\n")[0]
    _FEATURES[function.__name__] = GramFeature(function.__name__, description, function)
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


def compute_features(grams: GramTable, names: Sequence[str]) -> Floats:
    """φ: k-grams × features."""
    columns = [feature.compute(grams) for feature in get_features(names)]
    return np.stack(columns, axis=1) if columns else np.zeros((len(grams.hashes), 0))


@gram_feature
def bias(grams: GramTable) -> Floats:
    """1: every k-gram counts the same."""
    return np.ones(len(grams.hashes))


@gram_feature
def idf(grams: GramTable) -> Floats:
    """Rarity, log(N / df) / log N."""
    return grams.rarity


def _add_product(name: str, first: Computation, second: Computation, remark: str = "") -> None:
    """Adds the product of two features."""

    def product(grams: GramTable) -> Floats:
        return first(grams) * second(grams)

    product.__name__ = name
    product.__doc__ = f"{first.__name__} · {second.__name__}{remark}."
    gram_feature(product)


def _add_bend(limit: float) -> None:
    """Adds a knot to the piecewise linear function of idf."""

    def bend(grams: GramTable) -> Floats:
        return np.maximum(grams.rarity - limit, 0.0)

    bend.__name__ = f"idf_above_{round(100 * limit)}"
    bend.__doc__ = f"How far rarity is above {limit:g}."
    gram_feature(bend)


for _limit in (0.2, 0.4, 0.6, 0.8):
    _add_bend(_limit)


@gram_feature
def tf(grams: GramTable) -> Floats:
    """Occurrences in the document: log₂, as a share of that of 32."""
    return grams.repeats


_add_product("tf_idf", tf, idf)


@gram_feature
def capitalised(grams: GramTable) -> Floats:
    """The share of occurrences whose first word is capitalised."""
    return grams.share(grams.capitals)


_add_product("capitalised_idf", capitalised, idf, ": names rather than beginnings of sentences")


@gram_feature
def digit(grams: GramTable) -> Floats:
    """The share of occurrences whose first word begins with a digit."""
    return grams.share(grams.digits)


@gram_feature
def front(grams: GramTable) -> Floats:
    """Closeness to the beginning: 1 at it, ½ after 256 words."""
    return grams.front


_add_product("front_idf", front, idf)
_add_product("front_tf", front, tf)
_add_product("front_capitalised", front, capitalised)


@gram_feature
def location(grams: GramTable) -> Floats:
    """The place of the first occurrence, from 0 (beginning) to 1 (end)."""
    return grams.depth / np.maximum(grams.lengths, 1)


@gram_feature
def opening(grams: GramTable) -> Floats:
    """Closeness to the beginning: 1 at it, ½ after 32 words."""
    return HALF_CLOSENESS / (HALF_CLOSENESS + grams.depth)


@gram_feature
def ending(grams: GramTable) -> Floats:
    """Closeness of the first occurrence to the end: 1 at it, ½ 32 words before."""
    return HALF_CLOSENESS / (HALF_CLOSENESS + (grams.lengths - grams.firsts).astype(np.float64))


@gram_feature
def length(grams: GramTable) -> Floats:
    """The length of the document: log₂ of its words, as a share of that of 65,536."""
    sizes = np.log2(np.maximum(np.diff(grams.tokens.offsets), 1)) / 16
    return grams.spread(sizes).astype(np.float64)


@gram_feature
def in_title(grams: GramTable) -> Floats:
    """1 if it occurs in the title or subject."""
    return grams.within(grams.context.field_bits(TITLES))


_add_product("in_title_idf", in_title, idf)


@gram_feature
def in_url(grams: GramTable) -> Floats:
    """1 if it occurs in the url."""
    return grams.within(grams.context.field_bits(URLS))


@gram_feature
def in_field(grams: GramTable) -> Floats:
    """1 if it occurs in any column of --fields."""
    return grams.within((1 << len(grams.context.fields) + 1) - 2)


@gram_feature
def only_field(grams: GramTable) -> Floats:
    """1 if it occurs in a column of --fields and not in the text."""
    return 1.0 - grams.within(1)


@gram_feature
def query_frequency(grams: GramTable) -> Floats:
    """Log of its frequency in the queries, as a share of that of the most frequent."""
    if grams.context.queries is None:
        return np.zeros(len(grams.hashes))
    known, shares = grams.context.queries
    places = np.minimum(np.searchsorted(known, grams.hashes), len(known) - 1)
    return np.where(known[places] == grams.hashes, shares[places], 0.0)


def _add_tags(name: str, what: str, *tags: str) -> None:
    """Adds a feature for markup around a k-gram, available when pages are read with their tags."""
    bits = sum(1 << TAG_BITS + TAGS.index(tag) for tag in tags)

    def inside(grams: GramTable) -> Floats:
        return grams.within(bits)

    inside.__name__, inside.__doc__ = name, f"1 if it occurs in {what}."
    gram_feature(inside)


_add_tags("in_link", "the text of a link", "a")
_add_tags("in_heading", "a heading, or the title of the page", "title", "h1", "h2", "h3", "h4", "h5", "h6")
_add_tags("emphasised", "bold or italic text", "b", "strong", "i", "em")


@gram_feature
def idf_average(grams: GramTable) -> Floats:
    """The mean rarity of the words of a k-gram (for k > 1)."""
    return grams.terms.mean(axis=1)


@gram_feature
def idf_median(grams: GramTable) -> Floats:
    """The median rarity of the words of a k-gram (for k > 1)."""
    ordered, width = np.sort(grams.terms, axis=1), grams.context.width
    return (ordered[:, (width - 1) // 2] + ordered[:, width // 2]) / 2
