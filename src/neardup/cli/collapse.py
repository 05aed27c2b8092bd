"""neardup collapse: a result list with near-duplicates folded, restricted to what some groups may see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from neardup.cli.support import options
from neardup.cli.support.emit import emit
from neardup.cli.support.method_options import ChosenMethod, MethodCommand
from neardup.errors import InputError
from neardup.escapes import escape_controls
from neardup.index.documents import MASTERS
from neardup.plurals import counted

if TYPE_CHECKING:
    from neardup.index.collapse import CollapsedResult


@click.command(cls=MethodCommand, default_method="simhash")
@click.argument("results", metavar="RESULTS")
@click.option(
    "--access-groups",
    default="",
    show_default=False,
    metavar="A,B",
    help="The groups that the results are for.",
)
@click.option(
    "--index", metavar="INDEX", help="RESULTS are documents of this index, by id: its matches fold them."
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

    With --index, RESULTS need an id column alone: texts, groups with access, quality and time are those of the index,
    and its verified matches say which documents are near-duplicates, for any method.

    \b
    Examples:
      neardup collapse results.jsonl --access-groups staff,board --access-column groups
      neardup collapse results.jsonl --index news.index --access-groups staff
    """
    names = [name.strip() for name in access_groups.split(",") if name.strip()]
    if values["index"] is not None:
        collapsed = _of_index(results, names, chosen, values)
    else:
        collapsed = _of_texts(results, names, chosen, values)
    for result in collapsed:
        folded = [document.id for document in result.folded]
        others = f"  and {', '.join(map(str, folded))}" if folded else ""
        emit(
            values["as_json"],
            {"id": result.shown.id, "folded": folded},
            [escape_controls(f"{result.shown.id}{others}")],
        )


def _of_texts(
    results: str, names: list[str], chosen: ChosenMethod, values: dict[str, Any]
) -> list[CollapsedResult]:
    """The results, folded by the fingerprints of their texts."""
    from neardup.cli.support.pages import fingerprint_plan
    from neardup.cli.support.ranked import ranked_documents
    from neardup.index.collapse import collapse
    from neardup.index.documents import reserved_bits

    plan, statistics = fingerprint_plan(chosen, values)
    if names and not values["access_column"]:
        raise InputError(
            "--access-groups needs --access-column: without the column of groups, every document would be shown."
        )
    documents = ranked_documents(results, plan, names, values, statistics)
    within = int(plan.candidates.distance(plan.threshold))  # type: ignore[attr-defined]
    how = {"order": values["order"], "master": values["master"]}
    return collapse(documents, names, distance=within, same=reserved_bits(plan), **how)


def _of_index(
    results: str, names: list[str], chosen: ChosenMethod, values: dict[str, Any]
) -> list[CollapsedResult]:
    """The results, folded by the matches of their index; ids that it does not have are reported."""
    from neardup.cli.support.ranked import ranked_ids
    from neardup.index.index import Index

    columns = [name for name in ("access", "quality", "time", "url") if values[f"{name}_column"]]
    if chosen.named or chosen.options or values["stats"]:
        raise InputError("--index has its own method: leave --method, its options and --stats out.")
    if columns:
        raise InputError(f"--index has the attributes of its documents: leave --{columns[0]}-column out.")
    ids = ranked_ids(results, values)
    with Index(values["index"]) as index:
        found, unknown = index.collapse_known(ids, names, values["master"], values["order"])
    if unknown:
        first = ", ".join(escape_controls(str(name)) for name in unknown[:3])
        have = f"{counted(len(unknown), 'document')} of {escape_controls(results)}"
        click.echo(f"{have} left out, as the index does not have them: {first}", err=True)
    return found
