"""neardup stats: document frequencies that are counted once and used often."""

from __future__ import annotations

import json
from typing import Any

import click

from neardup.cli.support.options import input_options, method_options, take_plan


@click.group()
def command() -> None:
    """Count document frequencies of a collection, for methods that weigh by them (--stats FILE).

    \b
    Examples:
      neardup stats build archive.jsonl.gz -o archive.parquet
      neardup stats merge january.parquet february.parquet -o both.parquet
      neardup stats info both.parquet
    """


@command.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("-o", "--output", required=True, metavar="FILE", help="The parquet file to write.")
@click.option(
    "--memory", type=click.IntRange(1), default=256, show_default=True, metavar="MB",
    help="Memory for the tables; what exceeds it waits in the work folder.",
)  # fmt: skip
@click.option(
    "--at-least", type=click.IntRange(1), default=1, show_default=True, metavar="N",
    help="Leave out what occurs in fewer documents: 2 makes a much smaller file, which still merges with an error "
    "that it states.",
)  # fmt: skip
@click.option(
    "--sketch", type=click.IntRange(1), metavar="N",
    help="Keep a sketch of the N most frequent features of each kind instead of all; it states its error.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite the file.")
@input_options
@method_options
def build(inputs: tuple[str, ...], output: str, **values: Any) -> None:
    """Count the features of INPUT that a method asks for (rare_phrases unless --method says otherwise).

    \b
    Examples:
      neardup stats build archive/*.jsonl.gz -o archive.parquet
      neardup stats build news.parquet -o news.parquet --ngram 7 --df-unit host:url
      neardup dedup today.jsonl -o clean --method rare_phrases --stats archive.parquet
    """
    from neardup.cli.support.statistics import build_statistics

    values["method"] = values["method"] or "rare_phrases"
    memory, least, most, force = (values.pop(name) for name in ("memory", "at_least", "sketch", "force"))
    plan = take_plan(values)
    header = build_statistics(plan, inputs, output, values, memory << 20, least, most, force)
    _show(header, output, values["as_json"])


@command.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", required=True, metavar="FILE", help="The parquet file to write.")
@click.option("--force", is_flag=True, help="Overwrite the file.")
@click.option("--json", "as_json", is_flag=True, help="Print a machine-readable summary.")
def merge(files: tuple[str, ...], output: str, force: bool, as_json: bool) -> None:
    """Add up the statistics of collections that have no document in common."""
    from neardup.statistics import merge as merge_statistics
    from neardup.statistics.file import check_target, load_statistics, save_statistics

    check_target(output, force)
    merged = merge_statistics(load_statistics(file) for file in files)
    _show(save_statistics(merged, output, force=force), output, as_json)


@command.command()
@click.argument("file", metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="Print a machine-readable summary.")
def info(file: str, as_json: bool) -> None:
    """Say what a file of statistics holds, after reading all of it."""
    from neardup.statistics.file import load_statistics, read_header

    load_statistics(file)
    _show(read_header(file), file, as_json)


def _show(header: dict[str, Any], file: str, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(header, ensure_ascii=False))
        return
    click.echo(f"{file}: statistics {header['digest']} of neardup {header['neardup']}")
    click.echo(f"  {header['documents']:,} documents, unit of document frequency: {header['df_unit']}")
    click.echo(f"  tokens: {header['text']}")
    for table in header["tables"]:
        exact = "exact" if not table["slack"] else f"at most {table['slack']:,} too low"
        rest = "" if table["least"] == 1 else f", of at least {table['least']:,} documents"
        click.echo(f"  {table['features']:,} features{rest}, {exact}: {table['counted']}")
