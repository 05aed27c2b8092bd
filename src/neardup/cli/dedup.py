"""neardup dedup: a clean corpus, and a record of every decision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from neardup.cli.support.groups import grouped
from neardup.cli.support.method_options import Chosen, MethodCommand
from neardup.cli.support.options import decide_option, input_options, resume_options, statistics_options
from neardup.cli.support.spark_engine import engine_options, run_on_spark, take_engine


@click.command(cls=MethodCommand)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@grouped(
    "Output",
    click.option("-o", "--output", required=True, metavar="DIR", help="The folder to write to."),
    click.option(
        "--mode",
        type=click.Choice(["remove", "annotate", "none"]),
        metavar="remove|annotate|none",
        default="remove",
        show_default=True,
        help="Split documents, mark them, or neither.",
    ),
    click.option(
        "--output-format",
        metavar="FORMAT",
        help="parquet, jsonl, jsonl.gz, jsonl.zst, csv, tsv.  [default: same]",
    ),
    click.option(
        "--escape-formulas/--no-escape-formulas",
        default=True,
        help="Put ' before csv cells that a spreadsheet runs.  [default: yes]",
    ),
    click.option("--force", is_flag=True, help="Overwrite results in the output folder."),
    click.option("--dry-run", is_flag=True, help="Estimate time, memory and results from a sample."),
)
@decide_option
@grouped(
    "Decision",
    click.option(
        "--clusters",
        type=click.Choice(["leaders", "components", "average", "complete"]),
        metavar="KIND",
        help="leaders, components (chains of pairs), or the average or complete linkage of clusters.  "
        "[default: components]",
    ),
    click.option(
        "--direct-only",
        is_flag=True,
        help="Keep a document that is below the threshold to the one it duplicates.",
    ),
    click.option(
        "--pairs",
        type=click.Choice(["clusters", "all"]),
        metavar="clusters|all",
        default="clusters",
        show_default=True,
        help="Compare as clusters need, or all.",
    ),
    click.option(
        "--keep",
        default="longest",
        show_default=True,
        metavar="POLICY",
        help="The document to keep: longest, shortest, first, last or none; longest:, shortest:, newest:, oldest:, "
        "highest: or lowest:COLUMN; priority:COLUMN=A,B.",
    ),
    click.option(
        "--keep-count",
        type=int,
        default=1,
        show_default=True,
        metavar="N",
        help="Documents of a cluster to keep.",
    ),
)
@resume_options
@input_options
@statistics_options
@grouped("Engine", engine_options)
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
    from neardup.clusters.keep import parse_keep
    from neardup.engines.local.write import check_output, document_files, write_run

    watch = Stopwatch()
    engine = take_engine(values)
    mode, format = values.pop("mode"), values.pop("output_format")
    keep = parse_keep(values.pop("keep"), values.pop("keep_count"), values.pop("direct_only"))
    clusters, pairs, decide = (values.pop(name) for name in ("clusters", "pairs", "decide"))
    force, escape = values.pop("force"), values.pop("escape_formulas")
    plan = complete_plan(chosen.plan(), keep=keep, pairs=pairs, clusters=clusters, decide=decide)
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
