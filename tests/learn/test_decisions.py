"""What a model does with scores: its threshold, its clustering and its probabilities."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

from neardup.evaluate.corpus import Documents
from neardup.evaluate.goals import Goal
from neardup.evaluate.labels import Truth
from neardup.evaluate.scores import ScoredPairs, score_pairs
from neardup.learn.model.file import Model, read_model
from neardup.learn.training.calibration import calibration_error, fit_probability, pair_weights
from neardup.learn.training.data import LabelledDocuments, prepare
from neardup.learn.training.decision import decide_by
from neardup.learn.training.setup import TrainingSetup
from neardup.methods.andd import andd


def labelled(labels: list[int]) -> LabelledDocuments:
    """Documents with these labels; their texts do not matter."""
    texts = pa.chunked_array([pa.array([f"text {k}" for k in range(len(labels))], pa.large_string())])
    truth = Truth(np.array(labels), names=tuple(map(str, range(max(labels) + 1))))
    setup = TrainingSetup()
    return prepare(Documents(pa.array(range(len(labels))), texts), truth, setup.weight, setup.text)


def scored(data: LabelledDocuments, score: dict[tuple[int, int], float]) -> ScoredPairs:
    left, right = (np.array(side, np.int64) for side in zip(*score, strict=True))
    return score_pairs(data.truth, left, right, np.array(list(score.values())))


def test_a_threshold_with_wrong_removals_is_not_chosen() -> None:
    """By pairs 0.5 is best: it finds all near-duplicates for a few wrong pairs. These would remove wrongly."""
    labels = [number // 2 for number in range(80)]
    data = labelled(labels)
    score = {(k, k + 1): 0.9 if k % 4 else 0.6 for k in range(0, 80, 2)}
    score |= {(k + 1, k + 2): 0.55 for k in range(0, 40, 8)}  # neighbours of another cluster
    found = decide_by(data, {"clip": scored(data, score)}, Goal())
    assert 0.55 < found.threshold <= 0.6 and found.safe
    assert found.outcome is not None and found.outcome.wrong == 0 and found.outcome.f1 == 1


def test_average_linkage_is_chosen_where_wrong_pairs_would_chain() -> None:
    """Two halves of a cluster are less similar than one page of it is to a page of the next cluster."""
    labels = [number // 6 for number in range(120)]
    data = labelled(labels)
    same = [(a, b) for a, b in combinations(range(120), 2) if labels[a] == labels[b]]
    score = {(a, b): 0.9 if a % 6 // 3 == b % 6 // 3 else 0.6 for a, b in same}
    score |= {(k, k + 6): 0.7 for k in range(0, 114, 6)}
    found = decide_by(data, {"clip": scored(data, score)}, Goal())
    assert found.clusters == "average" and found.outcome is not None and found.outcome.f1 > 0.9


def test_judged_pairs_choose_a_threshold_by_pairs() -> None:
    left, right = np.arange(40), np.arange(40) + 40
    positive = np.arange(40) < 20
    truth = Truth.of_pairs(left, right, positive)
    data = LabelledDocuments(labelled([0, 0, 1]).entries, (), truth, labelled([0, 0, 1]).statistics, left)
    pairs = score_pairs(truth, left, right, np.where(positive, 0.8, 0.4))
    found = decide_by(data, {"keep": pairs, "clip": pairs}, Goal())
    assert found.negative == "clip" and 0.4 < found.threshold <= 0.8 and found.outcome is None


def test_the_model_carries_its_clustering(tmp_path) -> None:
    Model(clusters="leaders", threshold=0.4).write(tmp_path / "m.json")
    assert read_model(tmp_path / "m.json").clusters == "leaders"
    assert andd(model=str(tmp_path / "m.json")).clustering.kind == "leaders"
    assert andd().clustering.kind == "average"


def test_a_large_cluster_does_not_decide_the_probability_alone() -> None:
    """Sixty documents of one cluster agree with 0.3; in the thirty other clusters pairs at 0.3 are different."""
    labels = [0] * 60 + [1 + number // 2 for number in range(60)]
    data = labelled(labels)
    score = dict.fromkeys(combinations(range(60), 2), 0.3)
    score |= {(k, k + 1): 0.9 for k in range(60, 120, 2)}
    score |= {(a, b): 0.3 for a, b in combinations(range(60, 120), 2) if labels[a] != labels[b]}
    pairs = scored(data, score)
    weights = pair_weights(pairs, data.truth)
    inside = pairs.right < 60
    assert weights[inside] == pytest.approx(1 / np.sqrt(59)) and weights[~inside].max() == 1
    assert fit_probability(pairs, data.truth).of(0.3) < 0.5


def test_the_calibration_error_is_the_mean_distance_over_bins() -> None:
    probability = np.array([0.05, 0.05, 0.95, 0.95, 0.95, 0.95])
    positive = np.array([False, True, True, True, True, False])
    assert calibration_error(probability, positive) == pytest.approx((2 * 0.45 + 4 * 0.2) / 6)
    assert calibration_error(np.array([1.0, 0.0]), np.array([True, False])) == 0
    assert np.isnan(calibration_error(np.zeros(0), np.zeros(0, bool)))
