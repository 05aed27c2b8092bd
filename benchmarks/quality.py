"""Precision and recall of a result against exact Jaccard >= 0.7.

pair      the pairs that were reported against the true pairs (for tools that report pairs)
closure   all pairs inside the reported clusters against all pairs inside the components of the true pairs
document  documents flagged as having a near-duplicate against those that have one
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from peers.common import clusters_from_pairs

LIMIT = 20_000_000  # pairs inside clusters beyond which one runaway cluster makes the measure pointless


@dataclass(frozen=True)
class Score:
    """How well a set of findings agrees with the true ones."""

    precision: float
    recall: float
    f1: float
    found: int
    true: int


def score(found: np.ndarray, true: np.ndarray) -> Score:
    """Precision, recall and their harmonic mean for two arrays of codes."""
    found, true = np.unique(found), np.unique(true)
    shared = len(np.intersect1d(found, true, assume_unique=True))
    precision, recall = shared / max(len(found), 1), shared / max(len(true), 1)
    both = precision + recall
    return Score(precision, recall, 2 * precision * recall / both if both else 0.0, len(found), len(true))


def codes(pairs: np.ndarray, documents: int) -> np.ndarray:
    """One integer a pair, the smaller number first."""
    ordered = np.sort(pairs.astype(np.int64), axis=1)
    return ordered[:, 0] * documents + ordered[:, 1]


def closure(labels: np.ndarray) -> np.ndarray | None:
    """The codes of all pairs inside the clusters; None if they are too many."""
    order = np.argsort(labels, kind="stable")
    ordered = labels[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    sizes = np.diff(np.r_[starts, len(labels)])
    if (sizes.astype(float) * (sizes - 1) / 2).sum() > LIMIT:
        return None
    parts = [np.zeros(0, dtype=np.int64)]
    for size in np.unique(sizes[sizes > 1]):
        members = np.sort(order[starts[sizes == size][:, None] + np.arange(size)], axis=1)
        left, right = np.triu_indices(size, 1)
        parts.append((members[:, left] * len(labels) + members[:, right]).ravel())
    return np.concatenate(parts)


def judge(found: dict[str, np.ndarray], true: np.ndarray, documents: int) -> dict[str, dict[str, Any]]:
    """The scores of what a tool found: `pairs` (n, 2), `labels` and `flags`, each where it has them."""
    scores: dict[str, Score] = {}
    if "pairs" in found:
        scores["pair"] = score(codes(found["pairs"], documents), codes(true, documents))
    if "labels" in found:
        mine = closure(found["labels"])
        theirs = closure(clusters_from_pairs(documents, true))
        if mine is not None and theirs is not None:
            scores["closure"] = score(mine, theirs)
    if "flags" in found:
        scores["document"] = score(np.flatnonzero(found["flags"]), np.unique(true))
    return {name: {key: round(value, 6) for key, value in asdict(s).items()} for name, s in scores.items()}


def load(path: Path) -> dict[str, np.ndarray]:
    """The arrays that a worker stored."""
    with np.load(path) as stored:
        return dict(stored)
