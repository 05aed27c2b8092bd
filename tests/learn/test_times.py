"""Labels held out by time, strengths and initial weights that people give, and documents unlike the labelled ones."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from tests.learn.test_learning import collection, documents, truth

from neardup.errors import ParameterError
from neardup.evaluate.times import parse_times
from neardup.learn.training.held_out import choose_folds
from neardup.learn.training.learner import TrainingSetup, learn
from neardup.learn.training.public import train_model, training_setup
from neardup.learn.training.times import time_folds


def test_dates_of_mail_of_iso_and_numbers_are_times() -> None:
    given = [
        "Thu, 22 Aug 2002 18:26:25 +0700",
        "2002-08-22T11:26:25Z",
        "2002-08-22T11:26:25",
        1030015585,
        "",
        None,
    ]
    found = parse_times([*given, "yesterday"])
    assert found[:4].tolist() == [1030015585.0] * 4 and np.isnan(found[4:]).all()


def test_folds_by_time_learn_from_the_past_alone() -> None:
    rng = random.Random(3)
    labels = [rng.randrange(40) for _ in range(200)]
    times = np.array([10 * label + rng.random() * 100 for label in labels])
    folds = time_folds(truth(labels), times)
    first = np.array(
        [times[[n for n, other in enumerate(labels) if other == label]].min() for label in labels]
    )
    held = np.zeros(200, int)
    for fold in folds:
        assert first[fold.known].max() <= first[fold.held].min()
        assert not set(np.array(labels)[fold.known]) & set(np.array(labels)[fold.held])
        held += fold.held
    assert set(held) == {0, 1} and 0.4 < held.mean() < 0.6
    assert first[held == 0].max() <= first[held == 1].min()


def test_a_model_is_judged_by_later_documents_where_their_dates_are_known() -> None:
    texts, labels = collection(44, 2)
    times = np.array([86_400.0 * label for label in labels])
    drawn, later = (
        learn(documents(texts), truth(labels), TrainingSetup(), times=some) for some in (None, times)
    )
    assert not drawn.training["held_out_by_time"] and later.training["held_out_by_time"]
    assert later.training["f1"] > 0.7 and later.training["documents"] == 88
    unknown = learn(documents(texts), truth(labels), TrainingSetup(), times=np.full(88, np.nan))
    assert not unknown.training["held_out_by_time"]
    assert any("not by time" in warning for warning in unknown.training["warnings"])
    assert unknown.weights == drawn.weights


def test_a_few_clusters_are_held_out_at_random_whatever_their_dates() -> None:
    texts, labels = collection(24, 4)
    times = np.array([86_400.0 * label for label in labels])
    few = learn(documents(texts), truth(labels), TrainingSetup(), times=times)
    assert not few.training["held_out_by_time"]
    assert any("40 clusters with near-duplicates" in warning for warning in few.training["warnings"])


def test_random_folds_are_those_of_before() -> None:
    from neardup.learn.training.data import prepare

    texts, labels = collection(8, 3)
    setup = TrainingSetup()
    data = prepare(documents(texts), truth(labels), setup.weight, setup.text)
    folds, by_time = choose_folds(data, np.random.default_rng(1))
    assert not by_time and np.sum([fold.held for fold in folds], axis=0).tolist() == [1] * 24
    assert all((fold.held ^ fold.known).all() for fold in folds)


def test_a_column_of_dates_in_the_library() -> None:
    texts, labels = collection(44, 3)
    days = [f"2024-{1 + label // 28:02}-{1 + label % 28:02}" for label in labels]
    table = pa.table({"id": [str(n) for n in range(132)], "text": texts, "date": days})
    clusters = [f"c{label}" for label in labels]
    assert train_model(table, clusters, time_column="date").training["held_out_by_time"]


def test_the_strength_that_is_given_is_taken() -> None:
    texts, labels = collection(12, 4)
    fixed = learn(documents(texts), truth(labels), training_setup(regularization="0.03"))
    assert fixed.training["regularization"] == 0.03
    best = learn(documents(texts), truth(labels), training_setup(regularization="best"))
    by_strength = best.training["f1_by_regularization"]
    chosen = best.training["regularization"]
    assert by_strength["inf" if chosen is None else f"{chosen:g}"] == max(by_strength.values())
    with pytest.raises(ParameterError, match="regularization"):
        training_setup(regularization="much")


def test_random_initial_weights_are_those_of_the_seed() -> None:
    texts, labels = collection(12, 4)
    first, again, other = (
        learn(documents(texts), truth(labels), training_setup(initial_weights="random", seed=seed))
        for seed in (1, 1, 2)
    )
    assert first.to_json() == again.to_json() and first.weights != other.weights
    assert first.training["initial_weights"] == "random" and first.training["f1"] > 0.7


def test_documents_unlike_the_labelled_ones_are_noticed() -> None:
    texts, labels = collection(16, 4)
    rng = random.Random(5)
    strange = [" ".join(f"other{rng.randrange(900)}" for _ in range(40)) for _ in range(40)]
    alike = collection(10, 4, seed=7)[0]
    for more, expected in ((strange, True), (alike, False)):
        unlabelled = truth([*labels, *([0] * len(more))])
        clusters = np.array([*labels, *([-1] * len(more))])
        from dataclasses import replace

        model = learn(documents([*texts, *more]), replace(unlabelled, clusters=clusters), TrainingSetup())
        assert any("look unlike" in warning for warning in model.training["warnings"]) is expected


def test_a_column_of_dates_is_found_and_labels_that_are_open_to_doubt_are_named() -> None:
    texts, labels = collection(44, 3)
    days = [f"2024-{1 + label // 28:02}-{1 + label % 28:02}" for label in labels]
    table = pa.table({"id": [str(n) for n in range(132)], "text": texts, "date": days})
    split = [f"c{label}{'b' if label == 43 and n % 3 == 2 else ''}" for n, label in enumerate(labels)]
    model = train_model(table, split)
    assert model.training["held_out_by_time"] and model.training["expected"]["by_time"]
    assert any("c43 and c43b: if that is open to doubt" in warning for warning in model.training["warnings"])
    drawn = train_model(table, split, time_column=None).training
    assert (
        not drawn["held_out_by_time"]
        and not drawn["expected"]["by_time"]
        and drawn["expected"]["halves"] == 10
    )
