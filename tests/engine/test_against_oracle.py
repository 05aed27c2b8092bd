"""Pairs, clusters, weakest links and bridges of whole runs beside brute force in plain Python."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import oracle
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import neardup
from corpora import CERTAIN, SOME, collections, corpus, rows, set_constants, thresholds


def run(texts, threshold, ngram, **options):
    """A result over a list of texts, whose ids are their numbers, and the truth about them."""
    options = {**CERTAIN, "threshold": float(threshold), "ngram": ngram, **options}
    result = neardup.dedup(list(texts), **options)
    return result, oracle.Truth(result.plan, texts, threshold, ngram)


def pair_rows(result):
    return {(row["left"], row["right"]): row for row in result.pairs.to_pylist()}


def groups(result):
    found = {}
    for row in result.clusters.to_pylist():
        found.setdefault(row["cluster"], []).append(row["id"])
    return sorted(sorted(group) for group in found.values())


# --- pairs ---------------------------------------------------------------------------------------------------


@SOME
@given(collections, thresholds, st.integers(1, 4))
@example(["a b c d e", "a b c d f"], "0.6", 2)  # 3 of 5 shared: exactly the threshold, which counts
@example(["a b c d e f a b c d", "a b c d e f a"], "0.7", 1)
def test_all_pairs_are_exactly_the_true_pairs(texts, threshold, ngram):
    result, truth = run(texts, threshold, ngram, pairs="all")
    found = pair_rows(result)
    assert len(result.pairs) == len(found), "no pair twice"
    assert set(found) == set(truth.pairs())


@SOME
@given(collections, thresholds, st.integers(1, 4), st.sampled_from(["all", "clusters"]))
def test_similarity_and_containment_are_exact(texts, threshold, ngram, pairs):
    result, truth = run(texts, threshold, ngram, pairs=pairs)
    for (a, b), row in pair_rows(result).items():
        assert row["similarity"] == float(truth.similarity(a, b))
        assert row["containment"] == float(truth.containment(a, b))
        assert truth.similarity(a, b) >= truth.threshold
        assert row["reason"] == ("copy" if truth.copies(a, b) else "similar")


@pytest.mark.parametrize("threshold", [2 / 3, 0.4 + 4 / 15, 0.6666666])
def test_a_tie_with_a_threshold_that_is_no_short_decimal_counts(threshold):
    """Four words shared of six: however the two thirds were come by."""
    assert len(neardup.pairs(["a b c d e", "a b c d f"], ngram=1, threshold=threshold, **CERTAIN)) == 1


def test_a_pair_just_below_the_threshold_does_not_count():
    assert len(neardup.pairs(["a b c d e", "a b c d f"], ngram=1, threshold=0.6666667, **CERTAIN)) == 0


@pytest.mark.parametrize("pairs", ["all", "clusters"])
@pytest.mark.parametrize("threshold", ["0.5", "0.7", "0.9"])
def test_longer_texts_with_the_default_bands(threshold, pairs):
    """No false pair, every similarity exact, and hardly a true pair missed, on a few hundred documents."""
    table = corpus(seed=11, families=50)
    texts = table["text"].to_pylist()
    result = neardup.dedup(texts, threshold=float(threshold), pairs=pairs, clusters="components")
    truth = oracle.Truth(result.plan, texts, threshold, 5)
    found = pair_rows(result)
    true = set(truth.pairs())
    assert set(found) <= true
    assert all(row["similarity"] == float(truth.similarity(*pair)) for pair, row in found.items())
    joined = {pair for group in groups(result) for pair in combinations(group, 2)}
    missed = true - (set(found) if pairs == "all" else joined)
    assert len(missed) <= 0.02 * len(true)


@SOME
@given(collections, thresholds)
def test_the_default_joins_what_all_pairs_join(texts, threshold):
    few, truth = run(texts, threshold, 2, pairs="clusters")
    every, _ = run(texts, threshold, 2, pairs="all")
    assert groups(few) == groups(every) == truth.clusters()
    assert set(pair_rows(few)) <= set(pair_rows(every))


def test_copies_are_expanded_in_all_pairs_and_stars_in_clusters():
    """Three copies of one text and two of a similar one: 3 × 2 similar pairs and 3 + 1 pairs of copies."""
    one, other = "a b c d e f g h i j", "a b c d e f g h i k"
    texts = [one, other, one, "z y x w v u", other, one]
    result, truth = run(texts, "0.5", 2, pairs="all")
    found = pair_rows(result)
    assert set(found) == set(truth.pairs()) and len(found) == 10
    assert sum(row["reason"] == "copy" for row in found.values()) == 4

    result, _ = run(texts, "0.5", 2, pairs="clusters")
    found = pair_rows(result)
    copies = [pair for pair, row in found.items() if row["reason"] == "copy"]
    similar = [pair for pair, row in found.items() if row["reason"] == "similar"]
    assert len(copies) == 3 and len(similar) == 1, (
        "a star of each content, and one edge between their centres"
    )
    for group in ({0, 2, 5}, {1, 4}):
        star = [set(pair) for pair in copies if set(pair) <= group]
        assert len(star) == len(group) - 1
        assert set.intersection(*star) & set(similar[0]), "the centre of the star stands for its content"
    assert groups(result) == [[0, 1, 2, 4, 5]]


@SOME
@given(
    st.lists(st.sampled_from(["a b c d e", "a b c d f", "a b c d e f", "g h i j", "", "k"]), max_size=30),
    thresholds,
)
def test_groups_of_copies_expand_right(texts, threshold):
    if not texts:
        return
    result, truth = run(texts, threshold, 2, pairs="all")
    assert set(pair_rows(result)) == set(truth.pairs())
    stars, _ = run(texts, threshold, 2, pairs="clusters")
    copies = sum(row["reason"] == "copy" for row in pair_rows(stars).values())
    assert copies == len(texts) - len(truth.contents()) == stars.report["exact_copies"]


@pytest.mark.parametrize("block", [1, 97, 10_000])
def test_a_large_group_of_copies_is_expanded_block_by_block(block, monkeypatch):
    set_constants(monkeypatch, ROWS=block)
    texts = ["the same text"] * (200 if block > 1 else 20)
    found = neardup.dedup(texts, pairs="all").pairs
    pairs = set(zip(found["left"].to_pylist(), found["right"].to_pylist(), strict=True))
    assert len(found) == len(pairs) and pairs == set(combinations(range(len(texts)), 2))


def test_pairs_have_the_smaller_id_left_and_stand_in_order():
    texts = ["a b c d e f", "a b c d e g", "a b c d e f g", "p q r s t", "p q r s u"] * 5
    result, _ = run([f"{text} {k}" for k, text in enumerate(texts)], "0.3", 2, pairs="all")
    found = [(row["left"], row["right"]) for row in result.pairs.to_pylist()]
    assert len(found) > 20 and all(left < right for left, right in found)
    assert found == sorted(found)


def test_pairs_stand_in_order_also_where_there_are_copies():
    texts = ["a b c d e f", "a b c d e g", "a b c d e f g"] * 4
    result, _ = run(texts, "0.3", 2, pairs="all")
    found = [(row["left"], row["right"]) for row in result.pairs.to_pylist()]
    assert found == sorted(found)


# --- clusters ------------------------------------------------------------------------------------------------


@SOME
@given(collections, thresholds, st.integers(1, 3), st.sampled_from(["all", "clusters"]))
def test_clusters_are_the_components_named_by_their_smallest_id(texts, threshold, ngram, pairs):
    result, truth = run(texts, threshold, ngram, pairs=pairs, clusters="components")
    assert groups(result) == truth.clusters()
    for row in result.clusters.to_pylist():
        mine = [group for group in truth.clusters() if row["id"] in group]
        assert row["cluster"] == mine[0][0] and row["size"] == len(mine[0])
    assert result.report["clusters"] == len(truth.clusters())


@SOME
@given(collections, thresholds, st.integers(1, 3), st.sampled_from(["all", "clusters"]))
@example(["a b c d e f", "a b c d e g", "a b c d h g", "a b i d h g"], "0.3", 1, "clusters")
def test_the_weakest_link_is_the_minimum_of_a_maximum_spanning_tree(texts, threshold, ngram, pairs):
    result, truth = run(texts, threshold, ngram, pairs=pairs, clusters="components")
    rows = result.clusters.to_pylist()
    for group in truth.clusters():
        if len({truth.texts[x] for x in group}) <= result.plan.clustering.complete:
            expected = float(oracle.weakest_link(group, truth.similarity))
            assert {row["weakest_link"] for row in rows if row["id"] in group} == {expected}


@SOME
@given(
    st.lists(
        st.sampled_from(["a b c", "a b c d", "b c d e", "c d e f", "d e f g", "a c", "x y"]),
        max_size=7,
        unique=True,
    ),
    st.sampled_from(["0.3", "0.4", "0.5"]),
)
@example(["a b c", "a b c d", "b c d e", "c d e f", "d e f g"], "0.5")
def test_bridges_are_the_pairs_without_which_a_cluster_falls_apart(texts, threshold):
    if not texts:
        return
    result, truth = run(texts, threshold, 1, pairs="all")
    marked = {pair for pair, row in pair_rows(result).items() if row["bridge"]}
    assert marked == oracle.bridges(truth.pairs())


def test_the_bridge_of_two_groups_is_found_in_a_larger_collection():
    """Two cliques of five around a chain: the two links of the chain are bridges, and nothing else is."""
    left = ["a b c d e f g h " + extra for extra in "1 2 3 4 5".split()]
    right = ["p q r s t u v w " + extra for extra in "6 7 8 9 0".split()]
    middle = ["a b c d e f g h 1 p q r s t u v w 6"]
    texts = left + right + middle
    result, truth = run(texts, "0.45", 1, pairs="all", clusters="components")
    marked = {pair for pair, row in pair_rows(result).items() if row["bridge"]}
    assert marked == oracle.bridges(truth.pairs())
    summary = result.report["largest_clusters"]
    assert [cluster["bridges"] for cluster in summary] == [
        len(oracle.bridges([pair for pair in truth.pairs() if set(pair) <= set(group)]))
        for group in truth.clusters()
    ]


# --- leaders -------------------------------------------------------------------------------------------------


def longest_first(texts):
    return lambda x: (-len(texts[x]), x)


@SOME
@given(collections, thresholds, st.integers(1, 3), st.sampled_from(["all", "clusters"]))
def test_leaders_take_what_is_similar_to_themselves(texts, threshold, ngram, pairs):
    result, truth = run(texts, threshold, ngram, pairs=pairs, clusters="leaders")
    for row in result.clusters.to_pylist():
        assert row["id"] == row["leader"] or truth.similarity(row["id"], row["leader"]) >= truth.threshold
    assert result.report["buckets"]["above_limit"] == 0, "every candidate can be compared"
    assert groups(result) == truth.led_clusters(longest_first(truth.texts))


@SOME
@given(collections, thresholds)
def test_the_weakest_link_of_a_led_cluster_is_the_one_to_its_leader(texts, threshold):
    result, truth = run(texts, threshold, 2, pairs="all", clusters="leaders")
    for group in truth.led_clusters(longest_first(truth.texts)):
        leader = min(group, key=longest_first(truth.texts))
        expected = float(min(truth.similarity(x, leader) for x in group if x != leader))
        found = {row["weakest_link"] for row in result.clusters.to_pylist() if row["id"] in group}
        assert found == {expected}


def test_a_leader_takes_all_that_are_similar_to_it_by_default_too():
    """Thirty texts, any two of them 0.74 similar: whichever is best leads all the others."""
    texts = [" ".join([f"w{k}" for k in range(85)] + [f"x{j}y{k}" for k in range(15)]) for j in range(30)]
    led = neardup.dedup(texts, ngram=1, bands=24, rows=3, clusters="leaders", pairs="clusters")
    assert led.report["buckets"]["above_limit"] == 0
    assert groups(led) == [list(range(30))]


CHAIN = ["a b c d e f g h i j", "c d e f g h i j k l", "e f g h i j k l m n"]  # neighbours 8/12, ends 6/14


def test_components_drift_along_a_chain_and_leaders_do_not():
    drifting, truth = run(CHAIN, "0.6", 1, clusters="components")
    assert truth.similarity(0, 2) < truth.threshold
    assert groups(drifting) == [[0, 1, 2]]
    led, _ = run(CHAIN, "0.6", 1, clusters="leaders")
    assert groups(led) == [[0, 1]], "the first of the longest leads; the end of the chain stays outside"
    assert led.kept == [CHAIN[0], CHAIN[2]]


def test_all_pairs_are_listed_however_they_cluster():
    led, truth = run(CHAIN, "0.6", 1, pairs="all", clusters="leaders")
    assert set(pair_rows(led)) == set(truth.pairs()) == {(0, 1), (1, 2)}


# --- other checks than the exact one --------------------------------------------------------------------------


@SOME
@given(collections, st.sampled_from([0.3, 0.5, 0.7]))
def test_estimates_are_shares_of_equal_slots(texts, threshold):
    result = neardup.dedup(
        texts, threshold=threshold, ngram=2, bands=32, rows=2, verify="estimate", pairs="all"
    )
    for row in result.pairs.to_pylist():
        assert row["similarity"] >= threshold
        assert Fraction(row["similarity"]).limit_denominator(64) * 64 == round(row["similarity"] * 64)


def chained(share_a_band):
    """Texts of a chain whose neighbours meet in a band and whose ends do not, found by trying."""
    for seed in range(200):
        plan = neardup.make_plan(threshold=0.5, ngram=1, bands=2, rows=3, verify="none", seed=seed)
        keys = share_a_band(plan)
        meet = [bool((keys[:, a] == keys[:, b]).any()) for a, b in ((0, 1), (1, 2), (0, 2))]
        if meet == [True, True, False]:
            return plan
    raise AssertionError("no such seed")


def test_without_verification_a_pair_is_what_shares_a_band():
    from neardup.columns import Texts

    def keys(plan):
        features = plan.view.represent(plan.text(Texts.from_strings(CHAIN)))
        return plan.candidates.keys(plan.view.signature(features))

    plan = chained(keys).with_(pairs="all")
    result = neardup.dedup(CHAIN, plan=plan)
    assert {(row["left"], row["right"]) for row in result.pairs.to_pylist()} == {(0, 1), (1, 2)}


def test_without_verification_similarities_are_unknown():
    result = neardup.dedup(["a b c d e f g", "a b c d e f g h"], verify="none", bands=64, rows=1)
    assert rows(result.pairs) == [(0, 1, None, None, None, "similar", True)]
    assert result.clusters["similarity"].to_pylist() == [None, None]
    assert result.report["largest_clusters"][0]["weakest_link"] is None
