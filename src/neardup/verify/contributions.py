"""Which k-grams make the score of two documents: their part in the dot product of the weighted vectors."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

import numpy as np

from neardup.columns import Texts, Tokens, to_utf8
from neardup.plan import Plan
from neardup.statistics import Statistics
from neardup.weights.grams import Grams, find_grams
from neardup.weights.learned import Learned


class Contribution(NamedTuple):
    """A k-gram that both documents have."""

    text: str  # as the left document writes it first
    share: float  # of the dot product
    left: float  # its weight there
    right: float


def contributions(
    plan: Plan, left: str, right: str, statistics: Statistics, most: int = 12
) -> list[Contribution]:
    """The shared k-grams that add most to the score, the first of them first; none for weights that are not learned."""
    weight = plan.view.weights[0] if len(plan.view.weights) == 1 else None
    if not isinstance(weight, Learned):
        return []
    texts = Texts.from_strings(
        [unicodedata.normalize("NFC", to_utf8(text).decode()) for text in (left, right)]
    )
    tokens = plan.text(texts)
    grams = find_grams(plan.view.features(tokens), tokens, weight.of.width, statistics)
    weights = weight.weigh(grams)
    weights = np.maximum(weights, 0) if weight.negative == "clip" else weights
    cut = int(grams.offsets[1])
    _, a, b = np.intersect1d(grams.hashes[:cut], grams.hashes[cut:], assume_unique=True, return_indices=True)
    products = weights[a] * weights[cut + b]
    whole = float(products.sum()) or 1.0
    order = np.argsort(-products, kind="stable")[:most]
    return [
        Contribution(_excerpt(texts, tokens, grams, int(a[k])), float(products[k]) / whole,
                     float(weights[a[k]]), float(weights[cut + b[k]]))
        for k in order.tolist() if products[k] != 0
    ]  # fmt: skip


def _excerpt(texts: Texts, tokens: Tokens, grams: Grams, number: int) -> str:
    """The k-gram as it stands in the left text, blanks in a row as one."""
    first = int(grams.firsts[number])
    after = min(first + grams.width, int(tokens.offsets[1]))
    start = int(tokens.positions[first])
    end = int(tokens.positions[after]) if after < int(tokens.offsets[1]) else int(texts.offsets[1])
    words = texts.data[start:end].tobytes().decode(errors="replace").split()
    return " ".join(words).strip(".,;:!?\"'()[]«»„“”– ") or " ".join(words)
