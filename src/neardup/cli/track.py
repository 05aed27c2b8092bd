"""neardup track: pages compared with their last visit."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from typing import Any

import click

from neardup.cli.support import options
from neardup.cli.support.method_options import ChosenMethod, MethodCommand
from neardup.errors import ParameterError
from neardup.escapes import escape_controls, escape_json
from neardup.plurals import counted

SLIGHT = 6  # of 64 bits: 98 to 100 % of pages with two typos are within it (docs/index-guide.md)


@click.command(cls=MethodCommand, default_method="simhash")
@click.argument("store", metavar="STORE")
@options.inputs
@click.option(
    "--now",
    type=float,
    metavar="SECONDS",
    help="The time of the visit, in seconds since 1970.  [default: now]",
)
@click.option("--all", "show_all", is_flag=True, help="List unchanged pages too.")
@click.option(
    "--rebase",
    is_flag=True,
    help="Switch to other options or statistics: earlier fingerprints become stale, and a page whose text is the same "
    "gets a new fingerprint.",
)
@options.reading
@options.statistics
def command(
    store: str,
    inputs: tuple[str, ...],
    now: float | None,
    show_all: bool,
    rebase: bool,
    chosen: ChosenMethod,
    **values: Any,
) -> None:
    """Compare pages with their last visit: unchanged, slightly changed or changed.

    STORE is a file with a fingerprint of each version of each page; the first visit creates it. INPUT are the pages of
    this crawl, identified by their ids. Reports for each page the Hamming distance, when to visit it again, and its
    index priority; with --json also whether the exact text changed. Every reported visit is in the store.
    Simhash weighs by tf here, unless --stats or --weights is given, and a slight change is one of up to 6 of 64 bits,
    unless --distance is given.

    \b
    Example:
      neardup track pages.db crawl-0301.jsonl --id-column url
    """
    from neardup.cli.support.pages import fingerprint_plan, report_problems
    from neardup.cli.support.show import TerminalProgress
    from neardup.index.fingerprints import fingerprint
    from neardup.index.track import Tracker

    if now is not None and not math.isfinite(now):
        raise ParameterError("now", "track", "a finite number of seconds", now)
    plan, statistics = fingerprint_plan(chosen, values, SLIGHT)
    opened = options.open_inputs(inputs, values)
    with TerminalProgress() as progress:
        pages = fingerprint(
            plan, opened.sources, opened.columns, statistics=statistics, threads=opened.threads,
            progress=progress, problems=opened.problems, folder=values["work_dir"],
        )  # fmt: skip
    report_problems(opened.problems)
    counts: Counter[str] = Counter()
    with Tracker(store, plan, statistics=plan.statistics, rebase=rebase) as tracker:
        for visit in tracker.visit(pages, time.time() if now is None else now):
            counts[visit.status] += 1
            if values["as_json"]:
                click.echo(escape_json(json.dumps(visit.to_dict(), ensure_ascii=False)))
            elif show_all or visit.status != "unchanged":
                click.echo(_line(visit))
    if not values["as_json"]:
        shown = ", ".join(f"{count:,} {status}" for status, count in counts.most_common())
        click.echo(f"{counted(len(pages), 'page')}: {shown}")


def _line(visit: Any) -> str:
    next_visit = counted(visit.next_visit / 86400, "day")
    apart = "" if visit.distance is None else f"{counted(visit.distance, 'bit')}, "
    when = f"{apart}next visit in {next_visit}, priority {visit.priority:.2f}"
    return f"{visit.status:17}{escape_controls(visit.id)}  ({when})"
