"""Average and complete linkage beside the twin, and beside SciPy's."""

from __future__ import annotations

from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import naive
from neardup.candidates.buckets import unranked_pairs
from neardup.clusters.linkage import STEPS, linkage
from neardup.kernels.linkage import linkage as kernel

KINDS = pytest.mark.parametrize("complete", [False, True], ids=["average", "complete"])
Group = dict[tuple[int, int], float]


def drawn(source: Random, n: int, values: list[float] | None) -> Group:
    """A similarity for each pair: one of a few values, so that many are equal, or any."""
    numbers = [source.choice(values) if values else source.random() for _ in combinations(range(n), 2)]
    return {
        pair: round(number * STEPS) / STEPS
        for pair, number in zip(combinations(range(n), 2), numbers, strict=True)
    }


def flat(groups: list[tuple[int, Group]]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Sizes, and similarities in the order that the kernel takes."""
    values = []
    for n, group in groups:
        i, j = unranked_pairs(np.arange(n * (n - 1) // 2))
        values += [group[pair] for pair in zip(i.tolist(), j.tolist(), strict=True)]
    return np.array([n for n, _ in groups], np.int64), np.array(values, np.float64)


@KINDS
@given(st.lists(st.integers(1, 9), max_size=4), st.randoms(use_true_random=False), st.booleans())
def test_clusters_are_those_of_the_twin(
    complete: bool, sizes: list[int], source: Random, equal: bool
) -> None:
    """With every tie broken as the twin breaks it, and sums as exact as the twin's."""
    values = [0.1, 0.3, 0.5, 0.6, 0.7, 0.7, 0.9] if equal else None
    groups = [(n, drawn(source, n, values)) for n in sizes]
    label, height = kernel(*flat(groups), 0.5, complete)
    start = 0
    for n, group in groups:
        names, heights = naive.linkage(n, group, 0.5, complete)
        assert (label[start : start + n] - start).tolist() == names
        assert height[start : start + n].tolist() == heights
        start += n


@KINDS
@given(st.integers(2, 40), st.integers(0, 10**6), st.floats(0.2, 0.8))
def test_clusters_are_those_of_scipy(complete: bool, n: int, seed: int, threshold: float) -> None:
    hierarchy = pytest.importorskip("scipy.cluster.hierarchy")
    source = Random(seed)
    points = np.array([[source.random() for _ in range(3)] for _ in range(n)])
    apart = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    matrix = 1 - apart / 2  # like similarities of texts: what is near to one is near to its neighbours
    i, j = unranked_pairs(np.arange(n * (n - 1) // 2))
    found, height = linkage(np.array([n]), matrix[i, j], threshold, complete)
    method = "complete" if complete else "average"
    tree = hierarchy.linkage((1 - matrix)[np.triu_indices(n, 1)], method)
    expected = hierarchy.fcluster(tree, 1 - threshold, "distance")
    assert len({*zip(found.tolist(), expected.tolist(), strict=True)}) == len({*found.tolist()})
    assert len({*found.tolist()}) == len({*expected.tolist()})
    merges = 1 - tree[tree[:, 2] <= 1 - threshold, 2]
    assert height.min() == pytest.approx(merges.min(initial=1.0), abs=1e-8)


@KINDS
def test_a_tie_with_the_threshold_merges(complete: bool) -> None:
    """Whatever the rounding of floats: the mean of 0.6 and 0.8 is 0.7."""
    similarity = np.array([0.9, 0.8, 0.7 if complete else 0.6])  # (0, 1), (0, 2), (1, 2)
    label, height = linkage(np.array([3]), similarity, 0.7, complete)
    assert label.tolist() == [0, 0, 0]
    assert height.tolist() == pytest.approx([0.7] * 3)


@KINDS
def test_a_thousand_equal_similarities_are_one_cluster(complete: bool) -> None:
    n = 1000
    label, height = linkage(np.array([n]), np.full(n * (n - 1) // 2, 0.8), 0.7, complete)
    assert not label.any() and np.allclose(height, 0.8)
