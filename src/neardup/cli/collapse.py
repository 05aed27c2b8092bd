"""neardup collapse: a result list with near-duplicates folded, for the groups with access of one user."""

from __future__ import annotations

import json
from typing import Any

import click

from neardup.cli.support.method_options import Chosen, MethodCommand
from neardup.cli.support.options import input_options, statistics_options
from neardup.cli.support.pages import column_options
from neardup.index.documents import MASTERS


@click.command(cls=MethodCommand, default_method="simhash")
@click.argument("results", metavar="RESULTS")
@click.option("--user-groups", default="", metavar="A,B", help="The groups of the user who sees the list.")
@click.option(
    "--order",
    type=click.Choice(["rank", "time", "length"]),
    default="rank",
    show_default=True,
    help="The order of folded documents.",
)
@click.option(
    "--master",
    type=click.Choice(MASTERS),
    default="quality",
    show_default=True,
    help="The document to show for a group; of equals, the one ranked first.",
)
@column_options
@input_options
@statistics_options
def command(results: str, user_groups: str, chosen: Chosen, **values: Any) -> None:
    """Fold near-duplicates of a ranked list under the best one that a user may see.

    RESULTS are documents, best first. Documents that no group of the user may see are left out before anything is
    compared: the output is the same as if they did not exist. Simhash weighs by tf here, unless --stats or --weights is
    given.

    \b
    Example:
      neardup collapse results.jsonl --user-groups staff,board --access-column groups
    """
    from neardup.cli.support.pages import fingerprint_plan
    from neardup.cli.support.ranked import ranked_documents
    from neardup.index.collapse import collapse
    from neardup.index.documents import reserved_bits

    plan, statistics = fingerprint_plan(chosen, values)
    member = [name.strip() for name in user_groups.split(",") if name.strip()]
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
