"""neardup dedup: a clean corpus, and a record of every decision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from neardup.cli.support import options
from neardup.cli.support.groups import grouped
from neardup.cli.support.method_options import Chosen, MethodCommand
from neardup.cli.support.spark_engine import run_on_spark, take_engine


@click.command(cls=MethodCommand)
@options.inputs
@options.output("DIR", "The folder to write to.")
@grouped(
    "Output",
    options.choice("--mode", ["remove", "annotate", "none"], "Split documents, mark them, or neither."),
    click.option(
        "--output-format",
        metavar="FORMAT",
        help="parquet, jsonl, jsonl.gz, jsonl.zst, csv, tsv.  [default: same]",
    ),
    click.option(
        "--escape-formulas/--no-escape-formulas",
        default=True,
        help="Put ' before csv cells that a spreadsheet runs.",
    ),
    click.option("--dry-run", is_flag=True, help="Estimate time, memory and results from a sample."),
)
@options.decide
@grouped(
    "Decision",
    options.choice(
        "--clusters",
        ["leaders", "components"],
        "Each document reaches the threshold with the one that stays; or pairs link it, however long the chain.",
        default="components",
    ),
    options.choice("--pairs", ["clusters", "all"], "Compare as clusters need, or all."),
    click.option(
        "--keep",
        default="longest",
        metavar="POLICY",
        help="The document to keep: longest, shortest, first, last or none; longest:, shortest:, newest:, oldest:, "
        "highest: or lowest:COLUMN; priority:COLUMN=A,B.",
    ),
    options.count("--keep-count", "Documents of a cluster to keep.", 1, least=1),
)
@options.run
def command(inputs: tuple[str, ...], output: str, chosen: Chosen, **values: Any) -> None:
    """Remove or mark the near-duplicates among the documents of INPUT.

    INPUT is a file (parquet, jsonl, csv, tsv, warc, also .gz and .zst; mbox, eml), a folder of such files or of texts
    (.txt, .md, .html), a glob, or - for standard input. DIR gets kept and removed (or annotated) documents,
    pairs.parquet, clusters.parquet, report.json, and problems.jsonl if records are bad.

    \b
    Examples:
      neardup dedup corpus.parquet -o clean
      neardup dedup 'crawl/*.jsonl.gz' -o clean --threshold 0.8 --keep newest:date
      neardup dedup huge/ -o clean --memory 4G --resume
      neardup dedup news/ -o marked --mode annotate --output-format parquet
      neardup dedup corpus/ -o clean --engine spark --master spark://host:7077
    """
    from neardup.api import complete_plan
    from neardup.cli.support.run import finished, run_command
    from neardup.cli.support.show import Stopwatch, summary
    from neardup.engines.local.write import check_output, document_files, write_run

    watch = Stopwatch()
    engine = take_engine(values)
    names = ("mode", "output_format", "keep", "keep_count", "clusters", "pairs", "decide")
    mode, format, keep, keep_count, clusters, pairs, decide = (values.pop(name) for name in names)
    force, escape = values.pop("force"), values.pop("escape_formulas")
    plan = complete_plan(
        chosen.plan(), keep=keep, keep_count=keep_count, pairs=pairs, clusters=clusters, decide=decide
    )
    as_json = values["as_json"]
    if engine is not None:
        from neardup.cli.support.spark_folder import table_names

        report = run_on_spark(engine, plan, inputs, values, Path(output), table_names(mode), force)
        shown = summary(report, output, watch.seconds)
        click.echo(json.dumps(report, ensure_ascii=False) if as_json else shown)
        return

    if values.pop("dry_run"):
        from neardup.cli.support.dry_run import dry_run

        dry_run(plan, inputs, values, mode)
        return

    def written(sources: Any) -> list[str]:
        return document_files(sources, mode, format)

    if values["resume"] and (done := finished(plan, inputs, values, Path(output), written)):
        click.echo(json.dumps(done, ensure_ascii=False) if as_json else summary(done, output, 0.0))
        return

    def check(sources: Any, resumed: bool) -> None:
        nonlocal force
        force = force or resumed  # which had leave to write there
        check_output(sources, output, mode, format, force)

    with run_command(plan, inputs, values, Path(output), force, check) as run:
        report = write_run(run, output, mode=mode, format=format, force=force, escape_formulas=escape)
    click.echo(json.dumps(report, ensure_ascii=False) if as_json else summary(report, output, watch.seconds))
