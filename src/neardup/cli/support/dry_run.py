"""neardup dedup --dry-run: estimated time, memory, disk and results of a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from neardup.api import with_statistics
from neardup.cli.support.options import open_inputs
from neardup.engines.local.checkpoint.budget import MemoryBudget, read_memory
from neardup.engines.local.dry_run import Estimate, Range, estimate
from neardup.engines.local.run import Settings
from neardup.engines.local.write import Mode
from neardup.plan import Plan
from neardup.plurals import counted


def dry_run(plan: Plan, inputs: Sequence[str], values: dict[str, Any], mode: Mode) -> None:
    """Prints the estimate."""
    memory = MemoryBudget(read_memory(values["memory"]))
    plan, statistics = with_statistics(plan, values["stats"], values["df_unit"])
    opened = open_inputs(inputs, values)
    settings = Settings(opened.threads, work_dir=values["work_dir"], memory=memory)
    found = estimate(plan, opened.sources, opened.columns, settings, mode, statistics)
    if values["as_json"]:
        click.echo(json.dumps(found.as_dict()))
    else:
        click.echo("\n".join(_lines(found, memory)))


def _lines(found: Estimate, memory: MemoryBudget) -> list[str]:
    rows = [
        ("documents", found.documents, _count),
        ("text", found.text_bytes, _size),
        ("time", found.seconds, _duration),
        ("memory", found.memory_bytes, _size),
        ("disk", found.disk_bytes, _size),
        ("candidates", found.candidates, _count),
        ("removed", found.removed, _count),
    ]
    lines = [
        f"Estimate from a sample of {counted(found.sampled_documents, 'document')} (nothing was written):"
    ]
    lines += [f"  {name:<11} {_ranged(some, show)}" for name, some, show in rows]
    if found.memory_bytes.expected > memory.budget:
        lines.append(
            f"  The budget is {_size(memory.budget)}: give more with --memory, or use fewer threads."
        )
    return lines


def _ranged(some: Range, show: Any) -> str:
    low, expected, high = show(some.low), show(some.expected), show(some.high)
    return expected if low == high else f"{expected}  ({low} to {high})"


def _count(value: float) -> str:
    return f"{round(value, 1 - len(str(int(value))) + 1):,.0f}" if value >= 100 else f"{value:.0f}"


def _size(value: float) -> str:
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def _duration(value: float) -> str:
    if value < 120:
        return f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.1f} h"
