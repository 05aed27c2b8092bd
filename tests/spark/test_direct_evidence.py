"""No removal without direct evidence on Spark, whatever the method and keep policy, also in hot buckets."""

from __future__ import annotations

import pyarrow as pa
import pytest
from direct_evidence import KEEP, chains_and_families, check_direct_evidence, hot_plan

import neardup
import neardup.spark
from corpora import bridged, rows, versions
from neardup.errors import GuardError
from neardup.registry import methods


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return chains_and_families()


@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize(
    "method",
    [pytest.param(name, marks=[] if name == "minhash" else pytest.mark.slow) for name in methods()],
)
@pytest.mark.cut("method")
def test_every_removal_has_direct_evidence(spark, table: pa.Table, method: str, keep: str) -> None:
    plan = hot_plan(method, keep)
    result = neardup.spark.dedup(spark.createDataFrame(table).repartition(2), plan)
    check_direct_evidence(plan, result.clusters.toArrow().to_pylist(), result.report)
    assert result.report["removals"] == neardup.dedup(table, plan=plan).report["removals"]


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"keep_count": 2}, {"pairs": "all"}, {}], ids=["two", "all", "usual"])
@pytest.mark.cut()
def test_components_report_what_leaders_remove(spark, options: dict) -> None:
    texts = [*versions(40, seed=1), *versions(30, seed=4), "", ""]
    small = pa.table({"id": [f"d{k}" for k in range(len(texts))], "text": texts})
    plan = neardup.make_plan(ngram=1, threshold=0.7, clusters="components", empty="one", **options)
    report = neardup.spark.dedup(spark.createDataFrame(small), plan).report
    local = neardup.dedup(small, plan=plan).report
    assert report["removals"] == local["removals"]
    assert report["pairs"]["verified"] == local["pairs"]["verified"]
    assert local["removals"]["by_chain"] > 0


@pytest.mark.parametrize(
    "options",
    [
        {"clusters": "average"},
        pytest.param({"clusters": "components"}, marks=pytest.mark.slow),
        {"keep": "none"},
        pytest.param({"verify": "none"}, marks=pytest.mark.slow),
    ],
    ids=["average", "components", "none", "unverified"],
)
def test_evidence_and_warnings_are_those_of_the_local_engine(spark, options: dict) -> None:
    """Also a lowest similarity of 0, and documents that share nothing with the best one of their cluster."""
    texts = [*bridged(12), *versions(60, seed=1)]
    small = pa.table({"id": [f"d{k:03}" for k in range(len(texts))], "text": texts})
    plan = neardup.make_plan(ngram=1, threshold=0.3, bands=100, rows=1, **options)
    mine, local = neardup.spark.dedup(spark.createDataFrame(small), plan), neardup.dedup(small, plan=plan)
    assert mine.report["removals"] == local.report["removals"]
    assert mine.report["warnings"] == local.report["warnings"]
    assert rows(mine.clusters.toArrow()) == rows(local.clusters)
    removals = local.report["removals"]
    if options.get("clusters") == "average":
        assert removals["apart"] >= 12 and removals["lowest_apart"]["similarity"] == 0
        assert removals["lowest_similarity"] >= 0.15 and local.report["warnings"]
    if options.get("clusters") == "components":
        assert removals["lowest_similarity"] == 0.0 and removals["by_chain"]
    if "keep" in options:
        assert removals["by_chain"] == 0 and removals["lowest_similarity"] >= 0.3
    if "verify" in options:
        assert removals["unverified"] > 0 == removals["direct"]


def test_documents_of_a_run_that_looks_wrong_are_not_handed_out(spark) -> None:
    copies = pa.table({"id": ["a", "b", "c"], "text": ["one text of some words"] * 2 + ["another text"]})
    frame = spark.createDataFrame(copies)
    result = neardup.spark.dedup(frame, expect_removed=0.1)
    assert result.clusters.count() == 2
    for name in ("kept", "removed", "annotated"):
        with pytest.raises(GuardError, match=r"33\.3%.* would be removed where 5\.0% to 20\.0% is expected"):
            getattr(result, name)
    assert neardup.spark.dedup(frame, expect_removed=0.1, guard=False).kept.count() == 2
    assert neardup.spark.dedup(frame, expect_removed=0.3).kept.count() == 2


def test_pairs_are_those_of_the_local_engine(spark) -> None:
    """Leaders would compare, and so find, pairs that the bands miss."""
    texts = versions(40, seed=1)
    small = pa.table({"id": [f"d{k:02}" for k in range(len(texts))], "text": texts})
    options = {"ngram": 1, "threshold": 0.7, "bands": 2, "rows": 4}
    mine = neardup.spark.pairs(spark.createDataFrame(small), **options).toArrow()
    assert rows(mine) == rows(neardup.pairs(small, **options))
