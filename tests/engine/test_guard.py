"""The guard: runs that merge what is not alike are named, and stopped before documents are written."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

import neardup
from neardup.cli import main
from neardup.errors import GuardError, ParameterError


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


# The share that is expected --------------------------------------------------------------------------------


def test_a_removed_share_far_from_the_expected_one_stops_the_run(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, rows = corpus.parent / "out", corpus.read_text().splitlines()
    corpus.write_text("\n".join([*rows, *(row.replace('"d', '"e') for row in rows[:50])]) + "\n")
    common = ("dedup", corpus, "-o", out, "--force")
    assert run(*common, "--expect-removed", "0.3") == 0 and (out / "kept.jsonl").exists()
    assert run(*common, "--expect-removed", "0.1") == 3
    printed = capsys.readouterr()
    assert "50 of 200 documents (25.0%) would be removed where 5.0% to 20.0% is expected" in printed.out
    assert {path.name for path in out.iterdir()} == {"pairs.parquet", "clusters.parquet", "report.json"}
    assert run(*common, "--expect-removed", "0.3-0.4") == 3
    assert run(*common, "--expect-removed", "0.2-0.3") == 0
    assert run(*common, "--expect-removed", "0.1", "--no-guard") == 0, "it warns"
    assert json.loads((out / "report.json").read_text())["warnings"]


@pytest.mark.parametrize("value", ["1.5", "much", "0.3-0.1", "0.1-0.2-0.3", "-0.1", "nan"])
def test_what_is_no_share_is_refused(corpus: Path, capsys: pytest.CaptureFixture[str], value: str) -> None:
    assert run("dedup", corpus, "-o", corpus.parent / "out", f"--expect-removed={value}") == 2
    assert "is not a share from 0 to 1 such as 0.1, or two such as 0.05-0.3" in capsys.readouterr().err


@pytest.mark.parametrize("value", [-0.1, 1.5, True, "0.1", (0.3, 0.1), (0.1,), (0.1, 0.2, 0.3), float("nan")])
def test_the_library_refuses_it_too(value: object) -> None:
    with pytest.raises(ParameterError, match="expect_removed"):
        neardup.dedup(["a", "b"], expect_removed=value)


def test_the_dry_run_names_the_share_to_expect(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("dedup", corpus, "-o", corpus.parent / "out", *OPTIONS, "--dry-run") == 0
    option = re.search(r"--expect-removed ([\d.]+-[\d.]+) stops", capsys.readouterr().out)
    assert option is not None
    common = ("dedup", corpus, "-o", corpus.parent / "out", "--expect-removed", option[1])
    assert run(*common, *OPTIONS) == 0, "the same run removes what its estimate says"
    assert run(*common, *OPTIONS, "--clusters", "components", "--force") == 3


# The library ---------------------------------------------------------------------------------------------

CHAIN = {"ngram": 1, "threshold": 0.25, "bands": 200, "rows": 1, "clusters": "components"}


def test_the_library_does_not_hand_out_documents_of_a_run_that_looks_wrong(tmp_path: Path) -> None:
    result = neardup.dedup(chained(), **CHAIN)
    for documents in (lambda: result.kept, lambda: result.removed):
        with pytest.raises(GuardError, match="one cluster has 150 of 150 distinct texts") as stopped:
            documents()
        assert len(stopped.value.warnings) == 2 and "guard=False" in str(stopped.value)
    assert len(result.pairs) and len(result.clusters) == 150
    with pytest.raises(GuardError):
        result.write(tmp_path / "out")
    names = {"pairs.parquet", "clusters.parquet", "report.json"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    result.write(tmp_path / "none", mode="none")
    result.write(tmp_path / "all", guard=False, format="jsonl")
    assert (tmp_path / "all" / "kept.jsonl").exists()


def test_the_guard_of_the_library_can_be_refused_and_asked_for(tmp_path: Path) -> None:
    assert len(neardup.dedup(chained(), guard=False, **CHAIN).kept) == 1
    higher = {**CHAIN, "threshold": 0.32}
    assert len(neardup.dedup(chained(), **higher).kept) == 1, "above 0.3 it is off"
    asked = neardup.dedup(chained(), guard=True, **higher)
    with pytest.raises(GuardError):
        _ = asked.kept
    with pytest.raises(GuardError):
        asked.rethreshold(0.33).write(tmp_path / "out")
    with pytest.raises(GuardError, match=r"where 1\.0% to 2\.0% is expected"):
        _ = neardup.dedup(["one two", "one two"], expect_removed=(0.01, 0.02)).kept
    assert len(neardup.dedup(["one two", "one two"], expect_removed=0.5).kept) == 1
    assert len(neardup.pairs(chained(), **{**CHAIN, "clusters": "leaders"})), "pairs remove nothing"
