"""What commands about pages, held documents and result lists share: the plan, the inputs, the problems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import click

from neardup.cli.support.options import reading_options, take_plan, taken_columns
from neardup.documents import Inputs, Problems, open_inputs
from neardup.engines.core.documents import InputColumns
from neardup.index.rows import Extra
from neardup.plan import Plan
from neardup.statistics import Statistics
from neardup.workers import checked_threads

Command = Callable[..., Any]


class Pages(NamedTuple):
    """Inputs that are open, and how they are read."""

    sources: Inputs
    columns: InputColumns
    problems: Problems
    threads: int


def column_options(command: Command) -> Command:
    """Adds the columns that decisions look at."""
    options = [
        click.option(
            "--readers-column", metavar="NAME",
            help="The column of groups that may see a document, as a list or separated by commas; nothing there: "
            "everybody; an empty list: nobody.",
        ),
        click.option("--quality-column", metavar="NAME", help="The column of numbers that say how good a document is."),
        click.option("--time-column", metavar="NAME", help="The column of dates."),
        click.option("--url-column", metavar="NAME", help="The column of addresses."),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def taken_extra(values: dict[str, Any]) -> Extra:
    """The columns that the options name."""
    return Extra(*(values[f"{name}_column"] for name in ("readers", "quality", "time", "url")))


def fingerprint_plan(values: dict[str, Any]) -> tuple[Plan, Statistics | None]:
    """The plan of the options: simhash unless they say otherwise; with tf-idf only where statistics are frozen."""
    from neardup.api import with_statistics

    values["method"] = values["method"] or "simhash"
    if values["method"] == "simhash" and values["weights"] is None:
        # Frequencies of one crawl would change with the next one: tf-idf needs frozen ones.
        values["weights"] = "tf" if values["stats"] is None else "tfidf"
    return with_statistics(take_plan(values), values["stats"], values["df_unit"])


def open_pages(inputs: Sequence[str], values: dict[str, Any]) -> Pages:
    """The inputs as the options say."""
    columns = taken_columns(values)
    sources = open_inputs(list(inputs), **reading_options(values))
    return Pages(sources, columns, Problems(strict=values["strict"]), checked_threads(values["threads"]))


def tell_problems(problems: Problems) -> None:
    """Bad records are counted on standard error, so that they do not mix with the answer."""
    from neardup.cli.support.show import problem_lines

    first = [problem.as_dict() for problem in problems.first]
    for line in problem_lines({"total": problems.total, "kinds": problems.counts, "first": first}):
        click.echo(line, err=True)
