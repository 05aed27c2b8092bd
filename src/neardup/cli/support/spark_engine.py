"""`--engine spark`: the same command as Spark jobs; each table of the result is a folder of parquet files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from neardup.errors import InputError, NoDocuments
from neardup.escapes import escape_controls

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from neardup.cli.support.spark_folder import SparkOutput
    from neardup.documents import Source
    from neardup.engines.core.documents import InputColumns
    from neardup.engines.core.expected_share import ExpectedShare
    from neardup.engines.core.progress import Progress
    from neardup.engines.spark.io.files import LoadedDocuments
    from neardup.engines.spark.io.frames import SparkResult
    from neardup.plan import Plan
    from neardup.statistics import Statistics

SETTINGS = {
    "spark.sql.caseSensitive": "true",  # the local engine distinguishes column names by case
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # other readers support it, with the time zone
    "spark.log.level": "FATAL",  # bad input that stops a worker is reported in one line of neardup's
}
REFUSED = {  # options without an effect on Spark, and what to do instead
    "memory": "set spark.driver.memory or spark.executor.memory with --conf",
    "threads": "set the number of processors with --master 'local[N]', or in the cluster",
    "checkpoint": "a stopped run resumes after its last complete stage",
    "escape_formulas": "results are parquet files",
    "dry_run": "estimate the run with --engine local",
    "against": "check documents against a reference with --engine local",
    "within": "check documents against a reference with --engine local",
    "add": "add documents with neardup index add",
    "min_unit": "compare units with --engine local",
    "min_document": "compare units with --engine local",
    "decisions": "follow decisions of people with --engine local",
}
SUPPORTED = {  # values; others are refused
    "output_format": ("parquet",),
    "table_format": ("parquet",),
    "duplicate_ids": ("error",),
    "unit": ("document",),
}


@dataclass(frozen=True)
class SparkEngine:
    """Where and how Spark runs."""

    master: str | None
    conf: Mapping[str, str]


def take_engine(values: dict[str, Any]) -> SparkEngine | None:
    """The Spark engine, None for the local one, taken out of `values`; raises for options that it does not support."""
    engine, master, conf = (values.pop(name) for name in ("engine", "master", "conf"))
    if engine == "spark":
        from neardup.engines.spark.session.session import parse_conf

        _refuse_options(click.get_current_context())
        return SparkEngine(master, parse_conf(conf))
    if master or conf:
        from neardup.engines.spark.session.start import SparkError

        raise SparkError(f"--{'master' if master else 'conf'} has no effect without --engine spark.")
    return None


def started(engine: SparkEngine) -> SparkSession:
    """A Spark session with the settings of the command line."""
    from neardup.engines.spark.session.session import make_session

    return make_session(engine.master, {**SETTINGS, **engine.conf})


def _refuse_options(context: click.Context) -> None:
    """Raises for a given option that Spark cannot honour."""
    from neardup.engines.spark.session.start import SparkError

    for name, value in context.params.items():
        if context.get_parameter_source(name) is ParameterSource.DEFAULT:
            continue
        option = f"--{name.replace('_', '-')}"
        if name in REFUSED:
            raise SparkError(f"{option} has no effect on --engine spark: {REFUSED[name]}.")
        if name in SUPPORTED and value not in SUPPORTED[name]:
            raise SparkError(f"{option} {value} is for --engine local; Spark supports {SUPPORTED[name][0]}.")


def run_on_spark(
    engine: SparkEngine,
    plan: Plan,
    inputs: Sequence[str],
    values: dict[str, Any],
    folder: Path,
    tables: Mapping[str, str],
    force: bool,
    has_report: bool = True,
    guard: bool = False,
    show: Callable[[SparkResult], None] | None = None,
) -> dict[str, Any]:
    """The report of a run, after its tables have been written; stages stay in DIR/.stages until then.

    With `guard`, a run with a warning writes no documents. `show` gets the result before its stages are removed.
    """
    from neardup.cli.support.options import open_inputs
    from neardup.cli.support.run import finished, run_identity
    from neardup.cli.support.show import TerminalProgress
    from neardup.cli.support.spark_folder import SparkOutput
    from neardup.engines.local.checkpoint.workspace import identity_digest
    from neardup.engines.spark.session.session import require_spark
    from neardup.plans import with_statistics

    require_spark()
    if "-" in inputs:
        raise InputError("Standard input cannot be read by Spark: write it to a file first.")
    resumes = values["resume"] and has_report
    if resumes and (report := finished(plan, inputs, values, folder, lambda sources: list(tables))):
        return report
    plan, statistics = with_statistics(plan, values["stats"], values["df_unit"])
    sources, columns, *_ = open_inputs(inputs, values)
    for note in sources.notes:
        click.echo(f"neardup: {escape_controls(note)}", err=True)
    digest = identity_digest(run_identity(plan, columns, sources, values))
    output = SparkOutput.of(folder, values["work_dir"], dict(tables), digest, has_report)
    with output.locked(), _interruptible(output):
        output.open(sources, force)
        spark = started(engine)  # before progress bars: the JVM's output is buffered
        with TerminalProgress() as progress:
            strict = values["strict"]
            known = (spark, plan, sources, columns, statistics, strict, digest, output, progress)
            job = _Job(*known, guard, values.get("expected"), values.get("compare"), show)
            return job.run()


@dataclass(frozen=True)
class _Job:
    """The inputs, options and output of a run."""

    spark: Any
    plan: Plan
    sources: Sequence[Source]
    columns: InputColumns
    statistics: Statistics | None
    strict: bool
    digest: str
    output: SparkOutput
    progress: Progress
    guard: bool
    expected: ExpectedShare | None
    compare: tuple[str, ...] | None
    show: Callable[[SparkResult], None] | None

    def run(self) -> dict[str, Any]:
        """The report of the run; if Spark finds a file damaged, neardup's readers read all files."""
        from neardup.engines.spark.session.failures import UnreadableError

        try:
            return self._attempt(by_spark=True)
        except UnreadableError as error:
            self.progress.note(f"{error} neardup's own readers read it again, and skip what is damaged.")
            self.output.remove_stages()
            return self._attempt(by_spark=False)

    def _attempt(self, by_spark: bool) -> dict[str, Any]:
        from neardup.engines.spark.io.files import load
        from neardup.engines.spark.io.frames import run
        from neardup.engines.spark.session.failures import translated

        folder = str(self.output.folder)
        if str(self.spark.sparkContext.master).startswith(
            "local"
        ):  # elsewhere tasks are other users' processes
            self.output.make_private_stages()
        with translated(folder), self.output.cleared_if_refused():
            loaded = load(self.spark, self.sources, self.columns, self.strict, by_spark)
            with _no_documents(loaded):
                result = run(
                    loaded.frame,
                    self.plan,
                    self.columns,
                    self.output.stages,
                    self.statistics,
                    self.strict,
                    source=self.digest,
                    files=[source.name for source in self.sources],
                    progress=self.progress,
                    expected=self.expected,
                    compare=self.compare,
                )
        with translated(folder):
            return self._written(result, loaded)

    def _written(self, result: SparkResult, loaded: LoadedDocuments) -> dict[str, Any]:
        """The report, after all tables have been written."""
        from neardup.engines.core.boilerplate import outside_article
        from neardup.engines.local.write import PROBLEMS
        from neardup.engines.local.write_tables import record_files
        from neardup.engines.spark.io.problems import joined_problems

        inputs, output = [source.name for source in loaded.sources], self.output
        problems = joined_problems([loaded.problems, result.problems])
        if self.guard and result.make_report(inputs, problems, [])["warnings"]:
            output = replace(
                output,
                tables={name: table for name, table in output.tables.items() if name in record_files()},
            )
        with self.progress.stage("write", len(output.tables)), output.partial_tables() as paths:
            for name, attribute in output.tables.items():
                frame = self._frame(result, attribute, loaded.id_column)
                frame.write.parquet(f"file://{paths[name]}")  # a path of Hadoop: not escaped
                self.progress.advance(1)
        files = [*output.files, *([PROBLEMS] if problems["total"] and output.has_report else [])]
        report = result.make_report(inputs, problems, files, outside_article(self.sources, self.columns))
        if not output.has_report:
            report["rows"] = result.rows
        if self.show is not None:
            self.show(result)
        output.finish(report)
        return report

    def _frame(self, result: SparkResult, name: str, id_column: str | None) -> Any:
        """The DataFrame of a table."""
        from neardup.engines.core.tables import ANNOTATIONS, REASONS, renamed_columns

        added: dict[str, Any] = {"annotated": ANNOTATIONS, "removed": REASONS}
        for note in renamed_columns(added.get(name, ()), result.kept.columns if name in added else ()):
            self.progress.note(note)
        if name == "annotated":
            return result.annotate(id_column)
        return result.removed_with_reasons(id_column) if name == "removed" else getattr(result, name)


@contextmanager
def _no_documents(loaded: LoadedDocuments) -> Iterator[None]:
    """Names the inputs and their first problem, if they hold no documents."""
    from neardup.engines.spark.io.problems import no_documents

    try:
        yield
    except NoDocuments:
        raise no_documents(loaded.sources, loaded.problems) from None


@contextmanager
def _interruptible(output: SparkOutput) -> Iterator[None]:
    """Ends a run that Ctrl-C or a signal stops with one line that says how to resume it."""
    from neardup.cli import Stopped

    root = logging.getLogger()
    root.addFilter(_not_of_py4j)  # py4j logs the stack of an interrupted call to the root logger
    try:
        yield
    except (KeyboardInterrupt, Stopped) as stop:
        if not output.has_stages:
            raise
        by = f" by {stop.name}" if isinstance(stop, Stopped) else ""
        kept = f"complete stages are kept in {output.stages.parent}: the same command resumes from them"
        click.echo(f"neardup: stopped{by}; {kept}", err=True)
        raise SystemExit(128 + (stop.number if isinstance(stop, Stopped) else 2)) from None
    finally:
        root.removeFilter(_not_of_py4j)


def _not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in record.pathname
