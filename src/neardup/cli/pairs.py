"""neardup pairs: the near-duplicate pairs of a corpus."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from neardup.cli.support import options
from neardup.cli.support.groups import grouped
from neardup.cli.support.method_options import Chosen, MethodCommand
from neardup.cli.support.spark_engine import run_on_spark, take_engine
from neardup.plurals import counted


@click.command(cls=MethodCommand)
@options.inputs
@options.output("FILE", "The parquet file to write.")
@options.decide
@grouped(
    "Decision",
    options.choice(
        "--pairs",
        ["clusters", "all"],
        "Compare the pairs that clusters need, or all (quadratic in the size of a cluster).",
        default="all",
    ),
)
@options.run
def command(inputs: tuple[str, ...], output: str, chosen: Chosen, **values: Any) -> None:
    """List the pairs of near-duplicates among the documents of INPUT.

    Writes a parquet file with the columns left, right (ids), similarity, containment, reason (similar or copy)
    and bridge; with a model also the probability that a pair of this similarity is one of near-duplicates. With
    --engine spark, FILE is a folder of parquet files.

    \b
    Example:
      neardup pairs news.jsonl -o pairs.parquet --threshold 0.8
    """
    from neardup.api import complete_plan
    from neardup.cli.support.run import run_command
    from neardup.cli.support.show import problem_lines
    from neardup.engines.local.write import run_report, write_pairs
    from neardup.errors import OutputError
    from neardup.output import OutputFolder

    engine = take_engine(values)
    pairs, force, as_json = values.pop("pairs"), values.pop("force"), values["as_json"]
    plan = complete_plan(
        chosen.plan(), keep="longest", keep_count=1, pairs=pairs, clusters="components",
        decide=values.pop("decide"),
    )  # fmt: skip
    target = Path(output)
    if target.suffix != ".parquet":
        raise OutputError(f"{output} must end in .parquet: pairs are written in that format")
    if engine is not None:
        tables = {target.name: "pairs"}
        report = run_on_spark(engine, plan, inputs, values, target.parent, tables, force, has_report=False)
    else:
        with OutputFolder(target.parent, force=force) as folder:
            path = folder.file(target.name)
            with run_command(plan, inputs, values, target.parent, force) as run:
                with run.progress.stage("write pairs"):
                    rows = write_pairs(run, path)
                folder.commit()
                report = {**run_report(run, [target.name]), "rows": rows}
    if as_json:
        click.echo(json.dumps(report, ensure_ascii=False))
    else:
        click.echo(
            f"{counted(report['rows'], 'pair')} among {counted(report['documents'], 'document')}, written to {output}"
        )
        for line in problem_lines(report["problems"]):
            click.echo(line)
