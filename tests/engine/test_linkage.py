"""Average and complete linkage of whole runs: exact inside each component, and linear where a component is large."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import oracle
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import neardup
from corpora import CERTAIN, SOME, collections, corpus, facts, thresholds, versions
from neardup import registry
from neardup.clusters.linkage import STEPS
from neardup.engines.core.identity import id_digests
from neardup.engines.local.measure import Measurer
from neardup.plan import Clustering
from neardup.registry import methods
from neardup.thresholds import TOLERANCE

KINDS = pytest.mark.parametrize("kind", ["average", "complete"])


def expected_clusters(
    truth: oracle.Truth, kind: str, ids: list[int] | list[str] | None = None
) -> dict[frozenset[int], float]:
    """The clusters of two documents or more with their merge heights, by the twin, ties broken by id hash."""
    id_hash = id_digests(pa.array(ids or range(truth.n)))[:, 0].tolist()
    found = {}
    for component in oracle.components(range(truth.n), truth.pairs()):
        copies = {x: [y for y in component if x == y or truth.copies(x, y)] for x in component}
        texts = sorted(
            {min(same, key=id_hash.__getitem__) for same in copies.values()}, key=id_hash.__getitem__
        )
        similarity = {
            (i, j): round(float(truth.similarity(texts[i], texts[j])) * STEPS) / STEPS
            for j in range(len(texts))
            for i in range(j)
        }
        least = float(truth.threshold) - TOLERANCE
        names, heights = naive.linkage(len(texts), similarity, least, kind == "complete")
        for name in set(names):
            members = [x for place, x in enumerate(texts) if names[place] == name]
            whole = frozenset(y for x in members for y in copies[x])
            if len(whole) > 1:
                found[whole] = heights[name]
    return found


@KINDS
@given(texts=collections, threshold=thresholds, pairs=st.sampled_from(["clusters", "all"]))
@SOME
def test_clusters_and_heights_are_those_of_the_twin(kind, texts, threshold, pairs) -> None:
    result = neardup.dedup(texts, threshold=float(threshold), ngram=2, clusters=kind, pairs=pairs, **CERTAIN)
    truth = oracle.Truth(result.plan, texts, threshold, 2)
    found: dict[int, list[dict]] = {}
    for row in result.clusters.to_pylist():
        found.setdefault(row["cluster"], []).append(row)
    heights = {frozenset(row["id"] for row in rows): rows[0]["merge_height"] for rows in found.values()}
    assert heights == expected_clusters(truth, kind)


@KINDS
@pytest.mark.parametrize("name", list(methods()))
def test_removals_say_what_they_rest_on(name: str, kind: str) -> None:
    result = neardup.dedup(corpus(3), method=name, clusters=kind)
    removed = [row for row in result.clusters.to_pylist() if not row["keep"]]
    counts, threshold = result.report["removals"], result.plan.threshold
    for row in removed:
        assert row["merge_height"] >= threshold - 1e-9
        assert (row["similarity"] >= threshold - 1e-9) == (row["evidence"] in ("copy", "direct"))
    found = {word: sum(row["evidence"] == word for row in removed) for word in ("copy", "direct", "cluster")}
    assert found == {"copy": counts["copies"], "direct": counts["direct"], "cluster": counts["by_cluster"]}
    assert sum(found.values()) == len(removed) > 0
    if kind == "complete":
        assert found["cluster"] == 0, "every pair of a cluster reaches the threshold"


@pytest.mark.parametrize("clusters", ["components", "leaders", "average", "complete"])
@pytest.mark.parametrize("name", list(methods()))
def test_direct_only_removes_nothing_else(name: str, clusters: str) -> None:
    table = corpus(3)
    usual = neardup.dedup(table, method=name, clusters=clusters)
    direct = neardup.dedup(table, method=name, clusters=clusters, direct_only=True)
    rows = {row["id"]: row for row in direct.clusters.to_pylist()}
    for row in usual.clusters.to_pylist():
        if row["keep"] or row["evidence"] in ("copy", "direct"):
            assert rows[row["id"]] == row
    for row in rows.values():
        assert row["keep"] or (row["evidence"] in ("copy", "direct") and rows[row["duplicate_of"]]["keep"])
    counts = direct.report["removals"]
    assert direct.report["kept"] == usual.report["kept"] + counts["kept_without_direct_evidence"]
    assert counts["by_chain"] == counts["by_cluster"] == 0


@pytest.mark.parametrize("clusters", ["components", "average"])
def test_direct_only_keeps_one_of_several_copies(clusters: str) -> None:
    texts = versions(80, seed=1) * 2
    result = neardup.dedup(texts, ngram=1, threshold=0.7, keep="first", clusters=clusters, direct_only=True)
    assert len(result.kept) == len(set(result.kept)) == result.report["clusters"] + result.report["removals"][
        "kept_without_direct_evidence"
    ]  # fmt: skip
    copies = [row for row in result.clusters.to_pylist() if row["evidence"] == "copy"]
    assert len(copies) == result.report["kept"]


def test_average_cuts_a_chain_that_components_follow() -> None:
    texts = versions(80, seed=1)

    def run(clusters: str) -> dict:
        return neardup.dedup(texts, ngram=1, threshold=0.7, keep="first", clusters=clusters).report

    assert run("components")["kept"] == 1 < run("average")["kept"] < run("complete")["kept"] < 20
    assert run("average")["removals"]["by_cluster"] > 0 == run("average")["removals"]["by_chain"]


@KINDS
def test_a_component_above_the_limit_is_clustered_by_leaders(kind: str) -> None:
    texts = [*versions(60, seed=2), "a text that was written twice", "a text that was written two times"]
    plan = neardup.make_plan(ngram=1, threshold=0.5, keep="first", clusters=kind)
    small = neardup.dedup(texts, plan=plan.with_(clustering=Clustering(plan.clustering.kind, largest=59)))
    led = neardup.dedup(texts, plan=plan.with_(clustering=Clustering("leaders")))
    assert small.report["large_components"] == 1 and small.kept == led.kept
    heights = {row["id"]: row["merge_height"] for row in small.clusters.to_pylist()}
    assert heights.pop(60) == heights.pop(61) >= 0.5
    assert set(heights.values()) == {None}
    assert neardup.dedup(texts, plan=plan).report["large_components"] == 0


@KINDS
def test_one_large_cluster_costs_a_few_comparisons_a_document(kind: str, monkeypatch) -> None:
    base = " ".join(f"w{k}" for k in range(200))
    texts = [f"{base} own{k}" for k in range(3000)]
    measured, usual = [], Measurer.measure
    monkeypatch.setattr(
        Measurer,
        "measure",
        lambda self, left, right: (measured.append(len(left)), usual(self, left, right))[1],
    )
    result = neardup.dedup(texts, threshold=0.7, clusters=kind)
    assert result.report["kept"] == 1 and result.report["large_components"] == 1
    assert sum(measured) < 200 * len(texts)
    assert len(result.pairs) < 30 * len(texts)


@KINDS
def test_the_record_of_pairs_stays_linear(kind: str) -> None:
    """A component of 300 texts has all pairs measured, and lists those that candidates found or decisions need."""
    base = " ".join(f"w{k}" for k in range(200))
    texts = [f"{base} own{k}" for k in range(300)]
    every = neardup.dedup(texts, threshold=0.7, clusters="components")
    result = neardup.dedup(texts, threshold=0.7, clusters=kind)
    assert result.report["kept"] == 1 and len(result.pairs) <= len(every.pairs) + len(texts)


def test_a_method_or_preset_may_name_its_clustering(monkeypatch) -> None:
    by_mean = {name for name, method in methods().items() if method.plan().clustering.kind == "average"}
    assert by_mean == {"andd", "cosine", "rare_phrases", "spotsigs", "spotsigs_lsh"}
    assert {method.plan().clustering.kind for method in methods().values()} == {"leaders", "average"}
    monkeypatch.setitem(registry.PRESETS, "by-mean", {"method": "minhash", "clusters": "average"})
    assert neardup.make_plan(preset="by-mean").clustering.kind == "average"
    assert neardup.make_plan(preset="by-mean", clusters="leaders").clustering.kind == "leaders"
    known = methods()["minhash"]
    linked = replace(
        known, build=lambda **values: known.build(**values).with_(clustering=Clustering("complete"))
    )
    monkeypatch.setitem(registry._METHODS, "minhash", linked)
    assert neardup.make_plan("minhash").clustering.kind == "complete"
    assert neardup.make_plan("minhash", clusters="components").clustering.kind == "components"


@KINDS
def test_clusters_do_not_depend_on_the_keep_policy(kind: str) -> None:
    table = corpus(4)
    found = [
        neardup.dedup(table, method="spotsigs", clusters=kind, keep=keep).clusters.select(["id", "cluster"])
        for keep in ("longest", "shortest", "first")
    ]
    ordered = [{*zip(each["id"].to_pylist(), each["cluster"].to_pylist(), strict=True)} for each in found]
    assert ordered[0] == ordered[1] == ordered[2] and np.unique(found[0]["cluster"]).size > 10


def test_a_resolved_plan_travels(tmp_path) -> None:
    table = corpus(5, families=20)
    plan = neardup.make_plan(clusters="average", direct_only=True)
    assert facts(neardup.dedup(table, plan=neardup.Plan.from_json(plan.to_json()))) == facts(
        neardup.dedup(table, plan=plan)
    )
