"""`--engine spark`: the same command on a cluster, with folders of parquet files as its result."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from neardup.cli.spark_folder import REPORT, Target
from neardup.errors import InputError, ParameterError
from neardup.plan import Plan

if TYPE_CHECKING:
    from neardup.engines.spark.frames import Result
    from neardup.engines.spark.loading import Loaded

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
    mode: str,
    force: bool,
    master: str | None,
    conf: Sequence[str],
) -> dict[str, Any]:
    """The report of a run whose result has been written to a folder; stages stay in DIR/.stages until then."""
    from neardup.api import with_statistics
    from neardup.cli.options import reading_options, taken_columns
    from neardup.cli.run import run_identity
    from neardup.documents import open_inputs
    from neardup.engines.spark.failures import UnreadableError, translated
    from neardup.engines.spark.frames import run
    from neardup.engines.spark.loading import load
    from neardup.engines.spark.session import make_session, parse_conf, require_spark
    from neardup.engines.work import identity_digest

    require_spark()
    _refuse_local_only(values)
    settings = {**SETTINGS, **parse_conf(conf)}
    columns = taken_columns(values)
    plan, statistics = with_statistics(plan, values["stats"], values["stats_group"])
    sources = open_inputs(list(inputs), **reading_options(values))
    for note in sources.notes:
        click.echo(f"neardup: {note}", err=True)
    digest = identity_digest(run_identity(plan, columns, sources, values))
    target = Target.of(output, values["work_dir"], mode, digest)
    target.open(sources, force)

    def attempt(by_spark: bool) -> dict[str, Any]:
        with translated(str(target.folder)), target.cleared_if_refused():
            loaded = load(spark, sources, columns, values["strict"], by_spark)
            with _no_documents(loaded):
                result = run(
                    loaded.frame, plan, columns, target.stages, statistics, values["strict"], source=digest
                )
        return _written(result, loaded, target)

    with _interruptible(target):
        spark = make_session(master, settings)
        try:
            return attempt(by_spark=True)
        except UnreadableError as error:  # of which our readers leave out what is damaged, and say so
            click.echo(
                f"neardup: {error} Read again by neardup's readers, which leave out what is damaged.",
                err=True,
            )
            target.remove_stages()
            return attempt(by_spark=False)


def _refuse_local_only(values: dict[str, Any]) -> None:
    for name, usual in LOCAL_ONLY.items():
        if values.get(name, usual) != usual:
            raise ParameterError(name, "the Spark engine", f"left out, or {usual}", values[name])


def _written(result: Result, loaded: Loaded, target: Target) -> dict[str, Any]:
    """The report, after everything has been written."""
    from neardup.engines.spark.complaints import joined_problems
    from neardup.engines.spark.failures import translated

    with translated(str(target.folder)):
        for name in target.tables:
            # Hadoop takes a path as it is: escapes of a URI would become part of the name.
            getattr(result, name).write.mode("overwrite").parquet(f"file://{target.folder / name}")
        report = {
            **result.report,
            "inputs": [source.name for source in loaded.sources],
            "files": [*sorted(target.tables), REPORT],
        }
    report["problems"] = joined_problems([loaded.problems, report["problems"]])
    target.finish(report)
    return report


@contextmanager
def _no_documents(loaded: Loaded) -> Iterator[None]:
    """Says of input without documents which it is, and the first thing that is wrong with it."""
    from neardup.engines.spark.complaints import no_documents

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
