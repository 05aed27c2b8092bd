"""neardup track: what changed on pages since the last visit."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import Any

import click

from neardup.cli.support.method_options import Chosen, MethodCommand
from neardup.cli.support.options import input_options, statistics_options
from neardup.wording import counted


@click.command(cls=MethodCommand, default_method="simhash")
@click.argument("store", metavar="STORE")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "--now", type=float, metavar="SECONDS", help="The time of the visit, since 1970.  [default: now]"
)
@click.option("--all", "show_all", is_flag=True, help="List unchanged pages too.")
@click.option(
    "--rebase",
    is_flag=True,
    help="Allow other options or statistics than before; fingerprints of unchanged pages are recomputed.",
)
@input_options
@statistics_options
def command(
    store: str,
    inputs: tuple[str, ...],
    now: float | None,
    show_all: bool,
    rebase: bool,
    chosen: Chosen,
    **values: Any,
) -> None:
    """Compare pages with their last visit: unchanged, slightly changed or changed.

    STORE is a file that keeps a fingerprint of each version of each page; the first visit makes it. INPUT are the
    pages of this crawl, identified by their ids. The output has for each page the Hamming distance, whether the exact
    text changed, when to visit it again, and its priority for indexing. STORE has every page that is printed. Simhash
    weighs by tf here, unless --stats or --weights is given.

    \b
    Example:
      neardup track pages.db crawl-0301.jsonl --id-column url
    """
    from neardup.cli.support.pages import fingerprint_plan, open_pages, print_problems
    from neardup.cli.support.show import TerminalProgress
    from neardup.index.fingerprints import fingerprint
    from neardup.index.track import Tracker

    plan, statistics = fingerprint_plan(chosen, values)
    opened = open_pages(inputs, values)
    with TerminalProgress() as progress:
        pages = fingerprint(
            plan, opened.sources, opened.columns, statistics=statistics, threads=opened.threads,
            progress=progress, problems=opened.problems, folder=values["work_dir"],
        )  # fmt: skip
    print_problems(opened.problems)
    counts: Counter[str] = Counter()
    with Tracker(store, plan, statistics=plan.statistics, rebase=rebase) as tracker:
        for visit in tracker.visit(pages, time.time() if now is None else now):
            counts[visit.status] += 1
            if values["as_json"]:
                click.echo(json.dumps(visit.to_dict(), ensure_ascii=False))
            elif show_all or visit.status != "unchanged":
                click.echo(_line(visit))
    if not values["as_json"]:
        shown = ", ".join(f"{count:,} {status}" for status, count in counts.most_common())
        click.echo(f"{counted(len(pages), 'page')}: {shown}")


def _line(visit: Any) -> str:
    days = visit.next_visit / 86400
    apart = "" if visit.distance is None else f"{counted(visit.distance, 'bit')} differ, "
    again = f"next visit in {counted(days, 'day')}"
    return f"{visit.status:17}{visit.id}  ({apart}{again}, priority {visit.priority:.2f})"
