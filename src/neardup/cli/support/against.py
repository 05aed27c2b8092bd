"""`--against`: documents checked against indexes and other corpora."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from neardup.cli.support import options
from neardup.cli.support.groups import grouped
from neardup.errors import InputError, ParameterError
from neardup.plurals import counted

if TYPE_CHECKING:
    from neardup.cli.support.method_options import ChosenMethod
    from neardup.cli.support.standard_output import StandardOutput
    from neardup.documents import Inputs
    from neardup.engines.core.documents import InputColumns
    from neardup.engines.core.progress import Progress
    from neardup.engines.local.run import LocalRun
    from neardup.index.references import References
    from neardup.output import OutputFolder
    from neardup.plan import Plan


def _against(help: str) -> Any:
    return click.option("--against", multiple=True, metavar="REFERENCE", help=help)


pairing = grouped("Decision", _against("Only pairs with an index or other documents; repeatable."))
removing = grouped(
    "Decision",
    _against("Remove what an index or other documents have; repeatable."),
    click.option(
        "--within/--no-within",
        default=True,
        help="With --against: compare INPUT itself too.",
    ),
    options.flag("--add", "Add the kept documents to the index of --against."),
)


def base_plan(chosen: ChosenMethod, references: Sequence[str]) -> Plan:
    """The plan of the options; without any, that of the index which documents are checked against."""
    if references and not chosen.named and not chosen.options:
        from neardup.index.references import plan_of

        found = plan_of(references)
        if found is not None:
            return found
    return chosen.plan()


def check_against(values: dict[str, Any]) -> None:
    """Refuse options that only make sense with --against, and references that cannot be added to."""
    references = values["against"]
    if not references and (values.get("add") or not values.get("within", True)):
        name = "add" if values.get("add") else "within"
        raise ParameterError(name, "dedup", "left out without --against", True)
    if values.get("add"):
        from neardup.index.references import is_index

        if len(references) != 1 or not is_index(references[0]):
            raise InputError("--add needs one --against, an index: documents are added to it.")
    if references and values.get("dry_run"):
        raise InputError(
            "--dry-run does not know references: leave --against out to estimate the cost of the run."
        )


@contextmanager
def opened_references(
    plan: Plan,
    statistics: Any,
    sources: Inputs,
    columns: InputColumns,
    values: dict[str, Any],
    progress: Progress,
) -> Iterator[References | None]:
    """The references of the command line, ready to be looked up in; None without any."""
    if not values.get("against"):
        yield None
        return
    from neardup.documents import Problems
    from neardup.engines.local.checkpoint.budget import MemoryBudget, read_memory
    from neardup.index.references import References
    from neardup.workers import checked_threads

    with References(
        list(values["against"]),
        plan,
        statistics=statistics,
        columns=columns,
        limits=options.reading_options(values)["limits"],
        threads=checked_threads(values["threads"]),
        folder=values["work_dir"],
        memory=MemoryBudget(read_memory(values["memory"])),
    ) as references:
        references.prepare(sources, progress, Problems(strict=values["strict"]))
        yield references


def add_to_index(run: LocalRun, references: References | None, add: bool) -> str | None:
    """Add what a run keeps to its index; returns a sentence about it."""
    if not add or references is None:
        return None
    from neardup.index.references import add_kept

    index = references.indexes[0]
    done = add_kept(index, run.corpus, run.decisions.kept, run.progress)
    return f"{counted(done.documents, 'document')} added to {index.name}, which has {len(index):,} now"


def reference_identity(references: Sequence[str]) -> list[Any]:
    """What a run against these references depends on: the state of an index, or the files of a corpus."""
    from neardup.documents.given import as_inputs
    from neardup.engines.local.checkpoint.workspace import inputs_identity
    from neardup.index.index import Index
    from neardup.index.references import is_index

    found: list[Any] = []
    for one in references:
        if is_index(one):
            with Index(one) as index:
                found.append([one, index.version])
        else:
            found.append([one, inputs_identity(as_inputs(one, None)[0])])
    return found


def _refuse_without_effect(context: click.Context) -> None:
    """Refuse options that look-ups have no use for."""
    why = {
        "resume": "look-ups keep no work folder",
        "checkpoint": "look-ups keep no work folder",
        "pairs": "every pair across is listed",
    }
    for name, reason in why.items():
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise InputError(f"--{name} does not work with --against: {reason}. Leave it out.")


def write_cross_pairs(
    plan: Plan,
    inputs: tuple[str, ...],
    values: dict[str, Any],
    folder: OutputFolder | StandardOutput,
    name: str,
    format: str,
) -> tuple[Any, dict[str, Any]]:
    """The pairs of INPUT with the references, written to a file; and a report about them."""
    from neardup.cli.support.show import TerminalProgress
    from neardup.engines.core.report import problem_counts
    from neardup.engines.local.write_tables import write_table
    from neardup.index.references import cross_pairs
    from neardup.plans import with_statistics

    _refuse_without_effect(click.get_current_context())
    plan, statistics = with_statistics(plan, values["stats"], values["df_unit"])
    sources, columns, problems, _ = options.open_inputs(inputs, values)
    with folder, TerminalProgress() as progress:
        path = folder.file(name)
        with opened_references(plan, statistics, sources, columns, values, progress) as references:
            assert references is not None
            table = cross_pairs(references, sources, columns, problems, progress)
            names, skipped = list(references.names), problem_counts(references.problems)
        write_table(path, table, format)
        folder.commit()
    report = {
        "rows": len(table),
        "against": names,
        "problems": problem_counts(problems),
        "reference_problems": skipped,
        "files": [name],
        "plan": plan.to_dict(),
    }
    return table, report
