"""neardup collapse: a result list with near-duplicates folded, restricted to what some groups may see."""

from __future__ import annotations

from typing import Any

import click

from neardup.cli.support import options
from neardup.cli.support.emit import emit
from neardup.cli.support.method_options import ChosenMethod, MethodCommand
from neardup.errors import InputError
from neardup.escapes import escape_controls
from neardup.index.documents import MASTERS


@click.command(cls=MethodCommand, default_method="simhash")
@click.argument("results", metavar="RESULTS")
@click.option(
    "--access-groups",
    default="",
    show_default=False,
    metavar="A,B",
    help="The groups that the results are for.",
)
@options.choice("--order", ["rank", "time", "length"], "Order of folded documents.")
@options.choice("--master", MASTERS, "The document that is shown; ties by rank.", default="quality")
@options.attributes
@options.reading
@options.statistics
def command(results: str, access_groups: str, chosen: ChosenMethod, **values: Any) -> None:
    """Fold near-duplicates of a ranked list under the best visible document.

    RESULTS are documents, best first. A document is visible if one of --access-groups has access to it. Hidden
    documents are removed before anything is compared: the output is the same as if they did not exist. Simhash weighs
    by tf here, unless --stats or --weights is given.

    \b
    Example:
      neardup collapse results.jsonl --access-groups staff,board --access-column groups
    """
    from neardup.cli.support.pages import fingerprint_plan
    from neardup.cli.support.ranked import ranked_documents
    from neardup.index.collapse import collapse
    from neardup.index.documents import reserved_bits

    plan, statistics = fingerprint_plan(chosen, values)
    names = [name.strip() for name in access_groups.split(",") if name.strip()]
    if names and not values["access_column"]:
        raise InputError(
            "--access-groups needs --access-column: without the column of groups, every document would be shown."
        )
    documents = ranked_documents(results, plan, names, values, statistics)
    within = int(plan.candidates.distance(plan.threshold))  # type: ignore[attr-defined]
    collapsed = collapse(
        documents, names, distance=within, order=values["order"], master=values["master"],
        same=reserved_bits(plan),
    )  # fmt: skip
    for result in collapsed:
        folded = [document.id for document in result.folded]
        others = f"  and {', '.join(map(str, folded))}" if folded else ""
        emit(
            values["as_json"],
            {"id": result.shown.id, "folded": folded},
            [escape_controls(f"{result.shown.id}{others}")],
        )
