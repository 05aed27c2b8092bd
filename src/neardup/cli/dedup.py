"""neardup dedup: a clean corpus, and a record of every decision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from neardup.cli.support.options import (
    decide_option,
    input_options,
    method_options,
    resume_options,
    take_plan,
)
from neardup.cli.support.spark_engine import engine_options, run_on_spark, spark_summary, take_engine


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("-o", "--output", required=True, metavar="DIR", help="The folder to write to.")
@click.option(
    "--mode",
    type=click.Choice(["remove", "annotate", "none"]),
    default="remove",
    show_default=True,
    help="Write kept and removed documents apart; or all of them with columns that say what they are; or only "
    "pairs, clusters and the report.",
)
@click.option(
    "--output-format",
    metavar="FORMAT",
    help="parquet, jsonl, jsonl.gz, jsonl.zst, csv or tsv.  [default: as the input]",
)
@click.option(
    "--keep",
    default="longest",
    show_default=True,
    metavar="POLICY",
    help="Which document of a cluster stays: longest, shortest, longest:COLUMN, "
    "shortest:COLUMN (such as url), first, last, newest:COLUMN, oldest:COLUMN, "
    "highest:COLUMN, lowest:COLUMN, priority:COLUMN=A,B,…, or none.",
)
@click.option(
    "--keep-count", type=int, default=1, show_default=True, metavar="N", help="How many of a cluster stay."
)
@click.option(
    "--clusters",
    type=click.Choice(["components", "leaders"]),
    default="components",
    show_default=True,
    help="Connect whatever is linked by pairs; or only what is similar to the cluster's leader itself.",
)
@click.option(
    "--pairs",
    type=click.Choice(["clusters", "all"]),
    default="clusters",
    show_default=True,
    help="Compare what clusters need, linear in the size of a bucket; or every pair, which can be quadratic.",
)
@click.option(
    "--escape-formulas/--no-escape-formulas",
    default=True,
    show_default=True,
    help="Put an apostrophe before csv cells that are made here and that a spreadsheet would run.",
)
@click.option("--force", is_flag=True, help="Overwrite what is in the output folder.")
@engine_options
@click.option(
    "--dry-run",
    is_flag=True,
    help="Say what the run would take and find, from a sample; nothing is written.",
)
@decide_option
@resume_options
@input_options
@method_options
def command(inputs: tuple[str, ...], output: str, **values: Any) -> None:
    """Remove or mark the near-duplicates among the documents of INPUT.

    INPUT is a file (parquet, jsonl, csv, tsv, also .gz and .zst; mbox, eml), a folder of such files or of texts
    (.txt, .md, .html), a glob, or - for standard input.

    \b
    Writes to DIR:
      kept.<ext>, removed.<ext>   the documents, as they were (or annotated.<ext>)
      pairs.parquet               left, right, similarity, containment, reason, bridge
      clusters.parquet            id, cluster, leader, keep, duplicate_of, similarity, …
      report.json                 counts, times, problems, and the plan
      problems.jsonl              every bad record, where there are any: file, record, reason, what was done
    With --engine spark these are folders of parquet files, and .stages holds what a killed run goes on from.

    \b
    Examples:
      neardup dedup corpus.parquet -o clean
      neardup dedup 'crawl/*.jsonl.gz' -o clean --threshold 0.8 --keep newest:date
      neardup dedup huge/ -o clean --memory 4G --dry-run
      neardup dedup huge/ -o clean --memory 4G --resume
      neardup dedup news/ -o marked --mode annotate --output-format parquet
      neardup dedup corpus/ -o clean --engine spark --master spark://host:7077 --conf spark.executor.memory=8g
    """
    from neardup.api import complete_plan
    from neardup.cli.support.run import finished, run_command
    from neardup.cli.support.show import Stopwatch, summary
    from neardup.engines.local.write import check_output, document_files, write_run

    watch = Stopwatch()
    engine, master, conf = take_engine(values)
    names = ("mode", "output_format", "keep", "keep_count", "clusters", "pairs", "decide")
    mode, format, keep, keep_count, clusters, pairs, decide = (values.pop(name) for name in names)
    force, escape = values.pop("force"), values.pop("escape_formulas")
    plan = complete_plan(
        take_plan(values), keep=keep, keep_count=keep_count, pairs=pairs, clusters=clusters, decide=decide
    )
    as_json = values["as_json"]
    if engine == "spark":
        values["output_format"] = format
        found = run_on_spark(plan, inputs, values, output, mode, force, master, conf)
        said = (
            json.dumps(found, ensure_ascii=False) if as_json else spark_summary(found, output, watch.seconds)
        )
        click.echo(said)
        return

    if values.pop("dry_run"):
        from neardup.cli.support.dry_run import dry_run

        dry_run(plan, inputs, values, mode)
        return

    def written(sources: Any) -> list[str]:
        return document_files(sources, mode, format)

    if values["resume"] and (report := finished(plan, inputs, values, Path(output), written)):
        click.echo(json.dumps(report, ensure_ascii=False) if as_json else summary(report, output, 0.0))
        return

    def check(sources: Any, resumed: bool) -> None:
        nonlocal force
        force = force or resumed  # which had leave to write there
        check_output(sources, output, mode, format, force)

    with run_command(plan, inputs, values, Path(output), force, check) as run:
        report = write_run(run, output, mode=mode, format=format, force=force, escape_formulas=escape)
    click.echo(json.dumps(report, ensure_ascii=False) if as_json else summary(report, output, watch.seconds))
