"""Plan, inputs and problems of the commands about pages, the index and result lists."""

from __future__ import annotations

from typing import Any

import click

from neardup.cli.support.method_options import ChosenMethod
from neardup.documents import Problems
from neardup.index.inputs import AttributeColumns
from neardup.plan import Plan
from neardup.statistics import Statistics


def attribute_columns(values: dict[str, Any]) -> AttributeColumns:
    """The columns of attributes that the options name."""
    return AttributeColumns(*(values[f"{name}_column"] for name in ("access", "quality", "time", "url")))


def fingerprint_plan(
    chosen: ChosenMethod, values: dict[str, Any], distance: int | None = None
) -> tuple[Plan, Statistics | None]:
    """The plan of the options; simhash weighs by tf-idf if statistics are given, else by tf.

    `distance`, of 64 bits, is the command's own default.
    """
    from neardup.plans import with_statistics

    # Document frequencies change with every crawl: tf-idf needs frozen ones.
    usual: dict[str, Any] = {"weights": "tf" if values["stats"] is None else "tfidf"}
    if distance is not None and "threshold" not in chosen.options:
        usual["distance"] = distance * int(chosen.options.get("bits", 64)) // 64
    plan = chosen.plan(**usual if chosen.method.name == "simhash" else {})
    return with_statistics(plan, values["stats"], values["df_unit"])


def report_problems(problems: Problems) -> None:
    """Report bad records on standard error, apart from the results."""
    from neardup.cli.support.show import problem_lines

    first = [problem.as_dict() for problem in problems.first]
    for line in problem_lines({"total": problems.total, "counts": problems.counts, "first": first}):
        click.echo(line, err=True)
