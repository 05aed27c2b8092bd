"""A check that keeps notices of one frame apart: documents that differ in more numbers than other words.

Word n-grams of two dividend notices are the same but for a few that hold an amount. The check compares the words of
both documents too, each as often as it occurs; docs/relations.md has the measurements.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Features, Hashes, Numbers, Pairs, Tokens
from neardup.errors import ParameterError
from neardup.plan import Check, Plan
from neardup.verify.jaccard import Jaccard

KIND = np.uint64(3)  # the lowest bits of a hash say what it stands for
FEATURE, WORD, NUMBER = (np.uint64(kind) for kind in range(3))
DIGIT = 2  # the mark of a token that begins with a digit
SPREAD, AGAIN = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


def separate_numbers(plan: Plan) -> Plan:
    """The plan that keeps documents apart if they differ in more numbers than other words."""
    exact = isinstance(plan.check, Jaccard) and plan.check_view is None
    if not exact or plan.joins or plan.counts:
        needed = "'words': 'separate' needs candidates that are verified by the Jaccard similarity of their features"
        raise ParameterError("numbers", plan.method, needed, "separate")
    return plan.with_(check=SeparateNumbers(plan.check))


@dataclass(frozen=True)
class SeparateNumbers:
    """The similarity of another check, and 0 where two documents differ in more numbers than other words."""

    check: Check
    level: Literal["features"] = "features"

    @property
    def measures(self) -> str:
        """The similarity of the other check."""
        return self.check.measures

    def measure(self, values: Features, left: Numbers, right: Numbers) -> Pairs:
        """The evidence for each pair of documents, whose features come from `with_words`."""
        found = self.check.measure(_of_kind(values, FEATURE), left, right)
        words, numbers = (_differing(_of_kind(values, kind), left, right) for kind in (WORD, NUMBER))
        return replace(found, shared=np.where(numbers > words, 0.0, found.shared))

    def passes(self, pairs: Pairs, threshold: float) -> NDArray[np.bool_]:
        """Whether each pair reaches the threshold."""
        return self.check.passes(pairs, threshold)


def with_words(features: Features, tokens: Tokens) -> Features:
    """The distinct features of documents, and every occurrence of a word or number as one more."""
    documents, hashes = _occurrences(tokens)
    own = np.repeat(np.arange(len(features)), features.sizes)
    documents = np.concatenate([own, documents])
    hashes = np.concatenate([features.hashes & ~KIND | FEATURE, hashes])
    order = np.lexsort((hashes, documents))
    documents, hashes = documents[order], hashes[order]
    new = np.ones(len(hashes), np.bool_)
    new[1:] = (hashes[1:] != hashes[:-1]) | (documents[1:] != documents[:-1])
    offsets = np.searchsorted(documents[new], np.arange(len(features) + 1))
    return Features(offsets.astype(np.int64), hashes[new], distinct=True)


def _occurrences(tokens: Tokens) -> tuple[Numbers, Hashes]:
    """The document of each token, and a hash of the token and of how many equal ones come before it."""
    documents = np.repeat(np.arange(len(tokens)), np.diff(tokens.offsets))
    marks = tokens.marks
    order = np.lexsort((tokens.hashes, documents))
    documents, hashes = documents[order], tokens.hashes[order]
    first = np.ones(len(hashes), np.bool_)
    first[1:] = (hashes[1:] != hashes[:-1]) | (documents[1:] != documents[:-1])
    places = np.arange(len(hashes))
    before = (places - np.maximum.accumulate(np.where(first, places, 0))).astype(np.uint64)
    mixed = hashes * SPREAD ^ before * AGAIN
    mixed = (mixed ^ mixed >> np.uint64(29)) * SPREAD
    kinds = np.where((marks[order] & DIGIT) > 0, NUMBER, WORD)
    return documents, mixed & ~KIND | kinds


def _of_kind(values: Features, kind: np.uint64) -> Features:
    """The features of one kind."""
    chosen = (values.hashes & KIND) == kind
    ends = np.concatenate([[0], np.cumsum(chosen)]).astype(np.int64)
    return Features(ends[values.offsets], values.hashes[chosen], distinct=True)


def _differing(values: Features, left: Numbers, right: Numbers) -> NDArray[np.float64]:
    """How many features only one document of each pair has."""
    pairs = Jaccard().measure(values, left, right)
    return pairs.left_size + pairs.right_size - 2 * pairs.shared
