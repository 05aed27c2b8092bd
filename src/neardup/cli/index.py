"""neardup index: fingerprints of documents, and decisions about new ones."""

from __future__ import annotations

import json
from typing import Any

import click

from neardup.cli.support.groups import GroupedCommand, grouped
from neardup.cli.support.method_options import Chosen, MethodCommand
from neardup.cli.support.options import input_options, json_option, statistics_options
from neardup.cli.support.pages import column_options
from neardup.index.documents import MASTERS
from neardup.wording import counted


@click.group()
def command() -> None:
    """Index the fingerprints of documents, and decide about new documents by them.

    STORE is a folder that `index add` makes. It keeps the method's options, the frozen document frequencies and a
    fingerprint of each document.

    \b
    Examples:
      neardup index add store crawl-0301.jsonl --quality-column rank
      neardup index decide store crawl-0302.jsonl
      neardup index order store
      neardup index clusters store --master newest
    """


def _store(folder: str, **options: Any) -> Any:
    from neardup.index.collection import IndexedDocuments

    return IndexedDocuments(folder, **options)


@command.command(cls=MethodCommand, default_method="simhash")
@click.argument("store", metavar="STORE")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "--refresh-after", type=click.IntRange(1), metavar="N",
    help="Refresh the document frequencies after N new documents.  [default: 1000000, or as before]",
)  # fmt: skip
@column_options
@input_options
@statistics_options
def add(
    store: str, inputs: tuple[str, ...], refresh_after: int | None, chosen: Chosen, **values: Any
) -> None:
    """Add the documents of INPUT to the index; a document replaces an indexed one of the same id.

    The first call sets the method (simhash with tf-idf) and freezes document frequencies: those of --stats, or those
    of its own documents. Later calls need no options. New documents are counted aside; after --refresh-after of them
    the frequencies are frozen anew and all fingerprints are recomputed from their files.

    \b
    Example:
      neardup index add store crawl-0301.jsonl --quality-column rank
    """
    from neardup.cli.support.pages import open_pages, print_problems, taken_extra
    from neardup.cli.support.show import TerminalProgress

    extra = taken_extra(values)
    plan, statistics = _requested_plan(store, chosen, values)
    pages = open_pages(inputs, values)
    index = _store(store, plan=plan, statistics=statistics, refresh_after=refresh_after)
    with index, TerminalProgress() as progress:
        done = index.add(pages.sources, pages.columns, extra, threads=pages.threads, progress=progress,
                         problems=pages.problems)  # fmt: skip
        total = len(index)
    print_problems(pages.problems)
    if values["as_json"]:
        click.echo(json.dumps({**done.to_dict(), "indexed": total}))
        return
    click.echo(
        f"{counted(done.documents, 'document')}: {done.new:,} new, {done.changed:,} changed; "
        f"{counted(total, 'document')} in the index"
    )
    if done.refreshed:
        click.echo(f"document frequencies refreshed, {counted(done.recomputed, 'fingerprint')} recomputed")
    if done.stale:
        click.echo(f"{counted(done.stale, 'stale fingerprint')}: the files are gone or have changed")


def _requested_plan(store: str, chosen: Chosen, values: dict[str, Any]) -> tuple[Any, Any]:
    """The plan of the options; None if the command line has none and the index has its own."""
    from pathlib import Path

    from neardup.api import with_statistics

    plan = chosen.plan()
    requested = chosen.named or chosen.options or not (Path(store) / "documents.db").exists()
    _, statistics = with_statistics(plan, values["stats"], values["df_unit"])
    if not plan.joins or plan.candidates.level != "signatures":
        from neardup.errors import PlanError

        raise PlanError(f"The method {plan.method} makes no fingerprints: choose simhash.")
    return plan if requested else None, statistics


@command.command(cls=GroupedCommand)
@click.argument("store", metavar="STORE")
@json_option
def info(store: str, as_json: bool) -> None:
    """Print the size, the method and the state of an index.

    \b
    Example:
      neardup index info store
    """
    with _store(store) as index:
        known = index.info()
    if as_json:
        click.echo(json.dumps(known))
        return
    for name, value in known.items():
        click.echo(f"{name.replace('_', ' ')}: {value:,}" if isinstance(value, int) else f"{name}: {value}")


@command.command(cls=GroupedCommand)
@click.argument("store", metavar="STORE")
@json_option
def refresh(store: str, as_json: bool) -> None:
    """Refresh the document frequencies now, and recompute stale fingerprints from their files.

    \b
    Example:
      neardup index refresh store
    """
    from neardup.cli.support.show import TerminalProgress

    with _store(store) as index, TerminalProgress() as progress:
        made, stale = index.refresh(progress=progress), index.count_stale()
    done = {"recomputed": made, "stale": stale}
    click.echo(json.dumps(done) if as_json else f"{counted(made, 'fingerprint')} recomputed, {stale:,} stale")


_near_options = grouped(
    "Decision",
    click.option("--distance", type=click.IntRange(0), metavar="N",
                 help="Bits in which near-duplicates may differ.  [default: that of the index]"),
    click.option("--skip-stale", is_flag=True, help="Leave out documents whose fingerprint is stale."),
)  # fmt: skip


def _near(index: Any, requested: int | None) -> dict[str, int]:
    """The distance within which documents are near, and the bits that must be equal."""
    from neardup.index.documents import reserved_bits

    usual = int(index.plan.candidates.distance(index.plan.threshold))
    return {"distance": usual if requested is None else requested, "same": reserved_bits(index.plan)}


@command.command(cls=GroupedCommand)
@click.argument("store", metavar="STORE")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@grouped(
    "Decision",
    click.option("--drop", type=click.IntRange(0), default=0, show_default=True, metavar="N",
                 help="Drop a document that differs from an indexed one in at most N bits."),
    click.option("--never-drop", is_flag=True, help="Demote copies instead of dropping them."),
    _near_options,
)  # fmt: skip
@column_options
@input_options
def decide(store: str, inputs: tuple[str, ...], drop: int, never_drop: bool, **values: Any) -> None:
    """Decide for each document of INPUT: keep it, demote its index priority, or drop it.

    A document is demoted or dropped only because of an indexed one to which every group that has access to the new
    one has access too. Nothing is added to STORE.

    \b
    Example:
      neardup index decide store crawl-0302.jsonl --distance 3
    """
    from neardup.cli.support.pages import open_pages, print_problems, taken_extra
    from neardup.cli.support.show import TerminalProgress
    from neardup.index.decisions import decide_at_index_time

    pages = open_pages(inputs, values)
    with _store(store) as index, TerminalProgress() as progress:
        new = index.looked_at(pages.sources, pages.columns, taken_extra(values), threads=pages.threads,
                              progress=progress, problems=pages.problems)  # fmt: skip
        near = _near(index, values["distance"])
        limit = None if never_drop else min(drop, near["distance"])
        decisions = decide_at_index_time(
            new, index.documents(stale=values["skip_stale"]), discard=limit, **near
        )
    print_problems(pages.problems)
    for document, decision in zip(new, decisions, strict=True):
        if values["as_json"]:
            made = {"id": document.id, "action": decision.action, "because_of": decision.because_of}
            click.echo(json.dumps({**made, "distance": decision.distance}, ensure_ascii=False))
        else:
            why = ""
            if decision.because_of is not None:
                why = f"  ({counted(decision.distance or 0, 'bit')} from {decision.because_of})"
            click.echo(f"{decision.action:8}{document.id}{why}")


@command.command(cls=GroupedCommand)
@click.argument("store", metavar="STORE")
@_near_options
@json_option
def order(store: str, distance: int | None, skip_stale: bool, as_json: bool) -> None:
    """List ids in the order to fetch them: unique texts first, then second copies, then third ones, …

    \b
    Example:
      neardup index order store
    """
    from neardup.index.decisions import crawl_order

    with _store(store) as index:
        for name in crawl_order(index.documents(stale=skip_stale), **_near(index, distance)):
            click.echo(json.dumps(name, ensure_ascii=False) if as_json else name)


@command.command(cls=GroupedCommand)
@click.argument("store", metavar="STORE")
@click.option("--master", type=click.Choice(MASTERS), default="longest", show_default=True, metavar="BY",
              help=f"The document that names a cluster: {', '.join(MASTERS)}.")  # fmt: skip
@click.option("--order", type=click.Choice(["rank", "time", "length"]), default="rank", show_default=True,
              help="List members as added, newest or longest first.")  # fmt: skip
@_near_options
@json_option
def clusters(
    store: str, master: Any, order: Any, distance: int | None, skip_stale: bool, as_json: bool
) -> None:
    """List clusters of two or more documents, each with the master that all members are near.

    \b
    Example:
      neardup index clusters store --master newest
    """
    from neardup.index.collapse import clusters_by_master, listed

    with _store(store) as index:
        documents = index.documents(stale=skip_stale)
        found = clusters_by_master(documents, **_near(index, distance), master=master)
    for place, *others in (cluster for cluster in found if len(cluster) > 1):
        name = documents[place].id
        members = [one.id for one in listed([documents[other] for other in others], order)]
        if as_json:
            click.echo(json.dumps({"master": name, "members": members}, ensure_ascii=False))
        else:
            click.echo(f"{name}: {', '.join(members)}")
