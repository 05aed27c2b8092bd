"""The counts of pairs agree: no more pairs are verified than were compared."""

from __future__ import annotations

import pytest

import neardup
from corpora import corpus
from neardup.cli.support.show import summary
from neardup.registry import methods


@pytest.fixture(scope="module")
def table():
    return corpus(families=12)


def compared(report):
    pairs = report["pairs"]
    return pairs["candidates"] + pairs["compared_for_clusters"]


@pytest.mark.parametrize("pairs", ["clusters", "all"])
@pytest.mark.parametrize("clusters", ["leaders", "components", "average", "complete"])
@pytest.mark.parametrize("method", sorted(methods()))
def test_no_more_pairs_are_verified_than_compared(method, clusters, pairs, table):
    report = neardup.dedup(table, method=method, clusters=clusters, pairs=pairs).report
    assert 0 < report["pairs"]["verified"] <= compared(report)
    line = summary(report, None, 1.0).splitlines()[1]
    assert f"{report['pairs']['candidates']:,} candidate" in line
    further = report["pairs"]["compared_for_clusters"]
    assert (f"{further:,} more compared inside clusters" in line) == (further > 0)


@pytest.mark.parametrize("clusters", ["leaders", "components", "average"])
def test_another_threshold_counts_what_it_compares(clusters, table):
    result = neardup.dedup(table, clusters=clusters)
    for threshold in (0.95, 0.8, 0.7):
        report = result.rethreshold(threshold).report
        assert report["pairs"]["verified"] <= compared(report)
        assert compared(report) >= compared(result.report)


def test_pairs_inside_clusters_are_counted_apart():
    """Two bands connect a chain of three: its ends are no candidates, and are compared for the cluster."""
    words = [f"w{n}" for n in range(60)]
    texts = [" ".join(words[start : start + 50]) for start in (0, 4, 8)]
    report = neardup.dedup(texts, method="minhash", clusters="components", threshold=0.75, ngram=1).report
    assert report["pairs"]["verified"] <= compared(report) <= 3
