"""A run of `dedup` or `pairs` over the inputs of the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import neardup
from neardup.cli.support.against import opened_references, reference_identity
from neardup.cli.support.config import CONFIG
from neardup.cli.support.options import OpenInputs, open_inputs, reading_options
from neardup.cli.support.show import TerminalProgress, summary
from neardup.documents import Inputs, Problems
from neardup.engines.core.documents import InputColumns
from neardup.engines.core.progress import Progress
from neardup.engines.local.checkpoint.budget import MemoryBudget, read_memory
from neardup.engines.local.checkpoint.workspace import (
    Workspace,
    can_be_resumed,
    identity_digest,
    inputs_identity,
    open_workspace,
)
from neardup.engines.local.run import LocalRun, RunSettings, run
from neardup.errors import InputError
from neardup.output import only_writer
from neardup.plan import Plan
from neardup.plans import with_statistics
from neardup.plurals import counted
from neardup.remote_output import output_folder, work_place

if TYPE_CHECKING:
    from neardup.decisions.store import StandingDecision
    from neardup.index.references import References
    from neardup.statistics import Statistics


@contextmanager
def run_command(
    plan: Plan,
    inputs: Sequence[str],
    values: dict[str, Any],
    output: Path | None,
    force: bool,
    check: Callable[[Inputs, bool], None] | None = None,
    then: Callable[[LocalRun, References | None], None] | None = None,
) -> Iterator[LocalRun]:
    """The finished run, while its texts are still on disk; `then` is called with its references at the end.

    `check` gets the inputs before they are read, and whether an earlier run is resumed. Without an output folder
    (standard output) the work folder is temporary.
    """
    plan, statistics = with_statistics(plan, values["stats"], values["df_unit"])
    with nullcontext() if check is None or output is None else only_writer(output):
        sources, columns, _, threads = open_inputs(inputs, values)
        limit_arrow(threads)
        if check is not None:
            check(sources, values["resume"] and can_be_resumed(values["work_dir"] or output or ""))
        yield from _run(
            plan, statistics, OpenInputs(sources, columns, Problems(), threads), values, output, force, then
        )


def _run(
    plan: Plan,
    statistics: Statistics | None,
    opened: OpenInputs,
    values: dict[str, Any],
    output: Path | None,
    force: bool,
    then: Callable[[LocalRun, References | None], None] | None,
) -> Iterator[LocalRun]:
    """The finished run in its work folder, which is kept if the run ends early."""
    sources, columns, _, threads = opened
    work = work_folder(lambda: run_identity(plan, columns, sources, values), sources, values, output, force)
    try:
        guard: Any = {name: values.get(name) for name in ("expected", "compare", "command")}
        guard["config"] = click.get_current_context().meta.get(CONFIG)
        people = given_decisions(values)
        settings = RunSettings(threads, values["strict"], work=work, people=people, **guard)
        with TerminalProgress() as progress, resumable(work, progress):
            for note in sources.notes:
                progress.note(note)
            with opened_references(plan, statistics, sources, columns, values, progress) as references:
                if references is not None:
                    find = partial(references.find, own_ids=not values.get("add"))
                    settings = replace(settings, references=find, within=values.get("within", True))
                    statistics = references.statistics
                done = run(plan, sources, columns, settings, progress, statistics)
                yield done
                if then is not None:
                    then(done, references)
    except BaseException:
        work.close(keep=True)
        raise
    work.close()


def work_folder(
    identity: Callable[[], dict[str, Any]],
    sources: Inputs,
    values: dict[str, Any],
    output: Path | None,
    force: bool,
) -> Workspace:
    """A work folder from which the run can be resumed; an unnamed one for standard input or output."""
    folder, memory = values["work_dir"] or output, MemoryBudget(read_memory(values["memory"]))
    if any(source.name == "stdin" for source in sources):
        if values["resume"]:
            raise InputError("Standard input cannot be read a second time: --resume needs files.")
        return Workspace(folder=folder, memory=memory)
    if folder is None:
        return Workspace(folder=values["work_dir"], memory=memory)
    return open_workspace(
        folder, identity(), resume=values["resume"], force=force, every=values["checkpoint"], memory=memory
    )


def run_identity(
    plan: Plan, columns: InputColumns, sources: Inputs, values: dict[str, Any]
) -> dict[str, Any]:
    """Everything that changes the result of a run."""
    options = {name: str(value) for name, value in reading_options(values).items()}
    return {
        "neardup": neardup.__version__,
        "plan": plan.to_dict(),
        "columns": {**asdict(columns), **options, "stats": values["stats"]},
        "inputs": inputs_identity(sources),
        **({} if values.get("unit") is None else {"unit": asdict(values["unit"])}),
        **_against(values),
        **_decisions(values),
    }


def _against(values: dict[str, Any]) -> dict[str, Any]:
    if not values.get("against"):
        return {}
    return {"against": reference_identity(values["against"]), "within": values.get("within", True)}


def given_decisions(values: dict[str, Any]) -> tuple[StandingDecision, ...] | None:
    """What --decisions names; None without it."""
    if not values.get("decisions"):
        return None
    from neardup.decisions.store import read_decisions

    return tuple(read_decisions(Path(values["decisions"])))


def _decisions(values: dict[str, Any]) -> dict[str, Any]:
    """The last word about each document, as far as it changes the result."""
    found = given_decisions(values)
    return {} if found is None else {"decisions": [[one.state.id, one.number] for one in found]}


def finished(
    plan: Plan,
    inputs: Sequence[str],
    values: dict[str, Any],
    output: str | Path,
    names: Callable[[Inputs], list[str]],
) -> dict[str, Any] | None:
    """The report of the same run, if it has finished already.

    `names` are the files that the run writes.
    """
    folder = output_folder(output)
    found = None if can_be_resumed(values["work_dir"] or work_place(output)) else folder.read("report.json")
    if found is None:
        return None
    plan, _ = with_statistics(plan, values["stats"], values["df_unit"])
    sources, columns, *_ = open_inputs(inputs, values)
    digest = identity_digest(run_identity(plan, columns, sources, values))
    try:
        report: dict[str, Any] = json.loads(found)
        same = report["run"] == digest and set(names(sources)) <= set(report["files"])
        same = same and all(map(folder.is_there, report["files"]))
        if same:
            summary(
                report, None, 0.0, "annotate"
            )  # what will be printed of it: a damaged one is not that of a finished run
    except (OSError, ValueError, ArithmeticError, LookupError, AttributeError, TypeError, RecursionError):
        return None
    return report if same else None


@contextmanager
def resumable(work: Workspace, progress: Progress) -> Iterator[None]:
    """Reports the finished work of a run that ends early."""
    if work.saved:
        progress.note(f"resuming with {counted(len(work.rows('read')), 'document')} read before")
    try:
        yield
    except BaseException:
        if work.saved:
            progress.note(f"finished work is kept in {work.path}: --resume continues from it")
        raise


def limit_arrow(threads: int) -> None:
    """Arrow's own pools keep to the number of threads that the user gave."""
    import pyarrow as pa

    pa.set_cpu_count(threads)
    pa.set_io_thread_count(max(threads, 1))
