"""The commands of `neardup index`: what they print and write, and one sentence for every bad request."""

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
from typing import Any

import pyarrow.parquet as pq
import pytest

from neardup.cli import main
from neardup.index.index import Index

WORDS = [f"w{n}" for n in range(400)]
BASE = " ".join(WORDS[:200])


def run(*arguments: object) -> int:
    try:
        main(["index", *map(str, arguments)])
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def write(path: Path, rows: list[dict[str, Any]], more: str = "") -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + more)
    return path


def numbered(numbers: range) -> list[dict[str, Any]]:
    return [
        {"id": f"d{n}", "text": " ".join(random.Random(n).choices(WORDS, k=60)), "rank": n} for n in numbers
    ]


class Printed:
    """What a command has printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self) -> str:
        return self._capsys.readouterr().out

    @property
    def lines(self) -> list[str]:
        return self().splitlines()

    @property
    def json(self) -> list[Any]:
        return [json.loads(line) for line in self.lines]


@pytest.fixture
def out(capsys: pytest.CaptureFixture[str]) -> Printed:
    return Printed(capsys)


PAGES = [
    {"id": "a", "text": BASE, "who": ["x"], "day": "2020-01-01", "url": "http://h/aaa"},
    {"id": "b", "text": BASE + " more", "who": None, "day": "2021-01-01", "url": "http://h/b"},
    {"id": "c", "text": "something else", "who": None, "day": None, "url": None},
]
COLUMNS = ["--access-column", "who", "--time-column", "day", "--url-column", "url"]


@pytest.fixture
def pages(tmp_path: Path, out: Printed) -> Path:
    """An index of three pages, two of them near-duplicates."""
    index, source = tmp_path / "pages.index", write(tmp_path / "pages.jsonl", PAGES)
    how = ["--method", "simhash", "--weights", "tf", "--distance", "6"]
    assert run("build", index, source, *COLUMNS, *how, "--json") == 0
    assert out.json[0]["indexed"] == 3
    return index


# adding ---------------------------------------------------------------------------------------------------------


def test_build_makes_an_index_and_continues_it(tmp_path: Path, out: Printed) -> None:
    index, first = tmp_path / "i", write(tmp_path / "a.jsonl", numbered(range(10)))
    assert run("build", index, first, "--threshold", "0.8") == 0
    assert out() == "10 documents: 10 new, 0 replaced, 0 unchanged; the index has 10 documents\n"
    write(first, [*numbered(range(10)), {"id": "d3", "text": "another text", "rank": 3}][1:])
    rows = [row for row in numbered(range(12)) if row["id"] != "d3"]
    write(first, [*rows, {"id": "d3", "text": "another text", "rank": 3}])
    assert run("build", index, first, "--threshold", "0.8") == 0
    assert out() == "12 documents: 2 new, 1 replaced, 9 unchanged; the index has 12 documents\n"
    second = write(tmp_path / "b.jsonl", numbered(range(20, 22)))
    assert run("add", index, second, "--json") == 0
    assert out.json == [
        {"documents": 2, "new": 2, "replaced": 0, "unchanged": 0, "refreshed": False, "indexed": 14}
    ]


@pytest.mark.parametrize("store", ["text", "features", "signatures"])
def test_what_is_stored(tmp_path: Path, out: Printed, store: str) -> None:
    index, source = tmp_path / "i", write(tmp_path / "a.jsonl", numbered(range(5)))
    assert run("build", index, source, "--method", "simhash", "--weights", "tf", "--store", store) == 0
    out()
    assert run("query", index, source, "--json") == 0
    assert [[match["id"] for match in row["matches"]] for row in out.json] == [[f"d{n}"] for n in range(5)]
    assert run("get", index, "d2") == 0
    text = numbered(range(2, 3))[0]["text"]
    assert out() == (f"{text}\n" if store == "text" else f"d2: the index stores {store}, not texts\n")
    assert run("clusters", index) == 0 and run("order", index) == 0
    assert len(out.lines) == 5


def test_a_killed_build_is_resumed_by_the_same_command(tmp_path: Path, out: Printed) -> None:
    source, index = write(tmp_path / "a.jsonl", numbered(range(30_000))), tmp_path / "i"
    words = ["index", "build", str(index), str(source), "--threads", "1"]
    command = [sys.executable, "-m", "neardup", *words]
    sizes = []
    for wait in (2.5, 3.5, 4.5):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(wait)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        if (index / "truth.db").exists():
            with Index(index) as found:
                sizes.append(len(found))
    assert sizes == sorted(sizes)  # nothing that was committed is lost
    main([*words, "--json"])
    report = out.json[0]
    assert (report["indexed"], report["documents"], report["replaced"]) == (30_000, 30_000, 0)
    assert report["unchanged"] == (sizes[-1] if sizes else 0)
    with sqlite3.connect(index / "truth.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_build_killed_before_there_was_an_index_is_resumed(tmp_path: Path, out: Printed) -> None:
    (tmp_path / "i").mkdir()
    for name in ("writer.lock", "truth.db.new", "truth.db.new-journal"):
        (tmp_path / "i" / name).write_text("half")
    assert run("build", tmp_path / "i", write(tmp_path / "a.jsonl", numbered(range(3)))) == 0


def test_two_processes_make_one_index(tmp_path: Path) -> None:
    source = write(tmp_path / "a.jsonl", numbered(range(50)))
    command = [sys.executable, "-m", "neardup", "index", "build", str(tmp_path / "i"), str(source), "--json"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    done = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], done
    reports = [json.loads(printed) for printed, _ in done]
    assert sum(report["new"] for report in reports) == 50 and sum(r["unchanged"] for r in reports) == 50


def test_delete_and_get(pages: Path, tmp_path: Path, out: Printed) -> None:
    assert run("get", pages, "a", "--json") == 0
    assert out.json[0] == {
        "id": "a", "text": BASE, "characters": len(BASE), "tokens": 200, "access": ["x"], "quality": None,
        "time": 1577836800.0, "url": "http://h/aaa",
    }  # fmt: skip
    assert run("delete", pages, "a") == 0
    assert out() == "1 document deleted; the index has 2 documents\n"
    (tmp_path / "ids.txt").write_text("a\n\nb\r\n")
    assert run("delete", pages, "--ids", tmp_path / "ids.txt") == 2
    assert run("delete", pages, "--ids", tmp_path / "ids.txt", "--ignore-missing", "--json") == 0
    assert out.json == [{"deleted": 1, "indexed": 1}]


# asking ---------------------------------------------------------------------------------------------------------


def test_query_prints_every_match_best_first(pages: Path, tmp_path: Path, out: Printed) -> None:
    source = write(tmp_path / "q.jsonl", [{"id": 1, "text": BASE}, {"id": 2, "text": "no such text"}])
    assert run("query", pages, source) == 0
    lines = out.lines
    assert lines[0] == "1" and lines[1] == "  1.000  copy            a"
    assert lines[2].startswith("  0.9") and lines[2].endswith("  near-duplicate  b")
    assert lines[3:] == ["2", "  no match", "2 documents, 1 with a match"]
    assert run("query", pages, source, "--json", "--limit", "1") == 0
    first, second = out.json
    assert (first["query"], [match["id"] for match in first["matches"]]) == (1, ["a"])
    assert second == {"query": 2, "matches": []}
    assert run("query", pages, source, "--threshold", "1", "--json") == 0
    assert [match["id"] for match in out.json[0]["matches"]] == ["a"]


def test_query_of_a_text(pages: Path, out: Printed) -> None:
    assert run("query", pages, "--text", BASE, "--limit", "1") == 0
    assert out() == "1.000  copy            a\n"
    assert run("query", pages, "--text", "nothing of the kind") == 0 and out() == "no match\n"
    assert run("query", pages, "--text", BASE, "--json") == 0
    assert [match["id"] for match in out.json] == ["a", "b"]


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
def test_query_writes_a_table(pages: Path, tmp_path: Path, out: Printed, format: str) -> None:
    source = write(tmp_path / "q.jsonl", [{"id": 1, "text": BASE}, {"id": 2, "text": "no such text"}])
    target = tmp_path / f"matches.{format}"
    assert run("query", pages, source, "-o", target) == 0
    assert out() == f"2 documents, 1 with a match; 2 matches written to {target}\n"
    if format == "parquet":
        rows = pq.read_table(target).to_pylist()
        assert [(row["query"], row["id"], row["relation"]) for row in rows] == [
            (1, "a", "copy"), (1, "b", "near-duplicate"),
        ]  # fmt: skip
    assert run("query", pages, source, "-o", target) == 2
    assert run("query", pages, source, "-o", target, "--force") == 0


def test_check_decides_and_says_why(
    pages: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], out: Printed
) -> None:
    new = write(tmp_path / "new.jsonl", [{**row, "id": f"{row['id']}2"} for row in PAGES], "{broken\n")
    assert run("check", pages, new, *COLUMNS, "--json") == 0
    printed = capsys.readouterr()
    found = {
        row["id"]: (row["action"], row["because_of"]) for row in map(json.loads, printed.out.splitlines())
    }
    assert found == {"a2": ("drop", "a"), "b2": ("drop", "b"), "c2": ("drop", "c")}
    assert "1 × invalid JSON" in printed.err  # a broken record is reported
    assert run("check", pages, new, "--never-drop") == 0  # visible to all: a does not cover them
    lines = out.lines
    assert [line.split()[0] for line in lines] == ["demote"] * 3
    assert (
        lines[0].startswith("demote  a2  (near-duplicate of b, 0.9") and lines[2] == "demote  c2  (copy of c)"
    )
    with Index(pages) as index:
        assert len(index) == 3


def test_an_edited_document_is_not_dropped_for_an_equal_fingerprint(tmp_path: Path, out: Printed) -> None:
    words = [f"w{n % 97}" for n in range(600)]
    rows = [{"id": "original", "text": " ".join(words)}]
    for n in range(40):
        edited = [*words]
        edited[n * 7] = f"edited{n}"
        rows.append({"id": f"e{n}", "text": " ".join(edited)})
    rows.append({"id": "copy", "text": rows[0]["text"]})
    indexed, new = write(tmp_path / "indexed.jsonl", rows[:1]), write(tmp_path / "new.jsonl", rows[1:])
    index = tmp_path / "i"
    assert run("build", index, indexed, "--method", "simhash", "--weights", "tf") == 0
    out()
    assert run("check", index, new, "--json") == 0
    found = out.json
    assert {row["id"] for row in found if row["action"] == "drop"} == {"copy"}
    equal = [row for row in found if row["similarity"] == 1 and row["id"] != "copy"]
    assert equal and {(row["action"], row["relation"]) for row in equal} == {("demote", "near-duplicate")}
    assert run("check", index, new) == 0
    assert out.lines[-1] == "drop    copy  (copy of original)"


def test_order_and_clusters(pages: Path, out: Printed) -> None:
    assert run("order", pages) == 0
    assert out().split() == ["a", "b", "c"]  # not every group with access to b has access to a
    assert run("clusters", pages, "--master", "newest", "--json") == 0
    assert out.json == [{"master": "b", "members": ["a"]}]
    assert run("clusters", pages, "--order", "length") == 0 and out() == "b: a\n"
    assert run("clusters", pages, "--threshold", "1") == 0 and out() == ""


# upkeep ---------------------------------------------------------------------------------------------------------


def test_info_compact_and_verify(pages: Path, out: Printed) -> None:
    assert run("info", pages) == 0 and "documents: 3\nmethod: simhash\n" in out()
    assert run("compact", pages, "--json") == 0 and out.json[0]["segments"] in (0, 1)
    assert run("verify", pages) == 0 and out.lines[-1].endswith(": sound")
    assert run("verify", pages, "--json") == 0 and out.json[0]["sound"] is True


def test_refresh(tmp_path: Path, out: Printed) -> None:
    index = tmp_path / "i"
    first, second = (write(tmp_path / f"{n}.jsonl", numbered(range(n, n + 20))) for n in (0, 20))
    assert run("build", index, first, "--method", "simhash", "--refresh-after", "50") == 0
    assert run("add", index, second) == 0
    out()
    assert run("refresh", index) == 0 and out() == "40 documents signed again\n"
    assert run("refresh", index) == 0 and out() == "the document frequencies are up to date\n"
    assert (
        run("add", index, write(tmp_path / "3.jsonl", numbered(range(40, 60))), "--refresh-after", "10") == 0
    )
    assert out.lines[1] == "document frequencies were counted again, and all documents signed again"


def test_export_and_a_damaged_index(
    pages: Path, tmp_path: Path, out: Printed, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("export", pages, "-o", tmp_path / "o.jsonl") == 0
    assert out() == f"3 documents written to {tmp_path / 'o.jsonl'}\n"
    with sqlite3.connect(pages / "truth.db") as database:
        database.execute("UPDATE documents SET characters = 1 WHERE seq = 2")
    database.close()
    assert run("verify", pages) == 2
    printed = capsys.readouterr()
    assert "Document 2 is damaged" in printed.out and printed.err.count("\n") == 1
    assert f"neardup index export {pages} -o FILE --salvage" in printed.err
    assert run("export", pages, "-o", tmp_path / "rest.jsonl", "--salvage", "--json") == 0
    assert out.json == [{"documents": 2}]


# bad requests ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("info {tmp}/nowhere", "is not an index"),
        ("build s3://bucket/news.index {tmp}/a.jsonl", "is an address"),
        ("add {tmp}/nowhere {tmp}/a.jsonl", "is not an index"),
        ("verify {tmp}/nowhere", "is not an index"),
        ("info {tmp}/a.jsonl", "is not an index"),
        ("info {tmp}/junk", "it is not an index of neardup"),
        ("info {tmp}/old", "has index format 1; this version of neardup reads format"),
        ("build {tmp}/a.jsonl {tmp}/a.jsonl", "a.jsonl"),
        ("build {tmp} {tmp}/a.jsonl", "is a folder with other files"),
        ("build {tmp}/s {tmp}/absent.jsonl", "does not exist"),
        ("build {tmp}/s {tmp}/empty.jsonl", "is empty"),
        ("build {tmp}/s {tmp}/blank.jsonl", "no documents found"),
        ("build {tmp}/s {tmp}/a.jsonl {tmp}/twice.jsonl", "stands for more than one document"),
        ("build {tmp}/s {tmp}/a.jsonl --duplicate-ids rename", "--duplicate-ids rename cannot be used"),
        ("build {tmp}/s {tmp}/a.jsonl --method simhash --fields author", "no column 'author'"),
        ("build {tmp}/s {tmp}/a.jsonl --quality-column nope", "no column 'nope'"),
        ("build {tmp}/s {tmp}/a.jsonl --quality-column text", "is not a number"),
        ("build {tmp}/s {tmp}/a.jsonl --store signatures", "store text or features"),
        ("build {tmp}/s {tmp}/a.jsonl --method simhash --stats {tmp}/absent.parquet", "absent.parquet does not exist"),
        ("build {tmp}/s {tmp}/a.jsonl --memory 1K", "at least 256M"),
        ("build {tmp}/i {tmp}/a.jsonl --threshold 0.9", "threshold 0.7, given 0.9"),
        ("build {tmp}/i {tmp}/a.jsonl --method simhash", "was made with other options"),
        ("build {tmp}/i {tmp}/a.jsonl --store features", "stores text, not features"),
        ("add {tmp}/i {tmp}/a.jsonl --refresh-after 9", "uses no document frequencies"),
        ("refresh {tmp}/i", "uses no document frequencies"),
        ("query {tmp}/i", "either INPUT or --text"),
        ("query {tmp}/i {tmp}/a.jsonl --text x", "either INPUT or --text"),
        ("query {tmp}/i {tmp}/a.jsonl --threshold 0.5", "at least 0.7, the threshold of the index"),
        ("query {tmp}/i {tmp}/a.jsonl -o {tmp}/o.txt", "must end in"),
        ("query {tmp}/i {tmp}/blank.jsonl", "no documents found"),
        ("check {tmp}/i {tmp}/blank.jsonl", "no documents found"),
        ("check {tmp}/i {tmp}/a.jsonl {tmp}/twice.jsonl", "stands for more than one document"),
        ("check {tmp}/i {tmp}/a.jsonl --threshold 2", "at most 1"),
        ("clusters {tmp}/i --threshold 0.1", "at least 0.7"),
        ("get {tmp}/i nobody", "has no document with the id 'nobody'"),
        ("delete {tmp}/i d1 nobody", "has no document with the id 'nobody': nothing was deleted"),
        ("delete {tmp}/i", "No document is named"),
        ("export {tmp}/i -o {tmp}/o.csv", "must end in .jsonl or .parquet"),
        ("export {tmp}/i -o {tmp}/a.jsonl", "exists already"),
    ],
)  # fmt: skip
def test_bad_requests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: str, sentence: str
) -> None:
    first = write(tmp_path / "a.jsonl", numbered(range(3)))
    write(tmp_path / "twice.jsonl", numbered(range(2, 4)))
    write(tmp_path / "empty.jsonl", [])
    write(tmp_path / "blank.jsonl", [], "\n\n")
    with Index(tmp_path / "i", method="minhash") as index:
        index.add(first)
    for name in ("junk", "old"):
        (tmp_path / name).mkdir()
    (tmp_path / "junk" / "truth.db").write_text("no database, and long enough to be taken for one\n" * 60)
    with Index(tmp_path / "old", method="minhash") as index, index.writing() as writer:
        writer.set_about(format="1")
    assert run(*arguments.format(tmp=tmp_path).split()) == 2
    printed = capsys.readouterr()
    assert sentence in printed.err and printed.err.count("\n") == 1 and not printed.out
    assert not (tmp_path / "s").exists()  # an index that could not be filled is not left behind
    with Index(tmp_path / "i") as index:
        assert len(index) == 3


def test_the_commands_in_postgresql(tmp_path: Path, out: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    import postgres

    if reason := postgres.missing():
        pytest.skip(reason)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    first, second = (write(tmp_path / f"{n}.jsonl", numbered(range(n, n + 20))) for n in (0, 15))
    server = postgres.Server()
    try:
        index = server.url("news")
        assert run("info", index) == 2
        assert (
            run("build", index, first, "--method", "simhash", "--json") == 0 and out.json[0]["indexed"] == 20
        )
        assert run("add", index, second) == 0
        assert out() == "20 documents: 15 new, 0 replaced, 5 unchanged; the index has 35 documents\n"
        assert run("check", index, second, "--json") == 0  # each is its own earlier version
        assert {row["action"] for row in out.json} == {"keep"}
        assert run("refresh", index) == 0 and out() == "35 documents signed again\n"
        assert run("query", index, first, "--json") == 0
        assert [row["matches"][0]["id"] for row in out.json] == [f"d{n}" for n in range(20)]
        assert run("order", index) == 0 and len(out.lines) == 35
        assert run("delete", index, "d1") == 0 and run("compact", index) == 0 and run("verify", index) == 0
        assert out.lines[-1].startswith("34 documents, ")
        for name, more in (("whole", []), ("salvaged", ["--salvage"])):
            assert run("export", index, "-o", tmp_path / f"{name}.jsonl", *more) == 0
        assert (tmp_path / "whole.jsonl").read_text() == (tmp_path / "salvaged.jsonl").read_text()
    finally:
        server.stop()
