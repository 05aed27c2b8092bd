"""Cross-validation: initial weights, regularization strength, and held-out scores for threshold and probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from neardup.columns import Numbers
from neardup.engines.core.progress import Progress
from neardup.evaluate.labels import Mask, Truth
from neardup.evaluate.scores import ScoredPairs, make_curve, score_pairs
from neardup.evaluate.times import can_hold_out
from neardup.learn.training.data import LabelledDocuments, renumbered, some_documents
from neardup.learn.training.fit import fit
from neardup.learn.training.loss import Floats, Products, score
from neardup.learn.training.sample import Fold, Instances, folds
from neardup.learn.training.setup import NO_TRAINING, TrainingSetup
from neardup.learn.training.times import time_folds
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
    data: LabelledDocuments  # the documents of these pairs: all, or the later ones
    by_time: bool = False


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
    parts, by_time = choose_folds(data, rng)
    if len(parts) < 2:
        return None
    default = setup.default_regularization(len(data))
    regularizations = (*sorted({*setup.regularizations, default}), NO_TRAINING)
    if len(setup.regularizations) == 1:  # given: nothing to choose
        regularizations = setup.regularizations
    scores = np.zeros((len(parts), len(regularizations)))
    weights: list[list[Floats]] = []
    with progress.stage("learn on folds", len(parts) * len(regularizations)):
        for row, part in enumerate(parts):
            inner, outer = _inner_and_outer(part, instances)
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
        held = np.flatnonzero(np.any([part.held for part in parts], axis=0))
        judged = data if len(held) == len(data) else some_documents(data, held)
        judged = replace(judged, times=judged.times if by_time else None)
        held_out_scores = {kind: _held_out_scores(data, setup, parts, chosen, kind) for kind in kinds}
    return HeldOut(
        regularizations[best],
        dict(zip(regularizations, scores.mean(axis=0).tolist(), strict=True)),
        held_out_scores,
        judged,
        by_time,
    )


def choose_folds(data: LabelledDocuments, rng: np.random.Generator) -> tuple[list[Fold], bool]:
    """Folds with near-duplicates: by time if that can be, and else at random."""
    drawn = [Fold(part, ~part & (data.truth.units >= 0)) for part in folds(data.truth, FOLDS, rng)]
    if data.times is not None and can_hold_out(data.truth, data.times):
        later = [fold for fold in time_folds(data.truth, data.times) if has_pairs(data.truth, fold.held)]
        if len(later) >= 2 and has_pairs(data.truth, later[-1].known):
            return later, True
    return [fold for fold in drawn if has_pairs(data.truth, fold.held)], False


def _inner_and_outer(fold: Fold, instances: Instances) -> tuple[Numbers, Numbers]:
    """The pairs that a fold's model learns from, and those that it is scored on."""
    left, right = instances.left, instances.right
    inner = fold.known[left] & fold.known[right]
    either = fold.held | fold.known
    outer = either[left] & either[right] & ~inner
    return np.flatnonzero(inner), np.flatnonzero(outer)


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
    """The column of the chosen regularization: the default, unless another is clearly better."""
    if setup.takes_highest:
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
    parts: Sequence[Fold],
    weights: Sequence[Floats],
    negative: str,
) -> ScoredPairs:
    """The scores of all pairs inside a fold and between a fold and its training documents, each pair once.

    If some documents are never held out, only pairs of the others count, by their numbers among them.
    """
    left, right, value = [], [], []
    number = np.full(len(data), len(parts))
    for k, part in enumerate(parts):
        number[part.held] = k
    for k, one in enumerate(weights):
        similar = data.similar(one, negative, setup.similarity)
        a, b = number[similar.left], number[similar.right]
        mine = (np.minimum(a, b) == k) & (np.maximum(a, b) < len(parts))
        left.append(similar.left[mine])
        right.append(similar.right[mine])
        value.append(similar.score[mine])
    held = number < len(parts)
    place = np.cumsum(held) - 1
    truth = data.truth if held.all() else renumbered(data.truth, np.flatnonzero(held))
    return score_pairs(
        truth, place[np.concatenate(left)], place[np.concatenate(right)], np.concatenate(value)
    )
