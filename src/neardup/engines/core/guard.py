"""Signs that a run removes what it should not, found before documents are written."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from neardup.engines.core.expected_share import ExpectedShare
from neardup.errors import ParameterError
from neardup.plan import Plan
from neardup.plurals import counted

if TYPE_CHECKING:
    from neardup.engines.core.report import RunCounts

LARGE_SHARE = 0.2  # of the distinct texts in one cluster …
LARGE_TEXTS = 100  # … if it has more than so many
ALIKE = 0.9  # similarity of the two least similar documents from which a cluster is no sign, however large
CHAINED_SHARE = 0.05  # of removals that rest on a chain of pairs …
CHAINED = 10  # … if they are more than so many
APART_SHARE = (
    0.001  # for each removal: documents that share nearly nothing with the best one of their cluster …
)
APART = 10  # … if they are more than so many
LOW_THRESHOLD = 0.3  # below it unrelated documents reach the threshold, and the guard is on unless refused


def check_guard(guard: object) -> None:
    """Refuse anything but True, False and None."""
    if guard is not None and not isinstance(guard, bool):
        raise ParameterError("guard", "dedup", "True, False or None", guard)


def is_guarded(plan: Plan, guard: bool | None, expected: ExpectedShare | None) -> bool:
    """Whether a run stops at a warning: as the user says, else at low thresholds and where a share is expected."""
    return plan.threshold < LOW_THRESHOLD or expected is not None if guard is None else guard


def warnings(
    plan: Plan,
    counts: RunCounts,
    compare: Sequence[str] | None = None,
    expected: ExpectedShare | None = None,
) -> list[str]:
    """What looks wrong about the removals of a run, a sentence each, with the remedy.

    `compare` has the options of `neardup compare` that show two documents as the run compared them; None: no command
    can, because they do not come from files.
    """
    return [
        *_large_clusters(plan, counts, compare),
        *(_chains(plan, counts, compare) or _apart(plan, counts, compare)),
        *_unexpected(counts, expected),
    ]


def _large_clusters(plan: Plan, counts: RunCounts, compare: Sequence[str] | None) -> list[str]:
    texts = counts.documents - counts.exact_copies
    found = []
    for cluster in counts.largest_clusters:
        lowest = cluster["lowest"]
        alike = lowest is not None and lowest["similarity"] >= ALIKE
        if alike or cluster["texts"] <= max(LARGE_TEXTS, LARGE_SHARE * texts):
            continue
        what = (
            f"the cluster {cluster['cluster']} has {cluster['texts']:,} of {counted(texts, 'distinct text')}"
        )
        where = "" if lowest is None else f", down to {_place(lowest, compare)}"
        found.append(f"{what}{where}: {_remedy(plan)}")
    return found


def _place(lowest: dict[str, Any], compare: Sequence[str] | None) -> str:
    """A place of low similarity: its two documents, and the command that shows them."""
    names = [str(one) for one in lowest["documents"]]
    found = f"a similarity of {lowest['similarity']:.3f} between {names[0]} and {names[1]}"
    if compare is None:
        return found
    dashes = ["--"] if any(name.startswith("-") for name in names) else []
    return f"{found} ({shlex.join(['neardup', 'compare', *compare, *dashes, *names])})"


def _chains(plan: Plan, counts: RunCounts, compare: Sequence[str] | None) -> list[str]:
    chained, lowest = counts.removals.by_chain, counts.removals.lowest
    if chained <= max(CHAINED, CHAINED_SHARE * counts.removed):
        return []
    share = f"{counted(chained, 'removal')} of {counts.removed:,} rest on a chain of pairs"
    where = (
        "" if lowest is None else f", down to {_place(lowest, compare)} in the cluster {lowest['cluster']}"
    )
    remedy = f"--clusters leaders removes {counts.removals.removed_by_leaders:,}, each for a document that it is near"
    return [f"{share}, below the threshold of {plan.threshold:g}{where}: {remedy}"]


def _apart(plan: Plan, counts: RunCounts, compare: Sequence[str] | None) -> list[str]:
    apart, lowest = counts.removals.apart, counts.removals.lowest_apart
    if lowest is None or apart <= max(APART, APART_SHARE * counts.removed):
        return []
    share = (
        f"{counted(apart, 'document')} of clusters share nearly nothing with the best one of their cluster"
    )
    where = f"down to {_place(lowest, compare)} in the cluster {lowest['cluster']}"
    return [f"{share}, {where}: {_remedy(plan)}"]


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
