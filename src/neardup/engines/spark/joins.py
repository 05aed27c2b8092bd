"""Candidate pairs of the methods that join all documents: near fingerprints, exact similarity, and others.

Fingerprints: see `near`. Exact joins: see `exact`.
Others compare every pair that shares anything, and are meant for thousands of documents: one worker does it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup.candidates.exact import Exact
from neardup.candidates.hamming import Hamming
from neardup.engines.matching import CROWD
from neardup.engines.spark.arrow import Batches, in_arrow, unpack_features, unsigned
from neardup.engines.spark.crowds import COUNTED, FIRST, NAMES
from neardup.engines.spark.exact import LINKS, find_exact, link_rows
from neardup.engines.spark.near import Near, find_near
from neardup.engines.spark.signatures import content_rows
from neardup.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FINGERPRINT = 32  # bytes of a key, a rank, a place and a word


def find_joined(
    plan: Plan, signed_contents: DataFrame, documents: int, tasks: Callable[[float], int]
) -> DataFrame:
    """Rows of candidates as `edges.find_edges` gives them; `tasks` tells how many should receive so many bytes."""
    some = plan.pairs == "clusters" and plan.clustering.kind == "components"
    if isinstance(plan.candidates, Hamming):
        rule = Near.of(plan, plan.candidates, documents, some, 1)
        rule = replace(rule, tasks=tasks(documents * len(rule.masks) * FINGERPRINT))
        return find_near(rule, signed_contents)
    rows = partial(content_rows, signed_contents)
    if isinstance(plan.candidates, Exact):
        found = find_exact(plan, rows(["hashes", "weights"]).drop("place"), some)
    else:
        everything = rows(["hashes", "weights"]).drop("place").repartition(1)
        found = in_arrow(everything, _Alone(plan, some), LINKS)
    return _placed(found, rows([]))


def _placed(found: DataFrame, places: DataFrame) -> DataFrame:
    """Pairs of ranks, each once, with the places of their documents; and counts."""
    from pyspark.sql import functions as f

    pairs = found.where(f.col("kind") != COUNTED).select("left", "right").distinct()
    for side in ("left", "right"):
        named = places.select(f.col("rank").alias(side), f.col("place").alias(f"{side}_place"))
        pairs = pairs.join(named, side)
    counts = found.where(f.col("kind") == COUNTED)
    zero = f.lit(0).cast("long")
    cut = [f.col("left").alias("left_place"), f.col("right").alias("right_place")]
    counts = counts.select("kind", zero.alias("left"), zero.alias("right"), *cut)
    return pairs.select(f.lit(FIRST).alias("kind"), *NAMES[1:]).unionByName(counts)


# whatever one worker does -----------------------------------------------------------------------


@dataclass(frozen=True)
class _Alone:
    """All documents to the pairs that the plan's join finds."""

    plan: Plan
    some: bool

    def __call__(self, batches: Batches) -> Batches:
        parts = list(batches)
        if not parts:
            return
        whole = pa.Table.from_batches(parts)
        order = np.argsort(whole.column("rank").to_numpy())
        whole = whole.take(pa.array(order)).combine_chunks()
        features = unpack_features(whole.column("hashes"), whole.column("weights"))
        ranks = whole.column("rank").to_numpy()
        join: Any = self.plan.candidates
        if self.some:
            found, _ = join.links(features, self.plan.threshold, 1, unsigned(ranks), CROWD)
        else:
            found = join.pairs(features, self.plan.threshold, 1)
        yield from link_rows(ranks[found.left], ranks[found.right])
