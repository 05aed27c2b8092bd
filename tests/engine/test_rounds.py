"""Candidate pairs in rounds: whatever is skipped, clusters are those of all pairs."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import neardup
from corpora import set_constants


def crowd(seed: int, size: int) -> pa.Table:
    """Versions of one text, each with some words of its own: about as similar as the threshold."""
    source, words = random.Random(seed), [f"word{k}" for k in range(80)]
    texts = []
    for number in range(size):
        version = list(words)
        for place in source.sample(range(len(words)), source.randint(1, 4)):
            version[place] = f"own{number}x{place}"
        texts.append(" ".join(version))
    return pa.table({"id": [f"d{k}" for k in source.sample(range(10_000), size)], "text": texts})


def clusters(result: neardup.Result) -> set[frozenset[str]]:
    found: dict[str, set[str]] = {}
    for row in result.clusters.to_pylist():
        found.setdefault(row["cluster"], set()).add(row["id"])
    return {frozenset(members) for members in found.values()}


@pytest.mark.parametrize("seed", range(4))
def test_clusters_are_those_of_every_pair(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = crowd(seed, 32)  # as many as a bucket may have all of whose pairs count
    expected = neardup.dedup(table, pairs="all", threshold=0.6)
    once = neardup.dedup(table, threshold=0.6)
    set_constants(monkeypatch, ONE_ROUND=0)
    rounds = neardup.dedup(table, threshold=0.6)
    assert clusters(rounds) == clusters(once) == clusters(expected)
    assert rounds._run.matches.candidates < once._run.matches.candidates
    assert rounds._run.matches.joined > once._run.matches.joined


def test_what_decisions_measure_is_no_candidate() -> None:
    """A removed document and the one that stays need not have met; the pair is evidence, but was not found."""
    result = neardup.dedup(crowd(9, 60), threshold=0.6)
    run = result._run
    assert len(run.decisions.measured) > len(run.matches.pairs)
    assert neardup.dedup(crowd(9, 60), threshold=0.6, pairs="all")._run.matches.pairs.left.max() < 60
