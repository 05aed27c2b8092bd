"""From labelled documents to a model: how strongly to learn is decided on labels that were held out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from neardup.engines.core.progress import Progress
from neardup.evaluate.corpus import Documents
from neardup.evaluate.goals import find_best
from neardup.evaluate.labels import Truth
from neardup.evaluate.scores import ScoredPairs, make_curve, score_pairs
from neardup.learn.model.file import Model, Probability, most_frequent
from neardup.learn.training.advice import check_labels, contradictions, remarks
from neardup.learn.training.calibrate import fit_probability
from neardup.learn.training.data import Labelled, prepare
from neardup.learn.training.fit import Fit, fit
from neardup.learn.training.held_out import HeldOut, choose_start, cross_validate
from neardup.learn.training.loss import Floats, multiply
from neardup.learn.training.sample import Instances, Similar, draw_instances
from neardup.learn.training.setup import STAY, TrainingSetup

MEMORY = 256 << 20  # bytes of quadratic forms: what bounds the number of instances
INSTANCES = 4_000  # of each kind

__all__ = ["STAY", "TrainingSetup", "learn", "learn_from"]


def learn(
    documents: Documents, truth: Truth, lesson: TrainingSetup | None = None, progress: Progress | None = None
) -> Model:
    """The model that the labels teach."""
    lesson, progress = lesson or TrainingSetup(), progress or Progress()
    check_labels(truth)
    with progress.stage("read k-grams"):
        data = prepare(documents, truth, lesson.weight, lesson.text, lesson.threads)
    return learn_from(data, lesson, progress)


def learn_from(data: Labelled, lesson: TrainingSetup, progress: Progress | None = None) -> Model:
    """The model that prepared documents teach."""
    progress = progress or Progress()
    rng = np.random.default_rng(lesson.seed)
    with progress.stage("choose the start"):
        lesson, starts = choose_start(data, lesson)
    with progress.stage("draw pairs"):
        similar = data.similar(lesson.start, "clip", lesson.similarity)
        width = len(lesson.names) * (len(lesson.names) + 1) // 2
        most = min(INSTANCES, MEMORY // (16 * width))
        instances = draw_instances(data.truth, similar, most, rng, lesson.hard)
    with progress.stage("multiply pairs"):
        products = multiply(data.entries, instances.left, instances.right, data.threads)
    held_out = cross_validate(data, lesson, instances, products, rng, progress)
    pull = lesson.usual(len(data)) if held_out is None else held_out.pull
    with progress.stage("learn"):
        found = fit(lesson, products, instances.positive, instances.weight, pull, rng)
    model = _model(data, lesson, found, instances, held_out)
    model.training["start"] = lesson.begin
    model.training["f1_by_start"] = {name: round(f1, 4) for name, f1 in starts.items()}
    return model


def _model(
    data: Labelled, lesson: TrainingSetup, found: Fit, instances: Instances, held_out: HeldOut | None
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
        fields=lesson.fields,
        markup=lesson.markup,
        queries=lesson.queries,
        similarity=lesson.similarity,
        negative=negative,
        threshold=0.5 if chosen is None else min(1.0, max(chosen.threshold, 1e-6)),
        probability=_probability(scores[negative]),
        statistics=most_frequent(data.statistics),
        training=figures,
    )


def _own_scores(data: Labelled, lesson: TrainingSetup, weights: Floats, negative: str) -> ScoredPairs:
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
