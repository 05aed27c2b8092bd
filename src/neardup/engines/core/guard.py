"""Signs that a run removes what it should not, found before documents are written."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from neardup.engines.core.expected_share import ExpectedShare
from neardup.plan import Plan
from neardup.plurals import counted

if TYPE_CHECKING:
    from neardup.engines.core.report import RunCounts

LARGE_SHARE = 0.2  # of the distinct texts in one cluster …
LARGE_TEXTS = 100  # … if it has more than so many
ALIKE = 0.9  # similarity of the two least similar documents from which a cluster is no sign, however large
CHAINED_SHARE = 0.05  # of removals that rest on a chain of pairs …
CHAINED = 10  # … if they are more than so many
LOW_THRESHOLD = 0.3  # below it unrelated documents reach the threshold, and the guard is on unless refused


def is_guarded(plan: Plan, guard: bool | None, expected: ExpectedShare | None) -> bool:
    """Whether a run stops at a warning: as the user says, else at low thresholds and where a share is expected."""
    return plan.threshold < LOW_THRESHOLD or expected is not None if guard is None else guard


def warnings(
    plan: Plan, counts: RunCounts, inputs: Sequence[str], expected: ExpectedShare | None = None
) -> list[str]:
    """What looks wrong about the removals of a run, a sentence each, with the remedy."""
    return [
        *_large_clusters(plan, counts, inputs),
        *_chains(plan, counts),
        *_unexpected(counts, expected),
    ]


def _large_clusters(plan: Plan, counts: RunCounts, inputs: Sequence[str]) -> list[str]:
    texts = counts.documents - counts.exact_copies
    found = []
    for cluster in counts.largest_clusters:
        alike = cluster["lowest"] is not None and cluster["lowest"]["similarity"] >= ALIKE
        if alike or cluster["texts"] <= max(LARGE_TEXTS, LARGE_SHARE * texts):
            continue
        what = f"one cluster has {cluster['texts']:,} of {counted(texts, 'distinct text')}"
        found.append(f"{what}{_lowest(cluster, inputs)}: {_remedy(plan)}")
    return found


def _lowest(cluster: dict[str, Any], inputs: Sequence[str]) -> str:
    """The place of least similarity in a cluster, and the command that shows it."""
    lowest = cluster["lowest"]
    if lowest is None:
        return ""
    command = shlex.join(["neardup", "compare", *map(str, lowest["documents"]), "--in", *inputs[:1]])
    return f", down to a similarity of {lowest['similarity']:.3f} ({command} shows the two documents)"


def _chains(plan: Plan, counts: RunCounts) -> list[str]:
    chained = counts.removals.by_chain
    if chained <= max(CHAINED, CHAINED_SHARE * counts.removed):
        return []
    share = f"{counted(chained, 'removal')} of {counts.removed:,} rest on a chain of pairs"
    remedy = f"--clusters leaders removes {counts.removals.removed_by_leaders:,}, each for a document that it is near"
    return [f"{share}, below the threshold of {plan.threshold:g}: {remedy}"]


def _unexpected(counts: RunCounts, expected: ExpectedShare | None) -> list[str]:
    share = counts.removed / max(1, counts.documents)
    if expected is None or expected.low <= share <= expected.high:
        return []
    removed = f"{counts.removed:,} of {counted(counts.documents, 'document')} ({share:.1%})"
    return [
        f"{removed} would be removed where {expected} is expected: look at the largest clusters and at the pairs "
        "nearest to the threshold (neardup pairs), then correct the threshold or the expectation"
    ]


def _remedy(plan: Plan) -> str:
    if plan.clustering.kind == "components":
        return "--clusters leaders, a higher --threshold or another method keeps different texts apart"
    return "a higher --threshold or another method keeps different texts apart"
