"""The results of an evaluation: scores, intervals, comparisons and costs of each method."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any

import numpy as np

from neardup.evaluate.clusterings import ClusteringScores
from neardup.evaluate.comparison import SignificanceTest
from neardup.evaluate.corpus import MeasuredCost
from neardup.evaluate.goals import Best, Goal
from neardup.evaluate.intervals import Interval, JudgedPrecision
from neardup.evaluate.labels import Truth
from neardup.evaluate.removals import OutcomeScores
from neardup.evaluate.scores import ClusterScores, Curve, Floats, PairCounts, ScoredPairs
from neardup.evaluate.similarities import CandidateRecall
from neardup.evaluate.splits import SplitScores
from neardup.plan import Plan


@dataclass(frozen=True)
class MethodResult:
    """The scores of a method with its options."""

    name: str
    plan: Plan | None  # None: another tool's scores
    threshold: float  # the plan's, or without a plan the best
    least: float  # lower scores are unknown and count as 0
    pairs: ScoredPairs  # all
    found: ScoredPairs  # the candidates among them
    curve: Curve  # of `pairs`, at all thresholds
    counts: PairCounts  # of `found`, at the threshold
    best: Best | None  # for the goal; None: not reached
    average_precision: float
    pearson: float
    separation: float
    sensitivity: dict[float, float]  # F1 by offset of the threshold
    by_cluster: ClusterScores | None = None
    clustering: ClusteringScores | None = None  # of the clusters of `dedup`
    outcome: OutcomeScores | None = None  # of its clusters and removals
    judged: JudgedPrecision | None = None  # of found pairs, if the labels are judged pairs
    intervals: dict[str, Interval] = field(default_factory=dict)
    samples: dict[str, Floats] = field(default_factory=dict)  # scores of the bootstrap samples
    splits: SplitScores | None = None
    candidate_recall: CandidateRecall | None = None
    measured: MeasuredCost | None = None

    def as_dict(self, cluster_names: tuple[str, ...] = ()) -> dict[str, Any]:
        """Plain values, without pairs and samples; NaN becomes None."""
        best = None
        if self.best is not None:
            bounds = {"above": self.best.above, "upto": self.best.upto}
            best = {"threshold": self.best.threshold, **bounds, **self.best.counts.as_dict()}
        recall = None
        if self.candidate_recall is not None:
            recall = {**asdict(self.candidate_recall), "recall": self.candidate_recall.recall}
        return plain({
            "name": self.name,
            "threshold": self.threshold,
            "complete_from": self.least,
            **self.counts.as_dict(),
            "macro": self.by_cluster.macro if self.by_cluster else None,
            "best": best,
            "average_precision": self.average_precision,
            "pearson": self.pearson,
            "separation": self.separation,
            "f1_around_threshold": {f"{offset:+g}": f1 for offset, f1 in self.sensitivity.items()},
            "clustering": self.clustering.as_dict() if self.clustering else None,
            "outcome": self.outcome.as_dict() if self.outcome else None,
            "judged": self.judged,
            "intervals": {name: asdict(value) for name, value in self.intervals.items()},
            "splits": self.splits.as_dict() if self.splits else None,
            "candidate_recall": recall,
            "cost": self.measured,
            "clusters": self._clusters(cluster_names),
            "plan": self.plan.to_dict() if self.plan else None,
        })  # fmt: skip

    def _clusters(self, names: tuple[str, ...]) -> list[dict[str, Any]] | None:
        """The scores of each cluster, worst first."""
        one = self.by_cluster
        if one is None:
            return None
        rows = [
            {
                "cluster": names[number] if number < len(names) else number,
                "documents": one.documents[k],
                "precision": one.precision[k],
                "recall": one.recall[k],
                "f1": one.f1[k],
            }
            for k, number in enumerate(one.cluster.tolist())
        ]
        return sorted(rows, key=lambda row: float(row["f1"]))


@dataclass(frozen=True)
class MethodComparison:
    """A method compared with the first one."""

    first: str
    second: str
    f1_difference: float  # second − first, at their thresholds
    f1_interval: Interval | None  # of the difference, by bootstrap
    correlation: float  # of the scores
    earth_movers_distance: float  # between the distributions of scores
    mcnemar: SignificanceTest
    chi_square: SignificanceTest
    t_test: SignificanceTest | None  # of F1 on held-out halves
    corrected_t_test: SignificanceTest | None


@dataclass(frozen=True)
class Evaluation:
    """The results of all methods on the same documents and labels."""

    documents: int
    truth: Truth
    goal: Goal
    results: list[MethodResult]
    comparisons: list[MethodComparison]
    notes: list[str]
    seconds: float
    peak_memory: int  # bytes, of the process so far

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        truth = self.truth
        clusters = None if truth.clusters is None else int((truth.sizes > 0).sum())
        labelled = int((truth.units >= 0).sum())
        return plain({
            "documents": self.documents,
            "labels": {
                "documents": labelled,
                "clusters": clusters,
                "pairs": truth.total,
                "positive_pairs": truth.positives,
                "unclear": truth.unclear,
                "excluded": truth.excluded,
                "agreement": truth.agreement,
                "document_agreement": truth.document_agreement,
            },
            "goal": str(self.goal),
            "methods": [result.as_dict(truth.names) for result in self.results],
            "comparisons": self.comparisons,
            "notes": self.notes,
            "seconds": self.seconds,
            "peak_memory": self.peak_memory,
        })  # fmt: skip


def plain(value: Any) -> Any:
    """The value in types of JSON; NaN and infinity become None."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) > 1 else value
    return value
