"""Scores of found clusters against labelled ones: adjusted Rand, B-cubed, counts of pairs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from neardup.columns import Numbers
from neardup.evaluate.packages import load
from neardup.evaluate.scores import PairCounts


@dataclass(frozen=True)
class ClusteringScores:
    """Scores of a clustering against the labels."""

    adjusted_rand: float
    bcubed_precision: float
    bcubed_recall: float
    bcubed_f1: float
    pairs: PairCounts  # of documents in one cluster

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "pairs": self.pairs.as_dict()}


def score_clustering(labelled: Numbers, found: Numbers) -> ClusteringScores:
    """The scores of a found label for each document; documents with a negative label are excluded.

    A document in no found cluster must have a found label of its own.
    """
    known = labelled >= 0
    truth, guess = labelled[known], found[known]
    precision, recall = bcubed(truth, guess)
    both = precision + recall
    return ClusteringScores(
        adjusted_rand=float(load("sklearn.metrics").adjusted_rand_score(truth, guess)),
        bcubed_precision=precision,
        bcubed_recall=recall,
        bcubed_f1=2 * precision * recall / both if both else 0.0,
        pairs=count_pairs(truth, guess),
    )


def count_pairs(labelled: Numbers, found: Numbers) -> PairCounts:
    """Pairs of documents that are together in the found clusters, in the labels, and in both."""
    (different, wrong), (missed, right) = load("sklearn.metrics.cluster").pair_confusion_matrix(
        labelled, found
    )
    # scikit-learn counts every pair in both directions.
    true, found_pairs, positives = right // 2, (right + wrong) // 2, (right + missed) // 2
    return PairCounts(
        int(found_pairs), int(true), int(positives), int((different + wrong + missed + right) // 2)
    )


def bcubed(labelled: Numbers, found: Numbers) -> tuple[float, float]:
    """B-cubed precision and recall (A. Bagga and B. Baldwin, ACL 1998): means over documents.

    A document's precision is the share of its found cluster that has its label, itself included; its recall the
    share of its labelled cluster that is in its found one.
    """
    if len(labelled) == 0:
        return float("nan"), float("nan")
    labels, a = np.unique(labelled, return_inverse=True)
    groups, b = np.unique(found, return_inverse=True)
    cell, both = np.unique(a * len(groups) + b, return_counts=True)
    row, column = cell // len(groups), cell % len(groups)
    squares = both.astype(np.float64) ** 2
    sizes_a, sizes_b = np.bincount(a, minlength=len(labels)), np.bincount(b, minlength=len(groups))
    n = len(labelled)
    return float((squares / sizes_b[column]).sum() / n), float((squares / sizes_a[row]).sum() / n)
