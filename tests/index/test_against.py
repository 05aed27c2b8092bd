"""--against: what references have is removed, nothing of them is written, and the rest is as without them."""

from __future__ import annotations

import contextlib
import io
import json
import random
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from random_corpora import cross_pairs, random_texts

import neardup
from neardup.cli import group, main
from neardup.errors import EvidenceError, InputError, NeardupError, ParameterError
from neardup.index.index import Index

METHODS = [
    "minhash",
    "exact",
    "simhash",
    "spotsigs",
    "rare_phrases",
    "andd",
    "cosine",
    "imatch",
    "super_shingles",
]


def table(texts: dict[str, str]) -> pa.Table:
    return pa.table({"id": list(texts), "text": list(texts.values())})


def two_corpora(seed: int) -> tuple[dict[str, str], dict[str, str]]:
    rng = random.Random(seed)
    texts = random_texts(rng, 80)
    return (
        {f"a{n}": rng.choice(texts) for n in range(50)},
        {f"b{n}": rng.choice(texts) for n in range(40)},
    )


def write(path: Path, texts: dict[str, str]) -> str:
    path.write_text("".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in texts.items()))
    return str(path)


def run(*words: str) -> str:
    result = CliRunner().invoke(group, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("method", METHODS)
def test_what_a_reference_has_is_removed_and_nothing_else(method: str) -> None:
    mine, reference = two_corpora(3)
    result = neardup.dedup(table(mine), against=table(reference), within=False, method=method)
    plan = neardup.make_plan(method, pairs="all", clusters="components")
    statistics = None
    if plan.counts:
        from test_index_answers import plan_and_statistics

        _, statistics = plan_and_statistics({"method": method}, [*mine.values(), *reference.values()])
        plan = plan.with_(statistics=statistics.digest)
        result = neardup.dedup(
            table(mine), against=table(reference), within=False, method=method, statistics=statistics
        )
    expected = {row[0] for row in cross_pairs(reference, mine, plan, statistics)}
    assert set(result.removed["id"].to_pylist()) == expected
    rows = result.annotations.to_pylist()
    assert {row["duplicate_in"] for row in rows if not row["keep"]} <= {"reference 1"}
    assert all(row["duplicate_of"] in reference for row in rows if not row["keep"])


def test_the_rest_is_deduplicated_as_if_the_others_were_not_there() -> None:
    mine, reference = two_corpora(4)
    result = neardup.dedup(table(mine), against=table(reference), threshold=0.6)
    first = neardup.dedup(table(mine), against=table(reference), within=False, threshold=0.6)
    found = {row["id"] for row in first.removed.to_pylist()}
    rest = {name: text for name, text in mine.items() if name not in found}
    alone = neardup.dedup(table(rest), threshold=0.6)
    assert result.kept["id"].to_pylist() == alone.kept["id"].to_pylist()
    assert result.report["against"]["removed"] == len(found)
    with pytest.raises(EvidenceError, match="reference"):
        result.rethreshold(0.8)


def test_pairs_across_are_those_of_both_together() -> None:
    mine, reference = two_corpora(5)
    plan = neardup.make_plan(threshold=0.5, pairs="all", clusters="components")
    found = neardup.pairs(table(mine), against=table(reference), threshold=0.5).to_pylist()
    rows = {(r["left"], r["right"], r["similarity"], r["containment"], r["relation"]) for r in found}
    assert rows == cross_pairs(reference, mine, plan)


def test_each_day_is_checked_against_all_days_before(tmp_path: Path) -> None:
    index = tmp_path / "news.index"
    Index(index, method="minhash", threshold=0.6).close()
    rng, known = random.Random(6), dict[str, str]()
    texts = random_texts(rng, 60)
    for day in range(3):
        today = {f"{day}-{n}": rng.choice(texts) for n in range(20)}
        source = write(tmp_path / f"{day}.jsonl", today)
        plan = neardup.make_plan(threshold=0.6, pairs="all", clusters="components")
        expected = {row[0] for row in cross_pairs(known, today, plan)} if known else set()
        output = run("dedup", source, "-o", str(tmp_path / f"out{day}"), "--against", str(index), "--add")
        removed = [
            json.loads(line) for line in (tmp_path / f"out{day}" / "removed.jsonl").read_text().splitlines()
        ]
        assert {row["id"] for row in removed if row["duplicate_in"]} == expected
        kept = [json.loads(line) for line in (tmp_path / f"out{day}" / "kept.jsonl").read_text().splitlines()]
        known |= {row["id"]: row["text"] for row in kept}
        with Index(index) as opened:
            assert len(opened) == len(known)
        assert "added to" in output
    run("dedup", str(tmp_path / "2.jsonl"), "-o", str(tmp_path / "again"), "--against", str(index), "--add")
    with Index(index) as opened:
        assert len(opened) == len(known)  # the same documents are there once


def test_the_plan_is_that_of_the_index(tmp_path: Path) -> None:
    with Index(tmp_path / "i", method="spotsigs", threshold=0.3) as index:
        index.add(table({"x": "the ship is in the harbour of the town"}))
        result = neardup.dedup(["the ship is in the harbour of the town"], against=index)
        assert result.plan.method == "spotsigs" and len(result.removed) == 1
        with pytest.raises(NeardupError, match="made with other options"):
            neardup.dedup(["a text"], against=index, method="minhash")
    assert not (tmp_path / "i" / "nothing").exists()


@pytest.mark.parametrize(
    "words, said",
    [
        (["--add"], "without --against"),
        (["--no-within"], "without --against"),
        (["--against", "REFERENCE", "--add"], "an index"),
        (["--against", "REFERENCE", "--dry-run"], "--dry-run"),
        (["--against", "missing.jsonl"], "missing.jsonl"),
        (["--against", "REFERENCE", "--engine", "spark"], "--against"),
    ],
)
def test_combinations_that_make_no_sense_are_refused_in_one_sentence(
    words: list[str], said: str, tmp_path: Path
) -> None:
    assert said in refused(["dedup", "-o", str(tmp_path / "out"), *words], tmp_path)


@pytest.mark.parametrize(
    "words", [["--resume"], ["--checkpoint", "1"], ["--pairs", "clusters"], ["--engine", "spark"]]
)
def test_pairs_across_refuse_what_has_no_effect(words: list[str], tmp_path: Path) -> None:
    command = ["pairs", "-o", str(tmp_path / "p.csv"), "--against", "REFERENCE", *words]
    said = refused(command, tmp_path)
    assert (words[0] if words[0] != "--engine" else "--against") in said
    assert not (tmp_path / "p.csv").exists()


def refused(words: list[str], folder: Path) -> str:
    """The one line that a command says about these words and two files before it exits with 2."""
    source = write(folder / "a.jsonl", {"a": "one two three"})
    reference = write(folder / "b.jsonl", {"b": "one two three four"})
    given = [reference if word == "REFERENCE" else word for word in words]
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), pytest.raises(SystemExit) as stopped:
        main([given[0], source, *given[1:]])
    assert stopped.value.code == 2
    assert len(errors.getvalue().strip().splitlines()) == 1
    return errors.getvalue()


def test_repeated_ids_are_refused_or_renamed_on_both_sides(tmp_path: Path) -> None:
    twice = pa.table({"id": ["a", "a"], "text": ["one two three four", "five six seven eight"]})
    mine = pa.table({"id": ["x", "x", "y"], "text": [*twice["text"].to_pylist(), "nothing like them at all"]})
    for given, reference in ((mine.slice(1), twice), (mine, twice.slice(1))):
        with pytest.raises(InputError, match="more than one document"):
            neardup.pairs(given, against=reference)
    found = neardup.pairs(mine, against=twice, duplicate_ids="rename", memory="1G", strict=True)
    assert sorted(zip(found["left"].to_pylist(), found["right"].to_pylist(), strict=True)) == [
        ("x", "a"),
        ("x#2", "a#2"),
    ]
    assert len(neardup.dedup(mine, against=twice, duplicate_ids="rename").removed) == 2


def test_references_are_read_with_the_limits_of_the_command_line(tmp_path: Path) -> None:
    text = "one two three four five six " * 1_000_000
    source = write(tmp_path / "a.jsonl", {"a": "one two three"})
    reference = write(tmp_path / "b.jsonl", {"b": text, "c": "one two three"})
    said = run("pairs", source, "--against", reference, "-o", str(tmp_path / "p.csv"), "--max-record", "4M")
    assert "1 pair" in said and "1 problem in the references" in said
    said = run("dedup", source, "--against", reference, "-o", str(tmp_path / "o"), "--max-record", "4M")
    assert "1 problem in the references" in said


@pytest.mark.parametrize("name", ["within", "guard", "expect_removed"])
def test_parameters_about_removals_are_refused_by_pairs_across(name: str) -> None:
    with pytest.raises(ParameterError, match=name):
        neardup.pairs(["a text"], against=["a text"], **{name: 0.5})


def test_documents_without_a_match_do_not_change_the_type_of_ids(tmp_path: Path) -> None:
    """The second chunk of the input has no match, and the references have integers and strings."""
    text = "the harbour council voted on Tuesday to widen the northern berth and to repair the old crane"
    long = " ".join(map(str, range(300_000)))
    mine = [{"id": 1, "text": text}, {"id": 2, "text": long}, {"id": 3, "text": text}]
    with Index(tmp_path / "i", method="minhash") as index:
        index.add([{"id": 7, "text": text}])
        found = neardup.pairs(mine, against=index)
        assert found.select(["left", "right"]).to_pylist() == [
            {"left": 1, "right": 7},
            {"left": 3, "right": 7},
        ]
        index.add([{"id": "x", "text": text}])
        found = neardup.pairs(mine, against=index)
        assert found.column("right").to_pylist() == ["7", "x"] * 2
        result = neardup.dedup(mine, against=[index, [{"id": "y", "text": long}]], within=False)
        assert [row["id"] for row in result.kept] == []
