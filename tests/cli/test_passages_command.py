"""`neardup passages`: tables, documents without their repeats, bad input, and a run that was stopped."""

from __future__ import annotations

import csv
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from neardup.engines.local.checkpoint import workspace
from program import Program, run

SHARED = "this notice is confidential and may be read by the person it is addressed to and by nobody else"
ROWS: list[dict[str, Any]] = [
    {"id": "a", "source": "x", "text": f"Dear Anna, good news. {SHARED}.\nBye", "n": 1},
    {"id": "b", "source": "y", "text": f"Dear Bert, bad tidings. {SHARED.upper()}!\nRegards", "n": 2},
    {"id": "c", "source": "y", "text": "nothing in common with them", "n": 3},
]


def refused(*arguments: object) -> str:
    result = run(*arguments)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    return result.stderr


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = [json.dumps(row) for row in ROWS]
    (tmp_path / "in.jsonl").write_text("\n".join([*lines[:2], "{broken", lines[2]]) + "\n")
    return tmp_path


def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_later_occurrences_are_cut_out_and_recorded(here: Path) -> None:
    done = run(
        "passages",
        "in.jsonl",
        "-o",
        "out",
        "--tokens",
        10,
        "--remove",
        "--by",
        "source",
        "--table-format",
        "jsonl",
    )
    assert "1 passage of at least 10 tokens more than once" in done.stdout
    assert "19 tokens by y of x" in done.stdout
    assert "1 problem in the input: 1 × invalid JSON" in done.stdout
    written = lines("out/documents.jsonl")
    assert written[0] == ROWS[0]
    assert written[1] == {**ROWS[1], "text": "Dear Bert, bad tidings. \nRegards"}
    assert written[2] == ROWS[2]
    (removed,) = lines("out/removed_spans.jsonl")
    text = ROWS[1]["text"].encode()
    assert text[removed["begin"] : removed["end"]].decode() == SHARED.upper()
    assert (removed["document"], removed["first_document"], removed["tokens"]) == ("b", "a", 19)
    assert ROWS[0]["text"].encode()[removed["first_begin"] :].startswith(SHARED.encode())
    (passage,) = lines("out/passages.jsonl")
    assert (passage["occurrences"], passage["documents"], passage["text"]) == (2, 2, SHARED)
    assert [place["first"] for place in lines("out/places.jsonl")] == [True, False]
    assert [span["stands_earlier"] for span in lines("out/spans.jsonl")] == [0, 19]
    (copied,) = lines("out/copied.jsonl")
    assert (copied["source_copies"], copied["source_copied"], copied["tokens"], copied["documents"]) == (
        "y",
        "x",
        19,
        1,
    )
    assert json.loads(Path("out/report.json").read_text())["tokens_cut"] == 19


def test_all_occurrences_can_be_masked(here: Path) -> None:
    run("passages", "in.jsonl", "-o", "out", "--tokens", 10, "--mask", "all", "--mask-with", "<cut>")
    assert [row["text"] for row in lines("out/documents.jsonl")] == [
        "Dear Anna, good news. <cut>.\nBye",
        "Dear Bert, bad tidings. <cut>!\nRegards",
        ROWS[2]["text"],
    ]


def test_a_report_only_writes_tables(here: Path) -> None:
    run("passages", "in.jsonl", "-o", "out", "--tokens", 10)
    names = {path.name for path in Path("out").iterdir()}
    assert names == {"passages.parquet", "places.parquet", "spans.parquet", "report.json", "problems.jsonl"}


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_other_formats_keep_their_columns(here: Path, format: str) -> None:
    table = pa.Table.from_pylist(ROWS)
    if format == "parquet":
        pq.write_table(table, "rows.parquet")
    else:
        with Path("rows.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(ROWS[0]))
            writer.writeheader()
            writer.writerows(ROWS)
    run("passages", f"rows.{format}", "-o", "out", "--tokens", 10, "--remove")
    if format == "parquet":
        written = pq.read_table("out/documents.parquet").to_pylist()
    else:
        with Path("out/documents.csv").open(newline="") as file:
            written = [row | {"n": int(row["n"])} for row in csv.DictReader(file)]
    expected = [dict(row) for row in ROWS]
    expected[1]["text"] = "Dear Bert, bad tidings. \nRegards"
    assert written == expected


def test_what_cannot_be_done_is_one_line(here: Path) -> None:
    assert "10 tokens" not in refused("passages", "in.jsonl", "-o", "out", "--tokens", 1)
    assert "in.jsonl has no column 'host' (--by)" in refused(
        "passages", "in.jsonl", "-o", "out", "--by", "host"
    )
    assert "cut out or masked" in refused("passages", "in.jsonl", "-o", "out", "--remove", "--mask")
    assert "left out without --mask" in refused("passages", "in.jsonl", "-o", "out", "--mask-with", "x")
    Path("pages.jsonl").write_text('{"id": 1, "html": "<p>one two"}\n')
    assert "cannot be cut out" in refused("passages", "pages.jsonl", "-o", "out", "--remove")
    assert "record 3" in refused("passages", "in.jsonl", "-o", "out", "--strict")
    run("passages", "in.jsonl", "-o", "out")
    assert "exists already" in refused("passages", "in.jsonl", "-o", "out")


class Killed(BaseException):
    """What stops a run."""


def test_a_stopped_run_is_resumed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    command = ("passages", "in.jsonl", "-o", "out", "--tokens", 5, "--remove", "--checkpoint", 0)
    run(*command[:3], "whole", *command[4:])
    expected = {
        name: hashed(f"whole/{name}") for name in ("documents.jsonl", "passages.parquet", "places.parquet")
    }
    commits, stopped = 0, True
    while stopped and commits < 1000:
        commits += 101
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(workspace.Workspace, "close", lambda self, keep=False: None)
            stop_after(commits, patch)
            try:
                result = CliRunner().invoke(Program, [str(word) for word in [*command, "--force"]])  # type: ignore[arg-type]
                stopped = isinstance(result.exception, Killed)
            except Killed:
                pass
        workspace._LOCKS.clear()
        if stopped:
            assert run(*command, "--resume").exit_code == 0
            assert {name: hashed(f"out/{name}") for name in expected} == expected
    assert commits > 101


def stop_after(commits: int, patch: pytest.MonkeyPatch) -> None:
    """Ends the process, as it seems, right after so many checkpoints."""
    real, count = workspace.Workspace.commit, [0]

    def commit(self: workspace.Workspace) -> None:
        real(self)
        count[0] += 1
        if count[0] == commits:
            raise Killed

    patch.setattr(workspace.Workspace, "commit", commit)


def hashed(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
