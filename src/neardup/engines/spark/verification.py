"""The similarity of pairs, measured where the documents of a pair come together.

Pairs with the same left document go to one place, and with them what the check looks at of each document once: its
text, its features where frequencies were counted, or its signature. A document that meets very many is copied to
several places, each with a part of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup.columns import Features, Pairs, Signatures, Texts, make_distinct
from neardup.engines.signing import cut, needs_contents_first
from neardup.engines.spark.arrow import Batches, in_arrow, sliced, table, unpack_features, whole_groups
from neardup.engines.spark.documents import unpack_signatures
from neardup.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FEW = 1 << 20  # pairs whose names fit every worker
TOGETHER = 512  # documents that one document meets in one place
EVIDENCE = "left long, right long, shared double, left_size double, right_size double, passed boolean"


def payload_columns(plan: Plan) -> list[str]:
    """What the check looks at of a document."""
    if plan.check.level == "signatures" and plan.check_view is None:
        return ["slots", "present"]
    return ["hashes", "weights"] if needs_contents_first(plan) else ["text"]


def verify(plan: Plan, pairs: DataFrame, payload: DataFrame) -> DataFrame:
    """The evidence of pairs of ranks, and whether each reaches the threshold.

    `payload` has a row for each content: its rank and `payload_columns`.
    """
    from pyspark.sql import functions as f

    if plan.check.level == "none":
        unknown = [f.lit(float("nan")).alias(name) for name in ("shared", "left_size", "right_size")]
        return pairs.select("left", "right", *unknown, f.lit(True).alias("passed"))
    busy = pairs.groupBy("left").count().where(f.col("count") > TOGETHER)
    parts = busy.select("left", f.ceil(f.col("count") / TOGETHER).alias("parts"))
    placed = pairs.select("left", "right").join(f.broadcast(parts), "left", "left")
    placed = placed.select("left", "right", f.pmod("right", f.coalesce("parts", f.lit(1))).alias("part"))
    hubs = placed.select("left", "part").distinct().select("left", "part", f.col("left").alias("rank"))
    needed = placed.select("left", "part", f.col("right").alias("rank")).unionByName(hubs)
    if (
        pairs.count() <= FEW
    ):  # Spark takes what it has not seen yet for large, and would send all texts around
        needed = f.broadcast(needed)
    rows = payload.select("rank", *payload_columns(plan)).join(needed, "rank")
    rows = rows.repartition("left", "part").sortWithinPartitions("left", "part", "rank")
    return in_arrow(rows, _Measuring(plan), EVIDENCE)


@dataclass(frozen=True)
class _Measuring:
    """Documents in groups, the left document of all pairs of a group among them, to evidence."""

    plan: Plan

    def __call__(self, batches: Batches) -> Batches:
        for group in whole_groups(batches, ("left", "part")):
            yield from self._measured(group)

    def _measured(self, group: pa.Table) -> Batches:
        ranks, lefts = group.column("rank").to_numpy(), group.column("left").to_numpy()
        own, first, place = np.unique(ranks, return_index=True, return_inverse=True)
        values = self._values(group.take(pa.array(first)))
        other = np.flatnonzero(ranks != lefts)
        left, right = np.searchsorted(own, lefts[other]), place[other]
        found = self.plan.check.measure(values, left, right)
        yield from sliced(evidence_rows(self.plan, found, lefts[other], ranks[other]))

    def _values(self, documents: pa.Table) -> Features | Signatures:
        """What the check compares."""
        plan = self.plan
        if payload_columns(plan)[0] == "slots":
            present = documents.column("present").to_numpy()
            return unpack_signatures(documents.column("slots"), present)
        if payload_columns(plan)[0] == "hashes":
            features = unpack_features(documents.column("hashes"), documents.column("weights"))
        else:
            features = features_of(plan, documents.column("text").combine_chunks())
        view = plan.check_view
        if plan.check.level == "features" or view is None or view.signature is None:
            return features
        return view.signature(features)


def features_of(plan: Plan, texts: Any) -> Features:
    """The distinct features that the check looks at, of texts that need no frequencies."""
    view = plan.check_view or plan.view
    whole = texts.chunk(0) if isinstance(texts, pa.ChunkedArray) else texts
    parts = [
        make_distinct(view.look(plan.text(part, details=view.details), None))
        for _, part in cut(Texts.from_arrow(whole))
    ]
    return Features.concatenate(parts)


def evidence_rows(plan: Plan, found: Pairs, left: Any, right: Any) -> pa.RecordBatch:
    """Measured pairs with their ranks."""
    return table(
        {
            "left": left,
            "right": right,
            "shared": found.shared,
            "left_size": found.left_size,
            "right_size": found.right_size,
            "passed": plan.check.passes(found, plan.threshold),
        }
    )
