"""The guard: runs that merge what is not alike are named, and stopped before documents are written."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import neardup
from neardup.cli import main


def chained(count: int = 150) -> list[str]:
    """Texts of which each shares half with the next: one chain, whose ends share nothing."""
    words = [f"w{k}" for k in range(10 * count + 10)]
    return [" ".join(words[10 * k : 10 * k + 20]) for k in range(count)]


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
        raise SystemExit(0)
    return int(stop.value.code or 0)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "chain.jsonl"
    path.write_text(
        "".join(json.dumps({"id": f"d{k}", "text": text}) + "\n" for k, text in enumerate(chained()))
    )
    return path


OPTIONS = ("--ngram", "1", "--threshold", "0.25", "--bands", "200", "--rows", "1")


def test_a_chain_that_swallows_the_corpus_is_stopped(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = corpus.parent / "out"
    assert run("dedup", corpus, "-o", out, "--clusters", "components", *OPTIONS) == 3
    printed = capsys.readouterr()
    assert (
        "one cluster has 150 of 150 distinct texts, down to a similarity of 0.000 (neardup compare d"
        in printed.out
    )
    assert "rest on a chain of pairs, below the threshold of 0.25: --clusters leaders" in printed.out
    assert "stopped by the guard" in printed.err
    assert {path.name for path in out.iterdir()} == {"pairs.parquet", "clusters.parquet", "report.json"}
    assert len(json.loads((out / "report.json").read_text())["warnings"]) == 2


def test_the_guard_can_be_refused_and_asked_for(corpus: Path) -> None:
    out = corpus.parent / "out"
    common = ("dedup", corpus, "-o", out, "--force", "--clusters", "components")
    assert run(*common, *OPTIONS, "--no-guard") == 0
    assert (out / "kept.jsonl").exists() and len((out / "kept.jsonl").read_text().splitlines()) == 1
    higher = (*OPTIONS[:3], "0.32", *OPTIONS[4:])
    assert run(*common, *higher) == 0, "above 0.3 it warns"
    assert run(*common, *higher, "--guard") == 3


def test_leaders_and_sound_clusters_pass(corpus: Path) -> None:
    assert run("dedup", corpus, "-o", corpus.parent / "led", *OPTIONS) == 0
    rng = random.Random(5)
    stories = [" ".join(rng.choices([f"v{k}" for k in range(999)], k=30)) for _ in range(40)]
    texts = [f"{story} own{k}" for story in stories for k in range(5)]
    assert neardup.dedup(texts, threshold=0.2, ngram=1).report["warnings"] == []
