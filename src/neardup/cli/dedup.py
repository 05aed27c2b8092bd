"""neardup dedup: a clean corpus, and a record of every decision."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import click

from neardup.cli.support import options
from neardup.cli.support.against import base_plan, check_against, removing
from neardup.cli.support.compare_words import compare_words
from neardup.cli.support.dedup_job import DedupJob, Target
from neardup.cli.support.groups import grouped, seldom
from neardup.cli.support.method_options import ChosenMethod, repeated_words
from neardup.cli.support.shares import share_or_range
from neardup.cli.support.spark_engine import take_engine
from neardup.cli.support.units import DedupCommand, take_rule, unit_options, usual_policy

DECISIONS = (
    "keep",
    "keep_count",
    "direct_only",
    "empty",
    "clusters",
    "pairs",
    "decide",
    "numbers",
    "normalize",
)


@click.command(cls=DedupCommand)
@options.inputs
@options.output(
    "DIR", "The folder to write to, also s3://…; - writes what is kept to standard output.", remote=True
)
@grouped(
    "Output",
    options.choice("--mode", ["remove", "annotate", "none"], "Split, mark, or write tables only."),
    options.value("--output-format FORMAT", "parquet, jsonl[.gz|.zst], csv, tsv, mbox.  [default: as INPUT]"),
    seldom(
        options.value(
            "--table-format FORMAT",
            "Of pairs and clusters: parquet, csv, jsonl.",
            type=click.Choice(["parquet", "csv", "jsonl"]),
            default="parquet",
        ),
        click.option(
            "--escape-formulas/--no-escape-formulas",
            default=True,
            help="Put ' before csv cells that a spreadsheet would run.",
        ),
    ),
    options.flag("--report", "Write DIR/report.html, a page to review the result."),
    options.flag("--dry-run", "Estimate time, memory and results from a sample."),
)
@options.decide
@grouped(
    "Decision",
    options.value(
        "--clusters KIND",
        "leaders, components (chains of pairs), average or complete linkage.  [default: the method's, mostly leaders]",
        type=click.Choice(["leaders", "components", "average", "complete"]),
    ),
    seldom(options.flag("--direct-only", "Remove only direct matches of the kept document.")),
    click.option(
        "--guard/--no-guard",
        default=None,
        help="Stop if removals look wrong.  [default: if threshold < 0.3]",
    ),
    seldom(
        options.value(
            "--expect-removed SHARE",
            "Guard the removed share: 0.1 (half to twice) or 0.05-0.3.",
            callback=share_or_range,
        ),
    ),
    options.pairs(default="clusters"),
    click.option(
        "--keep",
        default="longest",
        metavar="POLICY",
        help="The document to keep: longest, shortest, first, last or none; longest:, shortest:, newest:, oldest:, "
        "highest: or lowest:COLUMN; priority:COLUMN=A,B.",
    ),
    seldom(
        options.choice("--empty", ["keep", "remove", "one"], "Texts without tokens: keep all, none or one."),
        options.count("--keep-count", "Documents to keep in each cluster.", 1, least=1),
    ),
    options.value("--decisions FILE", "Follow what people decided in neardup studio."),
    removing,
)
@unit_options
@options.run
def command(inputs: tuple[str, ...], output: str, chosen: ChosenMethod, **values: Any) -> None:
    """Remove or mark the near-duplicates among the documents of INPUT.

    INPUT is a file (parquet, jsonl, csv, tsv, warc, also .gz and .zst; mbox, eml), a folder of such files or of texts
    (.txt, .md, .html), a glob, an address (s3://…, https://…), or - for standard input. DIR gets the kept documents
    unchanged, the removed ones with the reason, the pairs and clusters, report.json, and problems.jsonl if records are
    bad. With -o - the kept documents go to standard output, and everything else to standard error.

    \b
    Examples:
      neardup dedup corpus.parquet -o clean
      neardup dedup 'crawl/*.jsonl.gz' -o clean --threshold 0.8 --keep newest:date
      neardup dedup huge/ -o clean --memory 4G --resume
      neardup dedup s3://corpus/crawl/ -o s3://corpus/clean
      neardup dedup corpus/ -o clean --engine spark --master spark://host:7077
      neardup dedup today.jsonl -o clean --against news.index --add
      neardup dedup news.jsonl -o reviewed --decisions clean/decisions.db
      neardup dedup corpus.parquet -o clean --unit paragraph
    """
    from neardup.engines.core.expected_share import ExpectedShare
    from neardup.engines.core.guard import is_guarded
    from neardup.plans import complete_plan

    started, engine = perf_counter(), take_engine(values)
    target = Target.taken(output, values, on_spark=engine is not None)
    others = {name: values[name] for name in ("against", "dry_run", "decisions")}
    rule, least = take_rule(values, chosen.method.name, target.not_with_units | others)
    if rule is not None:
        usual_policy(values)
    check_against(values)
    base = base_plan(chosen, values["against"])
    values["compare"] = compare_words(inputs, chosen, values) if base == chosen.plan() else None
    values["command"] = repeated_words(click.get_current_context(), inputs)
    plan = complete_plan(base, **{name: values.pop(name) for name in DECISIONS})
    values["expected"] = ExpectedShare.of(values.pop("expect_removed"))
    guard, dry = is_guarded(plan, values.pop("guard"), values["expected"]), values.pop("dry_run")
    job = DedupJob(plan, inputs, target, values, guard, started)
    if engine is not None:
        job.on_spark(engine)
    elif rule is not None:
        job.in_units(rule, least)
    elif dry:
        from neardup.cli.support.dry_run import dry_run

        dry_run(plan, inputs, values, target.mode)
    else:
        job.on_this_machine()
