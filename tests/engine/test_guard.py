"""The guard: runs that merge what is not alike are named, and stopped before documents are written."""

from __future__ import annotations

import json
import random
import re
import shlex
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

import neardup
from corpora import bridged
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
        "the cluster d0 has 150 of 150 distinct texts, down to a similarity of 0.000 between d" in printed.out
    )
    assert (
        "rest on a chain of pairs, below the threshold of 0.25, down to a similarity of 0.000" in printed.out
    )
    assert "in the cluster d0: --clusters leaders removes" in printed.out
    assert "stopped by the guard" in printed.err and "--no-guard --force writes them anyway" in printed.err
    assert {path.name for path in out.iterdir()} == {"pairs.parquet", "clusters.parquet", "report.json"}
    assert len(json.loads((out / "report.json").read_text())["warnings"]) == 2


@pytest.mark.parametrize("method", ["minhash", "rare_phrases", "cosine"])
def test_the_compare_commands_of_warnings_work_as_printed(
    corpus: Path, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    """Of all inputs, with the options of the run."""
    rows = [json.loads(line) for line in corpus.read_text().splitlines()]
    parts = [corpus.parent / "part one.jsonl", corpus.parent / "part-two.jsonl"]
    for path, some in zip(parts, (rows[:70], rows[70:]), strict=True):
        path.write_text("".join(json.dumps({"name": r["id"], "words": r["text"]}) + "\n" for r in some))
    columns = (
        "--id-column",
        "name",
        "--text-column",
        "words",
        "--clusters",
        "components",
        "--threshold",
        "0.2",
    )
    own = {"minhash": ("--ngram", "1"), "rare_phrases": ("--ngram", "2"), "cosine": ()}[method]
    assert (
        run("dedup", *parts, "-o", corpus.parent / "out", *columns, "--method", method, *own, "--guard") == 3
    )
    capsys.readouterr()
    report = json.loads((corpus.parent / "out" / "report.json").read_text())
    commands = re.findall(r"\((neardup compare [^)]*)\)", " ".join(report["warnings"]))
    assert len(commands) == 2
    places = (report["largest_clusters"][0]["lowest"], report["removals"]["lowest"])
    for command, lowest in zip(commands, places, strict=True):
        words = shlex.split(command)
        assert words[-2:] == lowest["documents"]
        assert run(*words[1:], "--json") == 0
        found = json.loads(capsys.readouterr().out)
        assert round(found["similarity"], 4) == lowest["similarity"] and found["threshold"] == 0.2


def test_a_run_over_standard_input_names_documents_without_a_command(
    corpus: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(corpus.read_bytes())))
    how = ("--format", "jsonl", "--clusters", "components", *OPTIONS)
    assert run("dedup", "-", "-o", corpus.parent / "out", *how) == 3
    printed = capsys.readouterr().out
    assert "a similarity of 0.000 between d" in printed and "neardup compare" not in printed


# Clusters of documents that share nothing ------------------------------------------------------------------


def test_no_document_of_a_linked_cluster_goes_for_one_that_it_shares_too_little_with() -> None:
    result = neardup.dedup(bridged(), ngram=1, threshold=0.3, clusters="average", bands=200, rows=1)
    rows = {row["id"]: row for row in result.clusters.to_pylist()}
    assert {row["size"] for row in rows.values()} == {7}, "the clusters stay whole"
    removed = [row for row in rows.values() if not row["keep"]]
    assert removed and all(row["similarity"] >= 0.15 for row in removed)
    assert all(rows[row["duplicate_of"]]["keep"] for row in removed)
    assert sum(row["keep"] for row in rows.values()) == 24, (
        "the best one, and the one that shares nothing with it"
    )


def test_documents_that_share_nothing_with_the_best_one_are_a_sign(tmp_path: Path) -> None:
    how = {"ngram": 1, "threshold": 0.3, "clusters": "average", "bands": 200, "rows": 1}
    few = neardup.dedup(bridged(10), **how).report
    assert few["removals"]["apart"] == 10 and few["warnings"] == []
    report = neardup.dedup(bridged(11), **how).report
    assert report["removals"]["apart"] == 11 and report["removals"]["lowest_apart"]["similarity"] == 0
    assert len(report["warnings"]) == 1
    assert report["warnings"][0].startswith(
        "11 documents of clusters share nearly nothing with the best one of their cluster, down to a similarity of "
        "0.000 between "
    )


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
        with pytest.raises(GuardError, match="the cluster 0 has 150 of 150 distinct texts") as stopped:
            documents()
        assert len(stopped.value.warnings) == 2 and "guard=False" in str(stopped.value)
        assert "neardup compare" not in str(stopped.value), "no command reads data in memory"
    assert len(result.pairs) and len(result.clusters) == 150
    with pytest.raises(GuardError):
        result.write(tmp_path / "out")
    names = {"pairs.parquet", "clusters.parquet", "report.json"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    result.write(tmp_path / "none", mode="none")
    result.write(tmp_path / "all", guard=False, format="jsonl")
    assert (tmp_path / "all" / "kept.jsonl").exists()


@pytest.mark.parametrize("value", ["yes", 1, 0.5])
def test_the_library_refuses_a_guard_that_is_neither_on_nor_off(value: object) -> None:
    with pytest.raises(ParameterError, match="'guard' parameter of dedup must be True, False or None"):
        neardup.dedup(["a b", "c d"], guard=value)


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
