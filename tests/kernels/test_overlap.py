"""What documents have in common, for all pairs at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import COMPILED, pack
from numpy.typing import NDArray

import naive
from neardup.candidates import allpairs, close
from neardup.candidates.allpairs import all_pairs
from neardup.candidates.close import close_pairs
from neardup.columns import Features
from neardup.errors import ParameterError
from neardup.kernels import overlap, weighted

Weighted = dict[int, float]

keys = st.one_of(st.integers(0, 12), st.integers(2**64 - 6, 2**64 - 1))
real = st.floats(0, 8, width=32)
signed = st.floats(-8, 8, width=32)
counts = st.integers(0, 5).map(float)


def batches(weights: st.SearchStrategy[float]) -> st.SearchStrategy[list[Weighted]]:
    """Documents with weights, empty ones among them."""
    row = st.dictionaries(keys, weights, max_size=12)
    return st.lists(row, max_size=8).map(lambda rows: [{}, *rows, {}])


def as_features(rows: list[Weighted], weighted: bool = True) -> Features:
    ordered = [dict(sorted(row.items())) for row in rows]
    hashes, offsets = pack([list(row) for row in ordered], np.uint64)
    weights, _ = pack([list(row.values()) for row in ordered], np.float32)
    return Features(offsets, hashes, weights if weighted else None, distinct=True)


def columns(features: Features, kind: allpairs.Kind, **options: float) -> dict[tuple[int, int], tuple]:
    pairs = all_pairs(features, kind, **options)
    order = list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
    assert order == sorted(set(order))
    values = zip(
        pairs.shared, pairs.left_size, pairs.right_size, replace(pairs, kind=kind).similarity, strict=True
    )
    return {pair: tuple(map(float, row)) for pair, row in zip(order, values, strict=True)}


def expected(rows: list[Weighted], kind: str, least: float) -> dict[tuple[int, int], tuple]:
    cosine = kind == "cosine"
    sizes = [naive.sum_weights([w for _, w in sorted(row.items())], cosine) for row in rows]
    found = {}
    for (a, b), shared in naive.add_overlaps(rows, cosine).items():
        similarity = naive.similar(shared, sizes[a], sizes[b], cosine)
        if similarity >= least:
            found[a, b] = (shared, sizes[a], sizes[b], similarity)
    return found


@given(batches(st.just(1.0)), st.sampled_from(["jaccard", "cosine"]), st.sampled_from([0, 0.3, 0.5, 1]))
def test_counted_overlaps_are_those_of_the_twin(
    rows: list[Weighted], kind: allpairs.Kind, least: float
) -> None:
    found = columns(as_features(rows, weighted=False), kind, least=least)
    assert found == expected(rows, kind, least)
    if least == 0:
        shared = naive.count_overlaps([row.keys() for row in rows])
        assert {pair: row[0] for pair, row in found.items()} == shared


@given(batches(st.one_of(real, counts)), st.sampled_from([0, 0.25, 0.6, 1]))
def test_lesser_weights_are_added_as_the_twin_does(rows: list[Weighted], least: float) -> None:
    assert columns(as_features(rows), "jaccard", least=least) == expected(rows, "jaccard", least)


@given(batches(st.one_of(signed, counts)), st.sampled_from([-1.1, 0, 0.25, 0.6, 1]))
def test_products_are_added_as_the_twin_does(rows: list[Weighted], least: float) -> None:
    assert columns(as_features(rows), "cosine", least=least) == expected(rows, "cosine", least)


@given(batches(st.one_of(real, counts)))
def test_a_copy_has_similarity_one(rows: list[Weighted]) -> None:
    size = len(rows)
    for kind in ("jaccard", "cosine"):
        found = columns(as_features([*rows, *rows]), kind, least=1)
        full = [d for d, row in enumerate(rows) if any(np.float32(w) ** 2 > 0 for w in row.values())]
        assert all(found[d, d + size][3] == 1 for d in full)


@given(batches(real), st.integers(1, 4), st.integers(0, 9))
def test_neither_threads_nor_blocks_change_a_bit(rows: list[Weighted], threads: int, block: int) -> None:
    features = as_features(rows)
    once = all_pairs(features)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(allpairs, "BLOCK", block)
        again = all_pairs(features, threads=threads)
    for name in ("left", "right", "shared", "left_size", "right_size"):
        assert getattr(once, name).tobytes() == getattr(again, name).tobytes()


@given(batches(st.one_of(signed, counts)), st.booleans(), st.integers(1, 9), st.integers(0, 9))
def test_the_first_documents_meet_the_others(
    rows: list[Weighted], weighted: bool, first: int, block: int
) -> None:
    features, first = as_features(rows, weighted), min(first, len(rows))
    expected = columns(features, "cosine", least=-2)
    expected = {pair: row for pair, row in expected.items() if pair[0] < first <= pair[1]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(allpairs, "BLOCK", block)
        assert columns(features, "cosine", least=-2, first=first) == expected


@given(batches(st.one_of(signed, counts)), st.booleans(), st.sampled_from([0.01, 0.25, 0.6, 0.9, 1]))
def test_pruned_pairs_are_those_of_the_twin(rows: list[Weighted], weighted: bool, least: float) -> None:
    features = as_features([*rows, *rows], weighted)
    known = naive.close_pairs(
        [dict.fromkeys(row, 1.0) if not weighted else row for row in [*rows, *rows]], least
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(close, "LEAST", 0.01)
        pairs, multiplied = close_pairs(features, least)
    whole = all_pairs(features, "cosine", least=least)
    assert list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)) == sorted(known)
    assert all(
        known[a, b] == shared for a, b, shared in zip(pairs.left, pairs.right, pairs.shared, strict=True)
    )
    for name in ("left", "right", "shared", "left_size", "right_size"):
        assert getattr(pairs, name).tobytes() == getattr(whole, name).tobytes()
    assert multiplied >= len(pairs)


@given(batches(real), st.integers(1, 9), st.integers(1, 4), st.sampled_from([0.01, 0.5, 0.9]))
def test_pruned_pairs_of_the_first_documents_with_any_threads(
    rows: list[Weighted], first: int, threads: int, least: float
) -> None:
    features, first = as_features([*rows, *rows]), min(first, 2 * len(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(close, "ROWS", 3)
        patch.setattr(close, "LEAST", 0.01)
        pairs, _ = close_pairs(features, least, threads, first)
    whole = all_pairs(features, "cosine", least=least, first=first)
    for name in ("left", "right", "shared"):
        assert getattr(pairs, name).tobytes() == getattr(whole, name).tobytes()


def test_a_frequent_word_alone_starts_no_pair() -> None:
    texts = [{0: 1.0, **{10 * d + k: 2.0 for k in range(1, 9)}} for d in range(300)]
    pairs, multiplied = close_pairs(as_features([*texts, texts[7]]), 0.7)
    assert (pairs.left.tolist(), pairs.right.tolist(), multiplied) == ([7], [300], 1)


def large(documents: int, spread: int) -> list[NDArray[np.uint64]]:
    """Documents of up to 40 features out of so many; few of many touch each other, or nearly all of few."""
    numbers = np.random.default_rng(7)
    return [np.unique(numbers.integers(0, spread, 40).astype(np.uint64)) for _ in range(documents)]


@pytest.mark.parametrize("spread", [60, 100_000])
def test_rows_with_many_and_with_few_partners(spread: int) -> None:
    rows = large(300 if COMPILED else 60, spread)
    hashes, offsets = pack([row.tolist() for row in rows], np.uint64)
    pairs = all_pairs(Features(offsets, hashes, distinct=True), threads=2)
    found = dict(
        zip(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True), pairs.shared.tolist(), strict=True)
    )
    assert found == naive.count_overlaps([row.tolist() for row in rows])


def test_repeated_features_count_once() -> None:
    pairs = all_pairs(Features(np.array([0, 3, 5]), np.array([5, 5, 9, 9, 5], np.uint64)))
    assert (pairs.shared.tolist(), pairs.left_size.tolist(), pairs.right_size.tolist()) == ([2], [2], [2])


def test_sums_and_similarity_are_those_of_the_twin() -> None:
    weights = np.array([0.1, 2.5, 1e-3, 3e7], np.float32)
    sums = np.zeros(3)
    weighted.sum_weights(np.array([0, 3, 3, 4]), weights, True, sums)
    assert sums.tolist() == [
        naive.sum_weights(map(float, part), True) for part in (weights[:3], weights[3:3], weights[3:])
    ]
    for cosine in (False, True):
        rule = overlap.SimilarityLimit(sums, cosine, 0.0)
        for shared, a, b in [(1.0, 2.0, 3.0), (0.0, 0.0, 0.0), (-1.0, 4.0, 4.0)]:
            assert overlap.similar(shared, a, b, rule) == naive.similar(shared, a, b, cosine)


def test_nothing_gives_nothing() -> None:
    for offsets in ([0], [0, 0, 0]):
        assert len(all_pairs(Features(np.array(offsets), np.zeros(0, np.uint64), distinct=True))) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "dice"}, "'kind' parameter of all_pairs must be 'jaccard' or 'cosine'"),
        ({"least": float("nan")}, "'least' parameter"),
        ({"least": 1.5}, "at most 1"),
        ({"threads": 0}, "'threads' parameter"),
    ],
)
def test_unfit_options_are_named(change: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        all_pairs(as_features([{1: 1.0}]), **change)


@pytest.mark.parametrize(
    ("weights", "distinct", "message"),
    [
        ([1, -1], True, "not below 0"),
        ([1, float("inf")], True, "finite"),
        ([1, 1], False, "must be distinct"),
    ],
)
def test_unfit_weights_are_named(weights: list[float], distinct: bool, message: str) -> None:
    features = Features(
        np.array([0, 2]), np.array([1, 2], np.uint64), np.array(weights, np.float32), distinct=distinct
    )
    with pytest.raises(ParameterError, match=message):
        all_pairs(features)
