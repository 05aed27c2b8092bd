"""The steps from labelled documents to a model; cross-validation chooses the regularization."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from neardup.engines.core.progress import Progress
from neardup.evaluate.corpus import Documents
from neardup.evaluate.labels import Truth
from neardup.evaluate.removals import OutcomeScores
from neardup.evaluate.scores import PairCounts, ScoredPairs, score_pairs
from neardup.evaluate.times import FEWEST
from neardup.learn.model.file import Model, Probability, most_frequent
from neardup.learn.training.calibration import fit_probability
from neardup.learn.training.data import LabelledDocuments, prepare
from neardup.learn.training.decision import decide_by
from neardup.learn.training.fit import Fit, fit
from neardup.learn.training.held_out import HeldOut, choose_initial_weights, cross_validate
from neardup.learn.training.label_checks import check_labels, contradictions, doubtful, warnings
from neardup.learn.training.loss import Floats, multiply
from neardup.learn.training.sample import Instances, SimilarPairs, draw_instances
from neardup.learn.training.setup import NO_TRAINING, TrainingSetup
from neardup.learn.training.unlike import unlike

MEMORY = 256 << 20  # bytes of quadratic forms, which bound the number of instances
INSTANCES = 4_000  # positive pairs, and as many negative ones
NO_TIMES = (
    f"labels are held out at random, not by time: that needs dates of nearly all labelled documents, and {FEWEST} "
    "clusters with near-duplicates"
)
UNSAFE = "every threshold removes more than 1 % wrongly on held-out labels; the safest one was taken"


def learn(
    documents: Documents,
    truth: Truth,
    setup: TrainingSetup | None = None,
    progress: Progress | None = None,
    times: Floats | None = None,
    asked: bool = True,
) -> Model:
    """The model learned from labels; with the times of all documents, labels are held out by time.

    Where that was `asked` for, a model says if it cannot be done.
    """
    setup, progress = setup or TrainingSetup(), progress or Progress()
    check_labels(truth)
    with progress.stage("read k-grams"):
        data = prepare(documents, truth, setup.weight, setup.text, setup.threads)
        if times is not None:
            data = replace(data, times=times[data.numbers])
    model = learn_from(data, setup, progress)
    if asked and times is not None and not model.training["held_out_by_time"]:
        model.training["warnings"].append(NO_TIMES)
    model.training["warnings"] += unlike(documents, data, setup)
    return model


def learn_from(data: LabelledDocuments, setup: TrainingSetup, progress: Progress | None = None) -> Model:
    """The model learned from prepared documents."""
    progress = progress or Progress()
    rng = np.random.default_rng(setup.seed)
    with progress.stage("choose initial weights"):
        setup, f1_by_choice = choose_initial_weights(data, setup)
    with progress.stage("draw pairs"):
        similar = data.similar(setup.initial_weights, "clip", setup.similarity)
        width = len(setup.names) * (len(setup.names) + 1) // 2
        most = min(INSTANCES, MEMORY // (16 * width))
        instances = draw_instances(data.truth, similar, most, rng, setup.hard)
    with progress.stage("multiply pairs"):
        products = multiply(data.entries, instances.left, instances.right, data.threads)
    held_out = cross_validate(data, setup, instances, products, rng, progress)
    regularization = setup.default_regularization(len(data)) if held_out is None else held_out.regularization
    with progress.stage("learn"):
        found = fit(setup, products, instances.positive, instances.weight, regularization, rng)
    model = _model(data, setup, found, instances, held_out)
    unchanged = regularization == NO_TRAINING
    by_strength = {} if held_out is None else held_out.f1_by_regularization
    model.training["warnings"] += warnings(data, held_out is not None, unchanged)
    choices = {
        "regularization": None if unchanged else regularization,
        "f1_by_regularization": {f"{strength:g}": round(f1, 4) for strength, f1 in by_strength.items()},
        "initial_weights": setup.initial,
        "f1_by_initial_weights": {name: round(f1, 4) for name, f1 in f1_by_choice.items()},
    }
    model.training.update(choices)
    return model


def _model(
    data: LabelledDocuments, setup: TrainingSetup, found: Fit, instances: Instances, held_out: HeldOut | None
) -> Model:
    if held_out is None:
        kinds = ("clip", "keep") if setup.negative == "auto" else (setup.negative,)
        scores = {kind: _own_scores(data, setup, found.weights, kind) for kind in kinds}
    else:
        scores = held_out.scores
    judged = replace(data, times=None) if held_out is None else held_out.data
    decision = decide_by(judged, scores, setup.goal)
    values = np.einsum("gj,j->g", data.entries.values, found.weights)
    figures = {
        "documents": len(data),
        "positive_pairs": data.truth.positives,
        "instances": len(instances),
        "held_out": held_out is not None,
        "held_out_by_time": held_out is not None and held_out.by_time,
        "goal": str(setup.goal),
        **_rounded(decision.counts, ("f1", "precision", "recall")),
        "outcome": _rounded(decision.outcome, ("f1", "wrong_share", "duplicates_removed")),
        "expected": decision.expected and decision.expected.as_dict(),
        "negative_weights": round(float((values < 0).mean()), 4) if len(values) else 0.0,
        "loss": [round(loss, 6) for loss in found.losses],
        "warnings": [
            *contradictions(data),
            *([] if decision.safe else [UNSAFE]),
            *doubtful(judged, scores[decision.negative], decision.threshold),
        ],
    }
    return Model(
        weights={name: float(w) for name, w in zip(setup.names, found.weights, strict=True) if w != 0},
        ngram=setup.ngram,
        tokens=setup.tokens,
        fields=setup.fields,
        markup=setup.markup,
        queries=setup.queries,
        similarity=setup.similarity,
        negative=decision.negative,
        threshold=decision.threshold,
        clusters=decision.clusters,
        probability=_probability(scores[decision.negative], judged.truth),
        statistics=most_frequent(data.statistics),
        training=figures,
    )


def _own_scores(data: LabelledDocuments, setup: TrainingSetup, weights: Floats, negative: str) -> ScoredPairs:
    """Scores of the training pairs, when none are held out."""
    similar: SimilarPairs = data.similar(weights, negative, setup.similarity)
    return score_pairs(data.truth, similar.left, similar.right, similar.score)


def _probability(pairs: ScoredPairs, truth: Truth) -> Probability | None:
    return fit_probability(pairs, truth) if 0 < pairs.positives < pairs.total else None


def _rounded(scores: PairCounts | OutcomeScores | None, names: Sequence[str]) -> dict[str, float]:
    return {} if scores is None else {name: round(float(getattr(scores, name)), 4) for name in names}
