"""neardup index order, clusters: near-duplicates among the documents of an index."""

from __future__ import annotations

from typing import Any

import click

from neardup.cli.index.shared import index_argument, json_lines, open_index, threshold
from neardup.cli.support import options
from neardup.cli.support.emit import emit
from neardup.cli.support.groups import GroupedCommand
from neardup.index.documents import MASTERS


@click.command(cls=GroupedCommand, short_help="List ids in the order to crawl them.")
@index_argument
@threshold
@json_lines
def order(folder: str, threshold: float | None, as_json: bool) -> None:
    """List ids in the order to crawl them: unique pages first, then second copies, then third ones, …

    Within a round, pages of higher quality come first. A near-duplicate of a better page counts as its copy if every
    group with access to it has access to the better one.

    \b
    Example:
      neardup index order pages.index
    """
    from neardup.cli.support.show import TerminalProgress

    with open_index(folder) as index, TerminalProgress() as progress:
        ids = index.crawl_order(threshold=threshold, progress=progress)
    for name in ids:
        emit(as_json, name, [str(name)])


@click.command(cls=GroupedCommand, short_help="List clusters of two or more documents.")
@index_argument
@options.choice("--master", MASTERS, "The document that represents its cluster.", default="longest")
@options.choice(
    "--order", ["rank", "time", "length"], "Order of members: as added, newest first, or longest first."
)
@threshold
@json_lines
def clusters(folder: str, master: Any, order: Any, threshold: float | None, as_json: bool) -> None:
    """List clusters of two or more documents of INDEX: a master, and the near-duplicates of it.

    \b
    Example:
      neardup index clusters pages.index --master quality
    """
    from neardup.cli.support.show import TerminalProgress

    with open_index(folder) as index, TerminalProgress() as progress:
        found = index.clusters(master=master, order=order, threshold=threshold, progress=progress)
    for name, *members in found:
        line = f"{name}: {', '.join(map(str, members))}"
        emit(as_json, {"master": name, "members": members}, [line])
