"""Leaders remove nothing without direct evidence: a document goes if it reaches the threshold with one that stays."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from direct_evidence import KEEP, chains_and_families, check_direct_evidence, hot_plan
from hypothesis import given
from hypothesis import strategies as st

import naive
import neardup
from corpora import SOME, corpus, set_constants, versions
from neardup.columns import Pairs
from neardup.engines.core import leaders
from neardup.engines.core.leaders import lead
from neardup.plan import Clustering
from neardup.registry import get_method, methods

COMPONENTS = Clustering("components")
PLAN = get_method("minhash").plan(threshold=0.5)


def scored(left: list[int], right: list[int], matrix: np.ndarray) -> Pairs:
    """Pairs whose similarity is that of the matrix."""
    similarity = matrix[left, right] if left else np.zeros(0)
    whole = np.full(len(left), 1000.0)
    shared = np.round(2 * whole * similarity / (1 + similarity))
    return Pairs(np.array(left, np.int64), np.array(right, np.int64), shared, whole, whole)


@given(st.integers(1, 14), st.integers(0, 10**6), st.sampled_from([0, 2, 64]))
@SOME
def test_leaders_are_those_of_the_twin(n: int, seed: int, most: int) -> None:
    """Whatever was measured before, as long as it connects the components, and with any limit on rounds above them."""
    source = random.Random(seed)
    matrix = np.zeros((n, n))
    for a in range(n):
        for b in range(a + 1, n):
            matrix[a, b] = matrix[b, a] = source.choice([0.0, 0.3, 0.5, 0.8])
    edges = [(a, b) for a in range(n) for b in range(a + 1, n) if matrix[a, b] >= 0.5]
    labels = np.array(naive.components(n, edges))
    order = list(range(n))
    source.shuffle(order)
    known = edges if most < 64 else [edge for edge in edges if source.random() < 0.5]
    asked: list[tuple[int, int]] = []

    def measure(left: np.ndarray, right: np.ndarray) -> Pairs:
        asked.extend(zip(left.tolist(), right.tolist(), strict=True))
        return scored(left.tolist(), right.tolist(), matrix)

    before = leaders.LEADERS
    leaders.LEADERS = most
    try:
        places = np.empty(n, np.int64)
        places[order] = np.arange(n)
        found, evidence = lead(PLAN, places, labels, scored(*map(list, zip(*known, strict=True)), matrix)
                               if known else scored([], [], matrix), measure)  # fmt: skip
    finally:
        leaders.LEADERS = before
    assert found.tolist() == naive.leaders(order, edges)
    assert len(asked) == len(set(asked)) and not set(asked) & set(known)
    assert len(evidence) == len(known) + sum(matrix[pair] >= 0.5 for pair in asked)  # no other matters


class Tiled:
    """A measure that hands out a few texts at a time."""

    def __init__(self, matrix: np.ndarray, size: int) -> None:
        self.matrix, self.size, self.asked = matrix, size, list[tuple[int, int]]()

    def __call__(self, left: np.ndarray, right: np.ndarray) -> Pairs:
        self.asked.extend(zip(left.tolist(), right.tolist(), strict=True))
        return scored(left.tolist(), right.tolist(), self.matrix)

    def tiles(self, texts: np.ndarray) -> Iterator[tuple[np.ndarray, Tiled]]:
        for start in range(0, len(texts), self.size):
            yield texts[start : start + self.size], self


@given(st.integers(2, 16), st.integers(0, 10**6), st.integers(1, 6), st.sampled_from([1, 2, 64]))
@SOME
def test_tiles_change_neither_leaders_nor_what_is_measured(n: int, seed: int, size: int, most: int) -> None:
    source, before = random.Random(seed), leaders.LEADERS
    matrix = np.zeros((n, n))
    for a in range(n):
        for b in range(a + 1, n):
            matrix[a, b] = matrix[b, a] = source.choice([0.0, 0.3, 0.5, 0.8])
    labels = np.array([source.randrange(3) for _ in range(n)])
    order = np.array(source.sample(range(n), n))
    known = [
        (a, b) for a in range(n) for b in range(a + 1, n) if labels[a] == labels[b] and source.random() < 0.4
    ]
    evidence = scored([a for a, _ in known], [b for _, b in known], matrix)
    whole, tiled = Tiled(matrix, n), Tiled(matrix, size)
    try:
        leaders.LEADERS = most
        found = [lead(PLAN, order, labels, evidence, measure) for measure in (whole, tiled)]
    finally:
        leaders.LEADERS = before
    assert found[0][0].tolist() == found[1][0].tolist()
    assert sorted(whole.asked) == sorted(tiled.asked) and len(found[0][1]) == len(found[1][1])


def test_tiles_of_a_run_change_nothing(hot: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """With features of many documents at a time, and of hardly more than one."""
    plan = hot_plan("minhash", "longest")
    found = [neardup.dedup(hot, plan=plan)]
    set_constants(monkeypatch, LARGE_TILE_BYTES=500)
    found.append(neardup.dedup(hot, plan=plan))
    assert found[0].clusters.equals(found[1].clusters) and found[0].pairs.equals(found[1].pairs)


@pytest.fixture(scope="module")
def hot() -> pa.Table:
    return chains_and_families()


@pytest.mark.parametrize("keep", ["first", *KEEP])
@pytest.mark.parametrize("name", methods())
def test_every_removal_has_direct_evidence(hot: pa.Table, name: str, keep: str) -> None:
    """Also in hot buckets, where most pairs are not compared."""
    plan = hot_plan(name, keep)
    result = neardup.dedup(hot, plan=plan)
    check_direct_evidence(plan, result.clusters.to_pylist(), result.report)


@pytest.mark.parametrize("verify", ["exact", "estimate", "none"])
@pytest.mark.parametrize("decide", ["similarity", "containment"])
def test_other_evidence_is_direct_too(hot: pa.Table, verify: str, decide: str) -> None:
    how = {"verify": verify} if decide == "similarity" else {"decide": decide}
    plan = hot_plan("minhash", "longest", **how)
    result = neardup.dedup(hot, plan=plan)
    rows = result.clusters.to_pylist()
    if verify == "none" and decide == "similarity":
        assert result.report["removals"]["by_chain"] == 0
        assert {row["evidence"] for row in rows if not row["keep"]} == {"copy", "unverified"}
        removals = result.report["removals"]
        assert removals["direct"] == 0 < removals["unverified"] == removals_of(rows) - removals["copies"]
    else:
        check_direct_evidence(plan, rows, result.report)


def removals_of(rows: list[dict[str, object]]) -> int:
    return sum(not row["keep"] for row in rows)


def test_buckets_of_the_property_are_hot(hot: pa.Table) -> None:
    report = neardup.dedup(hot, plan=hot_plan("minhash", "longest")).report
    assert report["buckets"]["above_limit"] > 10 and report["buckets"]["pairs_skipped"] > 100
    chained = neardup.dedup(hot, plan=hot_plan("minhash", "longest").with_(clustering=COMPONENTS)).report
    assert chained["removals"]["by_chain"] > 10


def test_a_chain_is_cut_where_evidence_ends() -> None:
    texts = versions(80, seed=1)
    led = neardup.dedup(texts, ngram=1, threshold=0.7, keep="first", clusters="leaders")
    chained = neardup.dedup(texts, ngram=1, threshold=0.7, keep="first", clusters="components")
    assert chained.report["kept"] == 1 and chained.report["removals"]["by_chain"] > 50
    assert chained.report["removals"]["lowest_similarity"] < 0.3
    assert {row["evidence"] for row in chained.clusters.to_pylist()} == {None, "direct", "chain"}
    assert 1 < led.report["kept"] < 20 and led.report["removals"]["by_chain"] == 0


@pytest.mark.parametrize("limit", [1, 3])
def test_long_chains_need_no_more_rounds_than_the_limit(monkeypatch, limit: int) -> None:
    """Beyond the limit only measured pairs count: more documents may stay, none goes without evidence."""
    texts = versions(80, seed=2)
    exact = neardup.dedup(texts, ngram=1, threshold=0.7, keep="first", clusters="leaders")
    set_constants(monkeypatch, LEADERS=limit)
    cut = neardup.dedup(texts, ngram=1, threshold=0.7, keep="first", clusters="leaders")
    assert cut.report["kept"] >= exact.report["kept"] and cut.report["removals"]["by_chain"] == 0


def test_one_large_cluster_costs_one_comparison_more_a_document() -> None:
    base = " ".join(f"w{k}" for k in range(200))
    texts = [f"{base} own{k}" for k in range(3000)]
    table = pa.table({"id": [f"d{k}" for k in range(len(texts))], "text": texts})
    led = neardup.dedup(table, threshold=0.7, clusters="leaders")
    chained = neardup.dedup(table, threshold=0.7, clusters="components")
    assert led.report["kept"] == chained.report["kept"] == 1
    assert led.report["pairs"]["candidates"] == chained.report["pairs"]["candidates"]


# What leaders would have removed, in the report of components ---------------------------------------------


@pytest.mark.parametrize("keep, keep_count", [("longest", 1), ("longest", 2), ("first", 1)])
@pytest.mark.parametrize("texts", ["chain", "families"])
def test_components_report_what_leaders_remove(texts: str, keep: str, keep_count: int) -> None:
    table = corpus(5) if texts == "families" else [*versions(80, seed=1), *versions(40, seed=4), "", ""]
    how = {"ngram": 1, "threshold": 0.7, "keep": keep, "keep_count": keep_count, "empty": "one"}
    chained = neardup.dedup(table, clusters="components", **how).report
    led = neardup.dedup(table, clusters="leaders", **how).report
    assert chained["removals"]["by_chain"] > 0
    assert chained["removals"]["removed_by_leaders"] == led["removed"] <= chained["removed"]
    assert led["removals"]["removed_by_leaders"] is None


@pytest.mark.parametrize("limit", [1, 3, 64])
def test_the_limit_of_leaders_is_that_of_the_report(monkeypatch, limit: int) -> None:
    set_constants(monkeypatch, LEADERS=limit)
    how = {"ngram": 1, "threshold": 0.7, "keep": "first"}
    texts = versions(120, seed=2)
    chained, led = (neardup.dedup(texts, clusters=kind, **how).report for kind in ("components", "leaders"))
    assert chained["removals"]["removed_by_leaders"] == led["removed"]


def test_the_report_of_components_changes_no_pair_and_asks_for_none_where_all_are_known() -> None:
    """Pairs that only the count asks for are not in the result; --pairs all has measured all that reach."""
    how = {"ngram": 1, "threshold": 0.7, "clusters": "components"}
    texts = versions(120, seed=3)
    found = {kind: neardup.dedup(texts, pairs=kind, **how) for kind in ("clusters", "all")}
    counts = {kind: result.report["removals"]["removed_by_leaders"] for kind, result in found.items()}
    assert counts["clusters"] == counts["all"]
    run = found["all"]._run
    removed = (run.decisions.duplicate_of >= 0).sum()
    assert run.decisions.compared <= removed, "each removed document with what it duplicates, and no more"
    listed = {(row["left"], row["right"]) for row in found["clusters"].pairs.to_pylist()}
    assert listed <= {(row["left"], row["right"]) for row in found["all"].pairs.to_pylist()}


def test_the_summary_of_components_says_what_leaders_would_remove() -> None:
    from neardup.cli.support.show import summary

    report = neardup.dedup(versions(80, seed=1), ngram=1, threshold=0.7, clusters="components").report
    removals = report["removals"]
    line = f"(--clusters leaders removes {removals['removed_by_leaders']:,} documents in place of 79)"
    assert line in summary(report, None, 1.0)
