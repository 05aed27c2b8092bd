"""The k-grams that make the score of two documents, by their share of the dot product."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.columns import Texts, to_utf8
from neardup.learn.model.weight import LearnedWeight
from neardup.plan import Plan
from neardup.statistics import Statistics
from neardup.text.composed import to_composed
from neardup.text.words import Words


class Contribution(NamedTuple):
    """A k-gram that both documents have."""

    text: str  # as the left document writes it first
    share: float  # of the dot product
    left: float  # its weight there
    right: float


def contributions(
    plan: Plan, left: str, right: str, statistics: Statistics, most: int = 12
) -> list[Contribution]:
    """The shared k-grams that add most to the score, largest first; none if weights are not learned."""
    weight = plan.view.weights[0] if len(plan.view.weights) == 1 else None
    if not isinstance(weight, LearnedWeight):
        return []
    texts = Texts.from_strings([to_composed(to_utf8(text).decode()) for text in (left, right)])
    tokens = plan.text(texts)
    grams = weight.grams(plan.view.features(tokens), tokens, statistics)
    weights = weight.weigh(grams)
    weights = np.maximum(weights, 0) if weight.negative == "clip" else weights
    cut = int(grams.offsets[1])
    _, a, b = np.intersect1d(grams.hashes[:cut], grams.hashes[cut:], assume_unique=True, return_indices=True)
    products = weights[a] * weights[cut + b]
    whole = float(products.sum()) or 1.0
    order = np.argsort(-products, kind="stable")[:most]
    return [
        Contribution(_excerpt(plan, texts, grams.hashes[a[k]]), float(products[k]) / whole,
                     float(weights[a[k]]), float(weights[cut + b[k]]))
        for k in order.tolist() if products[k] != 0
    ]  # fmt: skip


def _excerpt(plan: Plan, texts: Texts, gram: np.uint64) -> str:
    """The k-gram as the left text writes it, white space collapsed; empty if tags interrupt it."""
    text: Any = plan.text
    kind: Any = getattr(getattr(text, "of", text), "tokens", "words")
    tokens = Words(kind)(
        texts.slice(0, 1)
    )  # places in the whole: fields and tags count from where they begin
    places = np.flatnonzero(plan.view.features(tokens).hashes == gram)
    if len(places) == 0:
        return ""
    first, size = int(places[0]), len(tokens.hashes)
    after = first + getattr(plan.view.features, "width", 1)
    end = int(tokens.positions[after]) if after < size else int(texts.offsets[1])
    words = texts.data[int(tokens.positions[first]) : end].tobytes().decode(errors="replace").split()
    return " ".join(words).strip(".,;:!?\"'()[]<>«»„“”– ") or " ".join(words)
