"""Another threshold without another run: upwards always, downwards as far as the evidence reaches."""

from __future__ import annotations

from dataclasses import replace

import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup
from corpora import CERTAIN, SOME, collections, corpus, facts, rows
from neardup.errors import EvidenceError, ParameterError

LEVELS = [0.3, 0.5, 0.6, 0.75, 0.9, 1.0]


@SOME
@given(collections, st.sampled_from(LEVELS), st.sampled_from(LEVELS), st.sampled_from(["all", "clusters"]))
def test_any_level_that_the_evidence_reaches_is_what_a_run_at_that_level_gives(texts, first, then, pairs):
    """With bands of one row the evidence reaches down to 0.1: both ways are the same."""
    options = {**CERTAIN, "ngram": 2, "pairs": pairs}
    moved = neardup.dedup(texts, threshold=first, **options).rethreshold(then)
    fresh = neardup.dedup(texts, threshold=then, **options)
    assert moved.plan == fresh.plan
    assert rows(moved.clusters) == rows(fresh.clusters)
    assert moved.kept == fresh.kept and moved.removed == fresh.removed
    if pairs == "all":
        assert rows(moved.pairs) == rows(fresh.pairs)


@pytest.fixture(scope="module")
def table():
    return corpus(seed=6)


@pytest.mark.parametrize("keep, clusters", [
    *(("longest", clusters) for clusters in ("components", "leaders", "average", "complete")),
    ("none", "components"),
])  # fmt: skip
def test_upwards_on_a_larger_collection(table, clusters, keep):
    options = {**CERTAIN, "pairs": "all", "clusters": clusters, "keep": keep}
    low = neardup.dedup(table, threshold=0.5, **options)
    for level in (0.6, 0.8, 0.95, 1.0):
        assert facts(low.rethreshold(level)) == facts(neardup.dedup(table, threshold=level, **options))


def test_twice_in_a_row_and_back_again(table):
    first = neardup.dedup(table, threshold=0.7, clusters="components", **CERTAIN)
    up = first.rethreshold(0.9)
    assert facts(up.rethreshold(0.95)) == facts(first.rethreshold(0.95))
    assert facts(up.rethreshold(0.7)) == facts(first)
    assert facts(first.rethreshold(0.7)) == facts(first)
    assert len(up.pairs) < len(first.pairs)


def test_the_first_result_stays_what_it_was(table):
    first = neardup.dedup(table, threshold=0.7)
    before = facts(first)
    first.rethreshold(0.95)
    assert facts(first) == before and first.plan.threshold == 0.7


def test_down_to_where_the_bands_still_find_what_was_promised(table):
    result = neardup.dedup(table, threshold=0.8, recall=0.99)
    floor = result.report["lowest_rethreshold"]
    assert 0.5 < floor <= 0.8
    assert facts(result.rethreshold(round(floor + 0.001, 3)))
    with pytest.raises(EvidenceError) as caught:
        result.rethreshold(0.4)
    assert f"{floor:.3f}" in str(caught.value)
    assert "threshold=0.4" in str(caught.value), "the sentence says what to do"
    assert "\n" not in str(caught.value)


def test_the_threshold_itself_is_always_within_reach(table):
    """Bands given by hand that find little at the threshold do not make the run's own threshold an error."""
    result = neardup.dedup(table, threshold=0.5, bands=3, rows=9)
    assert result.report["lowest_rethreshold"] == 0.5
    assert facts(result.rethreshold(0.5)) == facts(result)
    with pytest.raises(EvidenceError):
        result.rethreshold(0.49)


@pytest.mark.parametrize("level", [0, -1, 1.01, float("nan")])
def test_a_level_that_is_no_threshold(table, level):
    with pytest.raises(ParameterError, match="'threshold' parameter of rethreshold must be a number above 0"):
        neardup.dedup(["a", "b"]).rethreshold(level)


def test_the_report_and_the_files_tell_the_new_threshold(table, tmp_path):
    result = neardup.dedup(table, threshold=0.6, **CERTAIN).rethreshold(0.9)
    report = result.write(tmp_path / "out")
    assert report["plan"]["threshold"] == 0.9 and report["digest"] == result.plan.digest
    assert report["removed"] == len(result.removed)


@SOME
@given(
    st.lists(
        st.lists(st.sampled_from("abcdefg"), min_size=2, max_size=9).map(" ".join), min_size=2, max_size=40
    ),
    st.lists(st.sampled_from(["0.3", "0.5", "0.6", "0.75", "0.9"]), min_size=2, max_size=5),
)
def test_any_way_up_and_down_leads_to_the_true_clusters(texts, levels):
    """Also where only what clusters need was compared, and no cluster is small enough to be measured whole."""
    plan = neardup.make_plan(threshold=float(levels[0]), ngram=1, **CERTAIN)
    plan = plan.with_(bucket=10**6, clustering=replace(plan.clustering, kind="components", complete=2))
    result = neardup.dedup(texts, plan=plan)
    for level in levels[1:]:
        result = result.rethreshold(float(level))
        found: dict[int, list[int]] = {}
        for row in result.clusters.to_pylist():
            found.setdefault(row["cluster"], []).append(row["id"])
        truth = oracle.Truth(plan, texts, level, 1)
        assert sorted(map(sorted, found.values())) == truth.clusters()


def twins(count, own=5):
    """Texts that share all but `own` of 100 words, each with a twin that differs from it in one word."""
    shared = [f"w{k}" for k in range(100 - own)]
    texts = []
    for k in range(count):
        mine = [f"x{k}y{j}" for j in range(own)]
        texts += [shared + mine, [*shared, *mine[1:], f"z{k}"]]
    return [" ".join(text) for text in texts]


def test_upwards_by_default_where_a_large_cluster_falls_apart():
    """Pairs that one threshold can skip, because their documents are joined already, another one needs."""
    options = {"ngram": 1, "bands": 8, "rows": 3}
    low = neardup.dedup(twins(15), threshold=0.7, **options)
    assert low.clusters["size"].to_pylist() == [30] * 30 and low.plan.clustering.complete < 30
    high = neardup.dedup(twins(15), threshold=0.95, **options)
    assert high.clusters["size"].to_pylist() == [2] * 30
    assert rows(low.rethreshold(0.95).clusters) == rows(high.clusters)


def test_problems_are_counted_once():
    import pyarrow as pa

    table = pa.table({"id": [1, 2], "text": ["a b c", "a b c"], "date": ["2020-01-01", "no date"]})
    result = neardup.dedup(table, keep="newest:date")
    before = result.report["problems"]["total"]
    result.rethreshold(0.9).rethreshold(0.95)
    assert before == result.report["problems"]["total"] == 1


def test_nothing_can_be_said_of_another_threshold_without_similarities():
    result = neardup.dedup(["a b c d e f", "a b c d e f g"], verify="none", bands=64, rows=1, threshold=0.3)
    with pytest.raises(EvidenceError):
        result.rethreshold(0.95)
