"""Clusters of any graph: components, leaders, spanning links and bridges."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import naive
from neardup.kernels import graph

Edge = tuple[int, int]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[Edge]]:
    """Nodes and edges without loops: sparse ones, dense ones, and edges that occur twice."""
    n = draw(st.integers(1, 16))
    if n == 1:
        return n, []
    ends = st.integers(0, n - 1)
    pairs = st.tuples(ends, ends).filter(lambda pair: pair[0] != pair[1])
    return n, draw(st.lists(pairs.map(lambda pair: (min(pair), max(pair))), max_size=24))


def columns(edges: list[Edge]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Left and right ends, read-only."""
    table = np.array(edges, np.int64).reshape(-1, 2).T.copy()
    table.flags.writeable = False
    return table[0], table[1]


def by_node(n: int, edges: list[Edge]) -> tuple[NDArray[np.int64], ...]:
    """Starts, neighbours, and the number of the edge to each."""
    around = [[(b if a == x else a, p) for p, (a, b) in enumerate(edges) if x in (a, b)] for x in range(n)]
    flat = np.array([entry for row in around for entry in row], np.int64).reshape(-1, 2)
    return np.cumsum([0, *map(len, around)]), flat[:, 0].copy(), flat[:, 1].copy()


@given(graphs())
def test_components_are_those_of_the_twin(found: tuple[int, list[Edge]]) -> None:
    n, edges = found
    assert graph.components(n, *columns(edges)).tolist() == naive.components(n, edges)


@given(graphs())
def test_components_of_codes_are_those_of_the_twin(found: tuple[int, list[Edge]]) -> None:
    n, edges = found
    packed = [a * n + b for a, b in edges]
    half = len(packed) // 2
    labels, among = np.arange(n), np.zeros(n, np.bool_)
    for part in (packed[:half], packed[half:]):
        graph.join_packed(labels, among, np.array(part, np.int64))
    assert (labels.tolist(), among.tolist()) == naive.join_packed(n, packed)


@given(graphs())
def test_neighbours_are_those_of_the_twin(found: tuple[int, list[Edge]]) -> None:
    n, edges = found
    starts, others, numbers = graph.neighbours(n, *columns(edges))
    rows = list(zip(others.tolist(), numbers.tolist(), strict=True))
    assert [rows[i:j] for i, j in pairwise(starts)] == naive.neighbours(n, edges)


@given(graphs(), st.randoms(use_true_random=False))
def test_leaders_are_those_of_the_twin(found: tuple[int, list[Edge]], random: Random) -> None:
    n, edges = found
    order = random.sample(range(n), n)
    starts, neighbours, _ = by_node(n, edges)
    assert graph.leaders(np.array(order), starts, neighbours).tolist() == naive.leaders(order, edges)


@given(graphs(), st.randoms(use_true_random=False))
def test_every_member_is_a_neighbour_of_its_leader(found: tuple[int, list[Edge]], random: Random) -> None:
    n, edges = found
    order = random.sample(range(n), n)
    starts, neighbours, _ = by_node(n, edges)
    for x, leader in enumerate(graph.leaders(np.array(order), starts, neighbours).tolist()):
        assert x == leader or tuple(sorted((x, leader))) in edges


@given(graphs())
def test_spanning_links_are_those_of_the_twin(found: tuple[int, list[Edge]]) -> None:
    n, edges = found
    assert graph.spanning_links(n, *columns(edges)).tolist() == naive.spanning_links(n, edges)


@given(graphs())
def test_bridges_are_those_of_the_twin(found: tuple[int, list[Edge]]) -> None:
    n, edges = found
    assert graph.bridges(*by_node(n, edges)).tolist() == naive.bridges(n, edges)


@pytest.mark.parametrize("backwards", [False, True])
def test_a_long_chain_is_one_component_of_bridges(backwards: bool) -> None:
    """No recursion, and no path that grows with every step."""
    n = 3000
    edges = [(x, x + 1) for x in range(n - 1)]
    edges = edges[::-1] if backwards else edges
    left, right = columns(edges)
    assert not graph.components(n, left, right).any()
    assert graph.spanning_links(n, left, right).all()
    neighbours = np.array([y for x in range(n) for y in (x - 1, x + 1) if 0 <= y < n])
    numbers = np.array([e for x in range(n) for e in (x - 1, x) if 0 <= e < n - 1])
    starts = np.concatenate([[0], 1 + 2 * np.arange(n - 1), [2 * n - 2]])
    assert graph.bridges(starts, neighbours, numbers).all()
