"""Plan, inputs and problems of the commands about pages, the index and result lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import click

from neardup.cli.support.options import reading_options, take_plan, taken_columns
from neardup.documents import Inputs, Problems, open_inputs
from neardup.engines.core.documents import InputColumns
from neardup.index.document_rows import AttributeColumns
from neardup.plan import Plan
from neardup.statistics import Statistics
from neardup.workers import checked_threads

Command = Callable[..., Any]


class Pages(NamedTuple):
    """Open inputs, and how to read them."""

    sources: Inputs
    columns: InputColumns
    problems: Problems
    threads: int


def column_options(command: Command) -> Command:
    """Adds the options for columns of attributes."""
    options = [
        click.option(
            "--access-column", metavar="NAME",
            help="The column of groups with access to a document: a list, or names separated by commas. No value: "
            "everybody; an empty list: nobody.",
        ),
        click.option("--quality-column", metavar="NAME", help="The column of quality scores: numbers, best highest."),
        click.option("--time-column", metavar="NAME", help="The column of dates."),
        click.option("--url-column", metavar="NAME", help="The column of URLs."),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def attribute_columns(values: dict[str, Any]) -> AttributeColumns:
    """The columns of attributes that the options name."""
    return AttributeColumns(*(values[f"{name}_column"] for name in ("access", "quality", "time", "url")))


def fingerprint_plan(values: dict[str, Any]) -> tuple[Plan, Statistics | None]:
    """The plan of the options, by default simhash: with tf-idf if statistics are given, else with tf."""
    from neardup.api import with_statistics

    values["method"] = values["method"] or "simhash"
    if values["method"] == "simhash" and values["weights"] is None:
        # Document frequencies change with every crawl: tf-idf needs frozen ones.
        values["weights"] = "tf" if values["stats"] is None else "tfidf"
    return with_statistics(take_plan(values), values["stats"], values["df_unit"])


def open_pages(inputs: Sequence[str], values: dict[str, Any]) -> Pages:
    """The inputs, opened with the reading options."""
    columns = taken_columns(values)
    sources = open_inputs(list(inputs), **reading_options(values))
    return Pages(sources, columns, Problems(strict=values["strict"]), checked_threads(values["threads"]))


def report_problems(problems: Problems) -> None:
    """Report bad records on standard error, apart from the results."""
    from neardup.cli.support.show import problem_lines

    first = [problem.as_dict() for problem in problems.first]
    for line in problem_lines({"total": problems.total, "kinds": problems.counts, "first": first}):
        click.echo(line, err=True)
