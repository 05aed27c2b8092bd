"""Leaders remove nothing without direct evidence: a document goes if it reaches the threshold with one that stays."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import neardup
from corpora import SOME, corpus, set_constants, versions
from neardup.columns import Pairs
from neardup.engines.core.leaders import lead
from neardup.registry import get_method, methods

WITHOUT_MODEL = [name for name in methods() if name != "andd"]
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
    from neardup.engines.core import leaders

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
    assert len(evidence) == len(known) + len(asked)


@pytest.mark.parametrize("keep", ["longest", "first", "shortest"])
@pytest.mark.parametrize("name", WITHOUT_MODEL)
def test_every_removal_has_direct_evidence(name: str, keep: str) -> None:
    result = neardup.dedup(corpus(3), method=name, keep=keep, clusters="leaders")
    rows = {row["id"]: row for row in result.clusters.to_pylist()}
    removed = [row for row in rows.values() if not row["keep"]]
    assert removed
    for row in removed:
        assert rows[row["duplicate_of"]]["keep"], "a document that stays is named"
        assert row["evidence"] in ("copy", "direct")
        assert row["similarity"] >= result.plan.threshold - 1e-9
    counts = result.report["removals"]
    assert counts["by_chain"] == 0 and counts["copies"] + counts["direct"] == len(removed)


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
