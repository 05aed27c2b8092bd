"""Document frequencies as a distributed count: every batch counts its own features, Spark adds the counts up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from neardup.columns import Texts
from neardup.engines.counting import by_document
from neardup.engines.populations import host_of
from neardup.engines.signing import cut
from neardup.engines.spark.arrow import Batches, begins, in_arrow, numbers, signed, sliced, table, unsigned
from neardup.errors import StatisticsError
from neardup.plan import Plan, stage_json
from neardup.statistics import Frequencies, Statistics, count_features

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LEAST = 2  # what occurs once is left out, as in the local engine
MOST_FEATURES = 1 << 28  # of two documents or more; every worker holds their table: 16 bytes each


def owners_of(documents: DataFrame) -> DataFrame:
    """One document of each content, the one of the smallest rank, those without a token included."""
    from pyspark.sql import functions as f

    chosen = documents.groupBy("digest_a", "digest_b").agg(f.min("rank").alias("rank")).select("rank")
    return documents.join(chosen, "rank")


def named_groups(plan: Plan, owners: DataFrame) -> DataFrame:
    """The group of each content: equal where the column's values are, or the hosts in it; else alone."""
    from pyspark.sql import functions as f

    hosts = plan.population.startswith("host:")
    group = f.udf(host_of, "string")("group") if hosts else f.col("group")
    alone = f.concat(f.lit("\0"), f.col("rank").cast("string"))
    return owners.select(
        "rank", f.xxhash64(f.coalesce(f.nullif(group, f.lit("")), alone)).alias("group_number")
    )


def labelled_groups(owners: DataFrame, labels: DataFrame) -> DataFrame:
    """The group of each content: the cluster of a first run."""
    from pyspark.sql import functions as f

    joined = owners.select("rank").join(labels, "rank", "left")
    return joined.select("rank", f.coalesce("label", "rank").alias("group_number"))


def count_frequencies(plan: Plan, owners: DataFrame, groups: DataFrame | None) -> DataFrame:
    """Rows (stage, key, count) of features that occur at least twice."""
    from pyspark.sql import functions as f

    if groups is None:
        counts = in_arrow(owners.select("text"), _Counting(plan), "stage int, key long, count long")
        summed = counts.groupBy("stage", "key").agg(f.sum("count").alias("count"))
        return summed.where(f.col("count") >= LEAST)
    rows = in_arrow(
        owners.select("rank", "text").join(groups, "rank"),
        _Grouped(plan),
        "stage int, key long, group_number long, count long",
    )
    once = rows.groupBy("stage", "key", "group_number").agg(f.sum("count").alias("count"))
    apart = [number for number, stage in enumerate(plan.counts) if not by_document(stage)]
    weight = f.when(f.col("stage").isin(apart), f.col("count")).otherwise(1) if apart else f.lit(1)
    summed = once.groupBy("stage", "key").agg(f.sum(weight).cast("long").alias("count"))
    return summed.where(f.col("count") >= LEAST)


class _Counting:
    """Texts to counts of the features of each batch."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def __call__(self, batches: Batches) -> Batches:
        details = any(stage.details for stage in self.plan.counts)
        for batch in batches:
            for _, texts in cut(Texts.from_arrow(batch.column("text"))):
                tokens = self.plan.text(texts, details=details)
                for number, stage in enumerate(self.plan.counts):
                    found = count_features(stage(tokens))
                    which = np.full(len(found), number, np.int32)
                    yield from sliced(
                        table({"stage": which, "key": signed(found.keys), "count": found.counts})
                    )


class _Grouped:
    """Texts and groups to the features of each group in a batch; those of passages with their number."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def __call__(self, batches: Batches) -> Batches:
        details = any(stage.details for stage in self.plan.counts)
        for batch in batches:
            start, groups = 0, numbers(batch, "group_number")
            for _, texts in cut(Texts.from_arrow(batch.column("text"))):
                tokens = self.plan.text(texts, details=details)
                own = groups[start : start + len(texts)]
                start += len(texts)
                for number, stage in enumerate(self.plan.counts):
                    features = stage(tokens)
                    if by_document(stage):
                        owner = np.repeat(own, features.sizes)
                        keys = features.hashes
                        counts = np.ones(len(keys), np.int64)
                    else:
                        found = count_features(features)
                        keys, counts = found.keys, found.counts
                        owner = np.zeros(len(keys), np.int64)
                    order = np.lexsort((keys, owner))
                    starts = begins(owner[order], keys[order])[:-1]
                    chosen = order[starts]
                    which = np.full(len(chosen), number, np.int32)
                    columns = {"stage": which, "key": signed(keys[chosen]), "group_number": owner[chosen]}
                    yield from sliced(table({**columns, "count": counts[chosen]}))


def collected(plan: Plan, counts: DataFrame, documents: int) -> Statistics:
    """The frequencies, to be sent to every worker."""
    size = counts.count()
    if size > MOST_FEATURES:
        raise StatisticsError(
            f"{size:,} features occur in two documents or more; the Spark engine sends at most {MOST_FEATURES:,} "
            "to each worker. Count a sample with `neardup stats build` and give it with --stats."
        )
    tables = {}
    for number, stage in enumerate(plan.counts):
        rows = counts.where(counts["stage"] == number).select("key", "count").toArrow()
        keys, found = rows.column("key").to_numpy(), rows.column("count").to_numpy()
        order = np.argsort(keys)
        tables[stage_json(stage)] = Frequencies(unsigned(keys[order]), found[order], LEAST)
    return Statistics(documents, stage_json(plan.text), tables, plan.population)
