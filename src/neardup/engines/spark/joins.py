"""Candidate pairs of the methods that join all documents: near fingerprints, exact similarity, and others.

Fingerprints: see `near`. Exact joins: see `exact`.
Others compare every pair that shares anything, and are meant for thousands of documents: one worker does it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from neardup.candidates.exact import Exact
from neardup.candidates.hamming import Hamming
from neardup.columns import Features
from neardup.engines.matching import CROWD
from neardup.engines.spark.arrow import Batches, in_arrow, sliced, table, unsigned
from neardup.engines.spark.crowds import PAIRS, REST, Collected
from neardup.engines.spark.exact import CHUNK, find_exact
from neardup.engines.spark.near import Near, find_near
from neardup.engines.spark.parcels import column
from neardup.engines.spark.signatures import content_features
from neardup.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FINGERPRINT = 32  # bytes of a key, a rank, a place and a word
PREFIX = 3000  # bytes of the entries of a document's prefix, about


def find_joined(plan: Plan, contents: DataFrame, documents: int, tasks: Callable[[float], int]) -> DataFrame:
    """Rows of candidates as `edges.find_edges` gives them; `tasks` tells how many should receive so many bytes."""
    some = plan.pairs == "clusters" and plan.clustering.kind == "components"
    if isinstance(plan.candidates, Hamming):
        rule = Near.of(plan, plan.candidates, documents, some, 1)
        rule = replace(rule, tasks=tasks(documents * len(rule.masks) * FINGERPRINT))
        return find_near(rule, contents)
    if isinstance(plan.candidates, Exact):
        return find_exact(plan, contents, documents, some, tasks(documents * PREFIX))
    return in_arrow(contents.select(*CHUNK).repartition(1), partial(_alone, plan, some), PAIRS)


def _alone(plan: Plan, some: bool, batches: Batches) -> Batches:
    """All documents to the pairs that the plan's join finds."""
    parts = list(content_features(batches))
    if not parts:
        return
    ranks = np.concatenate([column(seen, "rank") for seen, _, _ in parts])
    places = np.concatenate([own for _, own, _ in parts])
    features = Features.concatenate([each for _, _, each in parts])
    order = np.argsort(ranks)
    features, ranks, places = features.take(order), ranks[order], places[order]
    join: Any = plan.candidates
    if some:
        found, _ = join.links(features, plan.threshold, 1, unsigned(ranks), CROWD)
    else:
        found = join.pairs(features, plan.threshold, 1)
    pairs = Collected()
    pairs.add(REST, ranks, places, found.left, found.right)
    yield from sliced(table(pairs.distinct()))
