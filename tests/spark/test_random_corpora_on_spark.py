"""The Spark engine beside the oracle: random corpora for every method and clustering, thresholds on the boundary."""

from __future__ import annotations

from typing import Any

import pytest
from test_random_corpora import check

from neardup.plan import CLUSTER_KINDS
from neardup.registry import methods


class FromSpark:
    """A result of Spark with tables in place of frames."""

    def __init__(self, result: Any) -> None:
        for name in ("pairs", "clusters", "kept", "removed"):
            setattr(self, name, getattr(result, name).toArrow())


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(methods()) * len(CLUSTER_KINDS)))
def test_a_random_corpus_has_the_answers_of_the_oracle(spark, number):
    """One for each method and clustering; the order of rows is no property of a frame, so no policy goes by it."""
    from neardup import spark as engine

    def run(table: Any, *, plan: Any, threads: int, guard: bool) -> FromSpark:
        return FromSpark(engine.dedup(spark.createDataFrame(table), plan=plan, guard=guard))

    check(number, run, ordered=False)
