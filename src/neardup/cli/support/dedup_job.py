"""What a command line of `neardup dedup` asks for, and the ways to do it: on this machine, over units, on Spark."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from neardup.cli.support.against import add_to_index
from neardup.cli.support.emit import emit
from neardup.cli.support.report_page import refuse_page, write_page
from neardup.cli.support.spark_engine import SparkEngine, run_on_spark
from neardup.cli.support.standard_output import (
    STDOUT,
    refuse_binary,
    refuse_folder_options,
    standard_output,
)
from neardup.cli.support.units import run_units, unit_summary
from neardup.output import refuse_address
from neardup.remote_output import work_place

if TYPE_CHECKING:
    from neardup.engines.local.run import LocalRun
    from neardup.engines.local.units.split import UnitRule
    from neardup.engines.local.write import Mode
    from neardup.engines.local.write_tables import TableFormat
    from neardup.index.references import References
    from neardup.plan import Plan

STOPPED = "neardup: stopped by the guard, no documents were written; --no-guard --force writes them anyway"


@dataclass(frozen=True)
class Target:
    """Where a result goes, and in which form."""

    output: str
    mode: Mode
    format: str | None
    table_format: TableFormat
    escape_formulas: bool
    force: bool
    with_page: bool
    as_json: bool

    @staticmethod
    def taken(output: str, values: dict[str, Any], on_spark: bool) -> Target:
        """The options about the output, taken out of `values`; what does not go together is refused."""
        names = ("mode", "table_format", "escape_formulas", "force")
        form = {name: values.pop(name) for name in names}
        other = {"format": values.pop("output_format"), "with_page": values.pop("report")}
        target = Target(output, as_json=values["as_json"], **form, **other)
        if target.piped:
            refuse_folder_options(target.mode, values, target.with_page, on_spark)
        if target.with_page:
            refuse_page(output, target.force or values["resume"])
        return target

    @property
    def piped(self) -> bool:
        """Whether documents go to standard output."""
        return self.output == STDOUT

    @property
    def not_with_units(self) -> dict[str, bool]:
        """What parts of documents cannot be written as."""
        return {"report": self.with_page, "mode annotate": self.mode == "annotate", "output -": self.piped}

    def files(self, sources: Any) -> list[str]:
        """The names of the files that a run writes."""
        from neardup.engines.local.write import document_files
        from neardup.engines.local.write_tables import record_files

        return [*document_files(sources, self.mode, self.format), *record_files(self.table_format)]

    def check(self, sources: Any) -> None:
        """Refuse an output that cannot be written."""
        from neardup.documents import output_format
        from neardup.engines.local.write import check_output

        if self.piped:
            refuse_binary(*output_format(sources, self.format)[::2])
        else:
            check_output(sources, self.output, self.mode, self.format, self.force, self.table_format)

    def write(self, run: LocalRun, mode: Mode) -> dict[str, Any]:
        """The report, after the result has been written."""
        from neardup.engines.local.write import write_run, write_stream

        form: Any = {"mode": mode, "format": self.format, "escape_formulas": self.escape_formulas}
        if self.piped:
            return write_stream(run, standard_output(), **form)
        return write_run(run, self.output, force=self.force, table_format=self.table_format, **form)


@dataclass(frozen=True)
class DedupJob:
    """A run of `neardup dedup`; `values` are the options of reading and running that are left."""

    plan: Plan
    inputs: tuple[str, ...]
    target: Target
    values: dict[str, Any]
    guard: bool
    started: float

    def on_this_machine(self) -> None:
        """Runs, writes and prints the summary, unless the same run has finished already."""
        from neardup.cli.support.run import finished

        output = self.target.output
        if self.values["resume"] and (
            done := finished(self.plan, self.inputs, self.values, output, self.target.files)
        ):
            self._finish(done)
            return
        report, added = self._run_locally()
        self._finish(report)
        if added and not self.target.as_json:
            click.echo(added, err=self.target.piped)

    def _run_locally(self) -> tuple[dict[str, Any], str | None]:
        """The report of a run that has been written, and the sentence about the index that got its documents."""
        from neardup.cli.support.run import run_command

        target, report, added = self.target, dict[str, Any](), None

        def check(sources: Any, resumed: bool) -> None:
            nonlocal target
            target = replace(target, force=target.force or resumed)  # the first run had leave to write there
            target.check(sources)

        def add(run: LocalRun, references: References | None) -> None:
            nonlocal added
            if not self._stops(report):
                added = add_to_index(run, references, self.values["add"])

        work = None if target.piped else work_place(target.output)
        with run_command(self.plan, self.inputs, self.values, work, target.force, check, add) as run:
            report = self._written(run, target)
        return report, added

    def _written(self, run: LocalRun, target: Target) -> dict[str, Any]:
        """The report of a run that has been written; if the guard stops it, without documents."""
        from neardup.engines.local.write import run_report

        stops = self.guard and self._stops(run_report(run, []))  # the report takes time
        if stops and target.piped:
            return run_report(run, [])
        return target.write(run, "none" if stops else target.mode)

    def _stops(self, report: dict[str, Any]) -> bool:
        """Whether the guard keeps documents from being written."""
        return self.guard and bool(report["warnings"])

    def in_units(self, rule: UnitRule, least: int) -> None:
        """Runs over parts of documents, writes the documents without the repeated ones, and prints the summary."""
        from neardup.engines.local.units.write import UnitOptions

        target = self.target
        unit = rule.kind if rule.count == 1 else f"{rule.kind}:{rule.count}"
        form = (target.format, target.table_format, target.force, target.escape_formulas)
        asked = UnitOptions(unit, least, *form, target.mode != "none")

        def finish(report: dict[str, Any]) -> None:
            lines = unit_summary(report, target.output, perf_counter() - self.started)
            emit(target.as_json, report, [lines])

        run_units(self.plan, self.inputs, self.values, target.output, asked, finish)

    def on_spark(self, engine: SparkEngine) -> None:
        """Runs as Spark jobs, and prints the summary."""
        from neardup.cli.support.spark_folder import table_names

        target = self.target
        refuse_address(target.output)
        place, tables = Path(target.output), table_names(target.mode)
        where = (self.inputs, self.values, place, tables, target.force)
        self._finish(run_on_spark(engine, self.plan, *where, guard=self.guard))

    def _finish(self, report: dict[str, Any]) -> None:
        """Prints the summary; ends with exit code 3 if the guard has stopped the run."""
        from neardup.cli.support.show import summary

        target, stops = self.target, self._stops(report)
        folder = None if target.piped else target.output
        lines = [summary(report, folder, perf_counter() - self.started, "none" if stops else target.mode)]
        if target.with_page:
            lines.append(f"report written to {write_page(target.output)}")
        emit(target.as_json, report, lines, err=target.piped)
        if stops:
            click.echo(STOPPED, err=True)
            raise SystemExit(3)
