"""Scores of what people get: the clusters and removals of a run, against labelled clusters.

All scores are sums over labelled clusters, so that those of one half of the clusters, or of a bootstrap sample of
them, follow from one table without another run. A pair of documents of two clusters counts half for either.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from neardup.columns import Numbers
from neardup.engines.core.decide import Decisions
from neardup.evaluate.labels import Mask, Truth, pack_pairs
from neardup.evaluate.scores import Floats
from neardup.evaluate.times import BLOCKS

COLUMNS = ("documents", "clusters", "lost", "removed", "wrong", "found", "true", "positives")
SINGLES = 64  # groups that labelled clusters of one document are put into: one row each would be too many


@dataclass(frozen=True)
class OutcomeScores:
    """The clusters and removals of a run over labelled documents."""

    documents: float
    clusters: float  # labelled ones
    lost: float  # of them without a document that is kept
    removed: float  # documents whose removal the labels can judge
    wrong: float  # of them removed as duplicates of a document of another labelled cluster
    found: float  # pairs of documents in one found cluster, twice
    true: float  # of them in one labelled cluster
    positives: float  # pairs of documents in one labelled cluster, twice

    @property
    def wrong_share(self) -> float:
        """The share of removals that point to another labelled cluster; 0 without removals."""
        return self.wrong / self.removed if self.removed else 0.0

    @property
    def duplicates_removed(self) -> float:
        """The rightly removed share of all duplicates: of each labelled cluster all documents but one."""
        duplicates = self.documents - self.clusters
        return (self.removed - self.wrong) / duplicates if duplicates else float("nan")

    @property
    def precision(self) -> float:
        """The share of pairs inside found clusters that are near-duplicates."""
        return self.true / self.found if self.found else float("nan")

    @property
    def recall(self) -> float:
        """The share of near-duplicates that are inside found clusters."""
        return self.true / self.positives if self.positives else float("nan")

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall of pairs inside clusters."""
        both = self.found + self.positives
        return 2 * self.true / both if both else float("nan")

    def as_dict(self) -> dict[str, Any]:
        """Scores and counts, as plain values."""
        names = ("precision", "recall", "f1", "wrong_share", "duplicates_removed")
        counts = asdict(self)
        pairs = {name: counts.pop(name) / 2 for name in ("found", "true", "positives")}
        return {
            **counts,
            **{f"{name}_pairs": value for name, value in pairs.items()},
            **{name: getattr(self, name) for name in names},
        }


def sum_up(table: Floats, weights: Floats | None = None) -> OutcomeScores:
    """The scores of a table of COLUMNS by labelled cluster; each cluster counts as often as its weight says."""
    sums = table.sum(axis=1) if weights is None else table @ weights
    return OutcomeScores(*map(float, sums))


def by_cluster(truth: Truth, units: Numbers, decisions: Decisions) -> Floats:
    """A table of COLUMNS by labelled cluster (or group of single documents, see `sampling_units`)."""
    assert truth.clusters is not None
    known = truth.clusters >= 0
    found = found_clusters(decisions)
    together, right = _pairs_of_documents(truth, found)
    removed, wrong = _removals(truth, decisions)
    members = truth.sizes[np.where(known, truth.clusters, 0)]
    first = np.zeros(len(known), np.bool_)
    first[np.unique(truth.clusters, return_index=True)[1]] = True
    kept = np.bincount(truth.clusters[known & decisions.kept], minlength=len(truth.sizes))
    gone = kept[np.where(known, truth.clusters, 0)] == 0
    columns = (known, first, first & gone, removed, wrong, together, right, members - 1)
    count = int(units.max(initial=-1)) + 1
    return np.stack(
        [
            np.bincount(units[known], weights=column[known].astype(np.float64), minlength=count)
            for column in columns
        ]
    )


def sampling_units(truth: Truth, blocks: Numbers | None = None) -> Numbers:
    """For each document the row of its labelled cluster; single documents share SINGLES rows, -1: no label.

    With the block of time of each cluster, every such row is one of each block: see `SettingTables.without_time`.
    """
    assert truth.clusters is not None
    known = truth.clusters >= 0
    several = np.flatnonzero(truth.sizes > 1)
    row = np.full(len(truth.sizes), -1, np.int64)
    row[several] = np.arange(len(several))
    alone = np.flatnonzero(truth.sizes == 1)
    share = np.arange(len(alone)) % SINGLES
    row[alone] = len(several) + (share if blocks is None else share * BLOCKS + blocks[alone])
    return np.where(known, row[np.where(known, truth.clusters, 0)], -1)


def blocks_of_units(truth: Truth, units: Numbers, blocks: Numbers | None) -> Numbers | None:
    """The block of time of each row of `sampling_units`, BLOCKS of an empty one; None if the times are not known."""
    if blocks is None:
        return None
    known = units >= 0
    found = np.full(int(units.max(initial=-1)) + 1, BLOCKS)
    found[units[known]] = blocks[truth.units[known]]
    return found


def found_clusters(decisions: Decisions) -> Numbers:
    """The cluster of each document; a document in no cluster has its own."""
    labels = np.arange(len(decisions.kept), dtype=np.int64)
    labels[decisions.documents] = decisions.cluster
    return labels


def _removals(truth: Truth, decisions: Decisions) -> tuple[Mask, Mask]:
    """Which documents are removed, as far as the labels can judge it, and which of them wrongly."""
    n = len(decisions.kept)
    removed, wrong = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    gone = np.flatnonzero(decisions.duplicate_of >= 0)
    document, other = decisions.documents[gone], decisions.duplicate_of[gone]
    judged = truth.labelled(document, other)
    removed[document[judged]] = True
    wrong[document[judged & ~truth.positive(document, other)]] = True
    return removed, wrong


def _pairs_of_documents(truth: Truth, found: Numbers) -> tuple[Numbers, Numbers]:
    """For each document how many labelled ones share its found cluster, and how many of them its label."""
    assert truth.clusters is not None
    known = np.flatnonzero(truth.clusters >= 0)
    label, group = truth.clusters[known], found[known]
    size = np.bincount(group, minlength=len(found))
    cell, place, both = np.unique(pack_pairs(label, group), return_inverse=True, return_counts=True)
    together, right = np.zeros(len(found), np.int64), np.zeros(len(found), np.int64)
    together[known] = size[group] - 1 - _undecided(truth, cell, both)[place]
    right[known] = both[place] - 1
    return together, right


def _undecided(truth: Truth, cell: Numbers, count: Numbers) -> Numbers:
    """For each cell of label and found cluster how many documents there have a label that is undecided with its own."""
    found = np.zeros(len(cell), np.int64)
    if not len(truth.undecided):
        return found
    a, b = truth.undecided >> 32, truth.undecided & 0xFFFFFFFF
    mine, theirs = np.concatenate([a, b]), np.concatenate([b, a])
    label = cell >> 32  # cells are in order of label
    first = np.searchsorted(label, mine)
    cells = np.searchsorted(label, mine, side="right") - first
    here = np.repeat(first - np.cumsum(cells) + cells, cells) + np.arange(cells.sum())
    asked = pack_pairs(np.repeat(theirs, cells), cell[here] & 0xFFFFFFFF)
    place = np.minimum(np.searchsorted(cell, asked), len(cell) - 1)
    np.add.at(found, here, np.where(cell[place] == asked, count[place], 0))
    return found
