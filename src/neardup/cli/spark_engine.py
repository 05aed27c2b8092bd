"""`--engine spark`: the same command on a cluster, with folders of parquet files as its result."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from neardup.errors import OutputError, ParameterError
from neardup.plan import Plan

Command = Callable[..., Any]
FOLDERS = {"remove": ("kept", "removed"), "annotate": ("annotated",), "none": ()}
# Options that only the local engine has. (A Spark run always goes on where it was stopped.)
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
    from neardup.cli.options import reading_options
    from neardup.documents import open_inputs
    from neardup.engines.reader import Columns
    from neardup.engines.spark.failures import translated
    from neardup.engines.spark.frames import run
    from neardup.engines.spark.loading import load
    from neardup.engines.spark.session import make_session, parse_conf, require_spark

    require_spark()
    for name, usual in LOCAL_ONLY.items():
        if values.get(name, usual) != usual:
            raise ParameterError(name, "the Spark engine", f"left out, or {usual}", values[name])
    settings = parse_conf(conf)
    columns = Columns(values["text_column"], values["id_column"], values["html"])
    plan, statistics = with_statistics(plan, values["stats"], values["stats_group"])
    sources = open_inputs(list(inputs), **reading_options(values))
    folder = _folder(output, mode, force)
    work = Path(values["work_dir"]).absolute() if values["work_dir"] else folder / ".stages"
    spark = make_session(master, settings)
    loaded = load(spark, sources, columns, values["strict"])
    result = run(loaded.frame, plan, columns, work.as_uri(), statistics)
    tables = {"pairs": result.pairs, "clusters": result.clusters}
    tables |= {name: getattr(result, name) for name in FOLDERS[mode]}
    with translated(str(folder)):
        for name, rows in tables.items():
            rows.write.mode("overwrite").parquet((folder / name).as_uri())
        report = {**result.report, "inputs": [source.name for source in sources], "files": sorted(tables)}
    report["problems"] = loaded.counts
    (folder / "report.json").write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    if not values["work_dir"]:
        shutil.rmtree(work, ignore_errors=True)
    return report


def _folder(output: str, mode: str, force: bool) -> Path:
    """The output folder, made; refuses results that are there, and a folder that cannot be written."""
    folder = Path(output).absolute()
    there = [name for name in ("pairs", "clusters", *FOLDERS[mode]) if (folder / name).exists()]
    unfinished = (folder / ".stages").exists()  # a run that was killed while it wrote had leave to
    if there and not force and not unfinished:
        raise OutputError(f"{folder / there[0]} exists: choose another folder, or overwrite it with --force")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".neardup-probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror}") from None
    return folder


def spark_summary(report: dict[str, Any], output: str, seconds: float) -> str:
    """What the command prints."""
    bad = [f"{count:,} records: {kind}" for kind, count in sorted(report["problems"].items())]
    return "\n".join(
        [
            f"{report['documents']:,} documents: {report['kept']:,} kept, {report['removed']:,} removed "
            f"({report['exact_copies']:,} exact copies), {report['clusters']:,} clusters, {report['pairs']:,} pairs.",
            *bad,
            f"Written to {output} in {seconds:.1f} s on Spark.",
        ]
    )
