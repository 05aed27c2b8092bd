"""Cross-validation: initial weights, regularization strength, and held-out scores for threshold and probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neardup.engines.core.progress import Progress
from neardup.evaluate.labels import Mask, Truth
from neardup.evaluate.scores import ScoredPairs, make_curve, score_pairs
from neardup.learn.training.data import LabelledDocuments
from neardup.learn.training.fit import fit
from neardup.learn.training.loss import Floats, Products, score
from neardup.learn.training.sample import Instances, folds
from neardup.learn.training.setup import NO_TRAINING, TrainingSetup
from neardup.signatures.sign_bits import bit_agreement

FOLDS = 4
CLEARLY = 3.18  # standard errors: 5 % of Student's t with three degrees of freedom (four folds)
DRAWS = 4  # of the signature noise


@dataclass(frozen=True)
class HeldOut:
    """The results of cross-validation: each fold scored by a model of the other folds."""

    regularization: float
    f1_by_regularization: dict[float, float]  # mean of the best F1 of each fold
    scores: dict[str, ScoredPairs]  # by the treatment of negative weights


def choose_initial_weights(
    data: LabelledDocuments, setup: TrainingSetup
) -> tuple[TrainingSetup, dict[str, float]]:
    """The setup with its initial weights chosen (the first, unless others are clearly better), and the F1 of each.

    Initial weights do not depend on labels, so that all labels are held out from them.
    """
    if setup.initial != "auto":
        return setup, {}
    parts = folds(data.truth, FOLDS, np.random.default_rng(setup.seed))
    parts = [part for part in parts if has_pairs(data.truth, part)]
    scores = np.zeros((len(parts), len(setup.initial_choices)))
    for column, weights in enumerate(setup.initial_choices.values()):
        similar = data.similar(weights, "clip", setup.similarity)
        for row, part in enumerate(parts):
            pairs = score_pairs(data.truth.only(part), similar.left, similar.right, similar.score)
            scores[row, column] = make_curve(pairs).f1.max(initial=0.0)
    names = list(setup.initial_choices)
    best = clearly_best(scores, 0)
    found = dict(zip(names, scores.mean(axis=0).tolist(), strict=True)) if parts else {}
    return setup.with_initial(names[best]), found


def cross_validate(
    data: LabelledDocuments, setup: TrainingSetup, instances: Instances, products: Products, rng: np.random.Generator,
    progress: Progress,
) -> HeldOut | None:  # fmt: skip
    """The regularization and the scores of every fold; None if fewer than two folds have near-duplicates."""
    parts = [part for part in folds(data.truth, FOLDS, rng) if has_pairs(data.truth, part)]
    if len(parts) < 2:
        return None
    default = setup.default_regularization(len(data))
    regularizations = (*sorted({*setup.regularizations, default}), NO_TRAINING)
    scores = np.zeros((len(parts), len(regularizations)))
    weights: list[list[Floats]] = []
    with progress.stage("learn on folds", len(parts) * len(regularizations)):
        for row, part in enumerate(parts):
            inside = part[instances.left] | part[instances.right]
            inner, outer = np.flatnonzero(~inside), np.flatnonzero(inside)
            known, outside = products.take(inner), products.take(outer)
            labels, amounts = instances.positive[inner], instances.weight[inner]
            weights.append([])
            for column, regularization in enumerate(regularizations):
                weights[-1].append(fit(setup, known, labels, amounts, regularization, rng).weights)
                value = score(outside, weights[-1][-1], setup.similarity).value
                scores[row, column] = validation_f1(
                    setup, value, instances.positive[outer], instances.weight[outer]
                )
                progress.advance(1)
    best = choose_regularization(setup, scores, regularizations.index(default))
    with progress.stage("score held-out pairs"):
        kinds = ("clip", "keep") if setup.negative == "auto" else (setup.negative,)
        chosen = [row[best] for row in weights]
        held_out_scores = {kind: _held_out_scores(data, setup, parts, chosen, kind) for kind in kinds}
    return HeldOut(
        regularizations[best],
        dict(zip(regularizations, scores.mean(axis=0).tolist(), strict=True)),
        held_out_scores,
    )


def validation_f1(setup: TrainingSetup, value: Floats, positive: Mask, weight: Floats) -> float:
    """The best F1 of these scores; with the aim `signatures`, of their estimates by sign bits."""
    if setup.aim == "vectors":
        return weighted_f1(value, positive, weight)
    cosine = value if setup.similarity == "cosine" else 2 * value / (1 + value)
    share = np.array([bit_agreement(one) for one in cosine.tolist()])
    rng = np.random.default_rng(setup.seed)  # the same noise for all candidates
    noise = rng.standard_normal((DRAWS, len(share))) * np.sqrt(share * (1 - share) / setup.bits)
    return float(np.mean([weighted_f1(share + one, positive, weight) for one in noise]))


def choose_regularization(setup: TrainingSetup, scores: Floats, default: int) -> int:
    """The column of the chosen regularization: the default, unless another is clearly better.

    For signatures the best is far from the default: there the highest mean decides.
    """
    if setup.aim == "signatures":
        return int(scores.mean(axis=0).argmax())
    return clearly_best(scores, default)


def clearly_best(scores: Floats, default: int) -> int:
    """The column of the highest mean that is clearly above the default one; else the default.

    Folds are few and F1 depends on one or two clusters, so that the highest mean is often a matter of chance. With
    fewer than FOLDS folds no difference is clear.
    """
    if len(scores) < FOLDS:
        return default
    lead = scores - scores[:, [default]]
    error = lead.std(axis=0, ddof=1) / np.sqrt(len(lead))
    clear = np.where(lead.mean(axis=0) > CLEARLY * error, lead.mean(axis=0), 0.0)
    return int(clear.argmax()) if clear.max() > 0 else default


def has_pairs(truth: Truth, part: Mask) -> bool:
    """Whether these documents have near-duplicates among them."""
    return truth.only(part).positives > 0


def weighted_f1(value: Floats, positive: Mask, weight: Floats) -> float:
    """The best F1 over thresholds among all pairs, estimated from a sample: each represents `weight` pairs."""
    order = np.argsort(-value, kind="stable")
    found, right = np.cumsum(weight[order]), np.cumsum(weight[order] * positive[order])
    return float((2 * right / (found + weight[positive].sum())).max()) if positive.any() else float("nan")


def _held_out_scores(
    data: LabelledDocuments,
    setup: TrainingSetup,
    parts: Sequence[Mask],
    weights: Sequence[Floats],
    negative: str,
) -> ScoredPairs:
    """The scores of all pairs inside a fold and between a fold and its training documents, each pair once."""
    left, right, value = [], [], []
    number = np.full(len(data), len(parts))
    for k, part in enumerate(parts):
        number[part] = k
    for k, one in enumerate(weights):
        similar = data.similar(one, negative, setup.similarity)
        mine = np.minimum(number[similar.left], number[similar.right]) == k
        left.append(similar.left[mine])
        right.append(similar.right[mine])
        value.append(similar.score[mine])
    return score_pairs(data.truth, np.concatenate(left), np.concatenate(right), np.concatenate(value))
