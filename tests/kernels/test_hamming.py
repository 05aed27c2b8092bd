"""The kernels of Hamming search are those of their twins."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive
from neardup.kernels import hamming

words = st.integers(1, 3)
near = st.lists(st.tuples(st.integers(0, 3), st.lists(st.integers(0, 191), max_size=4)), max_size=30)


def columns_of(fingerprints: list[int], width: int, room: int = 0) -> np.ndarray:
    columns = np.zeros((width, len(fingerprints) + room), np.uint64)
    for d, x in enumerate(fingerprints):
        for w in range(width):
            columns[w, d] = x >> 64 * w & (1 << 64) - 1
    return columns


@st.composite
def fingerprints(draw: st.DrawFn) -> tuple[list[int], int]:
    """Few centres, a few bits away from each of which the fingerprints lie."""
    width = draw(words)
    centres = draw(st.lists(st.integers(0, (1 << 64 * width) - 1), min_size=4, max_size=4))
    found = []
    for centre, bits in draw(near):
        x = centres[centre]
        for bit in bits:
            x ^= 1 << bit % (64 * width)
        found.append(x)
    return found, width


@given(fingerprints(), st.lists(st.integers(0, 63), max_size=20, unique=True))
def test_ones_keys_and_order(given_: tuple[list[int], int], bits: list[int]) -> None:
    values, width = given_
    columns, n = columns_of(values, width), len(values)
    ones, keys, out = np.zeros(n, np.uint32), np.zeros(n, np.uint32), np.zeros(n, np.uint32)
    hamming.count_columns(columns, ones)
    assert ones.tolist() == naive.count_columns(values)
    hamming.block_keys(columns, np.array(bits, np.int64), keys)
    assert keys.tolist() == naive.block_keys(values, bits)
    order = np.arange(n, dtype=np.uint32)[::-1].copy()
    hamming.order_by_digit(keys, np.uint32(3), np.uint32(31), order, np.zeros(33, np.int64), out)
    assert out.tolist() == naive.order_by_digit(keys.tolist(), 3, 31, order.tolist())
    gathered = np.zeros((width, n), np.uint64)
    hamming.gather_columns(columns, out, gathered)
    assert gathered.tolist() == columns_of(naive.gather_columns(values, out.tolist()), width).tolist()


@given(st.lists(st.integers(0, 5), max_size=40), st.integers(1, 6))
def test_ends_of_runs_and_windows(keys: list[int], limit: int) -> None:
    values = np.sort(np.array(keys, np.uint32))
    order = np.arange(len(keys), dtype=np.uint32)
    ends, large = np.zeros(len(keys), np.uint32), np.zeros((len(keys) + 1, 2), np.int64)
    count = hamming.run_ends(values, order, limit, ends, large) if len(keys) else 0
    expected, long = naive.run_ends(values.tolist(), limit)
    assert (ends.tolist(), large[:count].tolist()) == (expected, [list(run) for run in long])
    hamming.window_ends(values, limit, ends)
    assert ends.tolist() == naive.window_ends(values.tolist(), limit)


@given(
    fingerprints(), st.integers(0, 12), st.lists(st.integers(0, 2**64 - 1), max_size=2), st.integers(1, 40)
)
def test_pairs_of_spans(given_: tuple[list[int], int], distance: int, masks: list[int], span: int) -> None:
    values, width = given_
    n = len(values)
    columns = columns_of(values, width, hamming.LANES)
    ends = np.minimum(np.arange(n) + span, n).astype(np.uint32)
    earlier = np.array([[mask] + [0] * (width - 1) for mask in masks], np.uint64).reshape(len(masks), width)
    out = tuple(np.zeros(n + 1, np.int64) for _ in range(3))
    found, place = [], 0
    while place < n:
        place, count = hamming.join_spans(columns, ends, place, distance, earlier, np.zeros(0, np.int64), out)
        found += list(zip(*(column[:count].tolist() for column in out), strict=True))
    assert found == naive.join_spans(values, ends.tolist(), distance, masks)


@given(fingerprints(), st.integers(0, 12))
def test_spanning_pairs_connect_what_all_pairs_connect(given_: tuple[list[int], int], distance: int) -> None:
    values, width = given_
    n = len(values)
    ends = np.full(n, n, np.uint32)
    out = tuple(np.zeros(n * n + 1, np.int64) for _ in range(3))
    none = np.zeros((0, width), np.uint64)
    columns = columns_of(values, width, hamming.LANES)
    _, count = hamming.join_spans(columns, ends, 0, distance, none, np.arange(n), out)
    edges = list(zip(out[0][:count].tolist(), out[1][:count].tolist(), strict=True))
    every = [(a, b) for a, b, _ in naive.join_spans(values, ends.tolist(), distance, [])]
    assert naive.components(n, edges) == naive.components(n, every)
    assert len(edges) < max(n, 1)


@given(fingerprints(), st.integers(0, 12), st.lists(st.integers(0, 63), max_size=6, unique=True))
def test_probes(given_: tuple[list[int], int], distance: int, bits: list[int]) -> None:
    values, width = given_
    columns, keys = columns_of(values, width), naive.block_keys(values, bits)
    starts = np.searchsorted(np.sort(keys), np.arange((1 << len(bits)) + 1))
    order = np.argsort(keys, kind="stable").astype(np.uint32)
    out = tuple(np.zeros(len(values) + 1, np.int64) for _ in range(3))
    found, query = set(), 0
    queries = (columns, np.array(keys, np.uint32))
    while query < len(values):
        query, count = hamming.probe(
            columns, (starts, order), queries, query, distance, np.full((1, width), 7, np.uint64), out
        )
        found |= set(zip(*(column[:count].tolist() for column in out), strict=True))
    masks = [sum(7 << 64 * w for w in range(width))]
    assert found == naive.probe(values, keys, list(zip(values, keys, strict=True)), distance, masks)
