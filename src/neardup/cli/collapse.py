"""neardup collapse: a result list with near-duplicates folded, as one reader may see it."""

from __future__ import annotations

import json
from typing import Any

import click

from neardup.cli.support.options import input_options, method_options
from neardup.cli.support.pages import column_options
from neardup.index.documents import MASTERS


@click.command()
@click.argument("results", metavar="RESULTS")
@click.option("--reader-groups", default="", metavar="A,B", help="The groups that the reader belongs to.")
@click.option(
    "--order",
    type=click.Choice(["rank", "time", "length"]),
    default="rank",
    show_default=True,
    help="How folded documents are listed.",
)
@click.option(
    "--master",
    type=click.Choice(MASTERS),
    default="quality",
    show_default=True,
    help="Which document stands for the others; of equals the one ranked first.",
)
@column_options
@input_options
@method_options
def command(results: str, reader_groups: str, **values: Any) -> None:
    """Fold near-duplicates of a ranked list under the best one that the reader may see.

    RESULTS are documents, best first. What the reader may not see is left out before anything is compared: the
    output is what it would be if those documents did not exist.

    \b
    Example:
      neardup collapse results.jsonl --reader-groups staff,board --readers-column readers
    """
    from neardup.cli.support.pages import fingerprint_plan
    from neardup.cli.support.ranked import ranked_documents
    from neardup.index.collapse import collapse
    from neardup.index.documents import reserved_bits

    plan, statistics = fingerprint_plan(values)
    member = [name.strip() for name in reader_groups.split(",") if name.strip()]
    documents = ranked_documents(results, plan, member, values, statistics)
    within = int(plan.candidates.distance(plan.threshold))  # type: ignore[attr-defined]
    groups = collapse(
        documents, member, distance=within, order=values["order"], master=values["master"],
        same=reserved_bits(plan),
    )  # fmt: skip
    for group in groups:
        folded = [document.id for document in group.folded]
        if values["as_json"]:
            click.echo(json.dumps({"id": group.shown.id, "folded": folded}, ensure_ascii=False))
        else:
            click.echo(f"{group.shown.id}" + (f"  and {', '.join(map(str, folded))}" if folded else ""))
