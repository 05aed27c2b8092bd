"""An evaluation run: methods on documents and labels, with all their scores."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from neardup.columns import Numbers
from neardup.engines.core.decide import Decisions
from neardup.engines.core.progress import Progress, peak_memory
from neardup.engines.local.run import LocalRun
from neardup.errors import ParameterError
from neardup.evaluate import comparison
from neardup.evaluate.clusterings import score_clustering
from neardup.evaluate.corpus import Documents, MeasuredCost, find_candidates, run_plan
from neardup.evaluate.goals import Goal, find_best
from neardup.evaluate.intervals import interval, intervals, judged_precision, resample
from neardup.evaluate.labels import Truth
from neardup.evaluate.removals import by_cluster, found_clusters, sampling_units, sum_up
from neardup.evaluate.results import Evaluation, MethodComparison, MethodResult
from neardup.evaluate.scores import Floats, ScoredPairs, make_curve, pearson, score_clusters, score_pairs
from neardup.evaluate.settings import Replay
from neardup.evaluate.similarities import (
    Similarities,
    cache_key,
    candidate_recall,
    is_candidate,
    promises_recall,
    similarities,
)
from neardup.evaluate.specs import Spec
from neardup.evaluate.splits import OFFSETS, SplitScores, score_splits
from neardup.plan import Plan
from neardup.plurals import counted
from neardup.statistics import Statistics


@dataclass(frozen=True)
class Protocol:
    """Options of an evaluation: goal, splits, bootstrap, statistics."""

    goal: Goal = field(default_factory=Goal)
    splits: int = 5  # repeats of halving the clusters; 0: none
    bootstrap: int = 200  # samples of clusters; 0: no intervals
    seed: int = 1
    confidence: float = 0.95
    threads: int = 1
    work_dir: str | os.PathLike[str] | None = None
    statistics: Statistics | None = None  # frozen document frequencies, for methods that need them
    df_unit: str | None = None  # unit of document frequency; None: that of the method

    def __post_init__(self) -> None:
        for name in ("splits", "bootstrap", "seed"):
            if getattr(self, name) < 0:
                raise ParameterError(name, "evaluate", "a whole number of at least 0", getattr(self, name))
        if not 0 < self.confidence < 1:
            raise ParameterError("confidence", "evaluate", "above 0 and below 1", self.confidence)


@dataclass
class Bench:
    """Documents and labels with a cache of similarities: a sweep computes those of each view once."""

    documents: Documents
    truth: Truth
    protocol: Protocol
    progress: Progress = field(default_factory=Progress)
    cache: dict[str, Similarities] = field(default_factory=dict)
    times: Floats | None = (
        None  # of the documents: choices are made on earlier clusters and scored on later ones
    )

    def evaluate(self, name: str, plan: Plan) -> MethodResult:
        """Runs a method and scores it."""
        return self.replayed(name, plan)[0]

    def replayed(self, name: str, plan: Plan) -> tuple[MethodResult, Replay | None]:
        """The scores of a method, and its clusters at other thresholds; None if its threshold is not a similarity."""
        protocol = self.protocol
        plan = self._counted(plan)
        work = (self.documents, protocol.threads, protocol.work_dir, self.progress, protocol.statistics)
        matches, packed = find_candidates(plan, *work)
        run, measured = run_plan(plan, *work)
        try:
            with self.progress.stage("compare all pairs"):
                scored = self._similarities(plan, run, matches)
        finally:
            run.corpus.work.close()
        candidates = is_candidate(matches, packed, scored.left, scored.right)
        found = scored.take(candidates)
        every = scored if promises_recall(plan) else found
        result = self.score(name, plan, every, found)
        clustering = outcome = replay = None
        if self.truth.clusters is not None:
            clustering = score_clustering(self.truth.clusters, found_clusters(run.decisions))
            outcome = sum_up(by_cluster(self.truth, sampling_units(self.truth), run.decisions))
            if plan.check.level != "none":
                replay = Replay.of(plan, run.corpus, matches.representative, every)
        recall = candidate_recall(plan, scored, candidates)
        result = replace(
            result, clustering=clustering, outcome=outcome, candidate_recall=recall, measured=measured
        )
        return result, replay

    def run(self, plan: Plan) -> tuple[Decisions, MeasuredCost]:
        """The decisions of the run that `dedup` would do, and its cost."""
        protocol, plan = self.protocol, self._counted(plan)
        work = (protocol.threads, protocol.work_dir, self.progress, protocol.statistics)
        run, measured = run_plan(plan, self.documents, *work)
        run.corpus.work.close()
        return run.decisions, measured

    def _counted(self, plan: Plan) -> Plan:
        """The plan with the unit of document frequency that was asked for."""
        unit = self.protocol.df_unit
        return plan.with_(df_unit=unit) if unit is not None and plan.counts else plan

    def _similarities(self, plan: Plan, run: LocalRun, matches: Any) -> Similarities:
        key = cache_key(plan, self.truth)
        if key is None or key not in self.cache:
            scored = similarities(plan, run.corpus, matches, self.truth, self.protocol.threads)
            if key is None:
                return scored
            self.cache[key] = scored
        return self.cache[key]

    def score(
        self, name: str, plan: Plan | None, scored: Similarities, candidates: Similarities | None = None
    ) -> MethodResult:
        """The scores of a method's similarities; at its own threshold, of its candidates alone."""
        truth, protocol = self.truth, self.protocol
        pairs = score_pairs(truth, scored.left, scored.right, scored.score)
        found = pairs
        if candidates is not None:
            found = score_pairs(truth, candidates.left, candidates.right, candidates.score)
        curve = make_curve(pairs)
        best = find_best(curve, protocol.goal, scored.least)
        threshold = plan.threshold if plan is not None else best.threshold if best is not None else 1.0
        counts = make_curve(found).at(threshold)
        with self.progress.stage("intervals and splits"):
            samples = self._samples(pairs, found, threshold)
            splits = self.split(pairs, scored.least)
        return MethodResult(
            name=name,
            plan=plan,
            threshold=threshold,
            least=scored.least,
            pairs=pairs,
            found=found,
            curve=curve,
            counts=counts,
            best=best,
            average_precision=curve.average_precision,
            pearson=pearson(pairs),
            separation=comparison.separation(pairs),
            sensitivity={offset: curve.at(threshold + offset).f1 for offset in OFFSETS},
            by_cluster=score_clusters(truth, found, threshold) if truth.clusters is not None else None,
            judged=_judged(truth, counts.true, counts.false_positives),
            intervals=intervals(samples, protocol.confidence),
            samples=samples,
            splits=splits,
        )

    def _samples(self, pairs: ScoredPairs, found: ScoredPairs, threshold: float) -> dict[str, Any]:
        """The scores of bootstrap samples, if requested."""
        protocol = self.protocol
        if not protocol.bootstrap:
            return {}
        return resample(self.truth, pairs, threshold, protocol.bootstrap, protocol.seed, found)

    def split(self, pairs: ScoredPairs, least: float, fixed: float | None = None) -> SplitScores | None:
        """The scores of held-out halves, if requested and possible; with `fixed`, at that threshold."""
        protocol = self.protocol
        if not protocol.splits or not can_split(self.truth):
            return None
        rules = protocol.goal, protocol.splits, protocol.seed
        return score_splits(self.truth, pairs, *rules, least, fixed, self.times)

    def compare(self, first: MethodResult, second: MethodResult) -> MethodComparison:
        """Compares the second method with the first."""
        both, decided = (
            comparison.align(first.pairs, second.pairs),
            comparison.align(first.found, second.found),
        )
        difference = None
        if first.samples and second.samples:
            difference = interval(second.samples["f1"] - first.samples["f1"], self.protocol.confidence)
        halves = (first.splits.f1, second.splits.f1) if first.splits and second.splits else None
        return MethodComparison(
            first=first.name,
            second=second.name,
            f1_difference=second.counts.f1 - first.counts.f1,
            f1_interval=difference,
            correlation=comparison.correlation(both),
            earth_movers_distance=comparison.earth_movers_distance(
                first.pairs.score, first.pairs.total, second.pairs.score, second.pairs.total
            ),
            mcnemar=comparison.mcnemar(decided, first.threshold, second.threshold),
            chi_square=comparison.chi_square(first.counts, second.counts),
            t_test=comparison.paired_t_test(*halves) if halves else None,
            corrected_t_test=comparison.corrected_t_test(*halves) if halves else None,
        )


def evaluate(
    documents: Documents,
    truth: Truth,
    methods: Sequence[Spec | Plan],
    protocol: Protocol | None = None,
    progress: Progress | None = None,
    scores: Mapping[str, tuple[Numbers, Numbers, Any]] | None = None,
) -> Evaluation:
    """Evaluates every method on the same documents and labels; `scores` are those of other tools, by name."""
    start = time.perf_counter()
    bench = Bench(documents, truth, protocol or Protocol(), progress or Progress())
    if not methods and not scores:
        raise ParameterError("methods", "evaluate", "at least one method", list(methods))
    results = [bench.evaluate(*_named(method)) for method in methods]
    for name, (left, right, values) in (scores or {}).items():
        results.append(bench.score(name, None, Similarities(left, right, values)))
    comparisons = [bench.compare(results[0], other) for other in results[1:]]
    seconds = time.perf_counter() - start
    notes = _notes(bench, results)
    goal, memory = bench.protocol.goal, peak_memory()
    return Evaluation(len(documents), truth, goal, results, comparisons, notes, seconds, memory)


def _named(method: Spec | Plan) -> tuple[str, Plan]:
    if isinstance(method, Spec):
        return method.name, method.plan
    return f"{method.method} {method.digest[:6]}", method


def can_split(truth: Truth) -> bool:
    """Whether at least two clusters (or components of judged pairs) have near-duplicates."""
    if truth.clusters is not None:
        return int((truth.sizes > 1).sum()) > 1
    assert truth.left is not None and truth.judged is not None
    return len(np.unique(truth.units[truth.left[truth.judged]])) > 1


def _judged(truth: Truth, right: float, wrong: float) -> Any:
    if truth.clusters is not None or right + wrong == 0:
        return None
    return judged_precision(int(right), int(wrong), truth.unclear)


def _notes(bench: Bench, results: Sequence[MethodResult]) -> list[str]:
    """Notes on excluded documents and unknown scores."""
    truth, n = bench.truth, len(bench.documents)
    notes = list(truth.notes)
    labelled = int((truth.units >= 0).sum())
    if labelled < n:
        notes.append(f"{n - labelled:,} of {counted(n, 'document')} excluded: no label, or irrelevant")
    if truth.unclear:
        notes.append(f"{counted(truth.unclear, 'pair')} excluded: unclear")
    if truth.excluded:
        notes.append(f"{counted(truth.excluded, 'pair')} excluded: irrelevant, broken or in another language")
    if bench.protocol.splits and not can_split(truth):
        notes.append("no held-out F1: only one cluster has near-duplicates")
    for result in results:
        if result.plan is not None and not promises_recall(result.plan):
            notes.append(
                f"{result.name}: pairs that are not candidates have the score 0 at any threshold, because its "
                "candidates have no recall target"
            )
        if result.least > 0:
            notes.append(f"{result.name}: similarities below {result.least:.3f} are unknown and count as 0")
    return notes
