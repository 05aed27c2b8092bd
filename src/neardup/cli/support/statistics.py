"""The work of `neardup stats build`: read, count, and write tables as they are merged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from neardup.cli.support.options import open_inputs
from neardup.cli.support.show import TerminalProgress
from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.frequencies import count_into, units
from neardup.engines.local.read import Job, read
from neardup.errors import ParameterError
from neardup.plan import Plan, stage_json
from neardup.sorted_sets import count_distinct
from neardup.statistics import Counter, Frequencies, Sketch
from neardup.statistics.file import check_target, write_statistics
from neardup.statistics.units import parse_df_unit


def build_statistics(
    plan: Plan,
    inputs: tuple[str, ...],
    output: str,
    values: dict[str, Any],
    memory: int,
    least: int,
    most: int | None,
    force: bool,
) -> dict[str, Any]:
    """The header of the file, after it has been written; no table need fit into memory."""
    check_target(output, force)
    if not plan.counts:
        raise ParameterError("method", "neardup stats", "one that weighs by document frequency", plan.method)
    if values["stats"] is not None:
        raise ParameterError(
            "stats", "neardup stats build", "left out: the command makes the statistics", values["stats"]
        )
    plan = plan.with_(df_unit=parse_df_unit(values["df_unit"] or "texts"))
    sources, columns, problems, threads = open_inputs(inputs, values)
    with TerminalProgress() as progress, ExitStack() as stack:
        work = stack.enter_context(Workspace(folder=values["work_dir"]))
        job = Job(plan, sources, work, columns, problems, progress, threads)
        representatives, groups, _ = units(job, read(job, represent_now=False))
        counters = count_into(
            stack, plan.text, plan.counts, work.spool, representatives, groups, memory=memory,
            folder=values["work_dir"], sketch=most, progress=progress, threads=threads,
        )  # fmt: skip
        names = [stage_json(stage) for stage in plan.counts]
        documents = len(representatives) if groups is None else count_distinct(groups)
        tables = dict(zip(names, (_tables(counter, least) for counter in counters), strict=True))
        return _write(output, documents, plan, tables, least, force, progress)


def _tables(counter: Counter | Sketch, least: int) -> Iterator[Frequencies] | list[Frequencies]:
    """The features of a counter in blocks, those of a sketch at once."""
    if isinstance(counter, Sketch):
        return [counter.finish(least)]
    return (table.at_least(least) for table in counter.tables())


def _write(
    output: str,
    documents: int,
    plan: Plan,
    tables: dict[str, Any],
    least: int,
    force: bool,
    progress: Progress,
) -> dict[str, Any]:
    precision = {
        name: (part[0].least, part[0].slack) if isinstance(part, list) else (least, 0)
        for name, part in tables.items()
    }
    with progress.stage("write statistics"):
        text = stage_json(plan.text)
        return write_statistics(output, documents, text, plan.df_unit, tables, precision, force=force)
