"""The stages of document frequencies: first pass, counts, and lookups for tables too large to broadcast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from neardup.engines.core.first_pass import first_pass as first_pass_plan
from neardup.engines.core.template_groups import finds_template_groups
from neardup.engines.spark.frequencies import first_pass
from neardup.engines.spark.frequencies.count import (
    BROADCAST_FEATURES,
    collect_distribution,
    collect_statistics,
    count_frequencies,
    count_metrics,
)
from neardup.engines.spark.frequencies.lookups import find_lookups, with_lookups
from neardup.engines.spark.session.failures import translated
from neardup.engines.spark.shuffle.packed_blocks import join_chunks
from neardup.plan import Plan

if TYPE_CHECKING:
    from neardup.engines.spark.run import SparkRun


def statistics_of(run: SparkRun, plan: Plan, prefix: str) -> tuple[Any, DataFrame | None]:
    """The broadcast statistics of a plan, and the lookups of each chunk.

    Both are None for a plan without document frequencies; lookups are None if the whole table is broadcast.
    """
    if not plan.counts:
        return None, None
    if plan is run.plan and run.given is not None:
        return run.broadcast(run.given), None
    name, made = _counted(run, plan, prefix)
    metrics, grouped = run.stages.metrics(name), plan.df_unit != "texts"
    documents = metrics["groups"] if grouped else run.stages.metrics("copies")["distinct_texts"]
    if metrics["features"] <= BROADCAST_FEATURES:
        with translated("the statistics"):
            return run.broadcast(collect_statistics(plan, made, documents)), None
    chunks, tasks = run.distinct_texts(run.documents), run.tasks(4 * run.metrics["bytes"])
    lookups = run.stages.stage(prefix + "lookups", lambda: find_lookups(plan, chunks, made, tasks))
    return run.broadcast(collect_distribution(plan, made, documents)), lookups


def _counted(run: SparkRun, plan: Plan, prefix: str) -> tuple[str, DataFrame]:
    """The name of the stage of document frequencies, and its table."""
    grouped = plan.df_unit != "texts"
    chunks, tasks = run.distinct_texts(run.documents), run.tasks(2 * run.metrics["bytes"])
    if grouped and plan.df_column is None:
        chunks = _with_first_pass_clusters(run, plan, chunks, tasks)
    elif not grouped:
        chunks = chunks.drop("attributes")
    name = prefix + "frequencies"
    made = run.stages.stage(name, lambda: count_frequencies(plan, chunks, grouped, tasks), count_metrics())
    return name, made


def _with_first_pass_clusters(run: SparkRun, plan: Plan, chunks: DataFrame, tasks: int) -> DataFrame:
    """Chunks with a column `labels`: the clusters of a first pass."""
    first = first_pass_plan(plan)
    found = run.match(first, "first-", copies=False)
    labels = first_pass.cluster_labels(found.verified, run.stages.stage)
    if first.counts and finds_template_groups(first.view):
        statistics, lookups = statistics_of(run, first, "first-")
        texts = with_lookups(chunks, lookups)
        shares = run.stages.stage(
            "first-unique-shares", lambda: first_pass.unique_shares(first, texts, labels, statistics, tasks)
        )
        labels = first_pass.without_template_groups(labels, shares)
    rows = first_pass.labels_by_chunk(labels, tasks)
    return join_chunks(chunks.drop("attributes"), rows, "labels", "left", broadcast=False)
