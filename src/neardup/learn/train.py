"""From labelled documents to a model: how strongly to learn is decided on labels that were held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from neardup.engines.progress import Progress
from neardup.evaluate.corpus import Documents
from neardup.evaluate.goals import Goal, find_best
from neardup.evaluate.labels import Mask, Truth
from neardup.evaluate.packages import load
from neardup.evaluate.scores import ScoredPairs, make_curve, score_pairs
from neardup.features.shingles import Shingles
from neardup.learn.advice import check_labels, contradictions, remarks
from neardup.learn.calibrate import fit_probability
from neardup.learn.data import Labelled, prepare
from neardup.learn.loss import Floats, Objective, Products, Similarity, multiply, score
from neardup.learn.sample import Instances, Similar, draw_instances, draw_preferences, folds
from neardup.text.words import TokenKind, Words
from neardup.weights.learned import START, Learned, default_features
from neardup.weights.model import Model, Probability, most_frequent

PULLS = (0.01, 0.03, 0.1, 0.3, 1.0)  # from learning freely to staying near the start
USUAL = 0.3  # what other pulls must be clearly better than
STAY = float("inf")  # not learning at all, which held-out labels may say is best
CLEARLY = 2.0  # standard errors of the difference over the folds
STEPS = 200
MEMORY = 256 << 20  # bytes of quadratic forms: what bounds the number of instances
INSTANCES = 4_000  # of each kind
FOLDS = 4


@dataclass(frozen=True)
class Lesson:
    """How to learn."""

    ngram: int = 1
    tokens: TokenKind = "words"
    similarity: Similarity = "cosine"
    features: tuple[str, ...] | None = None
    negative: Literal["auto", "keep", "clip"] = "auto"
    goal: Goal = field(default_factory=Goal)
    pulls: tuple[float, ...] = PULLS
    scale: float = 10.0
    seed: int = 1
    threads: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        """The features to learn weights of; those of the start are always among them."""
        chosen = self.features or default_features(self.ngram)
        return tuple(dict.fromkeys((*START, *chosen)))

    @property
    def start(self) -> Floats:
        """The weights that are good without labels."""
        return np.array([START.get(name, 0.0) for name in self.names])

    @property
    def weight(self) -> Learned:
        """The weight stage to begin with."""
        return Learned(Shingles(self.ngram), self.names, tuple(self.start.tolist()))


@dataclass(frozen=True)
class Fit:
    """Weights, and the loss after each step on the way to them."""

    weights: Floats
    losses: tuple[float, ...]


@dataclass(frozen=True)
class HeldOut:
    """What models said about pairs that they had not learned from: each fold's, by models of the other folds."""

    pull: float
    by_pull: dict[float, float]  # the mean best F1 of each pull
    scores: dict[str, ScoredPairs]  # by what becomes of negative weights


def learn(
    documents: Documents, truth: Truth, lesson: Lesson | None = None, progress: Progress | None = None
) -> Model:
    """The model that the labels teach."""
    lesson, progress = lesson or Lesson(), progress or Progress()
    check_labels(truth)
    with progress.stage("read k-grams"):
        data = prepare(documents, truth, lesson.weight, Words(lesson.tokens), lesson.threads)
    return learn_from(data, lesson, progress)


def learn_from(data: Labelled, lesson: Lesson, progress: Progress | None = None) -> Model:
    """The model that prepared documents teach."""
    progress = progress or Progress()
    rng = np.random.default_rng(lesson.seed)
    with progress.stage("draw pairs"):
        similar = data.similar(lesson.start, "clip", lesson.similarity)
        width = len(lesson.names) * (len(lesson.names) + 1) // 2
        most = min(INSTANCES, MEMORY // (16 * width))
        instances = draw_instances(data.truth, similar, most, rng)
    with progress.stage("multiply pairs"):
        products = multiply(data.entries, instances.left, instances.right, data.threads)
    held_out = _cross_validate(data, lesson, instances, products, rng, progress)
    pull = USUAL if held_out is None else held_out.pull
    with progress.stage("learn"):
        found = fit(lesson, products, instances.positive, instances.weight, pull, rng)
    return _model(data, lesson, found, instances, held_out)


def fit(
    lesson: Lesson, products: Products, positive: Mask, weight: Floats, pull: float, rng: np.random.Generator
) -> Fit:
    """The weights of least loss, by L-BFGS from the start."""
    preferences = draw_preferences(positive, weight, rng)
    if pull == STAY or len(preferences) == 0:
        return Fit(lesson.start, ())
    objective = Objective(products, preferences, lesson.start, lesson.similarity, lesson.scale, pull)
    losses: list[float] = []

    def remember(intermediate_result: Any) -> None:
        losses.append(float(intermediate_result.fun))

    answer = load("scipy.optimize").minimize(
        objective, lesson.start, jac=True, method="L-BFGS-B", callback=remember, options={"maxiter": STEPS}
    )
    return Fit(objective.project(np.asarray(answer.x)), (objective(lesson.start)[0], *losses))


# Held-out labels --------------------------------------------------------------------------------


def _cross_validate(
    data: Labelled, lesson: Lesson, instances: Instances, products: Products, rng: np.random.Generator,
    progress: Progress,
) -> HeldOut | None:  # fmt: skip
    """How strongly to learn, and the scores of every fold; None where clusters with pairs are too few to hold out."""
    parts = folds(data.truth, FOLDS, rng)
    parts = [part for part in parts if _has_pairs(data.truth, part)]
    if len(parts) < 2:
        return None
    pulls = (*lesson.pulls, STAY)
    scores = np.zeros((len(parts), len(pulls)))
    found: list[list[Fit]] = []
    with progress.stage("learn on folds", len(parts) * len(pulls)):
        for row, part in enumerate(parts):
            outside = ~(part[instances.left] | part[instances.right])
            inner, rows = products.take(np.flatnonzero(outside)), np.flatnonzero(~outside)
            found.append([])
            for column, pull in enumerate(pulls):
                found[-1].append(
                    fit(lesson, inner, instances.positive[outside], instances.weight[outside], pull, rng)
                )
                held = products.take(rows)
                value = score(held, found[-1][-1].weights, lesson.similarity).value
                scores[row, column] = weighted_f1(value, instances.positive[rows], instances.weight[rows])
                progress.advance(1)
    means = scores.mean(axis=0)
    best = _clearly_best(scores, pulls.index(USUAL) if USUAL in pulls else len(pulls) - 2)
    with progress.stage("score held-out pairs"):
        kinds = ("clip", "keep") if lesson.negative == "auto" else (lesson.negative,)
        held_scores = {
            kind: _held_scores(data, lesson, parts, [row[best].weights for row in found], kind)
            for kind in kinds
        }
    by_pull = dict(zip(pulls, means.tolist(), strict=True))
    return HeldOut(pulls[best], by_pull, held_scores)


def _clearly_best(scores: Floats, usual: int) -> int:
    """The column of the highest mean among those that are clearly above the usual one; else that one.

    Folds are few and F1 turns on a cluster or two: what is best by chance would often be chosen.
    """
    lead = scores - scores[:, [usual]]
    error = lead.std(axis=0, ddof=1) / np.sqrt(len(lead))
    clear = np.where(lead.mean(axis=0) > CLEARLY * error, lead.mean(axis=0), 0.0)
    return int(clear.argmax()) if clear.max() > 0 else usual


def _has_pairs(truth: Truth, part: Mask) -> bool:
    return truth.only(part).positives > 0


def weighted_f1(value: Floats, positive: Mask, weight: Floats) -> float:
    """The best F1 over thresholds among all pairs, of which these are a sample: each stands for `weight` pairs."""
    order = np.argsort(-value, kind="stable")
    found, right = np.cumsum(weight[order]), np.cumsum(weight[order] * positive[order])
    return float((2 * right / (found + weight[positive].sum())).max()) if positive.any() else float("nan")


def _held_scores(
    data: Labelled, lesson: Lesson, parts: Sequence[Mask], weights: Sequence[Floats], negative: str
) -> ScoredPairs:
    """The scores of all pairs inside folds and between a fold and what was learned from, each pair once."""
    left, right, value = [], [], []
    number = np.full(len(data), len(parts))
    for k, part in enumerate(parts):
        number[part] = k
    for k, one in enumerate(weights):
        similar = data.similar(one, negative, lesson.similarity)
        mine = np.minimum(number[similar.left], number[similar.right]) == k
        left.append(similar.left[mine])
        right.append(similar.right[mine])
        value.append(similar.score[mine])
    return score_pairs(data.truth, np.concatenate(left), np.concatenate(right), np.concatenate(value))


# The model --------------------------------------------------------------------------------------


def _model(
    data: Labelled, lesson: Lesson, found: Fit, instances: Instances, held_out: HeldOut | None
) -> Model:
    if held_out is None:
        kinds = ("clip", "keep") if lesson.negative == "auto" else (lesson.negative,)
        scores = {kind: _own_scores(data, lesson, found.weights, kind) for kind in kinds}
    else:
        scores = held_out.scores
    best = {kind: find_best(make_curve(pairs), lesson.goal) for kind, pairs in scores.items()}
    negative = _choose_negative(best)
    chosen = best[negative]
    values = np.einsum("gj,j->g", data.entries.values, found.weights)
    figures = {
        "documents": len(data),
        "positive_pairs": data.truth.positives,
        "instances": len(instances),
        "held_out": held_out is not None,
        "goal": str(lesson.goal),
        **({} if chosen is None else _rounded(chosen.counts.as_dict(), ("f1", "precision", "recall"))),
        "pull": None if held_out is None or held_out.pull == STAY else held_out.pull,
        "f1_by_pull": {}
        if held_out is None
        else {f"{k:g}": round(v, 4) for k, v in held_out.by_pull.items()},
        "negative_weights": round(float((values < 0).mean()), 4) if len(values) else 0.0,
        "loss": [round(loss, 6) for loss in found.losses],
        "notes": [
            *contradictions(data),
            *remarks(data, held_out is not None, held_out is not None and held_out.pull == STAY),
        ],
    }
    return Model(
        weights={name: float(w) for name, w in zip(lesson.names, found.weights, strict=True) if w != 0},
        ngram=lesson.ngram,
        tokens=lesson.tokens,
        similarity=lesson.similarity,
        negative=negative,
        threshold=0.5 if chosen is None else min(1.0, max(chosen.threshold, 1e-6)),
        probability=_probability(scores[negative]),
        statistics=most_frequent(data.statistics),
        training=figures,
    )


def _own_scores(data: Labelled, lesson: Lesson, weights: Floats, negative: str) -> ScoredPairs:
    """Scores of the pairs that were learned from, where there are no others."""
    similar: Similar = data.similar(weights, negative, lesson.similarity)
    return score_pairs(data.truth, similar.left, similar.right, similar.score)


def _choose_negative(best: dict[str, Any]) -> Any:
    """Weights below zero are dropped, unless keeping them is better on held-out labels."""
    values = {kind: -1.0 if one is None else one.counts.f1 for kind, one in best.items()}
    if "clip" in values and values["clip"] >= max(values.values()):
        return "clip"
    return max(values, key=lambda kind: values[kind])


def _probability(pairs: ScoredPairs) -> Probability | None:
    return fit_probability(pairs) if 0 < pairs.positives < pairs.total else None


def _rounded(figures: dict[str, Any], names: Sequence[str]) -> dict[str, float]:
    return {name: round(float(figures[name]), 4) for name in names}
