"""The gradients that the paper leaves out: against finite differences, and against another tool where it is there."""

from __future__ import annotations

import numpy as np
import pytest

from neardup.learn.training.loss import (
    Entries,
    Objective,
    Preferences,
    Similarity,
    fold,
    multiply,
    score,
    triangle,
)
from neardup.learn.training.sample import draw_preferences

KINDS: list[Similarity] = ["cosine", "jaccard"]


def entries(seed: int, documents: int = 8, grams: int = 12, features: int = 4) -> Entries:
    rng = np.random.default_rng(seed)
    vocabulary = np.sort(rng.integers(0, 2**64, 20, dtype=np.uint64))
    chosen = [np.sort(rng.choice(20, grams, replace=False)) for _ in range(documents)]
    values = rng.normal(0.5, 1, (documents * grams, features))
    return Entries(np.arange(documents + 1) * grams, vocabulary[np.concatenate(chosen)], values)


def objective(kind: Similarity, seed: int = 3) -> Objective:
    rng = np.random.default_rng(seed)
    left, right = np.triu_indices(8, 1)
    products = multiply(entries(seed), left, right)
    preferences = draw_preferences(rng.random(len(left)) < 0.5, np.ones(len(left)), rng, 200)
    return Objective(products, preferences, np.array([0.5, 0.5, 0.0, 0.0]), kind, 10.0, 0.1)


def dense(data: Entries, weights: np.ndarray) -> np.ndarray:
    """Document vectors over the whole vocabulary."""
    names, places = np.unique(data.hashes, return_inverse=True)
    out = np.zeros((len(data), len(names)))
    owners = np.repeat(np.arange(len(data)), np.diff(data.offsets))
    out[owners, places] = data.values @ weights
    return out


@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_quadratic_forms_are_those_of_vectors(kind: Similarity) -> None:
    data, weights = entries(1), np.array([0.3, -0.2, 0.9, 0.1])
    left, right = np.triu_indices(8, 1)
    found = score(multiply(data, left, right), weights, kind).value
    vectors = dense(data, weights)
    dots = (vectors[left] * vectors[right]).sum(axis=1)
    norms = (vectors**2).sum(axis=1)
    whole = np.sqrt(norms[left] * norms[right]) if kind == "cosine" else norms[left] + norms[right] - dots
    assert np.allclose(found, dots / whole, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_gradients_are_finite_differences(kind: Similarity, seed: int) -> None:
    loss = objective(kind, seed)
    weights = np.random.default_rng(seed).normal(0.4, 0.3, 4)
    gradient, step = loss(weights)[1], 1e-6
    for k in range(4):
        up, down = weights.copy(), weights.copy()
        up[k] += step
        down[k] -= step
        assert gradient[k] == pytest.approx((loss(up)[0] - loss(down)[0]) / (2 * step), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_an_independent_tool(kind: Similarity) -> None:
    autograd = pytest.importorskip("autograd", reason="autograd is not installed")
    anp = pytest.importorskip("autograd.numpy")
    loss, data = objective(kind), entries(3)
    names, places = np.unique(data.hashes, return_inverse=True)
    spread = np.zeros((len(data), len(names), len(data.hashes)))
    spread[np.repeat(np.arange(len(data)), np.diff(data.offsets)), places, np.arange(len(places))] = 1
    left, right = np.triu_indices(8, 1)

    def value(weights: np.ndarray) -> float:
        initial = loss.initial
        weights = weights - (anp.dot(weights, initial) / anp.dot(initial, initial) - 1) * initial
        vectors = anp.dot(spread, anp.dot(data.values, weights))
        dots, norms = anp.sum(vectors[left] * vectors[right], axis=1), anp.sum(vectors**2, axis=1)
        whole = (
            anp.sqrt(norms[left] * norms[right]) if kind == "cosine" else norms[left] + norms[right] - dots
        )
        scores = dots / whole
        margin = loss.scale * (scores[loss.preferences.better] - scores[loss.preferences.worse])
        return anp.mean(anp.log1p(anp.exp(-margin))) + loss.regularization / 2 * anp.sum(
            (weights - initial) ** 2
        )

    weights = np.array([0.7, 0.2, -0.3, 0.4])
    assert loss(weights)[0] == pytest.approx(value(weights), rel=1e-12)
    assert np.allclose(loss(weights)[1], autograd.grad(value)(weights), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_all_weights_larger_changes_no_score_and_no_loss(kind: Similarity) -> None:
    loss, weights = objective(kind), np.array([0.6, 0.4, 0.2, -0.1])
    assert np.allclose(
        score(loss.products, 7 * weights, kind).value, score(loss.products, weights, kind).value
    )
    along = weights + 3 * loss.initial  # the component along the initial weights is fixed
    assert loss(along)[0] == pytest.approx(loss(weights)[0], rel=1e-12)


def test_a_triangle_holds_a_quadratic_form() -> None:
    rng = np.random.default_rng(0)
    matrix, weights = rng.normal(size=(5, 5)), rng.normal(size=5)
    packed = (matrix + matrix.T - np.diag(np.diag(matrix)))[np.triu_indices(5)]
    assert packed @ triangle(weights) == pytest.approx(weights @ matrix @ weights)
    assert np.allclose(fold(packed, weights), (matrix + matrix.T) @ weights)


def test_documents_of_no_weight_have_no_similarity_and_no_gradient() -> None:
    data = Entries(np.array([0, 1, 2]), np.array([5, 5], np.uint64), np.zeros((2, 2)))
    found = score(multiply(data, np.array([0]), np.array([1])), np.ones(2), "cosine")
    assert found.value.tolist() == [0.0] and np.isfinite(found.by_dot).all()


def test_threads_change_nothing() -> None:
    left, right = np.triu_indices(8, 1)
    one, two = (multiply(entries(2), np.tile(left, 40), np.tile(right, 40), threads) for threads in (1, 3))
    assert np.array_equal(one.dots, two.dots) and np.array_equal(one.norms, two.norms)


def test_no_preference_without_pairs_of_both_kinds() -> None:
    rng = np.random.default_rng(0)
    none: Preferences = draw_preferences(np.ones(4, np.bool_), np.ones(4), rng)
    assert len(none) == 0
