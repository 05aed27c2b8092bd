"""Groups of slots: keys that are equal when enough groups agree, and how often that happens."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from neardup.candidates.curve import s_curve
from neardup.candidates.groups import Groups
from neardup.columns import Signatures
from neardup.errors import PlanError

SHAPES = [Groups(1, 1), Groups(20, 5), Groups(25, 4), Groups(6, 2, agree=2), Groups(6, 3, agree=4)]


def signatures(slots: object) -> Signatures:
    table = np.array(slots, np.uint32)
    table.flags.writeable = False
    return Signatures(table, np.ones(len(table), np.bool_))


def agreeing(groups: int, which: tuple[int, ...]) -> Signatures:
    """Two documents whose groups of two slots agree where `which` has a one."""
    left = np.arange(2 * groups)
    right = [slot if which[slot // 2] else slot + 100 * (slot % 2) for slot in left]
    return signatures([left, right])


@pytest.mark.parametrize("agree", [1, 2, 3, 4])
def test_documents_share_a_key_exactly_if_enough_groups_agree(agree: int) -> None:
    rule = Groups(4, 2, agree=agree)
    for which in product((0, 1), repeat=4):
        keys = rule.keys(agreeing(4, which))
        assert keys.shape == (rule.tables, 2)
        assert bool((keys[:, 0] == keys[:, 1]).any()) == (sum(which) >= agree), which


def test_two_of_six_groups_agree_in_the_tables_of_their_pairs_only() -> None:
    keys = Groups(6, 2, agree=2).keys(agreeing(6, (1, 0, 1, 0, 1, 0)))
    assert (keys[:, 0] == keys[:, 1]).sum() == 3  # 3 groups agree: 3 of the 15 pairs of groups


def test_tables_have_key_spaces_of_their_own() -> None:
    """The same slots in every group give another key in every table."""
    for rule in SHAPES:
        keys = rule.keys(signatures(np.zeros((1, rule.groups * rule.width))))
        assert len(np.unique(keys)) == rule.tables


def test_slots_beyond_the_groups_are_not_read() -> None:
    slots = np.arange(24).reshape(2, 12)
    assert np.array_equal(Groups(2, 5).keys(signatures(slots)), Groups(2, 5).keys(signatures(slots[:, :10])))


def test_more_groups_than_slots_are_refused() -> None:
    with pytest.raises(PlanError, match="3 groups of 5 slots do not fit in a signature of 14"):
        Groups(3, 5).keys(signatures(np.zeros((1, 14))))


def test_the_seed_changes_the_keys_and_not_what_agrees() -> None:
    pair = agreeing(4, (1, 0, 0, 1))
    one, two = Groups(4, 2, seed=1).keys(pair), Groups(4, 2, seed=2**63 - 1).keys(pair)
    assert not np.any(one == two)
    assert np.array_equal(one[:, 0] == one[:, 1], two[:, 0] == two[:, 1])


@pytest.mark.parametrize("rule", SHAPES, ids=str)
@pytest.mark.parametrize("similarity", [0.3, 0.5, 0.7, 0.9])
def test_pairs_become_candidates_as_often_as_the_probability_says(rule: Groups, similarity: float) -> None:
    trials, slots = 8_000, rule.groups * rule.width
    random = np.random.default_rng([rule.groups, rule.width, int(similarity * 10)])
    left = random.integers(0, 2**32, (trials, slots), dtype=np.uint32)
    right = np.where(random.random((trials, slots)) < similarity, left, left + np.uint32(1))
    found = (rule.keys(signatures(left)) == rule.keys(signatures(right))).any(axis=0).mean()
    expected = rule.probability(similarity)
    assert abs(found - expected) <= 4 * (expected * (1 - expected) / trials) ** 0.5 + 1e-9


@pytest.mark.parametrize("similarity", [0.0, 0.2, 0.5, 0.8, 1.0])
def test_one_agreeing_group_is_a_band_of_the_s_curve(similarity: float) -> None:
    assert Groups(20, 5).probability(similarity) == pytest.approx(s_curve(similarity, 20, 5))


@pytest.mark.parametrize("rule", SHAPES, ids=str)
def test_probability_goes_from_never_to_always(rule: Groups) -> None:
    curve = [rule.probability(similarity) for similarity in np.linspace(0, 1, 51)]
    assert (curve[0], curve[-1]) == (0, 1)
    assert curve == sorted(curve)


@pytest.mark.parametrize("rule", SHAPES, ids=str)
@pytest.mark.parametrize("recall", [0.01, 0.5, 0.99])
def test_reach_is_the_least_similarity_of_a_recall(rule: Groups, recall: float) -> None:
    reach = rule.reach(recall)
    assert rule.probability(reach) >= recall
    assert rule.probability(reach - 1e-9) < recall
