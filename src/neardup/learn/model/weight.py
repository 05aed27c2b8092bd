"""Learned weights: λ·φ, a linear combination of the features of a k-gram (ANDD paper, formula 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from neardup.columns import Features, Tokens
from neardup.errors import ParameterError
from neardup.features.shingles import Shingles
from neardup.learn.model.gram_features import get_features
from neardup.learn.model.grams import Context, Floats, GramTable, find_grams
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
# Without labels: rare words count up to twice as much, later ones less and less.
INITIAL_WEIGHTS = {"front": 0.5, "front_idf": 0.5}
INITIAL_CHOICES = {  # by name; training chooses by the labels
    "front": INITIAL_WEIGHTS,
    "even": {"bias": 0.5, "idf": 0.5},  # independent of position: for pages that begin with menus
    "rare": {"idf": 1.0},
    "binary": {"bias": 1.0},
}


def default_features(
    width: int, fields: bool = False, markup: bool = False, queries: bool = False
) -> tuple[str, ...]:
    """The default features of k-grams of this width: all that are available."""
    return (
        *BASIC,
        *PLACES,
        *(FIELDS if fields else ()),
        *(TAGGED if markup else ()),
        *(("query_frequency",) if queries else ()),
        *(TERMS if width > 1 else ()),
    )


@dataclass(frozen=True)
class LearnedWeight:
    """Distinct k-grams weighted by Σ λ·φ.

    A linear function may be negative. `keep` keeps negative weights: a shared k-gram with weights of opposite sign
    then lowers the similarity. `clip` drops k-grams of negative weight. `fields` are the columns appended to the text
    (text/fields.py), `queries` is a packed table of query frequencies (learn/model/queries.py).
    """

    of: Shingles
    features: tuple[str, ...] = tuple(INITIAL_WEIGHTS)
    weights: tuple[float, ...] = tuple(INITIAL_WEIGHTS.values())
    negative: Literal["keep", "clip"] = "clip"
    fields: tuple[str, ...] = ()
    queries: str = ""
    details: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuses features that cannot be computed before any text is read."""
        get_features(self.features)
        unpack_queries(self.queries)
        if len(self.features) != len(self.weights) or not np.isfinite(self.weights).all():
            raise ParameterError("weights", "andd", "one finite number for each feature", self.weights)

    @property
    def counts(self) -> tuple[Feature, ...]:
        """The features to count: k-grams, and their words if a feature uses them."""
        words = any(name in TERMS for name in self.features) and self.of.width > 1
        return (self.of, Shingles(1)) if words else (self.of,)

    def grams(self, features: Features, tokens: Tokens, statistics: Statistics | None) -> GramTable:
        """The distinct k-grams of a batch, with what their features are computed from."""
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

    def weigh(self, grams: GramTable) -> Floats:
        """λ·φ of each k-gram; features are added in order, so that sums do not depend on the batch."""
        total = np.zeros(len(grams.hashes))
        for feature, weight in zip(get_features(self.features), self.weights, strict=True):
            if weight:
                total += weight * feature.compute(grams)
        return total
