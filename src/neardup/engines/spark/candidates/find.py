"""Candidate pairs of any plan: the function for the distribution that its candidates declare."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame

from neardup.engines.spark.candidates.bands import find_by_keys
from neardup.engines.spark.candidates.blocks import find_by_blocks
from neardup.engines.spark.candidates.hamming import find_by_hamming
from neardup.engines.spark.candidates.prefix import find_by_prefix
from neardup.engines.spark.signatures import DistinctTexts
from neardup.errors import PlanError
from neardup.plan import Plan

FIND: dict[str, Callable[[Plan, DistinctTexts], DataFrame]] = {
    "keys": find_by_keys,
    "hamming": find_by_hamming,
    "prefix": find_by_prefix,
    "blocks": find_by_blocks,
}


def check_distribution(plan: Plan) -> None:
    """Raises if the engine cannot distribute the plan's candidates."""
    if plan.candidates.distribution not in FIND:
        raise PlanError(
            f"The Spark engine cannot distribute candidates by {plan.candidates.distribution!r} "
            f"({type(plan.candidates).__name__}); it knows {', '.join(FIND)}."
        )


def find_candidates(plan: Plan, texts: DistinctTexts) -> DataFrame:
    """PAIRS: each candidate pair once, the smaller id hash left, and rows with counts of buckets."""
    check_distribution(plan)
    return FIND[plan.candidates.distribution](plan, texts)
