"""Counts of a run as the report that is written: the same keys for every engine."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import neardup
from neardup.candidates.buckets import BucketCounts
from neardup.columns import Numbers
from neardup.documents import Problems
from neardup.engines.core.decide import Floats, Outcome
from neardup.engines.core.expected_share import ExpectedShare
from neardup.engines.core.guard import warnings
from neardup.engines.core.identity import id_digests
from neardup.engines.core.progress import Progress, peak_memory
from neardup.engines.core.tables import by_person
from neardup.plan import Plan
from neardup.sorted_sets import count_distinct

if TYPE_CHECKING:
    from neardup.candidates.decided import Decided

LARGEST = 10  # clusters that the report lists
SOURCES = 100  # inputs whose documents the report counts
APART = 0.1  # of the threshold: documents that share less share nearly nothing


@dataclass(frozen=True)
class RemovalCounts:
    """What removals rest on: an exact copy, evidence of their own, a chain of pairs, the cluster, an empty text, or a
    candidate pair that nothing verified."""

    copies: int = 0
    direct: int = 0
    by_chain: int = 0
    by_cluster: int = 0
    lowest_similarity: float | None = None
    kept_without_direct_evidence: int = 0  # with --direct-only: these are no removals
    empty: int = 0  # without a token
    unverified: int = 0  # of --verify none
    lowest: dict[str, Any] | None = (
        None  # the removal of the least similarity: cluster, similarity, documents
    )
    apart: int = 0  # documents that share nearly nothing with the best document of their cluster …
    lowest_apart: dict[str, Any] | None = None  # … and the one that shares least, in the form of `lowest`
    removed_by_leaders: int | None = None  # with components: the documents that leaders would remove
    by_person: int = 0  # on the word of a person alone


@dataclass(frozen=True)
class RunCounts:
    """What a run counted; None where an engine cannot know it."""

    documents: int
    removed: int
    without_tokens: int
    without_features: int | None
    exact_copies: int
    clusters: int
    largest_clusters: list[dict[str, Any]]
    verified_pairs: int
    candidates: int
    compared_for_clusters: int
    text_bytes: int
    removals: RemovalCounts = field(default_factory=RemovalCounts)
    large_components: int = 0  # that leaders clustered, because they were too large to be linked
    buckets: BucketCounts = field(default_factory=BucketCounts)
    posting_lists_truncated: int = 0
    pairs_already_in_one_cluster: int | None = 0
    against: dict[str, Any] | None = None  # what references have of the documents
    sources: list[dict[str, Any]] | None = None  # documents and removals of each input
    people: dict[str, Any] | None = None  # what decisions of people changed


@dataclass(frozen=True)
class RunContext:
    """How and on what a run ran."""

    engine: str
    progress: Progress
    inputs: list[str]
    html_text: str
    problems: dict[str, Any]
    run: str | None = None  # the digest of plan, columns and inputs, where the run can be resumed
    memory_budget: int | None = None
    threads: int | None = None
    lowest_rethreshold: float | None = None
    common_phrases: dict[str, Any] | None = None
    expected: ExpectedShare | None = None  # of removed documents
    outside_article: dict[str, Any] | None = None  # the share of visible text of pages, from a sample
    compare: tuple[str, ...] | None = (
        None  # options of `neardup compare` for these documents; None: not possible
    )
    command: tuple[str, ...] | None = None  # the words that repeat the run, without its output
    config: str | None = None  # the file that options were taken from


def make_report(plan: Plan, counts: RunCounts, context: RunContext, files: list[str]) -> dict[str, Any]:
    """Counts, sizes, times, and everything needed to run again."""
    buckets, common = counts.buckets, context.common_phrases
    return {
        "neardup": neardup.__version__,
        "engine": context.engine,
        "digest": plan.digest,
        "run": context.run,
        "config": context.config,
        "documents": counts.documents,
        "kept": counts.documents - counts.removed,
        "removed": counts.removed,
        "removals": asdict(counts.removals),
        **({} if counts.against is None else {"against": counts.against}),
        **({} if counts.people is None else {"decisions": counts.people}),
        "warnings": warnings(plan, counts, context.compare, context.expected),
        "without_tokens": counts.without_tokens,
        "without_features": counts.without_features,
        "exact_copies": counts.exact_copies,
        "clusters": counts.clusters,
        "large_components": counts.large_components,
        "largest_clusters": counts.largest_clusters,
        "pairs": {
            "verified": counts.verified_pairs,
            "candidates": counts.candidates,
            "compared_for_clusters": counts.compared_for_clusters,
        },
        "recall_at_threshold": _found(plan),
        **_signatures(plan),
        "lowest_rethreshold": None
        if context.lowest_rethreshold is None
        else round(context.lowest_rethreshold, 6),
        "buckets": {
            "count": buckets.buckets,
            "largest": buckets.largest,
            "above_limit": buckets.hot,
            "pairs_skipped": buckets.skipped,
            "posting_lists_truncated": counts.posting_lists_truncated,
            "pairs_already_in_one_cluster": counts.pairs_already_in_one_cluster,
        },
        **({} if common is None else {"common_phrases": common}),
        "html_text": context.html_text,
        "outside_article": context.outside_article,
        "text_bytes": counts.text_bytes,
        "problems": context.problems,
        "seconds": {name: round(value, 3) for name, value in context.progress.seconds.items()},
        "cpu_seconds": {name: round(value, 3) for name, value in context.progress.cpu.items()},
        "peak_memory_bytes": peak_memory(),
        "peak_memory_by_stage": dict(context.progress.memory),
        "memory_budget_bytes": context.memory_budget,
        "threads": context.threads,
        "python": platform.python_version(),
        "inputs": context.inputs,
        "sources": counts.sources,
        "compare": None if context.compare is None else list(context.compare),
        "command": None if context.command is None else list(context.command),
        "files": files,
        "plan": plan.to_dict(),
    }


def _curve(plan: Plan) -> Decided | None:
    """The curve of signatures that decide; None for a plan that compares features."""
    if plan.check.level != "signatures":
        return None
    from neardup.candidates.decided import decided_curve

    return decided_curve(plan)


def _found(plan: Plan) -> float | None:
    curve = _curve(plan)
    found = plan.found(plan.threshold) if curve is None else curve.candidate(plan.threshold)
    return None if found is None else round(found, 6)


def _signatures(plan: Plan) -> dict[str, Any]:
    """The curve of signatures that decide: what becomes of pairs at the threshold and two errors to either side."""
    curve = _curve(plan)
    if curve is None:
        return {}
    error = curve.error(plan.threshold)
    near = (max(0.0, plan.threshold - 2 * error), plan.threshold, min(1.0, plan.threshold + 2 * error))
    rows = [{name: round(value, 6) for name, value in row.items()} for row in curve.rows(list(near))]
    return {"signatures": {"bytes": curve.bytes, "standard_error": round(error, 6), "curve": rows}}


def count_sources(names: list[str], source: Numbers, removed: Numbers) -> list[dict[str, Any]]:
    """Documents and removals of the inputs with most documents, in the order of the input."""
    documents = np.bincount(source, minlength=len(names))
    gone = np.bincount(source[removed], minlength=len(names))
    most = np.sort(np.argsort(-documents, kind="stable")[:SOURCES])
    return [{"name": names[k], "documents": int(documents[k]), "removed": int(gone[k])} for k in most]


def problem_counts(problems: Problems) -> dict[str, Any]:
    """Problems of the input: their number, their counts by kind, and the first."""
    return {
        "total": problems.total,
        "counts": problems.counts,
        "first": [problem.as_dict() for problem in problems.first],
    }


def count_removals(outcome: Outcome) -> RemovalCounts:
    """What the removals of the decisions rest on."""
    plan, decisions, by_leaders = outcome.plan, outcome.decisions, outcome.decisions.removed_by_leaders
    removed, copy, found = decisions.duplicate_of >= 0, decisions.copies, outcome.decisions.referenced
    similarity = decisions.similarity[removed]
    personal = by_person(decisions)
    indirect = int((removed & ~decisions.direct & ~personal).sum())
    own = int((removed & decisions.direct & ~copy).sum())
    unverified = own if plan.check.level == "none" else 0
    lowest = _least(similarity)
    if found is not None and len(found.documents):
        lowest = min((v for v in (lowest, _least(found.similarity)) if v is not None), default=None)
    beside = (0, 0) if found is None else (found.copies, len(found.documents) - found.copies)
    apart, lowest_apart = documents_apart(outcome)
    return RemovalCounts(
        int(copy.sum()) + beside[0],
        own - unverified + beside[1],
        by_chain=0 if plan.clustering.links else indirect,
        by_cluster=indirect if plan.clustering.links else 0,
        lowest_similarity=lowest,
        kept_without_direct_evidence=decisions.spared,
        empty=len(decisions.empty),
        removed_by_leaders=None if by_leaders is None else by_leaders + len(decisions.empty),
        unverified=unverified,
        lowest=lowest_of([lowest_removal(outcome)]),
        apart=apart,
        lowest_apart=lowest_of([lowest_apart]),
        by_person=int(personal.sum()),
    )


def lowest_removal(outcome: Outcome) -> dict[str, Any] | None:
    """The removal of the least similarity, ties by id hash; None if no similarity was measured."""
    decisions = outcome.decisions
    return _lowest_pair(outcome, decisions.similarity, decisions.duplicate_of)


def documents_apart(outcome: Outcome) -> tuple[int, dict[str, Any] | None]:
    """How many documents share nearly nothing with the best document of their cluster; and the lowest of them."""
    plan, decisions = outcome.plan, outcome.decisions
    if plan.keep.policy == "none":  # every document goes for a near-duplicate of its own
        return 0, None
    far = decisions.to_leader < APART * plan.threshold  # not where it is NaN
    similarity = np.where(far, decisions.to_leader, np.nan)
    return int(far.sum()), _lowest_pair(outcome, similarity, decisions.leader)


def _lowest_pair(outcome: Outcome, similarity: Floats, others: Numbers) -> dict[str, Any] | None:
    """The member with the least similarity to the document beside it, ties by id hash."""
    decisions, ids = outcome.decisions, outcome.documents.ids
    if np.isnan(similarity).all():
        return None
    hashes = outcome.documents.id_hashes[decisions.documents]
    place = int(np.lexsort((hashes, similarity))[0])  # NaN comes last
    return {
        "cluster": ids[int(decisions.cluster[place])].as_py(),
        "similarity": float(similarity[place]),
        "documents": [ids[int(one)].as_py() for one in (decisions.documents[place], others[place])],
    }


def lowest_of(found: Iterable[dict[str, Any] | None]) -> dict[str, Any] | None:
    """The lowest of such pairs, each of a part of the documents, as the report shows it."""
    known = [one for one in found if one is not None]
    if not known:
        return None
    hashes = id_digests(pa.array([one["documents"][0] for one in known]))[:, 0]
    first = known[int(np.lexsort((hashes, [one["similarity"] for one in known]))[0])]
    return {**first, "similarity": _rounded(first["similarity"])}


def _least(similarity: Floats) -> float | None:
    return None if not len(similarity) or np.isnan(similarity).all() else _rounded(np.nanmin(similarity))


def count_clusters(outcome: Outcome) -> int:
    """How many clusters the decisions have."""
    decisions = outcome.decisions
    return count_distinct(decisions.cluster[decisions.size > 1])  # a person may have left a document alone


def largest_clusters(outcome: Outcome, most: int = LARGEST) -> list[dict[str, Any]]:
    """The largest clusters: name, leader, size, distinct texts, weakest link or merge height, bridges, and the removed
    document that is least similar to what it duplicates."""
    decisions, documents = outcome.decisions, outcome.documents
    first = np.flatnonzero((decisions.documents == decisions.leader) & (decisions.size > 1))
    names = decisions.cluster[first]
    order = first[np.lexsort((documents.id_hashes[names], -decisions.size[first]))[:most]]
    labels = np.arange(len(documents))
    labels[decisions.documents] = decisions.cluster
    left, right = (labels[side[decisions.bridge]] for side in (decisions.pairs.left, decisions.pairs.right))
    bridged = np.bincount(left[left == right], minlength=len(documents))  # a pair may link two clusters
    return [
        {
            "cluster": documents.ids[int(decisions.cluster[k])].as_py(),
            "leader": documents.ids[int(decisions.leader[k])].as_py(),
            "size": int(decisions.size[k]),
            "texts": len(np.unique(decisions.representative[_members(outcome, k)])),
            outcome.plan.clustering.height: _rounded(decisions.weakest_link[k]),
            "bridges": int(bridged[decisions.cluster[k]]),
            "lowest": _lowest(outcome, k),
        }
        for k in order
    ]


def _members(outcome: Outcome, k: int) -> Numbers:
    """The documents of the cluster whose first one is at this place."""
    decisions = outcome.decisions
    return decisions.documents[k : k + int(decisions.size[k])]


def _lowest(outcome: Outcome, k: int) -> dict[str, Any] | None:
    """The removed document of a cluster that is least similar to what it duplicates; None if nothing is measured."""
    decisions, ids = outcome.decisions, outcome.documents.ids
    similarity = decisions.similarity[k : k + int(decisions.size[k])]
    if np.isnan(similarity).all():
        return None
    place = k + int(np.nanargmin(similarity))
    pair = (decisions.documents[place], decisions.duplicate_of[place])
    return {
        "similarity": _rounded(decisions.similarity[place]),
        "documents": [ids[int(one)].as_py() for one in pair],
    }


def _rounded(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)
