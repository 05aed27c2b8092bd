"""neardup index: documents on disk that are found, replaced and deleted at any time."""

from __future__ import annotations

import click

from neardup.cli.index.ask import check, get, query
from neardup.cli.index.change import add, build, delete
from neardup.cli.index.crawl import clusters, order
from neardup.cli.index.upkeep import compact, export, info, refresh, verify


@click.group()
def command() -> None:
    """Keep an index of documents, and look new documents up in it.

    INDEX is a folder that `neardup index build` makes, or the address of a PostgreSQL database
    (postgresql://host/database?index=NAME). It keeps the options of its method, document frequencies if the method
    weighs by them, and the documents. Its matches are those that `neardup pairs` finds with the same options.

    \b
    Examples:
      neardup index build news.index archive/ --method minhash --threshold 0.8
      neardup index add news.index today.jsonl
      neardup index query news.index today.jsonl
      neardup index check news.index today.jsonl
    """


for _one in (build, add, query, check, get, delete, info, compact, verify, export, refresh, order, clusters):
    command.add_command(_one)
