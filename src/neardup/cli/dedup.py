"""neardup dedup: a clean corpus, and a record of every decision."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from neardup.cli.support import options
from neardup.cli.support.against import add_to_index, base_plan, check_against, removing
from neardup.cli.support.compare_words import compare_words
from neardup.cli.support.emit import emit
from neardup.cli.support.groups import grouped, seldom
from neardup.cli.support.method_options import ChosenMethod, repeated_words
from neardup.cli.support.report_page import refuse_page, write_page
from neardup.cli.support.shares import share_or_range
from neardup.cli.support.spark_engine import run_on_spark, take_engine
from neardup.cli.support.standard_output import (
    STDOUT,
    refuse_binary,
    refuse_folder_options,
    standard_output,
)
from neardup.cli.support.units import (
    DedupCommand,
    run_units,
    take_rule,
    unit_options,
    unit_summary,
    usual_policy,
)
from neardup.output import refuse_address
from neardup.remote_output import work_place

if TYPE_CHECKING:
    from neardup.engines.local.run import LocalRun
    from neardup.index.references import References

STOPPED = "neardup: stopped by the guard, no documents were written; --no-guard --force writes them anyway"
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
    from neardup.cli.support.run import finished, run_command
    from neardup.cli.support.show import summary
    from neardup.documents import output_format
    from neardup.engines.core.expected_share import ExpectedShare
    from neardup.engines.core.guard import is_guarded
    from neardup.engines.local.units.write import UnitOptions
    from neardup.engines.local.write import check_output, document_files, run_report, write_run, write_stream
    from neardup.engines.local.write_tables import record_files
    from neardup.plans import complete_plan

    start = perf_counter()
    engine = take_engine(values)
    names = ("mode", "output_format", "force", "escape_formulas", "table_format", "report")
    mode, format, force, escape, table_format, with_page = (values.pop(name) for name in names)
    piped = output == STDOUT
    if piped:
        refuse_folder_options(mode, values, with_page, engine is not None)
    if with_page:
        refuse_page(output, force or values["resume"])
    beside = {
        "report": with_page,
        "mode annotate": mode == "annotate",
        "output -": piped,
    }
    beside |= {name: values[name] for name in ("against", "dry_run", "decisions")}
    rule, least = take_rule(values, chosen.method.name, beside)
    if rule is not None:
        usual_policy(values)
    check_against(values)
    base = base_plan(chosen, values["against"])
    values["compare"] = compare_words(inputs, chosen, values) if base == chosen.plan() else None
    values["command"] = repeated_words(click.get_current_context(), inputs)
    plan = complete_plan(base, **{name: values.pop(name) for name in DECISIONS})
    values["expected"] = ExpectedShare.of(values.pop("expect_removed"))
    guard = is_guarded(plan, values.pop("guard"), values["expected"])

    def finish(report: dict[str, Any]) -> None:
        stops = guard and report["warnings"]
        how = "none" if stops else mode
        page = [f"report written to {write_page(output)}"] if with_page else []
        folder = None if piped else output
        lines = [summary(report, folder, perf_counter() - start, how), *page]
        emit(values["as_json"], report, lines, err=piped)
        if stops:
            click.echo(STOPPED, err=True)
            raise SystemExit(3)

    def finish_units(report: dict[str, Any]) -> None:
        emit(values["as_json"], report, [unit_summary(report, output, perf_counter() - start)])

    if engine is not None:
        from neardup.cli.support.spark_folder import table_names

        refuse_address(output)

        tables = table_names(mode)
        finish(run_on_spark(engine, plan, inputs, values, Path(output), tables, force, guard=guard))
        return

    if rule is not None:
        values.pop("dry_run")
        unit = rule.kind if rule.count == 1 else f"{rule.kind}:{rule.count}"
        asked = UnitOptions(unit, least, format, table_format, force, escape, mode != "none")
        run_units(plan, inputs, values, output, asked, finish_units)
        return

    if values.pop("dry_run"):
        from neardup.cli.support.dry_run import dry_run

        dry_run(plan, inputs, values, mode)
        return

    def written(sources: Any) -> list[str]:
        return [*document_files(sources, mode, format), *record_files(table_format)]

    if values["resume"] and (done := finished(plan, inputs, values, output, written)):
        finish(done)
        return

    def check(sources: Any, resumed: bool) -> None:
        nonlocal force
        if piped:
            refuse_binary(*output_format(sources, format)[::2])
            return
        force = force or resumed  # which had leave to write there
        check_output(sources, output, mode, format, force, table_format)

    added: list[str] = []

    def add(run: LocalRun, references: References | None) -> None:
        if not stops and (sentence := add_to_index(run, references, values["add"])):
            added.append(sentence)

    work = None if piped else work_place(output)
    with run_command(plan, inputs, values, work, force, check, add) as run:
        stops = guard and run_report(run, [])["warnings"]
        how: Any = "none" if stops else mode
        settings = {"mode": how, "format": format, "escape_formulas": escape}
        if not piped:
            report = write_run(run, output, force=force, table_format=table_format, **settings)
        elif stops:
            report = run_report(run, [])
        else:
            report = write_stream(run, standard_output(), **settings)
    finish(report)
    for sentence in () if values["as_json"] else added:
        click.echo(sentence, err=piped)
