"""Multi-sets: occurrences counted, and compared by their frequencies."""

from __future__ import annotations

import numpy as np
import pytest

from neardup.columns import Features
from neardup.errors import PlanError
from neardup.verify.jaccard import Jaccard, make_distinct
from neardup.verify.multiset import MultisetJaccard
from neardup.weights.counts import Counts


def occurrences(*documents: dict[int, int]) -> Features:
    rows = [[h for h, count in document.items() for _ in range(count)] for document in documents]
    offsets = np.cumsum([0, *map(len, rows)])
    return Features(offsets, np.array([h for row in rows for h in row], np.uint64))


D1, D2, D3 = {1: 5, 2: 4, 3: 4}, {1: 8, 2: 4}, {1: 4, 2: 5, 3: 5}  # SpotSigs, 4.3.2


def test_the_similarity_of_the_papers_example_is_a_tie_that_counts() -> None:
    counted = Counts()(occurrences(D1, D2, D3))
    pairs = MultisetJaccard().measure(counted, np.array([0, 0, 1]), np.array([1, 2, 2]))
    assert pairs.shared.tolist() == [9, 12, 8]
    assert pairs.similarity.tolist() == [9 / 16, 0.8, 8 / 18]
    assert MultisetJaccard().passes(pairs, 0.8).tolist() == [False, True, False]


def test_frequencies_of_one_give_the_jaccard_of_sets() -> None:
    features = occurrences({1: 1, 2: 1, 3: 1}, {2: 1, 3: 1, 4: 1}, {})
    left, right = np.array([0, 0]), np.array([1, 2])
    ours = MultisetJaccard().measure(Counts()(features), left, right)
    sets = Jaccard().measure(make_distinct(features), left, right)
    assert ours.similarity.tolist() == sets.similarity.tolist() == [0.5, 0.0]
    assert not MultisetJaccard().passes(ours, 0.01)[1], "an empty document is like no other"


def test_counting_again_or_comparing_what_was_not_counted_is_refused() -> None:
    with pytest.raises(PlanError, match="must come before"):
        Counts()(Counts()(occurrences(D1)))
    with pytest.raises(PlanError, match="need counted features"):
        MultisetJaccard().measure(occurrences(D1), np.zeros(0, np.int64), np.zeros(0, np.int64))
