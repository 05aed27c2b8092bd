"""Candidate pairs of the methods that join all documents: near fingerprints, exact similarity, and others.

Fingerprints: see `near`. Exact joins: see `exact`. Others compare every pair that shares anything: see `grid`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from neardup.candidates.contained import Contained
from neardup.candidates.exact import Exact
from neardup.candidates.hamming import Hamming
from neardup.engines.local.join_blocks import JOIN_BYTES
from neardup.engines.spark.candidates.blocks import find_by_blocks
from neardup.engines.spark.candidates.hamming import HammingTables, find_by_hamming
from neardup.engines.spark.candidates.prefix import CHUNK, find_by_prefix
from neardup.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FINGERPRINT = 32  # bytes of a key, a id_hash, a place and a word
PREFIX = 3000  # bytes of the entries of a document's prefix, about
FEATURE = 12  # bytes of a feature and its weight


def find_joined(
    plan: Plan, contents: DataFrame, documents: int, features: int, tasks: Callable[[float], int]
) -> DataFrame:
    """Rows of candidates as `edges.find_by_keys` gives them; `tasks` tells how many should receive so many bytes."""
    some = plan.pairs == "clusters" and plan.clustering.kind == "components"
    if isinstance(plan.candidates, Hamming):
        rule = HammingTables.of(plan, plan.candidates, documents, some, 1)
        rule = replace(rule, tasks=tasks(documents * len(rule.masks) * FINGERPRINT))
        return find_by_hamming(rule, contents)
    if isinstance(plan.candidates, Exact):
        return find_by_prefix(plan, contents, documents, some, tasks(documents * PREFIX))
    size = features * FEATURE
    blocks = tasks(size)
    if some and isinstance(plan.candidates, Contained):
        blocks = -(
            -size // JOIN_BYTES
        )  # which members of a crowd meet depends on them: as in the local engine
    return find_by_blocks(plan, contents.select(*CHUNK), some, blocks, tasks(size))
