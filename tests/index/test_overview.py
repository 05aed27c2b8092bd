"""Fingerprints looked at together: one cluster for each document, evenness, a suggested distance, the figures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.cli import main
from neardup.clusters.sizes import ClusterSizes
from neardup.index.overview import sizes_by_distance

values = st.lists(st.sampled_from([0, 1, 3, 7, 2**63, 2**63 + 1, 2**64 - 1]), max_size=12)


@given(values, st.integers(0, 4))
def test_sizes_are_those_of_counting(given_: list[int], most: int) -> None:
    found = sizes_by_distance(np.array([given_], np.uint64).reshape(1, len(given_)), most).sizes
    expected = [[sum((a ^ b).bit_count() <= d for b in given_) for a in given_] for d in range(most + 1)]
    assert found.tolist() == expected


def test_a_distance_is_suggested_where_clusters_stop_growing() -> None:
    """Table 6.2: with metadata clusters hardly grow (0 will do), the original doubles from 0 to 3."""
    assert ClusterSizes(np.array([[4], [4], [4], [4]])).suggest() == 0
    assert ClusterSizes(np.array([[349], [606], [715], [773]])).suggest() == 2
    assert ClusterSizes(np.array([[100], [200], [300], [400]])).suggest() == 3
    assert ClusterSizes(np.array([[1, 3], [2, 4]])).growth == [0.5]
    assert ClusterSizes(np.zeros((4, 0), np.int64)).suggest() == 0


def run(*arguments: str) -> int:
    try:
        main(list(arguments))
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    base = " ".join(f"w{i}" for i in range(60))
    texts = [base, base, base + " x", "", "another text of some words"]
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"id": f"d{k}", "text": text}) + "\n" for k, text in enumerate(texts)))
    return str(path)


def test_the_command(corpus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("fingerprints", corpus, "--weights", "tf", "--most", "8", "--json") == 0
    known = json.loads(capsys.readouterr().out)
    assert (known["documents"], known["without_features"]) == (5, 1)
    assert known["histograms"][0] == {"1": 2, "2": 2} and known["average_cluster_size"][0] == 1.5
    assert known["histograms"][8] == {"1": 1, "3": 3} and len(known["average_cluster_size"]) == 9
    assert run("fingerprints", corpus, "--list", "--weights", "tf") == 0
    rows = dict(line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert rows["d0"] == rows["d1"] != rows["d4"] and rows["d3"] == "" and len(rows["d0"]) == 16
    assert run("fingerprints", corpus) == 0
    assert "suggested distance: " in capsys.readouterr().out


def test_each_weight_has_its_plot(corpus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    weights = "tfidf, position(cosine), low, damp, top, middle"
    folder = tmp_path / "figures"
    assert run("fingerprints", corpus, "--weights", weights, "--plots", str(folder), "--document", "d2") == 0
    names = sorted(path.name for path in folder.iterdir())
    assert names == [
        "cluster_sizes.png", "features.png", "fingerprints.png", "weights_1_tfidf.png", "weights_2_position.png",
        "weights_3_threshold.png", "weights_4_damp.png", "weights_5_top.png", "weights_6_middle.png",
    ]  # fmt: skip
    assert all(path.read_bytes()[:4] == b"\x89PNG" for path in folder.iterdir())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--document", "nope"], "No document has the id 'nope'"),
        (["--document", "d3"], "has no features"),
        (["--method", "minhash"], "has no fingerprints"),
        (["--weights", "tfidf, position(1/(x-1))"], "weights must be finite"),
        (["--weights", "tfidf, nonsense"], "made of tf"),
        (["--stats", "absent.parquet"], "absent.parquet does not exist"),
    ],
)
def test_bad_requests(
    corpus: str, capsys: pytest.CaptureFixture[str], options: list[str], sentence: str
) -> None:
    assert run("fingerprints", corpus, *options) == 2
    printed = capsys.readouterr()
    assert sentence in printed.err and printed.err.count("\n") == 1 and not printed.out
