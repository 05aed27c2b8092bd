"""The index on disk: decisions by its documents, statistics refreshed, stale fingerprints recomputed."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from neardup.cli import main
from neardup.documents import open_inputs
from neardup.errors import InputError, PlanError
from neardup.index.document_rows import AttributeColumns
from neardup.index.store import IndexedDocuments
from neardup.plan import stage_json
from neardup.registry import get_method
from neardup.statistics import Frequencies, Statistics

WORDS = [f"w{i}" for i in range(400)]
PLAN = get_method("simhash").plan()


def write(path: Path, numbers: range, **more: object) -> Path:
    rows = []
    for number in numbers:
        text = " ".join(random.Random(number).choices(WORDS, k=60))
        rows.append({"id": f"d{number}", "text": text, "rank": number, **more})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def add(index: IndexedDocuments, *paths: Path) -> dict[str, object]:
    return index.add(
        open_inputs([str(path) for path in paths]), attributes=AttributeColumns(quality="rank")
    ).to_dict()


def test_statistics_are_frozen_then_refreshed_and_stale_fingerprints_recomputed(tmp_path: Path) -> None:
    first, second, third = (write(tmp_path / f"{k}.jsonl", range(20 * k, 20 * k + 20)) for k in range(3))
    with IndexedDocuments(tmp_path / "store", PLAN, refresh_after=30) as index:
        assert add(index, first)["new"] == 20
        frozen, before = index.statistics, {d.id: d.fingerprint for d in index.documents()}
        assert frozen is not None and frozen.documents == 20
        report = add(index, second)
        assert (report["new"], report["refreshed"]) == (20, False)
        assert index.statistics.digest == frozen.digest  # type: ignore[union-attr]
        assert add(index, second)["new"] == 0 and index.info()["counted_since"] == 20  # counted once
        report = add(index, third)
        assert (report["refreshed"], report["recomputed"], report["stale"]) == (True, 60, 0)
        after = {d.id: d.fingerprint for d in index.documents()}
        assert index.statistics.documents == 60 and index.info()["counted_since"] == 0  # type: ignore[union-attr]
    assert sum(before[name] != after[name] for name in before) > 10
    with IndexedDocuments(tmp_path / "fresh", PLAN) as other:  # as if all had been there from the beginning
        add(other, first, second, third)
        assert {d.id: d.fingerprint for d in other.documents()} == after
        assert other.statistics.digest == IndexedDocuments(tmp_path / "store").statistics.digest  # type: ignore[union-attr]
    assert len(list((tmp_path / "store").glob("*.parquet"))) == 1


def test_stale_fingerprints_are_refused(tmp_path: Path) -> None:
    first, second = (write(tmp_path / f"{k}.jsonl", range(5 * k, 5 * k + 5)) for k in range(2))
    with IndexedDocuments(tmp_path / "store", PLAN, refresh_after=5) as index:
        add(index, first)
        lines = first.read_text().splitlines()
        first.write_text("\n".join([lines[0], lines[1].replace("w", "x", 3)]) + "\n")  # one is left as it was
        report = add(index, second)
        assert (report["recomputed"], report["stale"]) == (6, 4)
        with pytest.raises(
            PlanError, match=r"4 of 10 fingerprints .* are stale: the statistics were refreshed"
        ):
            index.documents()
        assert len(index.documents(stale=True)) == 6
        write(first, range(5))
        assert index.recompute() == 4 and len(index.documents()) == 10


def test_plans_statistics_and_folders_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", range(3))
    with pytest.raises(InputError, match="is not an index"):
        IndexedDocuments(tmp_path / "store")
    with IndexedDocuments(tmp_path / "store", PLAN) as index:
        with pytest.raises(PlanError, match="no document frequencies to weigh by"):
            index.fingerprint(open_inputs([str(path)]))
        add(index, path)
    with pytest.raises(PlanError, match="has other method options"):
        IndexedDocuments(tmp_path / "store", get_method("simhash").plan(bits=128))
    none = Statistics(7, stage_json(PLAN.text), {stage_json(PLAN.counts[0]): Frequencies(*_empty())})
    with pytest.raises(PlanError, match="has other statistics"):
        IndexedDocuments(tmp_path / "store", statistics=none)
    (tmp_path / "store" / "documents.db").write_text(
        "no database, and long enough to be taken for one\n" * 60
    )
    with pytest.raises(InputError, match="cannot be used as an index"):
        IndexedDocuments(tmp_path / "store")


def _empty():  # type: ignore[no-untyped-def]
    import numpy as np

    return np.zeros(0, np.uint64), np.zeros(0, np.int64)


def test_given_statistics_are_frozen_from_the_first_document(tmp_path: Path) -> None:
    table = Frequencies(*_empty())
    known = Statistics(1000, stage_json(PLAN.text), {stage_json(PLAN.counts[0]): table})
    with IndexedDocuments(tmp_path / "store", PLAN, statistics=known) as index:
        add(index, write(tmp_path / "a.jsonl", range(3)))
        assert index.statistics.digest == known.digest and index.info()["counted_since"] == 3  # type: ignore[union-attr]


def test_a_document_without_features_is_indexed_and_never_matched(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1, "text": ""}\n{"id": 2, "text": "..."}\n{"id": 3, "text": "word"}\n')
    with IndexedDocuments(tmp_path / "store", get_method("simhash").plan(weights="tf")) as index:
        index.add(open_inputs([str(path)]))
        assert [d.fingerprint is None for d in index.documents()] == [True, True, False]
        assert index.statistics is None and index.info()["stale"] == 0


def run(*arguments: str) -> int:
    try:
        main(list(arguments))
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, base = str(tmp_path / "store"), " ".join(WORDS[:200])
    rows = [
        {"id": "a", "text": base, "who": ["x"], "day": "2020-01-01", "url": "http://h/aaa"},
        {"id": "b", "text": base + " more", "who": None, "day": "2021-01-01", "url": "http://h/b"},
        {"id": "c", "text": "something else", "who": None, "day": None, "url": None},
    ]
    indexed, new = tmp_path / "indexed.jsonl", tmp_path / "new.jsonl"
    indexed.write_text("".join(json.dumps(row) + "\n" for row in rows))
    new.write_text("".join(json.dumps({**row, "id": row["id"] + "2"}) + "\n" for row in rows) + "{broken\n")
    columns = ["--access-column", "who", "--time-column", "day", "--url-column", "url"]
    assert (
        run("index", "add", store, str(indexed), *columns, "--weights", "tf", "--distance", "6", "--json")
        == 0
    )
    assert json.loads(capsys.readouterr().out)["indexed"] == 3
    assert run("index", "check", store, str(new), *columns, "--json") == 0
    printed = capsys.readouterr()
    found = {
        row["id"]: (row["action"], row["because_of"]) for row in map(json.loads, printed.out.splitlines())
    }
    assert found == {"a2": ("drop", "a"), "b2": ("drop", "b"), "c2": ("drop", "c")}
    assert "1 problem" in printed.err  # a broken record is reported
    assert (
        run("index", "check", store, str(new), "--never-drop") == 0
    )  # visible to all: a does not cover them
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "demote",
        "demote",
        "demote",
    ]
    assert run("index", "order", store) == 0
    assert capsys.readouterr().out.split() == [
        "a",
        "b",
        "c",
    ]  # not every group with access to b has access to a
    assert run("index", "clusters", store, "--master", "newest", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"master": "b", "members": ["a"]}
    assert run("index", "clusters", store, "--order", "length") == 0
    assert capsys.readouterr().out == "b: a\n"
    assert run("index", "clusters", store, "--distance", "0") == 0 and capsys.readouterr().out == ""
    assert run("index", "info", store) == 0 and "documents: 3" in capsys.readouterr().out
    assert run("index", "refresh", store) == 0 and capsys.readouterr().out.startswith("0 fingerprints")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["info", "{tmp}/nowhere"], "is not an index"),
        (["add", "{tmp}/s", "{tmp}/absent.jsonl"], "does not exist"),
        (["add", "{tmp}/s", "{tmp}/a.jsonl", "--fields", "author"], "no column 'author'"),
        (["add", "{tmp}/s", "{tmp}/a.jsonl", "--quality-column", "nope"], "no column 'nope'"),
        (["add", "{tmp}/s", "{tmp}/a.jsonl", "--quality-column", "text"], "is not a number"),
        (["add", "{tmp}/s", "{tmp}/a.jsonl", "--method", "minhash"], "has no fingerprints"),
        (
            ["add", "{tmp}/s", "{tmp}/a.jsonl", "--stats", "{tmp}/absent.parquet"],
            "absent.parquet does not exist",
        ),
        (["add", "{tmp}/s", "{tmp}/a.jsonl", "--weights", "tfidf, position(x.y)"], "made of numbers"),
    ],
)
def test_bad_requests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    write(tmp_path / "a.jsonl", range(2))
    assert run("index", *(argument.format(tmp=tmp_path) for argument in arguments)) == 2
    printed = capsys.readouterr()
    assert sentence in printed.err and printed.err.count("\n") == 1 and not printed.out


def test_a_kill_leaves_the_index_as_it_was_before_or_after(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a.jsonl", range(50)), write(tmp_path / "b.jsonl", range(50, 3000))
    store = tmp_path / "store"
    with IndexedDocuments(store, PLAN, refresh_after=10) as index:
        add(index, first)
    command = [sys.executable, "-m", "neardup", "index", "add", str(store), str(second)]
    for wait in (1.5, 2.5, 3.5):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(wait)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with IndexedDocuments(store) as index:
            size, stale = len(index), index.count_stale()
            assert size in (50, 3000)
            index.recompute()  # what a kill between freezing and recomputing left
            assert index.count_stale() == 0 and stale in range(3001)
            assert len(index.documents()) == size
    with IndexedDocuments(store) as index:
        add(index, second)
        assert len(index) == 3000 and index.statistics is not None
    with sqlite3.connect(store / "documents.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_an_edited_document_is_not_dropped_for_an_equal_fingerprint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [f"w{n % 97}" for n in range(600)]
    rows = [{"id": "original", "text": " ".join(words)}]
    for n in range(40):
        edited = [*words]
        edited[n * 7] = f"edited{n}"
        rows.append({"id": f"e{n}", "text": " ".join(edited)})
    rows.append({"id": "copy", "text": rows[0]["text"]})
    for name, some in (("indexed", rows[:1]), ("new", rows[1:])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some))
    store = str(tmp_path / "store")
    assert run("index", "add", store, str(tmp_path / "indexed.jsonl"), "--weights", "tf") == 0
    capsys.readouterr()
    assert run("index", "check", store, str(tmp_path / "new.jsonl"), "--json") == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["id"] for row in found if row["action"] == "drop"} == {"copy"}
    equal = [row for row in found if row["distance"] == 0 and row["id"] != "copy"]
    assert equal and {(row["action"], row["evidence"]) for row in equal} == {("demote", "likely")}
    assert run("index", "check", store, str(tmp_path / "new.jsonl")) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "drop    copy  (copy of original)"
