"""Scores in plain Python, over a list of every pair: what the fast ones must agree with."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from math import nan, sqrt
from typing import NamedTuple

Pair = tuple[int, int]


class Labelled(NamedTuple):
    """Every pair that counts, with its score (0 where it has none) and its label."""

    pairs: list[Pair]
    scores: list[float]
    labels: list[bool]


def every_pair(
    clusters: Sequence[int], scores: dict[Pair, float], undecided: set[Pair] = frozenset()
) -> Labelled:
    """All pairs of labelled documents (a negative label: none), without those of undecided clusters."""
    known = [d for d, label in enumerate(clusters) if label >= 0]
    pairs = [
        (a, b)
        for a, b in combinations(known, 2)
        if tuple(sorted((clusters[a], clusters[b]))) not in undecided
    ]
    return Labelled(
        pairs, [scores.get(pair, 0.0) for pair in pairs], [clusters[a] == clusters[b] for a, b in pairs]
    )


class Table(NamedTuple):
    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int


def count(data: Labelled, threshold: float) -> Table:
    """The four kinds of pairs; a score that reaches the threshold is found."""
    kinds = [(score >= threshold, label) for score, label in zip(data.scores, data.labels, strict=True)]
    return Table(
        *(kinds.count(kind) for kind in ((True, True), (True, False), (False, True), (False, False)))
    )


def precision(t: Table) -> float:
    found = t.true_positives + t.false_positives
    return t.true_positives / found if found else nan


def recall(t: Table) -> float:
    positives = t.true_positives + t.false_negatives
    return t.true_positives / positives if positives else nan


def f1(t: Table) -> float:
    both = 2 * t.true_positives + t.false_positives + t.false_negatives
    return 2 * t.true_positives / both if both else nan


def mcc(t: Table) -> float:
    """From the four counts, as Matthews wrote it."""
    tp, fp, fn, tn = t
    scale = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / sqrt(scale) if scale else 0.0


def average_precision(data: Labelled) -> float:
    total, before = 0.0, 0.0
    for threshold in sorted(set(data.scores), reverse=True):
        table = count(data, threshold)
        total += (recall(table) - before) * precision(table)
        before = recall(table)
    return total


def best_f1(data: Labelled) -> float:
    """Over all thresholds above 0."""
    return max((f1(count(data, threshold)) for threshold in set(data.scores) if threshold > 0), default=nan)


def pearson(x: Sequence[float], y: Sequence[float]) -> float:
    n = len(x)
    mean_x, mean_y = sum(x) / n, sum(y) / n
    covariance = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return covariance / sqrt(sum((a - mean_x) ** 2 for a in x) * sum((b - mean_y) ** 2 for b in y))


def macro(clusters: Sequence[int], data: Labelled, threshold: float) -> dict[int, tuple[float, float, float]]:
    """Precision, recall and F1 of each cluster with two or more documents."""
    found = [pair for pair, score in zip(data.pairs, data.scores, strict=True) if score >= threshold]
    scores = {}
    for cluster in {label for label in clusters if label >= 0}:
        inner = sum(label == cluster for label in clusters)
        if inner < 2:
            continue
        touching = [pair for pair in found if cluster in (clusters[pair[0]], clusters[pair[1]])]
        right = sum(clusters[a] == clusters[b] for a, b in touching)
        wrong, missed = len(touching) - right, inner * (inner - 1) // 2 - right
        table = Table(right, wrong, missed, 0)
        scores[cluster] = precision(table), recall(table), f1(table)
    return scores


def bcubed(labelled: Sequence[int], found: Sequence[int]) -> tuple[float, float]:
    """Document by document."""
    n = len(labelled)
    precisions, recalls = [], []
    for d in range(n):
        mine = {e for e in range(n) if found[e] == found[d]}
        theirs = {e for e in range(n) if labelled[e] == labelled[d]}
        precisions.append(len(mine & theirs) / len(mine))
        recalls.append(len(mine & theirs) / len(theirs))
    return sum(precisions) / n, sum(recalls) / n


def earth_movers(x: Sequence[float], y: Sequence[float]) -> float:
    """The area between the two distribution functions."""
    points = sorted({*x, *y})
    total = 0.0
    for low, high in pairwise(points):
        total += (high - low) * abs(sum(v <= low for v in x) / len(x) - sum(v <= low for v in y) / len(y))
    return total


def cohen(first: Sequence[object], second: Sequence[object]) -> float:
    n = len(first)
    agreed = sum(a == b for a, b in zip(first, second, strict=True)) / n
    chance = sum(list(first).count(v) * list(second).count(v) for v in {*first, *second}) / n**2
    return (agreed - chance) / (1 - chance)


def fleiss(table: Sequence[Sequence[int]]) -> float:
    things, people = len(table), sum(table[0])
    agreed = sum(sum(c * (c - 1) for c in row) / (people * (people - 1)) for row in table) / things
    shares = [sum(row[k] for row in table) / (things * people) for k in range(len(table[0]))]
    chance = sum(share**2 for share in shares)
    return (agreed - chance) / (1 - chance)


def resampled(clusters: Sequence[int], data: Labelled, drawn: Sequence[int]) -> Labelled:
    """The pairs of a sample that has cluster c drawn[c] times, by making the copies.

    A copy of a cluster is a cluster of its own; different copies of one cluster are not compared.
    """
    scores = dict(zip(data.pairs, data.scores, strict=True))
    copies = [(d, k) for d, label in enumerate(clusters) if label >= 0 for k in range(drawn[label])]
    pairs, values, labels = [], [], []
    for (a, i), (b, j) in combinations(copies, 2):
        same = clusters[a] == clusters[b]
        if (same and i != j) or (min(a, b), max(a, b)) not in scores:
            continue
        pairs.append((a, b))
        values.append(scores[min(a, b), max(a, b)])
        labels.append(same)
    return Labelled(pairs, values, labels)
