"""neardup dedup --dry-run: estimated time, memory, disk and results of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neardup.cli.support.emit import emit
from neardup.cli.support.options import open_inputs
from neardup.cli.support.show import duration
from neardup.engines.core.expected_share import ExpectedShare
from neardup.engines.local.checkpoint.budget import MemoryBudget, read_memory
from neardup.engines.local.dry_run import Estimate, Range, estimate
from neardup.engines.local.run import RunSettings
from neardup.engines.local.write import Mode
from neardup.plan import Plan
from neardup.plans import with_statistics
from neardup.plurals import counted, size_in_words


def dry_run(plan: Plan, inputs: Sequence[str], values: dict[str, Any], mode: Mode) -> None:
    """Prints the estimate."""
    memory = MemoryBudget(read_memory(values["memory"]))
    plan, statistics = with_statistics(plan, values["stats"], values["df_unit"])
    opened = open_inputs(inputs, values)
    settings = RunSettings(opened.threads, work_dir=values["work_dir"], memory=memory)
    found = estimate(plan, opened.sources, opened.columns, settings, mode, statistics)
    emit(values["as_json"], found.as_dict(), _lines(found, memory, values["expected"]))


def _lines(found: Estimate, memory: MemoryBudget, expected: ExpectedShare | None) -> list[str]:
    is_whole = found.documents == Range.exactly(found.sampled_documents)
    count = _whole if is_whole else _count
    rows = [
        ("documents", found.documents, count),
        ("text", found.text_bytes, size_in_words),
        ("time", found.seconds, duration),
        ("memory", found.memory_bytes, size_in_words),
        ("disk", found.disk_bytes, size_in_words),
        ("candidates", found.candidates, count),
        ("removed", found.removed, count),
    ]
    sampled = counted(found.sampled_documents, "document")
    source = f"a trial run of all {sampled}" if is_whole else f"a sample of {sampled}"
    lines = [f"Estimate from {source} (nothing was written):"]
    lines += [f"  {name:<11} {_ranged(some, show)}" for name, some, show in rows]
    if expected is None:
        lines.append(
            f"  --expect-removed {found.removed_share.option} stops the run if it removes another share."
        )
    else:
        lines.append(_compared(found, expected))
    if found.memory_bytes.expected > memory.budget:
        lines.append(
            f"  The budget is {size_in_words(memory.budget)}: give more with --memory, or use fewer threads."
        )
    return lines


def _compared(found: Estimate, expected: ExpectedShare) -> str:
    """Whether the estimated share of removed documents is the one that the user expects."""
    share = found.removed.expected / max(1.0, found.documents.expected)
    if expected.low <= share <= expected.high:
        return f"  The removed share, {share:.1%}, is in the range of --expect-removed, {expected}."
    return (
        f"  The removed share, {share:.1%}, is outside the range of --expect-removed, {expected}: a run like this "
        f"would stop; --expect-removed {found.removed_share.option} is what the estimate suggests."
    )


def _ranged(some: Range, show: Any) -> str:
    low, expected, high = show(some.low), show(some.expected), show(some.high)
    return expected if low == high else f"{expected}  ({low} to {high})"


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _count(value: float) -> str:
    return f"{round(value, 1 - len(str(int(value))) + 1):,.0f}" if value >= 100 else f"{value:.0f}"
