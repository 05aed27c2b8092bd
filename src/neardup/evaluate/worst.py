"""Errors to look at: the pairs that a method got most wrong, with what their texts share.

The worst false positives are the highest scores among pairs labelled different, the worst false negatives the
lowest among pairs labelled the same. One bad cluster can hold thousands of either; so a pair waits for as many
rounds as its clusters had worse pairs before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from neardup.columns import Numbers
from neardup.errors import ParameterError
from neardup.explain.passages import Comparison, shared_passages
from neardup.plan import Plan

__all__ = ["Errors", "WorstPair", "compare_worst", "worst_errors"]


Mistake = Literal["false positive", "false negative"]


@dataclass(frozen=True)
class WorstPair:
    """One pair that was decided wrongly, and how its texts compare."""

    kind: Mistake
    left: str  # ids
    right: str
    score: float
    groups: tuple[str, str]  # the clusters that the labels put them into
    alike: int  # errors of this kind between the same two clusters, this one included
    comparison: Comparison


@dataclass(frozen=True)
class Errors:
    """Places of the worst errors among the scored pairs, the worst first, and how many there are in all."""

    false_positives: Numbers
    false_negatives: Numbers
    alike_positives: Numbers  # beside each of them: how many errors lie between the same two clusters
    alike_negatives: Numbers
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
) -> Errors:
    """The `most` worst false positives and false negatives, spread over the clusters of the documents.

    `left` and `right` are document numbers; a score that reaches the threshold means "the same"; `clusters`
    has a label for each document. Without it every document counts as a cluster, so that none fills the list.
    """
    ends = np.asarray(left, np.int64), np.asarray(right, np.int64)
    scores, same = np.asarray(score, np.float64), np.asarray(positive, np.bool_)
    if not len(ends[0]) == len(ends[1]) == len(scores) == len(same):
        raise ParameterError("positive", "worst_errors", f"as long as {len(scores)} scores", len(same))
    if most < 0:
        raise ParameterError("most", "worst_errors", "0 or more", most)
    owners = _owners(ends, clusters)
    found = scores >= threshold
    chosen, alike, totals = [], [], []
    for wrong, sign in ((found & ~same, -1), (~found & same, 1)):
        places = np.flatnonzero(wrong)
        ranked = places[np.lexsort((ends[1][places], ends[0][places], sign * scores[places]))]
        worst = ranked[_spread(owners[:, ranked])[:most]]
        chosen.append(worst)
        alike.append(_count_alike(owners, ranked, worst))
        totals.append(len(ranked))
    return Errors(chosen[0], chosen[1], alike[0], alike[1], totals[0], totals[1])


def compare_worst(
    errors: Errors,
    left: ArrayLike,
    right: ArrayLike,
    score: ArrayLike,
    *,
    plan: Plan,
    ids: Sequence[Any],
    text: Callable[[int], str] | Sequence[str],
    clusters: Sequence[Any] | None = None,
) -> list[WorstPair]:
    """Each of the worst errors with its ids, clusters and shared passages; false positives come first.

    `text` gives the text of a document by its number: a list, or a function that reads it.
    """
    ends = np.asarray(left, np.int64), np.asarray(right, np.int64)
    scores = np.asarray(score, np.float64)
    read = text if callable(text) else text.__getitem__
    labels = ids if clusters is None else clusters

    def pair(kind: Mistake, place: int, alike: int) -> WorstPair:
        a, b = int(ends[0][place]), int(ends[1][place])
        compared = shared_passages(plan, read(a), read(b))
        names, groups = (str(ids[a]), str(ids[b])), (str(labels[a]), str(labels[b]))
        return WorstPair(kind, *names, float(scores[place]), groups, alike, compared)

    positives = zip(errors.false_positives.tolist(), errors.alike_positives.tolist(), strict=True)
    negatives = zip(errors.false_negatives.tolist(), errors.alike_negatives.tolist(), strict=True)
    found = [pair("false positive", place, alike) for place, alike in positives]
    return found + [pair("false negative", place, alike) for place, alike in negatives]


def _owners(ends: tuple[Numbers, Numbers], clusters: ArrayLike | None) -> Numbers:
    """The clusters of both documents of each pair, as two rows of numbers, the smaller above."""
    numbers = np.stack(ends)
    if clusters is not None:
        numbers = np.unique(np.asarray(clusters), return_inverse=True)[1].astype(np.int64)[numbers]
    return np.sort(numbers, axis=0)


def _spread(owners: Numbers) -> Numbers:
    """The order in which ranked pairs are taken: by round, then by rank.

    A pair's round is the number of better-ranked pairs of that one of its clusters which has more of them.
    """
    count = owners.shape[1]
    inside = owners[0] == owners[1]
    place = np.concatenate([np.arange(count), np.flatnonzero(~inside)])  # a pair touches one cluster or two
    touched = np.concatenate([owners[0], owners[1][~inside]])
    order = np.lexsort((place, touched))
    of = touched[order]
    starts = np.flatnonzero(np.concatenate([[True], of[1:] != of[:-1]])[: len(of)])
    before = np.arange(len(of)) - np.repeat(starts, np.diff(np.append(starts, len(of))))
    rounds = np.zeros(count, np.int64)
    np.maximum.at(rounds, place[order], before)
    return np.argsort(rounds, kind="stable")


def _count_alike(owners: Numbers, places: Numbers, worst: Numbers) -> Numbers:
    """For each of the worst how many of these places lie between the same two clusters."""
    names, numbers = np.unique(owners[:, places], axis=1, return_inverse=True)
    counts = np.bincount(numbers.ravel(), minlength=names.shape[1])
    at = dict(zip(map(tuple, names.T.tolist()), counts.tolist(), strict=True))
    return np.array([at[tuple(pair)] for pair in owners[:, worst].T.tolist()], np.int64)
