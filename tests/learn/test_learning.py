"""Learning from labels: models, refusals, warnings."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from neardup.errors import InputError
from neardup.evaluate.corpus import Documents
from neardup.evaluate.labels import Truth
from neardup.evaluate.scores import make_curve, score_pairs
from neardup.learn.model.file import Model
from neardup.learn.training.calibration import fit_probability
from neardup.learn.training.held_out import choose_regularization, clearly_best, validation_f1
from neardup.learn.training.learner import NO_TRAINING, TrainingSetup, learn
from neardup.learn.training.sample import folds
from neardup.learn.training.setup import default_regularization

WORDS = [f"w{number}" for number in range(600)]
SITES = [[f"Menu{site}x{number}" for number in range(30)] for site in range(4)]


def collection(clusters: int, each: int, seed: int = 1) -> tuple[list[str], list[int]]:
    """Stories in a few versions each, on pages with the capitalised boilerplate of one of four sites."""
    rng = random.Random(seed)
    texts, labels = [], []
    for cluster in range(clusters):
        story = rng.choices(WORDS, k=40)
        for _ in range(each):
            version = [word if rng.random() > 0.35 else rng.choice(WORDS) for word in story]
            texts.append(" ".join(rng.choice(SITES) + version))
            labels.append(cluster)
    return texts, labels


def documents(texts: list[str]) -> Documents:
    return Documents(pa.array(np.arange(len(texts))), pa.chunked_array([pa.array(texts, pa.large_string())]))


def truth(labels: list[int]) -> Truth:
    return Truth(np.array(labels), names=tuple(map(str, range(max(labels) + 1))))


def taught(clusters: int = 12, each: int = 4, **options: object) -> Model:
    texts, labels = collection(clusters, each)
    return learn(documents(texts), truth(labels), TrainingSetup(**options))  # type: ignore[arg-type]


def best_f1(model: Model, texts: list[str], labels: list[int]) -> float:
    from neardup.learn.training.data import prepare

    data = prepare(documents(texts), truth(labels), model.weight, model.text)
    found = data.similar(np.array(list(model.weights.values())), model.negative, model.similarity, 0.0)
    return float(make_curve(score_pairs(data.truth, found.left, found.right, found.score)).f1.max())


@pytest.mark.parametrize("kind", ["cosine", "jaccard"])
def test_furniture_is_learned_to_be_furniture(kind: str) -> None:
    model = taught(similarity=kind)
    unseen = collection(15, 4, seed=99)
    assert best_f1(model, *unseen) > best_f1(replace(Model(), similarity=kind), *unseen) + 0.02  # type: ignore[arg-type]
    assert best_f1(model, *unseen) > 0.9
    assert model.weights["capitalised"] + model.weights["capitalised_idf"] < 0
    assert model.training["held_out"] and model.training["f1"] > 0.8
    losses = model.training["loss"]
    assert losses[-1] < losses[0]


def test_the_same_labels_teach_the_same_model_with_any_number_of_threads() -> None:
    first, second = taught(threads=1).to_json(), taught(threads=3).to_json()
    assert first == second
    assert taught(seed=2).to_json() != first


def test_ten_documents_are_enough_and_are_called_few() -> None:
    texts, labels = collection(5, 2)
    model = learn(documents(texts), truth(labels))
    assert any("only 10 labelled documents" in warning for warning in model.training["warnings"])
    assert 0 < model.threshold <= 1


def test_nothing_can_be_held_out_of_one_group() -> None:
    texts, labels = collection(2, 6)
    labels = [0] * 6 + list(range(1, 7))
    model = learn(documents(texts), truth(labels))
    assert not model.training["held_out"]
    assert any("no labels held out" in warning for warning in model.training["warnings"])


def test_contradictions_are_reported() -> None:
    texts, labels = collection(6, 3)
    texts[0] = texts[4]
    warnings = learn(documents(texts), truth(labels)).training["warnings"]
    assert any(
        "2 documents with the k-grams of a document in another cluster" in warning for warning in warnings
    )


def test_judged_pairs_teach_too() -> None:
    texts, labels = collection(8, 3)
    left, right = np.triu_indices(len(texts), 1)
    judged = np.array(labels)[left] == np.array(labels)[right]
    some = judged | (np.arange(len(left)) % 5 == 0)
    model = learn(documents(texts), Truth.of_pairs(left[some], right[some], judged[some]))
    assert best_f1(model, *collection(10, 3, seed=5)) > 0.8


def test_broken_chains_of_judgements_are_reported() -> None:
    texts, _ = collection(8, 2)
    left, right = np.arange(0, 15), np.arange(1, 16)
    judged = left % 2 == 0
    pairs = np.append(left, [0, 0]), np.append(right, [2, 3]), np.append(judged, [True, False])
    warnings = learn(documents(texts), Truth.of_pairs(*pairs)).training["warnings"]
    assert any("judged different but connected by near-duplicates" in warning for warning in warnings)


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        ([0] * 12, "all labelled documents into one cluster"),
        (list(range(12)), "no cluster of two documents"),
        ([0, 0, 1, 1, 2] + [-1] * 7, "cover 5 documents; learning needs at least 10"),
    ],
)
def test_labels_that_teach_nothing_are_refused(labels: list[int], problem: str) -> None:
    texts, _ = collection(4, 3)
    with pytest.raises(InputError, match=problem):
        learn(documents(texts), truth(labels))


@pytest.mark.parametrize(
    ("answer", "problem"),
    [(True, "pair is different"), (False, "pair is a near-duplicate")],
)
def test_judgements_of_one_kind_are_refused(answer: bool, problem: str) -> None:
    texts, _ = collection(4, 3)
    pairs = Truth.of_pairs(np.arange(11), np.arange(1, 12), np.full(11, answer))
    with pytest.raises(InputError, match=problem):
        learn(documents(texts), pairs)


def test_documents_without_words_do_no_harm() -> None:
    texts, labels = collection(6, 3)
    model = learn(documents([*texts, "", "...", ""]), truth([*labels, 0, 1, 6]))
    assert np.isfinite(list(model.weights.values())).all()


def test_initial_weights_may_be_kept() -> None:
    model = taught(regularizations=(NO_TRAINING,), initial="front")
    assert model.weights == dict(Model().weights)
    assert any("they were kept" in warning for warning in model.training["warnings"])


def buried(clusters: int, each: int, seed: int = 1) -> tuple[list[str], list[int]]:
    """Stories behind hundreds of words that have nothing to do with them."""
    texts, labels = collection(clusters, each, seed)
    rng = random.Random(seed)
    return [" ".join([*rng.choices(WORDS, k=300), *text.split()[30:]]) for text in texts], labels


def test_initial_weights_that_are_clearly_better_are_chosen() -> None:
    texts, labels = buried(16, 4)
    model = learn(documents(texts), truth(labels))
    figures = model.training["f1_by_initial_weights"]
    assert set(figures) == {"front", "even", "rare", "binary"}
    chosen = model.training["initial_weights"]
    assert chosen != "front" and figures[chosen] > figures["front"]

    assert (
        learn(documents(texts), truth(labels), TrainingSetup(initial="front")).training["initial_weights"]
        == "front"
    )


def test_the_default_is_kept_unless_another_is_clearly_better() -> None:
    scores = np.array([[0.9, 0.91, 0.95], [0.9, 0.89, 0.94], [0.8, 0.83, 0.86], [0.9, 0.88, 0.95]])
    assert clearly_best(scores[:, :2], 0) == 0
    assert clearly_best(scores, 0) == 2
    assert clearly_best(scores[:3], 0) == 0  # too few folds


def test_signatures_see_less_than_vectors() -> None:
    rng = np.random.default_rng(5)
    positive = np.arange(4000) < 1000
    value = np.clip(np.where(positive, 0.5, 0.2) + 0.05 * rng.standard_normal(4000), 0, 1)
    ones = np.ones(4000)
    exact = validation_f1(TrainingSetup(), value, positive, ones)
    seen = [
        validation_f1(TrainingSetup(aim="signatures", bits=bits), value, positive, ones)
        for bits in (64, 384, 4096)
    ]
    assert seen[0] < seen[1] < seen[2] < exact + 1e-9
    assert seen[1] == validation_f1(TrainingSetup(aim="signatures"), value, positive, ones)


def test_the_best_regularization_for_signatures_needs_no_clear_lead() -> None:
    scores = np.array([[0.8, 0.81, 0.8], [0.9, 0.9, 0.9], [0.7, 0.7, 0.7], [0.8, 0.8, 0.8]])
    assert choose_regularization(TrainingSetup(aim="signatures"), scores, 0) == 1
    assert choose_regularization(TrainingSetup(), scores, 0) == 0


def test_few_documents_are_regularized_more_strongly() -> None:
    assert [default_regularization(n) for n in (10, 60, 120, 200, 5000)] == [6.0, 1.0, 0.5, 0.3, 0.3]
    assert TrainingSetup(regularizations=(0.1, 0.2)).default_regularization(10) == 0.2


def test_chosen_initial_weights_keep_the_order_of_features() -> None:
    setup = TrainingSetup()
    for name in setup.initial_choices:
        chosen = setup.with_initial(name)
        assert chosen.names == setup.names
        assert np.array_equal(chosen.initial_weights, setup.initial_choices[name])


def test_no_cluster_is_cut_by_a_fold() -> None:
    _, labels = collection(9, 3)
    parts = folds(truth([*labels, 9, 10, 11]), 4, np.random.default_rng(1))
    assert (np.sum(parts, axis=0) == 1).all()
    for part in parts:
        inside = {label for label, chosen in zip([*labels, 9, 10, 11], part, strict=True) if chosen}
        assert sum(chosen for chosen in part) == sum([*labels, 9, 10, 11].count(label) for label in inside)


def test_probabilities_follow_the_share_of_near_duplicates() -> None:
    rng = np.random.default_rng(3)
    score = rng.random(20_000)
    positive = rng.random(20_000) < 1 / (1 + np.exp(-12 * (score - 0.6)))
    left, right = np.arange(20_000), np.arange(20_000) + 20_000
    truth = Truth.of_pairs(left, right, positive)
    found = fit_probability(score_pairs(truth, left, right, score), truth)
    assert found.slope == pytest.approx(12, rel=0.05) and found.middle == pytest.approx(0.6, abs=0.01)
    assert found.of(0.6 + 1e-9) == pytest.approx(0.5, abs=0.05)


def test_separated_scores_have_a_finite_curve() -> None:
    left, right = np.arange(50), np.arange(50) + 50
    positive = np.arange(50) < 25
    truth = Truth.of_pairs(left, right, positive)
    found = fit_probability(score_pairs(truth, left, right, np.where(positive, 0.9, 0.1)), truth)
    assert np.isfinite(found.slope) and found.of(0.9) > 0.9 and found.of(0.1) < 0.1
