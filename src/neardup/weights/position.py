"""Weights by the first position of a feature, and by the markup around it (simhash thesis, sections 5.2 to 5.4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Features, Numbers, Tokens, field_of
from neardup.errors import PlanError
from neardup.features.fielded import Cleaned, Fielded, field_parts, keep_tokens
from neardup.features.shingles import Shingles
from neardup.plan import Feature
from neardup.text.tagged import TAGS
from neardup.weights.counts import Counts
from neardup.weights.expression import evaluate, parse

# x is the position of a word, from 1; L the number of words. The thesis' log(x)/x is 0 at x = 1, its 1/log(x) infinite:
# both are shifted by one inside the logarithm.
SCALES = {
    "log(x)/x": "log(x + 1) / x",
    "1/x": "1 / x",
    "1/log(x)": "1 / log(x + 1)",
    "cosine": "1 + cos(2 * pi * x / L)",
}


def as_bag(features: Features) -> Features:
    """Distinct features with weights: counts if they have none yet."""
    if not features.distinct:
        features = Counts()(features)
    if features.weights is None:
        return replace(features, weights=np.ones(len(features.hashes), np.float32))
    return features


def occurrence_values(of: Feature, tokens: Tokens, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each occurrence of a feature the largest value among its tokens."""
    match of:
        case Fielded(of=inner, single=single):
            return occurrence_values(inner, field_parts(tokens, single)[0], values)
        case Cleaned(of=inner):
            kept = of.kept(tokens)
            return occurrence_values(inner, keep_tokens(tokens, kept), values[kept])
        case Shingles(width=width):
            occurrences = of(tokens).sizes
            first = np.repeat(
                tokens.offsets[:-1] - (np.cumsum(occurrences) - occurrences), occurrences
            ) + np.arange(int(occurrences.sum()))
            last = np.repeat(tokens.offsets[1:], occurrences) - 1
            found = values[first]
            for step in range(1, width):
                found = np.maximum(found, values[np.minimum(first + step, last)])
            return found
    raise PlanError(f"Tags are not known for features of {type(of).__name__}: remove the tags weight.")


def over_occurrences(
    of: Feature, bag: Features, tokens: Tokens, values: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """For each feature the largest value among its occurrences; without values, minus the first position."""
    occurrences = of(tokens)
    if values is None:
        begins = np.repeat(occurrences.offsets[:-1], occurrences.sizes)
        values = (begins - np.arange(len(occurrences.hashes)) - 1).astype(np.float64)
    out = np.full(len(bag.hashes), -np.inf)
    kernels.phrases.largest_of_occurrences(
        bag.hashes, bag.offsets, occurrences.hashes, occurrences.offsets, values, out
    )
    return out


class _Placed:
    """A weight stage by the places of the occurrences of features."""

    of: Feature
    counts: ClassVar[tuple[Feature, ...]] = ()

    @property
    def details(self) -> bool:
        """Those of the features whose positions are used."""
        return self.of.details


@dataclass(frozen=True)
class Position(_Placed):
    """Weights times a function of the position x of a feature's first occurrence among L: a name, or any formula."""

    of: Feature
    function: str = "log(x)/x"

    def __post_init__(self) -> None:
        """Refuses an invalid formula before any text is read."""
        parse(self.formula, ("L", "w", "x"))

    @property
    def formula(self) -> str:
        """The formula of the function."""
        return SCALES.get(self.function, self.function)

    def __call__(self, features: Features, tokens: Tokens, statistics: object = None) -> Features:
        bag = as_bag(features)
        assert bag.weights is not None
        x = -over_occurrences(self.of, bag, tokens)
        lengths = np.repeat(self._lengths(tokens), bag.sizes).astype(np.float64)
        scale = evaluate(self.formula, {"L": lengths, "w": bag.weights.astype(np.float64), "x": x})
        scale = np.broadcast_to(scale, len(x)).copy()
        scale[np.abs(scale) < 1e-12] = 0  # a cosine that should be 0
        if isinstance(self.of, Fielded):
            scale[field_of(bag) > 0] = 1  # a field has no position in the text
        bad = np.flatnonzero(~(np.isfinite(scale) & (scale >= 0)))
        if len(bad):
            raise PlanError(
                f"The position weight {self.function!r} is {scale[bad[0]]:g} for word {x[bad[0]]:g} of "
                f"{lengths[bad[0]]:g}: weights must be finite and not negative; shift the formula."
            )
        return replace(bag, weights=(bag.weights * scale).astype(np.float32))

    def _lengths(self, tokens: Tokens) -> Numbers:
        """How many features each text has, those of its fields not counted."""
        occurrences = self.of(tokens)
        if not isinstance(self.of, Fielded):
            return occurrences.sizes
        before = np.append(0, np.cumsum(field_of(occurrences) == 0))[occurrences.offsets]
        return np.diff(before)


@dataclass(frozen=True)
class TagBoost(_Placed):
    """Weights times a factor where one of a feature's occurrences stands inside one of the tags (5.4: 1.5)."""

    of: Feature
    factor: float = 1.5
    tags: tuple[str, ...] = TAGS

    def __call__(self, features: Features, tokens: Tokens, statistics: object = None) -> Features:
        bag = as_bag(features)
        if tokens.tags is None:
            return bag  # no markup was read
        assert bag.weights is not None
        mask = np.uint16(sum(1 << TAGS.index(tag) for tag in self.tags))
        tagged = occurrence_values(self.of, tokens, (tokens.tags & mask != 0).astype(np.float64))
        inside = over_occurrences(self.of, bag, tokens, tagged)
        return replace(bag, weights=np.where(inside > 0, bag.weights * np.float32(self.factor), bag.weights))
