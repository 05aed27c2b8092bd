"""Found clusters against labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_scores as naive
from neardup.evaluate.clusterings import bcubed, score_clustering

labelings = st.integers(2, 12).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n)] * 2)
)


@given(labelings)
def test_clusterings(two: tuple[list[int], list[int]]) -> None:
    from sklearn.metrics import adjusted_rand_score  # late: collecting the tests would take seconds longer

    labelled, found = map(np.array, two)
    scores = score_clustering(labelled, found)
    assert (scores.bcubed_precision, scores.bcubed_recall) == pytest.approx(naive.bcubed(*two))
    assert scores.adjusted_rand == pytest.approx(adjusted_rand_score(*two))
    table = naive.count(
        naive.every_pair(
            two[0], {p: 1.0 for p in naive.every_pair(two[1], {}).pairs if two[1][p[0]] == two[1][p[1]]}
        ),
        0.5,
    )
    pairs = scores.pairs
    assert (pairs.true, pairs.false_positives, pairs.false_negatives, pairs.true_negatives) == table


@given(labelings)
def test_the_names_of_clusters_are_of_no_account(two: tuple[list[int], list[int]]) -> None:
    labelled, found = map(np.array, two)
    first, renamed = score_clustering(labelled, found), score_clustering(labelled, 100 - found)
    assert (first.pairs, first.adjusted_rand) == (renamed.pairs, pytest.approx(renamed.adjusted_rand))
    assert first.bcubed_f1 == pytest.approx(renamed.bcubed_f1)


def test_documents_without_a_label_are_left_out() -> None:
    labelled, found = np.array([0, 0, 1, -1, -1]), np.array([7, 7, 8, 7, 8])
    scores = score_clustering(labelled, found)
    assert (scores.adjusted_rand, scores.bcubed_f1, scores.pairs.total) == (1.0, 1.0, 3)


def test_the_example_of_bagga_and_baldwin() -> None:
    """Section 3 of 'Algorithms for scoring coreference chains': key 1-5, 6-7, 8-C; answer 1-5, 6-C."""
    key = np.array([0] * 5 + [1] * 2 + [2] * 5)
    precision, recall = bcubed(key, np.array([0] * 5 + [1] * 7))
    assert precision == pytest.approx((5 + 2 * 2 / 7 + 5 * 5 / 7) / 12)
    assert recall == 1.0
