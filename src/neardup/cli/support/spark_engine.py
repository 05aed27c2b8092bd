"""`--engine spark`: the same command on a cluster, with folders of parquet files as its result."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from neardup.errors import InputError, ParameterError
from neardup.plan import Plan

if TYPE_CHECKING:
    from neardup.cli.support.spark_folder import Target
    from neardup.documents import Source
    from neardup.engines.core.documents import InputColumns
    from neardup.engines.core.progress import Progress
    from neardup.engines.local.write import Mode
    from neardup.engines.spark.io.files import LoadedDocuments
    from neardup.engines.spark.io.frames import SparkResult
    from neardup.statistics import Statistics

Command = Callable[..., Any]
# Options that only the local engine has. (A Spark run always goes on where it was stopped.)
SETTINGS = {
    "spark.sql.caseSensitive": "true",  # as names of columns are to the local engine
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # which others than Spark read, with the zone
    "spark.log.level": "FATAL",  # a worker that stops at bad input is no failure: what it says is one line of ours
}
LOCAL_ONLY = {"output_format": None, "duplicate_ids": "error", "dry_run": False, "memory": None}


def engine_options(command: Command) -> Command:
    """Adds the choice of the engine."""
    options = [
        click.option(
            "--engine",
            type=click.Choice(["local", "spark"]),
            default="local",
            show_default=True,
            help="Run on this machine; or as Spark jobs, with the same result in folders of parquet files.",
        ),
        click.option(
            "--master", metavar="URL", help="[--engine spark] Where Spark runs.  [default: local[*]]"
        ),
        click.option(
            "--conf", multiple=True, metavar="KEY=VALUE", help="[--engine spark] A setting of Spark."
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def take_engine(values: dict[str, Any]) -> tuple[str, str | None, tuple[str, ...]]:
    """The engine, the master and the settings, taken out of `values`."""
    engine, master, conf = (values.pop(name) for name in ("engine", "master", "conf"))
    if engine == "local" and (master or conf):
        name = "master" if master else "conf"
        raise ParameterError(name, "neardup", "left out without --engine spark", master or conf[0])
    return engine, master, conf


def run_on_spark(
    plan: Plan,
    inputs: Sequence[str],
    values: dict[str, Any],
    output: str,
    mode: Mode,
    force: bool,
    master: str | None,
    conf: Sequence[str],
) -> dict[str, Any]:
    """The report of a run whose result has been written to a folder; stages stay in DIR/.stages until then."""
    from neardup.api import with_statistics
    from neardup.cli.support.options import reading_options, taken_columns
    from neardup.cli.support.run import run_identity
    from neardup.cli.support.show import TerminalProgress
    from neardup.cli.support.spark_folder import Target
    from neardup.documents import open_inputs
    from neardup.engines.local.checkpoint.workspace import identity_digest
    from neardup.engines.spark.session.session import make_session, parse_conf, require_spark

    require_spark()
    _refuse_local_only(values)
    settings = {**SETTINGS, **parse_conf(conf)}
    columns = taken_columns(values)
    plan, statistics = with_statistics(plan, values["stats"], values["df_unit"])
    sources = open_inputs(list(inputs), **reading_options(values))
    for note in sources.notes:
        click.echo(f"neardup: {note}", err=True)
    digest = identity_digest(run_identity(plan, columns, sources, values))
    target = Target.of(output, values["work_dir"], mode, digest)
    target.open(sources, force)
    with _interruptible(target):
        spark = make_session(master, settings)  # before anything is drawn: what the JVM says is held back
        with TerminalProgress() as progress:
            job = _Job(spark, plan, sources, columns, statistics, values["strict"], digest, target, progress)
            return job.done()


def _refuse_local_only(values: dict[str, Any]) -> None:
    for name, usual in LOCAL_ONLY.items():
        if values.get(name, usual) != usual:
            raise ParameterError(name, "the Spark engine", f"left out, or {usual}", values[name])


@dataclass(frozen=True)
class _Job:
    """All that a run is made of."""

    spark: Any
    plan: Plan
    sources: Sequence[Source]
    columns: InputColumns
    statistics: Statistics | None
    strict: bool
    digest: str
    target: Target
    progress: Progress

    def done(self) -> dict[str, Any]:
        """The report of the run; files that Spark finds damaged are left to our readers, which say what they leave."""
        from neardup.engines.spark.session.failures import UnreadableError

        try:
            return self._attempt(by_spark=True)
        except UnreadableError as error:
            self.progress.note(f"{error} Read again by neardup's readers, which leave out what is damaged.")
            self.target.remove_stages()
            return self._attempt(by_spark=False)

    def _attempt(self, by_spark: bool) -> dict[str, Any]:
        from neardup.engines.spark.io.files import load
        from neardup.engines.spark.io.frames import run
        from neardup.engines.spark.session.failures import translated

        folder = str(self.target.folder)
        with translated(folder), self.target.cleared_if_refused():
            loaded = load(self.spark, self.sources, self.columns, self.strict, by_spark)
            with _no_documents(loaded):
                result = run(
                    loaded.frame,
                    self.plan,
                    self.columns,
                    self.target.stages,
                    self.statistics,
                    self.strict,
                    source=self.digest,
                    progress=self.progress,
                )
        with translated(folder):
            return self._written(result, loaded)

    def _written(self, result: SparkResult, loaded: LoadedDocuments) -> dict[str, Any]:
        """The report, after everything has been written."""
        from neardup.cli.support.spark_folder import REPORT
        from neardup.engines.spark.io.problems import joined_problems

        tables = self.target.tables
        with self.progress.stage("write", len(tables)):
            for name in tables:
                # Hadoop takes a path as it is: escapes of a URI would become part of the name.
                where = f"file://{self.target.folder / name}"
                getattr(result, name).write.mode("overwrite").parquet(where)
                self.progress.advance(1)
        report = {
            **result.report,
            "problems": joined_problems([loaded.problems, result.report["problems"]]),
            "inputs": [source.name for source in loaded.sources],
            "files": [*sorted(tables), REPORT],
        }
        self.target.finish(report)
        return report


@contextmanager
def _no_documents(loaded: LoadedDocuments) -> Iterator[None]:
    """Says of input without documents which it is, and the first thing that is wrong with it."""
    from neardup.engines.spark.io.problems import no_documents

    try:
        yield
    except InputError as error:
        if str(error).startswith("There are no documents in"):
            raise no_documents(loaded.sources, loaded.problems) from None
        raise


@contextmanager
def _interruptible(target: Target) -> Iterator[None]:
    """Ends a run that is stopped by Ctrl-C with one line, which says how it goes on."""
    root = logging.getLogger()
    root.addFilter(_not_of_py4j)  # which logs the interruption of a call with its stack, by the root logger
    try:
        yield
    except KeyboardInterrupt:
        if not target.has_stages:
            raise
        click.echo(
            f"neardup: stopped; what is done so far is kept in {target.stages.parent}: the same command goes on "
            "from there",
            err=True,
        )
        raise SystemExit(130) from None
    finally:
        root.removeFilter(_not_of_py4j)


def _not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in record.pathname


def spark_summary(report: dict[str, Any], output: str, seconds: float) -> str:
    """What the command prints."""
    bad = [f"{count:,} records: {kind}" for kind, count in sorted(report["problems"]["kinds"].items())]
    return "\n".join(
        [
            f"{report['documents']:,} documents: {report['kept']:,} kept, {report['removed']:,} removed "
            f"({report['exact_copies']:,} exact copies), {report['clusters']:,} clusters, "
            f"{report['pairs']['verified']:,} verified pairs.",
            *bad,
            f"Written to {output} in {seconds:.1f} s on Spark.",
        ]
    )
