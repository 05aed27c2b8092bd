"""`dedup --unit`: the unit from the command line, what it cannot be combined with, and the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from neardup.cli.support import options
from neardup.cli.support.groups import grouped, seldom
from neardup.cli.support.method_options import MethodCommand
from neardup.errors import ParameterError
from neardup.plurals import counted, plural

if TYPE_CHECKING:
    from neardup.engines.local.units.split import UnitRule

WHOLE = "document"
# Presets of published pipelines that compare parts of documents: what they mean as options.
PRESETS = {
    "ccnet": ("--method", "exact", "--unit", "line", "--min-unit", "1"),
    "dolma": ("--method", "exact", "--equal", "bytes", "--unit", "line", "--min-unit", "1"),
    "c4": ("--method", "exact", "--unit", "sentence:3"),
}

unit_options = grouped(
    "Decision",
    options.value(
        "--unit UNIT",
        "What is compared: document, paragraph, line, sentence, or sentence:N, N sentences in a row. Presets of "
        "units: ccnet, dolma, c4.",
        default=WHOLE,
    ),
    seldom(
        options.count("--min-unit", "The least characters of a unit that is compared.", 20),
        options.count("--min-document", "Remove documents that are left with fewer characters.", 1),
    ),
)


class DedupCommand(MethodCommand):
    """A command that also takes the presets of units."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The arguments, with the options of such a preset before all others, which override them."""
        for place, word in enumerate(args):
            name = word.partition("=")[2] if word.startswith("--preset=") else ""
            if word == "--preset" and place + 1 < len(args):
                name = args[place + 1]
            if name in PRESETS:
                width = 1 if "=" in word else 2
                args = [*PRESETS[name], *args[:place], *args[place + width :]]
                break
        return super().parse_args(ctx, args)


def take_rule(values: dict[str, Any], chosen: str, others: dict[str, Any]) -> tuple[UnitRule | None, int]:
    """The rule of units, None for documents, and the least characters of a document; `others` must not be given."""
    unit, shortest, least = (values.pop(name) for name in ("unit", "min_unit", "min_document"))
    if unit == WHOLE:
        _refuse_lengths()
        return None, least
    from neardup.engines.local.units.split import UnitRule

    rule = UnitRule.of(unit, shortest)
    if rule.count > 1 and chosen != "exact":
        needed = f"'sentence' with --method {chosen}: runs of sentences overlap, so they are compared by --method exact"
        raise ParameterError("unit", "dedup", needed, unit)
    for name, given in others.items():
        if given:
            raise ParameterError("unit", "dedup", f"'{WHOLE}' with --{name}", unit)
    values["unit"] = rule
    return rule, least


def _refuse_lengths() -> None:
    """Raises for a given length that documents as a whole do not have."""
    context = click.get_current_context()
    for name in ("min_unit", "min_document"):
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            needed = "left out without --unit paragraph, line or sentence"
            raise ParameterError(name, "dedup", needed, context.params[name])


def usual_policy(values: dict[str, Any]) -> None:
    """Has the first occurrence of a unit stay, unless a policy was given."""
    source = click.get_current_context().get_parameter_source("keep")
    if source == click.core.ParameterSource.DEFAULT:
        values["keep"] = "first"


def unit_summary(report: dict[str, Any], folder: str, seconds: float) -> str:
    """What was removed, of documents and of units, and the files."""
    from neardup.cli.support.show import problem_lines
    from neardup.plurals import size_in_words

    noun = report["unit"].partition(":")[0]
    each = noun if noun == report["unit"] else f"run of {report['unit'].partition(':')[2]} {plural(noun)}"
    runs = each if noun == each else each.replace("run", "runs", 1)
    units, removed = report["units"], report["units_removed"]
    compared = counted(units, each, runs if noun != each else "")
    lines = [
        f"{counted(report['documents'], 'document')} in {seconds:.1f} s: {compared} compared, {removed:,} removed "
        f"({removed / max(units, 1):.1%}, {size_in_words(report['bytes_removed'])})",
        f"{counted(report['documents_changed'], 'document')} changed, {report['removed']:,} removed as too short",
        *_hint(report),
        *(f"Warning: {warning}" for warning in report["warnings"]),
        *problem_lines(report["problems"]),
        f"written to {folder}: {', '.join(report['files'])}",
    ]
    return "\n".join(lines)


def _hint(report: dict[str, Any]) -> list[str]:
    """What to try where texts have no empty lines."""
    if (
        report["unit"] != "paragraph"
        or report["units"] > 1.1 * report["documents"]
        or report["documents"] < 10
    ):
        return []
    return [
        "nearly every text is one paragraph, without an empty line: --unit line or --unit sentence cut it further"
    ]


def run_units(
    plan: Any,
    inputs: Any,
    values: dict[str, Any],
    output: str,
    settings: Any,
    finish: Callable[[dict[str, Any]], None],
) -> None:
    """Runs over units and writes the documents; `finish` gets the report."""
    from dataclasses import replace

    from neardup.cli.support.run import run_command
    from neardup.engines.local.units.write import unit_files, write_units
    from neardup.remote_output import output_folder, work_place

    force = settings.force

    def check(sources: Any, resumed: bool) -> None:
        nonlocal force
        force = force or resumed
        with output_folder(output, force=force) as folder:
            for name in unit_files(sources, settings):
                folder.file(name)

    with run_command(plan, inputs, values, work_place(output), force, check) as run:
        report = write_units(run, output, replace(settings, force=force))
    finish(report)
