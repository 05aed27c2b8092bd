"""The loss of weights over preferences between pairs of documents, and its gradient.

Formula (4) of the ANDD paper over pairs of document pairs, with the gradients that it leaves out. The weights of a
document being Φλ, its dot product with another is λᵀAλ and its squared norm λᵀBλ, with matrices that do not depend on
λ (kernels/grams.py). They are kept as their upper triangles, t = J(J + 1)/2 numbers each, so that all dot
products are one matrix product with the triangle of λλᵀ, and all gradients another one back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Hashes, Numbers, Offsets
from neardup.workers import ordered_map

Floats = NDArray[np.float64]
Similarity = Literal["cosine", "jaccard"]
BLOCK = 256  # pairs that a thread multiplies at a time
TINY = 1e-12  # a squared norm below which a document counts as empty


@dataclass(frozen=True)
class Entries:
    """The distinct k-grams of documents, sorted by hash, and their features."""

    offsets: Offsets
    hashes: Hashes
    values: Floats  # k-grams × features

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True)
class Products:
    """Pairs of documents as quadratic forms in λ."""

    left: Numbers  # rows of `norms`
    right: Numbers
    dots: Floats  # pairs × t
    norms: Floats  # documents × t
    features: int

    def take(self, which: Numbers) -> Products:
        """Some of the pairs."""
        return replace(self, left=self.left[which], right=self.right[which], dots=self.dots[which])


def multiply(entries: Entries, left: Numbers, right: Numbers, threads: int = 1) -> Products:
    """The quadratic forms of these pairs."""
    documents, places = np.unique(np.concatenate([left, right]), return_inverse=True)
    dots = _triangles(entries, left, right, threads)
    norms = _triangles(entries, documents, documents, threads)
    places = places.astype(np.int64)
    count = entries.values.shape[1]
    return Products(places[: len(left)], places[len(left) :], dots, norms, count)


def _triangles(entries: Entries, left: Numbers, right: Numbers, threads: int) -> Floats:
    count = entries.values.shape[1]
    out: Floats = np.empty((len(left), count * (count + 1) // 2))

    def work(start: int) -> None:
        part = slice(start, start + BLOCK)
        kernels.grams.multiply_pairs(
            entries.hashes, entries.values, entries.offsets, left[part], right[part], out[part]
        )

    for _ in ordered_map(work, range(0, len(left), BLOCK), threads):
        pass
    return out


def triangle(weights: Floats) -> Floats:
    """The upper triangle of λλᵀ, row by row."""
    rows, columns = np.triu_indices(len(weights))
    return weights[rows] * weights[columns]


def fold(gradient: Floats, weights: Floats) -> Floats:
    """The gradient by λ, from the derivatives by the entries of the triangle."""
    rows, columns = np.triu_indices(len(weights))
    total: Floats = np.bincount(rows, gradient * weights[columns], len(weights)).astype(np.float64)
    return total + np.bincount(columns, gradient * weights[rows], len(weights))


@dataclass(frozen=True)
class PairGradients:
    """Similarities of pairs, and their derivatives by dot product and by the two squared norms."""

    value: Floats
    by_dot: Floats
    by_left: Floats
    by_right: Floats


def score(products: Products, weights: Floats, kind: Similarity) -> PairGradients:
    """Cosine (2) or extended Jaccard (3) of every pair."""
    shape = triangle(weights)
    dot, norm = _apply(products.dots, shape), np.maximum(_apply(products.norms, shape), TINY)
    left, right = norm[products.left], norm[products.right]
    if kind == "cosine":
        by_dot = 1 / np.sqrt(left * right)
        value = dot * by_dot
        return PairGradients(value, by_dot, -value / (2 * left), -value / (2 * right))
    union = np.maximum(left + right - dot, TINY)
    by_norm = -dot / union**2
    return PairGradients(dot / union, (left + right) / union**2, by_norm, by_norm)


@dataclass(frozen=True)
class Preferences:
    """Pairs of pairs: the first should be more similar than the second."""

    better: Numbers  # rows of Products
    worse: Numbers

    def __len__(self) -> int:
        return len(self.better)


@dataclass(frozen=True)
class Objective:
    """The mean of formula (4), Δ in units of 1/scale, regularized towards the initial weights.

    The paper's term α/2 ‖λ‖² regularizes towards zero. Cosine and Jaccard do not change when all weights grow
    together, so that the term does not constrain their proportions. Regularizing towards initial weights that work
    without labels does: with few labels, weights that the labels do not determine stay near their initial values.
    Shrinking all weights would evade the regularization, so the component of λ along the initial weights is fixed
    (`project`).
    """

    products: Products
    preferences: Preferences
    initial: Floats
    kind: Similarity = "cosine"
    scale: float = 10.0
    regularization: float = 0.01

    def project(self, weights: Floats) -> Floats:
        """The nearest weights whose component along the initial weights is the initial weights themselves."""
        along = float(weights @ self.initial) / float(self.initial @ self.initial)
        return weights - (along - 1) * self.initial

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """The loss of the projected weights, and its gradient."""
        products, chosen, weights = self.products, self.preferences, self.project(weights)
        scored = score(products, weights, self.kind)
        margin = self.scale * (scored.value[chosen.better] - scored.value[chosen.worse])
        loss = float(np.logaddexp(0, -margin).mean())
        slope = -self.scale * _sigmoid(-margin) / len(chosen)
        pairs, documents = len(products.dots), len(products.norms)
        by_score: Floats = (
            np.bincount(chosen.better, slope, pairs) - np.bincount(chosen.worse, slope, pairs)
        ).astype(np.float64)
        by_norm: Floats = (
            np.bincount(products.left, by_score * scored.by_left, documents)
            + np.bincount(products.right, by_score * scored.by_right, documents)
        ).astype(np.float64)
        gradient = _combine(by_score * scored.by_dot, products.dots) + _combine(by_norm, products.norms)
        away = weights - self.initial
        loss += self.regularization / 2 * float(away @ away)
        whole = fold(gradient, weights) + self.regularization * away
        return loss, whole - float(whole @ self.initial) / float(self.initial @ self.initial) * self.initial


def _apply(forms: Floats, shape: Floats) -> Floats:
    """forms @ shape by NumPy's own loop: the same result on every machine, and no BLAS threads."""
    values: Floats = np.einsum("pt,t->p", forms, shape)
    return values


def _combine(amounts: Floats, forms: Floats) -> Floats:
    """amounts @ forms, likewise."""
    values: Floats = np.einsum("p,pt->t", amounts, forms)
    return values


def _sigmoid(x: Floats) -> Floats:
    """1 / (1 + e⁻ˣ) without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1 + small)
