"""neardup held: documents that an index holds, and what to do with new ones."""

from __future__ import annotations

import json
from typing import Any

import click

from neardup.cli.support.options import input_options, method_options
from neardup.cli.support.pages import column_options
from neardup.index.documents import MASTERS


@click.group()
def command() -> None:
    """Hold the fingerprints of documents, and decide about new ones by what is held.

    A STORE is a folder that `held add` makes. It remembers the method's options, the frozen document frequencies and
    a fingerprint of each document.

    \b
    Examples:
      neardup held add store crawl-0301.jsonl --quality-column rank
      neardup held decide store crawl-0302.jsonl
      neardup held order store
      neardup held clusters store --master newest
    """


def _store(folder: str, **options: Any) -> Any:
    from neardup.index.collection import IndexedDocuments

    return IndexedDocuments(folder, **options)


@command.command()
@click.argument("store", metavar="STORE")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "--refresh-after", type=click.IntRange(1), metavar="N",
    help="Refresh the document frequencies after so many new documents, and make stale fingerprints again.  "
    "[default: 1000000, or as before]",
)  # fmt: skip
@column_options
@input_options
@method_options
def add(store: str, inputs: tuple[str, ...], refresh_after: int | None, **values: Any) -> None:
    """Hold the documents of INPUT; what has the id of a held document replaces it.

    The first call decides about the method (simhash with tf-idf) and freezes document frequencies: those of --stats,
    or those of its own documents. Later ones need no options. New documents are counted aside; after --refresh-after
    of them the frequencies are frozen anew and all fingerprints are made again from the files they came from.
    """
    from neardup.cli.support.options import given_options
    from neardup.cli.support.pages import open_pages, taken_extra, tell_problems
    from neardup.cli.support.show import TerminalProgress

    extra = taken_extra(values)
    plan, statistics = _asked_plan(store, values, given_options)
    pages = open_pages(inputs, values)
    held = _store(store, plan=plan, statistics=statistics, refresh_after=refresh_after)
    with held, TerminalProgress() as progress:
        done = held.add(pages.sources, pages.columns, extra, threads=pages.threads, progress=progress,
                        problems=pages.problems)  # fmt: skip
        total = len(held)
    tell_problems(pages.problems)
    if values["as_json"]:
        click.echo(json.dumps({**done.to_dict(), "held": total}))
        return
    click.echo(
        f"{done.documents:,} documents: {done.new:,} new, {done.changed:,} changed; {total:,} are held"
    )
    if done.refreshed:
        click.echo(f"document frequencies were refreshed, {done.recomputed:,} fingerprints made again")
    if done.stale:
        click.echo(f"{done.stale:,} fingerprints are stale: their files are gone or have changed")


def _asked_plan(store: str, values: dict[str, Any], given: Any) -> tuple[Any, Any]:
    """The plan that the options ask for; none where they say nothing and a store knows its own."""
    from pathlib import Path

    from neardup.api import with_statistics
    from neardup.registry import get_method

    name, options = given({**values, "method": values["method"] or "simhash"})
    known = (Path(store) / "documents.db").exists()
    plan = get_method(name or "simhash").plan(**options)
    asked = bool(options) or not known or values["method"] is not None
    _, statistics = with_statistics(plan, values["stats"], values["df_unit"])
    if not plan.joins or plan.candidates.level != "signatures":
        from neardup.errors import PlanError

        raise PlanError(f"The method {plan.method} makes no fingerprints: take simhash.")
    return plan if asked else None, statistics


@command.command()
@click.argument("store", metavar="STORE")
@click.option("--json", "as_json", is_flag=True, help="Print a machine-readable summary.")
def info(store: str, as_json: bool) -> None:
    """Say what a STORE holds."""
    with _store(store) as held:
        known = held.info()
    if as_json:
        click.echo(json.dumps(known))
        return
    for name, value in known.items():
        click.echo(f"{name.replace('_', ' ')}: {value:,}" if isinstance(value, int) else f"{name}: {value}")


@command.command()
@click.argument("store", metavar="STORE")
@click.option("--json", "as_json", is_flag=True, help="Print a machine-readable summary.")
def refresh(store: str, as_json: bool) -> None:
    """Refresh the document frequencies now, and make stale fingerprints again from the files they came from."""
    from neardup.cli.support.show import TerminalProgress

    with _store(store) as held, TerminalProgress() as progress:
        made, stale = held.refresh(progress=progress), held.count_stale()
    said = {"recomputed": made, "stale": stale}
    click.echo(json.dumps(said) if as_json else f"{made:,} fingerprints made again, {stale:,} are stale")


def _searching(function: Any) -> Any:
    """Adds what commands that search a store take."""
    options = [
        click.option("--distance", type=click.IntRange(0), metavar="N",
                     help="Bits that near-duplicates may differ in.  [default: as the store was made]"),
        click.option("--skip-stale", is_flag=True, help="Leave out documents whose fingerprint is stale."),
        click.option("--json", "as_json", is_flag=True, help="Print lines of JSON."),
    ]  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def _near(held: Any, asked: int | None) -> dict[str, int]:
    """What is near: the distance that is asked for, or that of the store; and the bits that must be equal."""
    from neardup.index.documents import reserved_bits

    usual = int(held.plan.candidates.distance(held.plan.threshold))
    return {"distance": usual if asked is None else asked, "same": reserved_bits(held.plan)}


@command.command()
@click.argument("store", metavar="STORE")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("--discard", type=click.IntRange(0), default=0, show_default=True, metavar="N",
              help="Discard what differs from a held document in at most so many bits.")  # fmt: skip
@click.option(
    "--never-discard", is_flag=True, help="Lower the priority of copies instead of discarding them."
)
@click.option("--distance", type=click.IntRange(0), metavar="N", help="Bits that near-duplicates may differ in.  "
              "[default: as the store was made]")  # fmt: skip
@click.option("--skip-stale", is_flag=True, help="Leave out documents whose fingerprint is stale.")
@column_options
@input_options
def decide(store: str, inputs: tuple[str, ...], discard: int, never_discard: bool, **values: Any) -> None:
    """Say of each document of INPUT whether to keep, lower or discard it, given what STORE holds.

    A document is discarded or lowered only for the sake of one that everybody may see who may see it. Nothing is
    added to STORE.
    """
    from neardup.cli.support.pages import open_pages, taken_extra, tell_problems
    from neardup.cli.support.show import TerminalProgress
    from neardup.index.decisions import decide_at_index_time

    pages = open_pages(inputs, values)
    with _store(store) as held, TerminalProgress() as progress:
        new = held.looked_at(pages.sources, pages.columns, taken_extra(values), threads=pages.threads,
                             progress=progress, problems=pages.problems)  # fmt: skip
        near = _near(held, values["distance"])
        limit = None if never_discard else min(discard, near["distance"])
        decisions = decide_at_index_time(
            new, held.documents(stale=values["skip_stale"]), discard=limit, **near
        )
    tell_problems(pages.problems)
    for document, decision in zip(new, decisions, strict=True):
        if values["as_json"]:
            said = {"id": document.id, "action": decision.action, "because_of": decision.because_of}
            click.echo(json.dumps({**said, "distance": decision.distance}, ensure_ascii=False))
        else:
            why = (
                ""
                if decision.because_of is None
                else f"  ({decision.distance} bits from {decision.because_of})"
            )
            click.echo(f"{decision.action:8}{document.id}{why}")


@command.command()
@click.argument("store", metavar="STORE")
@_searching
def order(store: str, distance: int | None, skip_stale: bool, as_json: bool) -> None:
    """List ids in the order to fetch them: unique content first, then second copies, then third ones, …"""
    from neardup.index.decisions import crawl_order

    with _store(store) as held:
        for name in crawl_order(held.documents(stale=skip_stale), **_near(held, distance)):
            click.echo(json.dumps(name, ensure_ascii=False) if as_json else name)


@command.command()
@click.argument("store", metavar="STORE")
@click.option("--master", type=click.Choice(MASTERS), default="longest", show_default=True,
              help="Which document a cluster is keyed by.")  # fmt: skip
@click.option("--order", type=click.Choice(["rank", "time", "length"]), default="rank", show_default=True,
              help="How members are listed: as they came, newest first, or longest first.")  # fmt: skip
@_searching
def clusters(
    store: str, master: Any, order: Any, distance: int | None, skip_stale: bool, as_json: bool
) -> None:
    """List clusters of two or more, each keyed by a master that all members are near."""
    from neardup.index.collapse import clusters_by_master, listed

    with _store(store) as held:
        documents = held.documents(stale=skip_stale)
        found = clusters_by_master(documents, **_near(held, distance), master=master)
    for place, *others in (cluster for cluster in found if len(cluster) > 1):
        name = documents[place].id
        members = [one.id for one in listed([documents[other] for other in others], order)]
        if as_json:
            click.echo(json.dumps({"master": name, "members": members}, ensure_ascii=False))
        else:
            click.echo(f"{name}: {', '.join(members)}")
