"""neardup stats: document frequencies that are counted once and used often."""

from __future__ import annotations

from typing import Any

import click

from neardup.cli.support import options
from neardup.cli.support.emit import emit
from neardup.cli.support.groups import GroupedCommand
from neardup.cli.support.method_options import ChosenMethod, MethodCommand
from neardup.plurals import counted


@click.group()
def command() -> None:
    """Count document frequencies of a collection, for methods that weigh by them (--stats FILE).

    \b
    Examples:
      neardup stats build archive.jsonl.gz -o archive.parquet
      neardup stats merge january.parquet february.parquet -o both.parquet
      neardup stats info both.parquet
    """


@command.command(cls=MethodCommand, default_method="rare_phrases")
@options.inputs
@options.output("FILE", "The parquet file to write.", remote=True)
@options.value(
    "--memory SIZE",
    "Memory for the tables, such as 1G; the rest goes to the work folder.  [default: 256M]",
)
@options.count(
    "--at-least",
    "Leave out features of fewer documents: 2 makes a much smaller file, which states its error.",
    default=1,
    least=1,
)
@options.count(
    "--sketch", "Keep the N most frequent features of each type; the file states its error.", least=1
)
@options.reading
@options.statistics
def build(inputs: tuple[str, ...], output: str, force: bool, chosen: ChosenMethod, **values: Any) -> None:
    """Count the document frequencies of INPUT that a method needs.

    \b
    Examples:
      neardup stats build archive/*.jsonl.gz -o archive.parquet
      neardup stats build news.parquet -o frequencies.parquet --ngram 7 --df-unit host:url
      neardup dedup today.jsonl -o clean --method rare_phrases --stats archive.parquet
    """
    from neardup.cli.support.statistics import build_statistics

    memory, least, most = (values.pop(name) for name in ("memory", "at_least", "sketch"))
    header = build_statistics(chosen.plan(), inputs, output, values, _table_bytes(memory), least, most, force)
    _show(header, output, values["as_json"])


def _table_bytes(memory: str | None) -> int:
    """The bytes of --memory, at least a megabyte."""
    from neardup.documents.limits import size_in_bytes
    from neardup.errors import ParameterError

    size = size_in_bytes(memory or "256M", "memory")
    if size < 1 << 20:
        raise ParameterError("memory", "neardup", "at least 1M", memory)
    return size


@command.command(cls=GroupedCommand)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.output("FILE", "The parquet file to write.", remote=True)
@options.as_json
def merge(files: tuple[str, ...], output: str, force: bool, as_json: bool) -> None:
    """Add up the statistics of collections that have no document in common.

    \b
    Example:
      neardup stats merge january.parquet february.parquet -o both.parquet
    """
    from neardup.statistics import merge as merge_statistics
    from neardup.statistics.file import check_target, load_statistics, save_statistics

    check_target(output, force)
    merged = merge_statistics(load_statistics(file) for file in files)
    _show(save_statistics(merged, output, force=force), output, as_json)


@command.command(cls=GroupedCommand)
@click.argument("file", metavar="FILE")
@options.as_json
def info(file: str, as_json: bool) -> None:
    """Check a file of statistics, and print its documents and tables.

    \b
    Example:
      neardup stats info both.parquet
    """
    from neardup.statistics.file import load_statistics, read_header

    load_statistics(file)
    _show(read_header(file), file, as_json)


def _show(header: dict[str, Any], file: str, as_json: bool) -> None:
    lines = [
        f"{file}: statistics {header['digest']} of neardup {header['neardup']}",
        f"  {counted(header['documents'], 'document')}, unit of document frequency: {header['df_unit']}",
        f"  tokens: {header['text']}",
    ]
    for table in header["tables"]:
        exact = "exact" if not table["slack"] else f"at most {table['slack']:,} too low"
        rest = "" if table["least"] == 1 else f", in at least {counted(table['least'], 'document')}"
        lines.append(f"  {counted(table['features'], 'feature')}{rest}, {exact}: {table['counted']}")
    emit(as_json, header, lines)
