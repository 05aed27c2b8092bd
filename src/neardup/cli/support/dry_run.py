"""neardup dedup --dry-run: estimated time, memory, disk and results of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neardup.cli.support.emit import emit
from neardup.cli.support.options import open_inputs
from neardup.cli.support.show import duration, size_in_words
from neardup.engines.local.checkpoint.budget import MemoryBudget, read_memory
from neardup.engines.local.dry_run import Estimate, Range, estimate
from neardup.engines.local.run import RunSettings
from neardup.engines.local.write import Mode
from neardup.plan import Plan
from neardup.plans import with_statistics
from neardup.plurals import counted


def dry_run(plan: Plan, inputs: Sequence[str], values: dict[str, Any], mode: Mode) -> None:
    """Prints the estimate."""
    memory = MemoryBudget(read_memory(values["memory"]))
    plan, statistics = with_statistics(plan, values["stats"], values["df_unit"])
    opened = open_inputs(inputs, values)
    settings = RunSettings(opened.threads, work_dir=values["work_dir"], memory=memory)
    found = estimate(plan, opened.sources, opened.columns, settings, mode, statistics)
    emit(values["as_json"], found.as_dict(), _lines(found, memory))


def _lines(found: Estimate, memory: MemoryBudget) -> list[str]:
    rows = [
        ("documents", found.documents, _count),
        ("text", found.text_bytes, size_in_words),
        ("time", found.seconds, duration),
        ("memory", found.memory_bytes, size_in_words),
        ("disk", found.disk_bytes, size_in_words),
        ("candidates", found.candidates, _count),
        ("removed", found.removed, _count),
    ]
    sampled = counted(found.sampled_documents, "document")
    is_whole = found.documents == Range.exactly(found.sampled_documents)
    source = f"a trial run of all {sampled}" if is_whole else f"a sample of {sampled}"
    lines = [f"Estimate from {source} (nothing was written):"]
    lines += [f"  {name:<11} {_ranged(some, show)}" for name, some, show in rows]
    lines.append(
        f"  --expect-removed {found.removed_share.option} stops the run if it removes another share."
    )
    if found.memory_bytes.expected > memory.budget:
        lines.append(
            f"  The budget is {size_in_words(memory.budget)}: give more with --memory, or use fewer threads."
        )
    return lines


def _ranged(some: Range, show: Any) -> str:
    low, expected, high = show(some.low), show(some.expected), show(some.high)
    return expected if low == high else f"{expected}  ({low} to {high})"


def _count(value: float) -> str:
    return f"{round(value, 1 - len(str(int(value))) + 1):,.0f}" if value >= 100 else f"{value:.0f}"
