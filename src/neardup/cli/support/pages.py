"""What commands about pages, held documents and result lists share: the plan, the inputs, the problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import click

from neardup.cli.support.groups import grouped
from neardup.cli.support.method_options import Chosen
from neardup.cli.support.options import reading_options, taken_columns
from neardup.documents import Inputs, Problems, open_inputs
from neardup.engines.local.documents import InputColumns
from neardup.index.rows import Extra
from neardup.plan import Plan
from neardup.statistics import Statistics
from neardup.workers import checked_threads


class Pages(NamedTuple):
    """Inputs that are open, and how they are read."""

    sources: Inputs
    columns: InputColumns
    problems: Problems
    threads: int


column_options = grouped(
    "Input",
    click.option(
        "--access-column", metavar="NAME",
        help="The column of groups with access, a list or joined by commas; null: all, empty: none.",
    ),
    click.option("--quality-column", metavar="NAME", help="The column of quality, a number; higher is better."),
    click.option("--time-column", metavar="NAME", help="The column of dates."),
    click.option("--url-column", metavar="NAME", help="The column of URLs."),
)  # fmt: skip


def taken_extra(values: dict[str, Any]) -> Extra:
    """The columns beside the text that decisions use."""
    return Extra(*(values[f"{name}_column"] for name in ("access", "quality", "time", "url")))


def fingerprint_plan(chosen: Chosen, values: dict[str, Any]) -> tuple[Plan, Statistics | None]:
    """The plan of the options; simhash weighs by tf-idf only if document frequencies are given."""
    from neardup.api import with_statistics

    # Frequencies of one crawl would change with the next one: tf-idf needs frozen ones.
    weights = {"weights": "tf" if values["stats"] is None else "tfidf"}
    plan = chosen.plan(**weights if chosen.method.name == "simhash" else {})
    return with_statistics(plan, values["stats"], values["df_unit"])


def open_pages(inputs: Sequence[str], values: dict[str, Any]) -> Pages:
    """The inputs as the options say."""
    columns = taken_columns(values)
    sources = open_inputs(list(inputs), **reading_options(values))
    return Pages(sources, columns, Problems(strict=values["strict"]), checked_threads(values["threads"]))


def print_problems(problems: Problems) -> None:
    """Counts bad records on standard error, so that they do not mix with the result."""
    from neardup.cli.support.show import problem_lines

    first = [problem.as_dict() for problem in problems.first]
    for line in problem_lines({"total": problems.total, "kinds": problems.counts, "first": first}):
        click.echo(line, err=True)
