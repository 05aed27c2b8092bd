"""The worst errors of a method among all labelled pairs, including pairs that were no candidates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.candidates.buckets import Buckets
from neardup.columns import Numbers
from neardup.evaluate.corpus import Documents
from neardup.evaluate.labels import Truth, pack_pairs
from neardup.evaluate.results import MethodResult
from neardup.evaluate.scores import Floats, ScoredPairs
from neardup.evaluate.similarities import pairs_inside
from neardup.evaluate.worst_errors import WorstErrors, WorstPair, compare_worst, worst_errors
from neardup.plans import comparison_plan
from neardup.sorted_sets import run_starts

MOST_UNSCORED = 1 << 22  # pairs of score 0 that are listed


@dataclass(frozen=True)
class MethodErrors:
    """The worst errors of a method with their texts compared, and the number of errors of each kind."""

    name: str
    threshold: float
    pairs: list[WorstPair]
    errors: WorstErrors


def find_errors(documents: Documents, truth: Truth, result: MethodResult, most: int = 10) -> MethodErrors:
    """The `most` worst false positives and false negatives at the method's threshold."""
    left, right = unscored_positives(truth, result.pairs)
    scored = result.pairs
    columns = (
        np.concatenate([scored.left, left]),
        np.concatenate([scored.right, right]),
        np.concatenate([_effective_scores(result), np.zeros(len(left))]),
    )
    positive = np.concatenate([scored.positive, np.ones(len(left), np.bool_)])
    errors = worst_errors(*columns, positive, result.threshold, clusters=truth.clusters, most=most)

    def name(number: int) -> str:
        return str(documents.ids[number].as_py())

    def text(number: int) -> str:
        return str(documents.texts[number].as_py())

    def cluster(number: int) -> str:
        return name(number) if truth.clusters is None else truth.names[truth.clusters[number]]

    plan = comparison_plan(result.plan)
    pairs = compare_worst(errors, *columns, plan=plan, name=name, text=text, cluster=cluster)
    return MethodErrors(result.name, result.threshold, pairs, errors)


def _effective_scores(result: MethodResult) -> Floats:
    """The score of each pair; 0 if the candidates missed a pair that reaches the threshold."""
    pairs, found = result.pairs, result.found
    candidates = np.isin(pack_pairs(pairs.left, pairs.right), pack_pairs(found.left, found.right))
    return np.where((pairs.score >= result.threshold) & ~candidates, 0.0, pairs.score)


def unscored_positives(truth: Truth, pairs: ScoredPairs) -> tuple[Numbers, Numbers]:
    """Labelled near-duplicates without a score (at most a few million)."""
    if truth.clusters is None:
        assert truth.left is not None and truth.right is not None and truth.judged is not None
        left, right = truth.left[truth.judged], truth.right[truth.judged]
    else:
        left, right = _inside_clusters(truth.clusters)
    unscored = ~np.isin(pack_pairs(left, right), pack_pairs(pairs.left, pairs.right))
    return left[unscored], right[unscored]


def _inside_clusters(clusters: Numbers) -> tuple[Numbers, Numbers]:
    """All pairs of documents with the same label."""
    order = np.argsort(clusters, kind="stable")
    order = order[clusters[order] >= 0]
    return pairs_inside(Buckets(order, run_starts(clusters[order])), MOST_UNSCORED)
