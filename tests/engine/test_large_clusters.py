"""An exact join for clusters is linear in a crowd of near-identical documents, and finds the same clusters."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import neardup
from corpora import set_constants

WORDS = [f"word{number}" for number in range(3000)]


def crowd(size: int, edits: int, seed: int = 1) -> list[str]:
    """Versions of one text of 300 words with an article before every fifth, each with some words of its own."""
    source = random.Random(seed)
    base = [word for _ in range(60) for word in ("the", *source.sample(WORDS, 4))]
    texts = []
    for number in range(size):
        words = list(base)
        for k in range(edits):
            words[source.randrange(len(words))] = f"own{number}x{k}"
        texts.append(" ".join(words))
    return texts


def test_a_crowd_becomes_one_cluster_with_few_comparisons() -> None:
    texts = crowd(1500, 3)
    every = neardup.dedup(texts, method="spotsigs", pairs="all").report
    few = neardup.dedup(texts, method="spotsigs").report
    assert every["kept"] == few["kept"] == 1 and every["clusters"] == few["clusters"] == 1
    assert every["pairs"]["candidates"] > 1500 * 1499 / 2 * 0.9
    assert few["buckets"]["posting_lists_truncated"] > 0 and every["buckets"]["posting_lists_truncated"] == 0
    assert few["pairs"]["candidates"] < 1500 * 64 * 4


def test_work_grows_with_the_crowd_and_not_with_its_square() -> None:
    small, large = (
        neardup.dedup(crowd(size, 3), method="spotsigs").report["pairs"]["candidates"] for size in (800, 3200)
    )
    assert large < 6 * small


def test_documents_of_equal_signatures_are_linked_once() -> None:
    """Words before the first antecedent belong to no signature: no copies, but equal; not all pairs are listed."""
    base = (
        "The harbour was closed on Monday after the storm had broken the northern pier and the crane was lost"
    )
    texts = [f"{'x' * (k + 1)} {base}" for k in range(600)]
    report = neardup.dedup(texts, method="spotsigs", threshold=0.9).report
    assert report["kept"] == 1 and report["pairs"]["candidates"] < 3 * 600


@pytest.mark.parametrize("most", [1, 4])
def test_the_order_of_the_input_does_not_matter_where_crowds_are_cut(monkeypatch, most: int) -> None:
    set_constants(monkeypatch, MOST_LINKS=most)
    texts = crowd(120, 10) + crowd(80, 30, seed=2) + crowd(40, 2, seed=3)
    numbers = list(range(len(texts)))
    random.Random(5).shuffle(numbers)
    results = []
    for order in (range(len(texts)), numbers):
        table = {"id": [f"d{n}" for n in order], "text": [texts[n] for n in order]}
        result = neardup.dedup(pa.table(table), method="spotsigs", threshold=0.5)
        assert result.report["buckets"]["posting_lists_truncated"] > 0
        results.append(
            sorted((row["id"], row["cluster"], row["keep"]) for row in result.clusters.to_pylist())
        )
    assert results[0] == results[1]


def test_a_higher_threshold_is_answered_by_another_join() -> None:
    texts = crowd(300, 4) + crowd(300, 40, seed=2)
    loose = neardup.dedup(texts, method="spotsigs", threshold=0.3)
    assert loose.report["buckets"]["posting_lists_truncated"] > 0
    higher = loose.rethreshold(0.8)
    assert (
        higher.report["removed"] == neardup.dedup(texts, method="spotsigs", threshold=0.8).report["removed"]
    )
