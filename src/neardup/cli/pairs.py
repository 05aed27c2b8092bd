"""neardup pairs: the near-duplicate pairs of a corpus."""

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


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("-o", "--output", required=True, metavar="FILE", help="The parquet file to write.")
@click.option(
    "--pairs",
    type=click.Choice(["clusters", "all"]),
    default="all",
    show_default=True,
    help="Every pair that the method finds (quadratic in the size of a cluster), or what clusters need.",
)
@click.option("--force", is_flag=True, help="Overwrite the file.")
@decide_option
@resume_options
@input_options
@method_options
def command(inputs: tuple[str, ...], output: str, **values: Any) -> None:
    """List the pairs of near-duplicates among the documents of INPUT.

    Writes a parquet file with the columns left, right (ids), similarity, containment, reason (similar or copy)
    and bridge; and, with a model, the probability that a pair of this similarity is one of near-duplicates.

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

    pairs, force, as_json = values.pop("pairs"), values.pop("force"), values["as_json"]
    plan = complete_plan(
        take_plan(values), keep="longest", keep_count=1, pairs=pairs, clusters="components",
        decide=values.pop("decide"),
    )  # fmt: skip
    target = Path(output)
    if target.suffix != ".parquet":
        raise OutputError(f"{output} must end in .parquet: pairs are written in that format")
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
        click.echo(f"{rows:,} pairs among {report['documents']:,} documents, written to {output}")
        for line in problem_lines(report["problems"]):
            click.echo(line)
