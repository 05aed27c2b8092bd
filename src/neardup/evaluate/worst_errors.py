"""The worst errors of a method, with the passages that the texts share.

The worst false positives are the highest scores among pairs labelled different, the worst false negatives the lowest
among pairs labelled the same. One bad cluster can have thousands of errors, so errors are taken in rounds: a pair's
round is the number of worse pairs of its clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from neardup.columns import Numbers
from neardup.errors import ParameterError
from neardup.explain.passages import Comparison, shared_passages
from neardup.plan import Plan
from neardup.sorted_sets import run_starts

ErrorKind = Literal["false positive", "false negative"]


@dataclass(frozen=True)
class WorstPair:
    """A wrongly decided pair, and the comparison of its texts."""

    kind: ErrorKind
    left: str  # ids
    right: str
    score: float
    clusters: tuple[str, str]  # their labelled clusters
    similar: int  # errors of this kind between the same two clusters, including this one
    comparison: Comparison


@dataclass(frozen=True)
class WorstErrors:
    """Positions of the worst errors among the scored pairs, worst first, and the number of all errors."""

    false_positives: Numbers
    false_negatives: Numbers
    similar_positives: Numbers  # for each, the number of errors between the same two clusters
    similar_negatives: Numbers
    total_positives: int
    total_negatives: int


def worst_errors(
    left: ArrayLike,
    right: ArrayLike,
    score: ArrayLike,
    positive: ArrayLike,
    threshold: float,
    *,
    clusters: ArrayLike | None = None,
    most: int = 10,
) -> WorstErrors:
    """The `most` worst false positives and false negatives, spread over the clusters of the documents.

    `left` and `right` are document numbers; `clusters` has a label for each document. Without labels every document
    counts as a cluster, so that none dominates the list.
    """
    ends = np.asarray(left, np.int64), np.asarray(right, np.int64)
    scores, same = np.asarray(score, np.float64), np.asarray(positive, np.bool_)
    if not len(ends[0]) == len(ends[1]) == len(scores) == len(same):
        raise ParameterError("positive", "worst_errors", f"as long as {len(scores)} scores", len(same))
    if most < 0:
        raise ParameterError("most", "worst_errors", "0 or more", most)
    pair_clusters = _clusters_of(ends, clusters)
    found = scores >= threshold
    chosen, similar, totals = [], [], []
    for wrong, sign in ((found & ~same, -1), (~found & same, 1)):
        places = np.flatnonzero(wrong)
        ranked = places[np.lexsort((ends[1][places], ends[0][places], sign * scores[places]))]
        worst = ranked[_spread(pair_clusters[:, ranked])[:most]]
        chosen.append(worst)
        similar.append(_count_similar(pair_clusters, ranked, worst))
        totals.append(len(ranked))
    return WorstErrors(chosen[0], chosen[1], similar[0], similar[1], totals[0], totals[1])


def compare_worst(
    errors: WorstErrors,
    left: ArrayLike,
    right: ArrayLike,
    score: ArrayLike,
    *,
    plan: Plan,
    name: Callable[[int], str],
    text: Callable[[int], str],
    cluster: Callable[[int], str],
) -> list[WorstPair]:
    """Each of the worst errors with its ids, clusters and shared passages; false positives come first.

    The functions read the id, the text and the cluster of a document by its number.
    """
    ends = np.asarray(left, np.int64), np.asarray(right, np.int64)
    scores = np.asarray(score, np.float64)

    def pair(kind: ErrorKind, place: int, similar: int) -> WorstPair:
        a, b = int(ends[0][place]), int(ends[1][place])
        compared = shared_passages(plan, text(a), text(b))
        clusters = cluster(a), cluster(b)
        return WorstPair(kind, name(a), name(b), float(scores[place]), clusters, similar, compared)

    positives = zip(errors.false_positives.tolist(), errors.similar_positives.tolist(), strict=True)
    negatives = zip(errors.false_negatives.tolist(), errors.similar_negatives.tolist(), strict=True)
    found = [pair("false positive", place, similar) for place, similar in positives]
    return found + [pair("false negative", place, similar) for place, similar in negatives]


def _clusters_of(ends: tuple[Numbers, Numbers], clusters: ArrayLike | None) -> Numbers:
    """The clusters of both documents of each pair, as two rows of numbers, the smaller above."""
    numbers = np.stack(ends)
    if clusters is not None:
        numbers = np.unique(np.asarray(clusters), return_inverse=True)[1].astype(np.int64)[numbers]
    return np.sort(numbers, axis=0)


def _spread(pair_clusters: Numbers) -> Numbers:
    """The order in which ranked pairs are taken: by round, then by rank.

    A pair's round is the number of better-ranked pairs of one of its clusters, of the two the greater number.
    """
    count = pair_clusters.shape[1]
    inside = pair_clusters[0] == pair_clusters[1]
    place = np.concatenate([np.arange(count), np.flatnonzero(~inside)])  # a pair touches one cluster or two
    touched = np.concatenate([pair_clusters[0], pair_clusters[1][~inside]])
    order = np.lexsort((place, touched))
    starts = run_starts(touched[order])
    before = np.arange(len(order)) - np.repeat(starts[:-1], np.diff(starts))
    rounds = np.zeros(count, np.int64)
    np.maximum.at(rounds, place[order], before)
    return np.argsort(rounds, kind="stable")


def _count_similar(pair_clusters: Numbers, places: Numbers, worst: Numbers) -> Numbers:
    """For each of the worst errors, the number of these errors between the same two clusters."""
    names, numbers = np.unique(pair_clusters[:, places], axis=1, return_inverse=True)
    counts = np.bincount(numbers.ravel(), minlength=names.shape[1])
    at = dict(zip(map(tuple, names.T.tolist()), counts.tolist(), strict=True))
    return np.array([at[tuple(pair)] for pair in pair_clusters[:, worst].T.tolist()], np.int64)
