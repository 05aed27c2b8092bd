"""Training pairs, preferences between them, and folds (ANDD paper, section 4.1.1)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from neardup.candidates.buckets import unranked_pairs
from neardup.columns import Numbers
from neardup.evaluate.labels import Mask, Truth, pack_pairs
from neardup.evaluate.scores import Floats
from neardup.learn.training.loss import Preferences

PREFERENCES = 80_000  # pairs of pairs, as in the paper


@dataclass(frozen=True)
class Instances:
    """Pairs of documents with a label."""

    left: Numbers
    right: Numbers
    positive: Mask
    weight: Floats  # how many pairs each represents

    def __len__(self) -> int:
        return len(self.left)


@dataclass(frozen=True)
class SimilarPairs:
    """Pairs that share a k-gram, with their similarity under given weights."""

    left: Numbers
    right: Numbers
    score: Floats


@dataclass(frozen=True)
class Fold:
    """Documents that are held out, and those that their model learns from."""

    held: Mask
    known: Mask


def draw_instances(
    truth: Truth, similar: SimilarPairs, most: int, rng: np.random.Generator, hard_share: float = 0.5
) -> Instances:
    """Equally many positive and negative pairs, at most `most` of each.

    The paper takes negatives at random. Nearly all random pairs share next to nothing and carry no information, so
    half of ours are hard negatives: the most similar ones under the initial weights.
    """
    a, b = _positives(truth, most, rng)
    hard, easy = _negatives(truth, similar, len(a), rng, hard_share)
    left, right = np.concatenate([a, hard[0], easy[0]]), np.concatenate([b, hard[1], easy[1]])
    positive = np.arange(len(left)) < len(a)
    packed = pack_pairs(np.minimum(left, right), np.maximum(left, right))
    first = np.sort(np.unique(packed, return_index=True)[1])  # a hard negative may have been drawn again
    weight = np.ones(len(left))
    balance = _balance(truth, a)
    weight[: len(a)] = truth.positives * balance / balance.sum()
    easy_ones = first[first >= len(a) + len(hard[0])]
    weight[easy_ones] = (truth.total - truth.positives - len(hard[0])) / max(len(easy_ones), 1)
    return Instances(left[first], right[first], positive[first], weight[first])


def _balance(truth: Truth, left: Numbers) -> Floats:
    """Weights of positive pairs: the s(s − 1)/2 pairs of a cluster of s documents count as s documents together."""
    if truth.clusters is None:
        return np.ones(len(left))
    return 1 / np.maximum(truth.sizes[truth.clusters[left]] - 1.0, 1.0)


def _positives(truth: Truth, most: int, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    if truth.clusters is None:
        assert truth.left is not None and truth.right is not None and truth.judged is not None
        rows = _some(np.flatnonzero(truth.judged), most, rng)
        return truth.left[rows], truth.right[rows]
    members = np.argsort(truth.clusters, kind="stable")
    members = members[truth.clusters[members] >= 0]
    sizes = truth.sizes
    starts = np.concatenate([[0], np.cumsum(sizes)])
    ends = np.concatenate([[0], np.cumsum(sizes * (sizes - 1) // 2)])
    chosen = np.sort(rng.choice(ends[-1], min(most, int(ends[-1])), replace=False))
    cluster = np.searchsorted(ends, chosen, "right") - 1
    i, j = unranked_pairs(chosen - ends[cluster])
    return members[starts[cluster] + i], members[starts[cluster] + j]


def _negatives(
    truth: Truth, similar: SimilarPairs, count: int, rng: np.random.Generator, hard_share: float
) -> tuple[tuple[Numbers, Numbers], tuple[Numbers, Numbers]]:
    """Hard negatives (the most similar pairs), and random ones."""
    apart = truth.labelled(similar.left, similar.right) & ~truth.positive(similar.left, similar.right)
    rows = np.flatnonzero(apart)
    rows = rows[np.argsort(-similar.score[rows], kind="stable")][: round(hard_share * count)]
    hard = similar.left[rows], similar.right[rows]
    if truth.clusters is None:
        assert truth.left is not None and truth.right is not None and truth.judged is not None
        others = _some(np.flatnonzero(~truth.judged), count - len(rows), rng)
        return hard, (truth.left[others], truth.right[others])
    labelled = np.flatnonzero(truth.clusters >= 0)
    draws = rng.choice(labelled, (2, 4 * count + 64))
    a, b = draws.min(axis=0), draws.max(axis=0)
    fits = np.flatnonzero((a != b) & truth.labelled(a, b) & ~truth.positive(a, b))[: count - len(rows)]
    return hard, (a[fits], b[fits])


def _some(rows: Numbers, most: int, rng: np.random.Generator) -> Numbers:
    """At most `most` rows, drawn at random, in order."""
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def draw_preferences(
    positive: Mask, weight: Floats, rng: np.random.Generator, count: int = PREFERENCES
) -> Preferences:
    """`count` positive instances, drawn by weight, each preferred to a random negative one."""
    yes, no = np.flatnonzero(positive), np.flatnonzero(~positive)
    if len(yes) == 0 or len(no) == 0:
        none = np.zeros(0, np.int64)
        return Preferences(none, none)
    count = min(count, len(yes) * len(no))
    share = weight[yes] / weight[yes].sum()
    return Preferences(rng.choice(yes, count, p=share), rng.choice(no, count))


def folds(truth: Truth, count: int, rng: np.random.Generator) -> list[Mask]:
    """The documents of each fold. No cluster is split; clusters of two or more are distributed evenly."""
    units = truth.units
    clusters = int(units.max(initial=-1)) + 1
    sizes = np.bincount(units[units >= 0], minlength=clusters)
    fold = np.full(clusters, -1)
    for some in (np.flatnonzero(sizes > 1), np.flatnonzero(sizes == 1)):
        shuffled = rng.permutation(some)
        for number, (start, stop) in enumerate(
            pairwise(np.linspace(0, len(some), count + 1).round().astype(int))
        ):
            fold[shuffled[start:stop]] = number
    return [(units >= 0) & (fold[units] == number) for number in range(count)]
