"""What decides about a pair: exact counts and whole numbers, estimates, or nothing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.columns import Features, Pairs, Signatures, make_distinct
from neardup.thresholds import as_fraction
from neardup.verify.jaccard import Jaccard, SlotAgreement, Unverified

rows = st.lists(st.lists(st.integers(0, 12), max_size=9), min_size=2, max_size=6)


def features(documents: list[list[int]]) -> Features:
    """Features whose order and repetition are of no account."""
    hashes = np.array([value << 58 for row in documents for value in row], np.uint64)
    hashes.flags.writeable = False
    return Features(np.cumsum([0, *map(len, documents)]), hashes)


def counted(shared: object, union: object) -> Pairs:
    """Pairs with so many shared features of so many in all."""
    shared, union = np.asarray(shared, np.float64), np.asarray(union, np.float64)
    numbers = np.arange(len(shared))
    return Pairs(numbers, numbers + 1, shared, shared, union)


@given(rows)
def test_evidence_is_counted_on_sets(documents: list[list[int]]) -> None:
    left, right = np.triu_indices(len(documents), 1)
    pairs = Jaccard().measure(features(documents), left, right)
    sets = [{*row} for row in documents]
    for place, (a, b) in enumerate(zip(left, right, strict=True)):
        shared, union = len(sets[a] & sets[b]), len(sets[a] | sets[b])
        smaller = min(len(sets[a]), len(sets[b]))
        assert pairs.shared[place] == shared
        assert pairs.similarity[place] == (shared / union if union else 0)
        assert pairs.containment[place] == (shared / smaller if smaller else 0)


@given(rows)
def test_features_are_made_distinct_once(documents: list[list[int]]) -> None:
    once = make_distinct(features(documents))
    assert make_distinct(once) is once
    assert once.sizes.tolist() == [len({*row}) for row in documents]


@pytest.mark.parametrize("percent", range(1, 101))
def test_a_pair_at_the_threshold_passes_and_one_below_does_not(percent: int) -> None:
    shared, union = (np.ravel(grid) for grid in np.meshgrid(np.arange(121), np.arange(1, 121)))
    shared, union = shared[shared <= union], union[shared <= union]
    passed = Jaccard().passes(counted(shared, union), percent / 100)
    exact = (shared * 100 >= percent * union) & (shared > 0)
    assert np.array_equal(passed, exact)
    assert np.any(shared * 100 == percent * union), "ties are among them"


def test_ties_are_lost_by_floats_which_is_why_whole_numbers_decide() -> None:
    assert 0.7 * 10 <= 7 and not 0.07 * 100 <= 7
    assert Jaccard().passes(counted([7], [100]), 0.07)[0]


@pytest.mark.parametrize("size", [10**3, 10**6, 10**9])
def test_one_feature_more_or_less_decides_in_large_sets(size: int) -> None:
    limit = 7 * size // 10
    passed = Jaccard().passes(counted([limit - 1, limit, limit + 1], [size] * 3), 0.7)
    assert passed.tolist() == [False, True, True]


@pytest.mark.parametrize("number", [0.7, np.float64(0.7)])
def test_a_threshold_is_the_number_that_was_written(number: float) -> None:
    assert as_fraction(number) == Fraction(7, 10)


@pytest.mark.parametrize("denominator", [3, 7, 11, 999])
def test_a_threshold_may_be_a_quotient(denominator: int) -> None:
    assert as_fraction(1 / denominator) == Fraction(1, denominator)
    assert Jaccard().passes(counted([1], [denominator]), 1 / denominator)[0]


def test_nothing_shared_never_passes() -> None:
    pairs = Jaccard().measure(features([[], [], [1], [2]]), np.array([0, 0, 2]), np.array([1, 2, 3]))
    assert pairs.similarity.tolist() == [0, 0, 0]
    assert not Jaccard().passes(pairs, 1e-9).any()


def test_an_estimate_is_the_share_of_equal_slots() -> None:
    slots = np.array([[1, 2, 3, 4, 5], [1, 2, 3, 4, 6], [9, 9, 9, 9, 9]], np.uint32)
    pairs = SlotAgreement().measure(
        Signatures(slots, np.ones(3, np.bool_)), np.array([0, 0]), np.array([1, 2])
    )
    assert pairs.similarity.tolist() == [0.8, 0]
    assert SlotAgreement().passes(pairs, 0.8).tolist() == [True, False]
    assert SlotAgreement().passes(pairs, 0.81).tolist() == [False, False]


@pytest.mark.parametrize("slots", [112, 126, 128])
def test_an_estimate_at_the_threshold_passes(slots: int) -> None:
    table = np.zeros((slots + 1, slots), np.uint32)
    table[np.tril_indices(slots + 1, -1, slots)] = 1  # row k differs from the first in k slots
    others = np.arange(1, slots + 1)
    pairs = SlotAgreement().measure(Signatures(table, np.ones(slots + 1, np.bool_)), others * 0, others)
    for threshold in (0.5, 0.7, 0.75):
        expected = [(slots - k) * 100 >= round(threshold * 100) * slots for k in others]
        assert SlotAgreement().passes(pairs, threshold).tolist() == expected


def test_absent_documents_agree_with_nothing_not_even_each_other() -> None:
    slots = np.full((3, 8), 2**32 - 1, np.uint32)
    signatures = Signatures(slots, np.array([False, False, True]))
    pairs = SlotAgreement().measure(signatures, np.array([0, 0]), np.array([1, 2]))
    assert pairs.similarity.tolist() == [0, 0]
    assert not SlotAgreement().passes(pairs, 0.1).any()


def test_many_estimates_are_made_in_portions_without_a_seam() -> None:
    slots = np.random.default_rng(1).integers(0, 2, (300, 8), dtype=np.uint32)
    left, right = np.triu_indices(300, 1)  # 44,850 pairs
    pairs = SlotAgreement().measure(Signatures(slots, np.ones(300, np.bool_)), left, right)
    assert np.array_equal(pairs.shared, (slots[left] == slots[right]).sum(axis=1))


def test_unverified_candidates_all_pass_and_have_no_figures() -> None:
    pairs = Unverified().measure(None, np.array([0, 1]), np.array([1, 2]))
    assert np.isnan(pairs.similarity).all()
    assert Unverified().passes(pairs, 0.99).all()
