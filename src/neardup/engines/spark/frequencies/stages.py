"""The stages of document frequencies: what is counted, what counts once, and who gets to know it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neardup.engines.core.populations import first_plan
from neardup.engines.spark.frequencies import first_pass as stories
from neardup.engines.spark.frequencies.count import (
    SENT,
    collected,
    count_frequencies,
    count_metrics,
    outlined,
)
from neardup.engines.spark.frequencies.lookups import find_lookups, with_lookups
from neardup.engines.spark.session.failures import translated
from neardup.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from neardup.engines.spark.run import SparkRun


def statistics_of(run: SparkRun, plan: Plan, prefix: str) -> tuple[Any, DataFrame | None]:
    """The frequencies that the plan asks for, where every worker can see them, and those that each chunk is told.

    None where it asks for none; nothing is told where all workers know all.
    """
    if not plan.counts:
        return None, None
    if plan is run.plan and run.given is not None:
        return run.send(run.given), None
    name, made = _counted(run, plan, prefix)
    facts, grouped = run.stages.facts(name), plan.df_unit != "texts"
    population = facts["groups"] if grouped else run.stages.facts("copies")["contents"]
    if facts["features"] <= SENT:
        with translated("the statistics"):
            return run.send(collected(plan, made, population)), None
    contents, tasks = run.contents(run.documents), run.tasks(4 * run.facts["bytes"])
    answers = run.stages.stage(prefix + "answers", lambda: find_lookups(plan, contents, made, tasks))
    return run.send(outlined(plan, made, population)), answers


def _counted(run: SparkRun, plan: Plan, prefix: str) -> tuple[str, DataFrame]:
    """The stage of document frequencies, and its name."""
    grouped = plan.df_unit != "texts"
    contents, tasks = run.contents(run.documents), run.tasks(2 * run.facts["bytes"])
    if grouped and plan.df_column is None:
        contents = _beside_clusters(run, plan, contents, tasks)
    elif not grouped:
        contents = contents.drop("facts")
    name = prefix + "statistics"
    made = run.stages.stage(name, lambda: count_frequencies(plan, contents, grouped, tasks), count_metrics())
    return name, made


def _beside_clusters(run: SparkRun, plan: Plan, contents: DataFrame, tasks: int) -> DataFrame:
    """Contents with the clusters of a first run that count once."""
    first = first_plan(plan)
    matched = run.match(first, "first-", copies=False)
    labels = stories.labelled(matched.verified, run.stages.stage)
    if first.counts and stories.finds_template_groups(first):
        known, answers = statistics_of(run, first, "first-")
        chunks = with_lookups(contents, answers)
        shares = run.stages.stage(
            "first-shares", lambda: stories.own_shares(first, chunks, labels, known, tasks)
        )
        labels = stories.without_template_groups(labels, shares)
    wanted = stories.by_chunks(labels, tasks).withColumnRenamed("wanted", "labels")
    return contents.drop("facts").join(wanted.select("chunk", "labels"), "chunk", "left")
