"""What held-out labels say: how strongly to learn, and the scores that threshold and probability come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neardup.engines.core.progress import Progress
from neardup.evaluate.labels import Mask, Truth
from neardup.evaluate.scores import ScoredPairs, make_curve, score_pairs
from neardup.learn.training.data import Labelled
from neardup.learn.training.fit import fit
from neardup.learn.training.loss import Floats, Products, score
from neardup.learn.training.sample import Instances, folds
from neardup.learn.training.setup import STAY, TrainingSetup
from neardup.signatures.sign_bits import bit_agreement

FOLDS = 4
CLEARLY = 3.18  # standard errors of the difference over four folds: 5 % of Student's t with three degrees of freedom
DRAWS = 4  # of the noise of signatures


@dataclass(frozen=True)
class HeldOut:
    """What models said about pairs that they had not learned from: each fold's, by models of the other folds."""

    pull: float
    by_pull: dict[float, float]  # the mean best F1 of each pull
    scores: dict[str, ScoredPairs]  # by what becomes of negative weights


def choose_start(data: Labelled, lesson: TrainingSetup) -> tuple[TrainingSetup, dict[str, float]]:
    """The lesson with its start decided: the first, unless another is clearly better; and the mean F1 of each.

    A start has not seen any label, so that all of them are held out from it.
    """
    if lesson.begin != "auto":
        return lesson, {}
    parts = folds(data.truth, FOLDS, np.random.default_rng(lesson.seed))
    parts = [part for part in parts if has_pairs(data.truth, part)]
    scores = np.zeros((len(parts), len(lesson.starts)))
    for column, weights in enumerate(lesson.starts.values()):
        similar = data.similar(weights, "clip", lesson.similarity)
        for row, part in enumerate(parts):
            pairs = score_pairs(data.truth.only(part), similar.left, similar.right, similar.score)
            scores[row, column] = make_curve(pairs).f1.max(initial=0.0)
    names = list(lesson.starts)
    best = clearly_best(scores, 0)
    found = dict(zip(names, scores.mean(axis=0).tolist(), strict=True)) if parts else {}
    return lesson.beginning(names[best]), found


def cross_validate(
    data: Labelled, lesson: TrainingSetup, instances: Instances, products: Products, rng: np.random.Generator,
    progress: Progress,
) -> HeldOut | None:  # fmt: skip
    """How strongly to learn, and the scores of every fold; None where clusters with pairs are too few to hold out."""
    parts = [part for part in folds(data.truth, FOLDS, rng) if has_pairs(data.truth, part)]
    if len(parts) < 2:
        return None
    usual = lesson.usual(len(data))
    pulls = (*sorted({*lesson.pulls, usual}), STAY)
    scores = np.zeros((len(parts), len(pulls)))
    weights: list[list[Floats]] = []
    with progress.stage("learn on folds", len(parts) * len(pulls)):
        for row, part in enumerate(parts):
            inside = part[instances.left] | part[instances.right]
            inner, outer = np.flatnonzero(~inside), np.flatnonzero(inside)
            known, held = products.take(inner), products.take(outer)
            labels, amounts = instances.positive[inner], instances.weight[inner]
            weights.append([])
            for column, pull in enumerate(pulls):
                weights[-1].append(fit(lesson, known, labels, amounts, pull, rng).weights)
                value = score(held, weights[-1][-1], lesson.similarity).value
                scores[row, column] = judge(lesson, value, instances.positive[outer], instances.weight[outer])
                progress.advance(1)
    best = choose_pull(lesson, scores, pulls.index(usual))
    with progress.stage("score held-out pairs"):
        kinds = ("clip", "keep") if lesson.negative == "auto" else (lesson.negative,)
        chosen = [row[best] for row in weights]
        held_scores = {kind: _held_scores(data, lesson, parts, chosen, kind) for kind in kinds}
    return HeldOut(pulls[best], dict(zip(pulls, scores.mean(axis=0).tolist(), strict=True)), held_scores)


def judge(lesson: TrainingSetup, value: Floats, positive: Mask, weight: Floats) -> float:
    """The best F1 of these scores; for signatures, of what is left of them in so many sign bits."""
    if lesson.aim == "vectors":
        return weighted_f1(value, positive, weight)
    cosine = value if lesson.similarity == "cosine" else 2 * value / (1 + value)
    share = np.array([bit_agreement(one) for one in cosine.tolist()])
    rng = np.random.default_rng(lesson.seed)  # the same noise for all that are compared
    noise = rng.standard_normal((DRAWS, len(share))) * np.sqrt(share * (1 - share) / lesson.bits)
    return float(np.mean([weighted_f1(share + one, positive, weight) for one in noise]))


def choose_pull(lesson: TrainingSetup, scores: Floats, usual: int) -> int:
    """The column of the pull to learn with: the usual one's, unless another is clearly better.

    What is best for signatures is far from usual, and there the highest mean decides.
    """
    if lesson.aim == "signatures":
        return int(scores.mean(axis=0).argmax())
    return clearly_best(scores, usual)


def clearly_best(scores: Floats, usual: int) -> int:
    """The column of the highest mean among those that are clearly above the usual one; else that one.

    Folds are few and F1 turns on a cluster or two: what is best by chance would often be chosen. Fewer folds than
    there should be say nothing clearly.
    """
    if len(scores) < FOLDS:
        return usual
    lead = scores - scores[:, [usual]]
    error = lead.std(axis=0, ddof=1) / np.sqrt(len(lead))
    clear = np.where(lead.mean(axis=0) > CLEARLY * error, lead.mean(axis=0), 0.0)
    return int(clear.argmax()) if clear.max() > 0 else usual


def has_pairs(truth: Truth, part: Mask) -> bool:
    """Whether there are near-duplicates among these documents."""
    return truth.only(part).positives > 0


def weighted_f1(value: Floats, positive: Mask, weight: Floats) -> float:
    """The best F1 over thresholds among all pairs, of which these are a sample: each stands for `weight` pairs."""
    order = np.argsort(-value, kind="stable")
    found, right = np.cumsum(weight[order]), np.cumsum(weight[order] * positive[order])
    return float((2 * right / (found + weight[positive].sum())).max()) if positive.any() else float("nan")


def _held_scores(
    data: Labelled, lesson: TrainingSetup, parts: Sequence[Mask], weights: Sequence[Floats], negative: str
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
