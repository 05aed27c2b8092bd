"""The threshold and the clustering of a model, chosen by what people get: clusters and removals of held-out labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from neardup.engines.core.documents import DocumentTable
from neardup.engines.core.identity import hash_ids
from neardup.evaluate.choice import HeldOutChoices, SettingTables, choose_by_all, hold_out
from neardup.evaluate.goals import Goal, find_best
from neardup.evaluate.removals import OutcomeScores, blocks_of_units, by_cluster, sampling_units, sum_up
from neardup.evaluate.scores import PairCounts, ScoredPairs, make_curve
from neardup.evaluate.settings import CLUSTERINGS, Replay
from neardup.evaluate.similarities import Similarities
from neardup.evaluate.specs import Spec
from neardup.evaluate.times import blocks_of
from neardup.learn.training.data import LabelledDocuments
from neardup.plan import ClusterKind

Negative = Literal["clip", "keep"]
HALVINGS = 5  # of clusters without times: decisions are made on one half and scored on the other
THRESHOLDS = tuple(round(k * 0.02, 2) for k in range(48, 4, -1))  # the highest first


@dataclass(frozen=True)
class OperatingPoint:
    """What a model does with a score, and how well on held-out labels."""

    negative: Negative  # treatment of weights below zero
    threshold: float = 0.5
    clusters: ClusterKind = "average"
    counts: PairCounts | None = None  # of pairs at the threshold; None: no threshold reaches the goal
    outcome: OutcomeScores | None = None  # of clusters and removals; None: judged pairs
    safe: bool = True  # False: every threshold removes more wrongly than the goal allows
    expected: HeldOutChoices | None = None  # of decisions on clusters that did not choose them


def decide_by(data: LabelledDocuments, scores: Mapping[str, ScoredPairs], goal: Goal) -> OperatingPoint:
    """The decision that serves the goal best, by the scores of each treatment of weights below zero."""
    if data.truth.clusters is None:
        return _by_pairs(scores, goal)
    return _by_removals(data, scores, goal) or OperatingPoint(_treatments(scores)[0])


def _by_pairs(scores: Mapping[str, ScoredPairs], goal: Goal) -> OperatingPoint:
    """The best threshold for judged pairs; weights below zero are dropped unless keeping them is better."""
    best: dict[Any, Any] = {kind: find_best(make_curve(pairs), goal) for kind, pairs in scores.items()}
    value = {kind: -1.0 if one is None else one.counts.f1 for kind, one in best.items()}
    negative = max(_treatments(scores), key=lambda kind: value[kind])
    found = best[negative]
    if found is None:
        return OperatingPoint(negative)
    return OperatingPoint(negative, min(1.0, max(found.threshold, 1e-6)), counts=found.counts)


def _by_removals(
    data: LabelledDocuments, scores: Mapping[str, ScoredPairs], goal: Goal
) -> OperatingPoint | None:
    """The best threshold and clustering for labelled clusters, the simplest of those that are as good."""
    blocks = blocks_of(data.truth, data.times)
    units = sampling_units(data.truth, blocks)
    replays = {kind: replay_pairs(data, scores[kind]) for kind in _treatments(scores)}
    tried: list[Any] = [
        (kind, threshold, clusters)
        for kind in replays
        for clusters in CLUSTERINGS
        for threshold in THRESHOLDS
    ]
    tables = [
        by_cluster(data.truth, units, replays[kind].decide(threshold, clusters))
        for kind, threshold, clusters in tried
    ]
    several = np.arange(int(units.max(initial=-1)) + 1) < int((data.truth.sizes > 1).sum())
    settings = SettingTables(np.stack(tables), several, blocks_of_units(data.truth, units, blocks))
    found = choose_by_all(settings, goal)
    if found is None:
        return None
    kind, threshold, clusters = tried[found.number]
    counts = make_curve(scores[kind]).at(threshold)
    expected = hold_out(settings, goal, HALVINGS, 1)
    return OperatingPoint(
        kind, threshold, clusters, counts, sum_up(tables[found.number]), found.safe, expected
    )


def replay_pairs(data: LabelledDocuments, pairs: ScoredPairs) -> Replay:
    """The clusters of labelled documents at any threshold, from the scores of their pairs."""
    n = len(data)
    ids, hashes = hash_ids(pa.array(np.arange(n)), "error")
    documents = DocumentTable(ids, hashes, np.diff(data.entries.offsets), None)
    return Replay.of(
        Spec("andd").plan, documents, np.arange(n), Similarities(pairs.left, pairs.right, pairs.score)
    )


def _treatments(scores: Mapping[str, ScoredPairs]) -> list[Negative]:
    """The treatments of weights below zero that were scored, the simpler one (clip) first."""
    return [kind for kind in get_args(Negative) if kind in scores]
