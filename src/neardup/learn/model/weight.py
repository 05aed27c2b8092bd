"""Learned weights: λ·φ, a linear combination of what is known about a k-gram (ANDD paper, formula 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from neardup.columns import Features, Tokens
from neardup.errors import ParameterError
from neardup.features.shingles import Shingles
from neardup.learn.model.gram_features import compute_features, get_features
from neardup.learn.model.grams import Context, Floats, Grams, find_grams
from neardup.learn.model.queries import unpack_queries
from neardup.plan import Feature
from neardup.statistics import Statistics
from neardup.weights.checks import keep_only

BENDS = ("idf_above_20", "idf_above_40", "idf_above_60", "idf_above_80")
BASIC = ("bias", "idf", *BENDS, "tf", "tf_idf", "capitalised", "capitalised_idf", "digit")
PLACES = ("front", "front_idf", "location", "opening", "ending", "length")
FIELDS = ("in_title", "in_title_idf", "in_url", "in_field", "only_field")
TAGGED = ("in_link", "in_heading", "emphasised")
TERMS = ("idf_average", "idf_median")
START = {"front": 0.5, "front_idf": 0.5}  # without labels: rare words up to twice as much, far ones ever less
STARTS = {  # what learning may begin with: labels say which fits
    "front": START,
    "even": {"bias": 0.5, "idf": 0.5},  # as above, wherever they stand: for pages that begin with menus
    "rare": {"idf": 1.0},
    "binary": {"bias": 1.0},
}


def default_features(
    width: int, fields: bool = False, markup: bool = False, queries: bool = False
) -> tuple[str, ...]:
    """The features of a model of k-grams of this width unless others are asked for: all that can be known."""
    return (
        *BASIC,
        *PLACES,
        *(FIELDS if fields else ()),
        *(TAGGED if markup else ()),
        *(("query_frequency",) if queries else ()),
        *(TERMS if width > 1 else ()),
    )


@dataclass(frozen=True)
class Learned:
    """Distinct k-grams weighted by Σ λ·φ.

    A linear function may come out below zero. `keep` leaves such weights as they are: a shared k-gram that two
    documents see differently then speaks against them. `clip` drops those k-grams. `fields` are the columns that
    stand behind the text (text/fields.py), `queries` a packed table of query frequencies (weights/queries.py).
    """

    of: Shingles
    features: tuple[str, ...] = tuple(START)
    weights: tuple[float, ...] = tuple(START.values())
    negative: Literal["keep", "clip"] = "clip"
    fields: tuple[str, ...] = ()
    queries: str = ""
    details: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """What cannot be computed is refused before any text is read."""
        get_features(self.features)
        unpack_queries(self.queries)
        if len(self.features) != len(self.weights) or not np.isfinite(self.weights).all():
            raise ParameterError("weights", "andd", "one finite number for each feature", self.weights)

    @property
    def counts(self) -> tuple[Feature, ...]:
        """The k-grams are counted, and their words where a feature looks at those."""
        words = any(name in TERMS for name in self.features) and self.of.width > 1
        return (self.of, Shingles(1)) if words else (self.of,)

    def grams(self, features: Features, tokens: Tokens, statistics: Statistics | None) -> Grams:
        """What is known of the distinct k-grams of a batch."""
        known = unpack_queries(self.queries)
        context = None
        if statistics is not None:
            context = Context(self.of.width, statistics, self.fields, known)
        return find_grams(features, tokens, context)

    def __call__(self, features: Features, tokens: Tokens, statistics: Statistics | None) -> Features:
        grams = self.grams(features, tokens, statistics)
        weights = self.weigh(grams)
        found = Features(grams.offsets, grams.hashes, weights.astype(np.float32), distinct=True)
        return keep_only(found, weights > 0) if self.negative == "clip" else found

    def weigh(self, grams: Grams) -> Floats:
        """λ·φ of each k-gram, features added in their order: no batch changes a sum."""
        total = np.zeros(len(grams.hashes))
        for feature, weight in zip(get_features(self.features), self.weights, strict=True):
            if weight:
                total += weight * feature.compute(grams)
        return total


__all__ = ["START", "STARTS", "Learned", "compute_features", "default_features"]
