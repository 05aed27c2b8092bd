"""Probabilities from scores: a logistic curve fitted to held-out pairs."""

from __future__ import annotations

import numpy as np

from neardup.evaluate.labels import Mask, Truth
from neardup.evaluate.scores import Floats, ScoredPairs
from neardup.learn.model.file import Probability

STEPS = 100
BINS = 10


def fit_probability(pairs: ScoredPairs, truth: Truth) -> Probability:
    """Platt's curve by Newton's method, with his targets, which keep it finite when scores separate perfectly.

    Unlisted pairs have the score 0 and count as the pairs of two clusters (J. Platt, Probabilistic outputs for
    support vector machines, 1999; the damped steps are those of Lin, Lin and Weng, 2007).
    """
    rest = max(pairs.total - len(pairs), 0)
    rest_right = max(pairs.positives - int(pairs.positive.sum()), 0)
    count = np.concatenate([pair_weights(pairs, truth), np.sqrt([rest_right, rest - rest_right])])
    positive = np.concatenate([pairs.positive, [True, False]])
    score = np.concatenate([pairs.score, [0.0, 0.0]])
    yes, no = count[positive].sum(), count[~positive].sum()
    target = np.where(positive, (yes + 1) / (yes + 2), 1 / (no + 2))
    slope, offset = _logistic(score, target, count)
    if slope <= 0:  # higher scores are not more likely: nothing to calibrate
        return Probability(1e-6, 0.5)
    return Probability(float(slope), float(-offset / slope))


def pair_weights(pairs: ScoredPairs, truth: Truth) -> Floats:
    """The weight of each pair: n pairs of a document with its cluster, or of two clusters, count as √n pairs.

    They are alike: all pairs of one campaign, or of two newsletters with one frame, add little to a few of them.
    Counted in full, the largest clusters alone would decide, and other documents have other clusters.
    """
    if truth.clusters is None:
        return np.ones(len(pairs))
    a, b = (truth.sizes[truth.clusters[some]].astype(np.float64) for some in (pairs.left, pairs.right))
    weights: Floats = 1 / np.sqrt(np.where(pairs.positive, np.maximum(a - 1, 1), a * b))
    return weights


def calibration_error(probability: Floats, positive: Mask) -> float:
    """The expected calibration error: the mean distance of probability and truth over ten equal bins, by pairs."""
    if len(probability) == 0:
        return float("nan")
    bins = np.minimum((probability * BINS).astype(np.int64), BINS - 1)
    distance = np.bincount(bins, weights=probability, minlength=BINS)
    distance -= np.bincount(bins, weights=positive, minlength=BINS)
    return float(np.abs(distance).sum() / len(probability))


def _logistic(score: Floats, target: Floats, count: Floats) -> tuple[float, float]:
    """Slope and offset of the logistic curve of least cross-entropy."""
    design = np.stack([score, np.ones(len(score))])
    found = np.zeros(2)
    value = _entropy(found, design, target, count)
    for _ in range(STEPS):
        share = 1 / (1 + np.exp(-np.clip(found @ design, -700, 700)))
        gradient = design @ (count * (share - target))
        curvature = (design * (count * share * (1 - share) + 1e-12)) @ design.T + 1e-9 * np.eye(2)
        step, size = np.linalg.solve(curvature, gradient), 1.0
        while size > 1e-8 and _entropy(found - size * step, design, target, count) > value:
            size /= 2
        found = found - size * step
        before, value = value, _entropy(found, design, target, count)
        if before - value < 1e-9 * max(1.0, abs(value)):
            break
    return float(found[0]), float(found[1])


def _entropy(found: Floats, design: Floats, target: Floats, count: Floats) -> float:
    z = found @ design
    return float((count * (np.logaddexp(0, z) - target * z)).sum())
