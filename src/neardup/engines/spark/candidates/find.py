"""Candidate pairs of any plan: the function for the distribution that its candidates declare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from neardup.engines.spark.candidates.bands import find_by_keys
from neardup.engines.spark.candidates.blocks import find_by_blocks
from neardup.engines.spark.candidates.hamming import find_by_hamming
from neardup.engines.spark.candidates.prefix import find_by_prefix
from neardup.errors import PlanError
from neardup.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class DistinctTexts:
    """The representations that candidates come from, and their number."""

    chunks: (
        DataFrame  # chunk, representation, copies (to leave out) and, if the plan joins features, features
    )
    documents: int
    features: int  # of all distinct texts; 0 unless the plan joins features
    tasks: Callable[[float], int]  # the number of tasks that should receive so many bytes


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
