"""Problems: counted, capped in memory, all of them in problems.jsonl."""

from __future__ import annotations

import json

import pytest

import neardup
from neardup.documents import Problems
from neardup.documents.problems import KEPT_PROBLEMS
from neardup.errors import OutputError, RecordError

GOOD = '{"id": "%d", "text": "a line that can be read, number %d"}\n'


def test_memory_holds_a_hundred_and_the_file_all_of_them(tmp_path):
    problems = Problems(folder=tmp_path)
    for number in range(1, 1001):
        problems.add("a.jsonl", "invalid JSON: something", record=number, offset=10 * number)
    assert len(problems.first) == KEPT_PROBLEMS and problems.total == 1000
    assert list(tmp_path.iterdir()) == [], "what is spilled has no name, so nothing is left behind"
    for _ in range(2):  # reading does not disturb what is added later
        problems.write(tmp_path / "problems.jsonl")
        problems.add("b.jsonl", "no text")
        found = [json.loads(line) for line in (tmp_path / "problems.jsonl").open()]
        assert [each["record"] for each in found[:1000]] == list(range(1, 1001))
    assert found[7] == {
        "file": "a.jsonl",
        "record": 8,
        "offset": 80,
        "kind": "invalid JSON",
        "reason": "invalid JSON: something",
        "action": "skipped",
    }
    assert found[1000]["file"] == "b.jsonl" and problems.counts == {"invalid JSON": 1000, "no text": 2}


def test_a_name_cannot_break_a_line(tmp_path):
    problems = Problems()
    problems.add('a\n{"x": 1}\u2028\x1b[31m.jsonl', "no text")
    problems.write(tmp_path / "p")
    data = (tmp_path / "p").read_bytes()
    assert data.count(b"\n") == 1 and data.isascii() and b"\x1b" not in data


def test_strict_stops_at_the_first():
    with pytest.raises(RecordError, match=r"^a, record 3: no text; without --strict the run would continue$"):
        Problems(strict=True).add("a", "no text", record=3, action="taken as empty")


def test_a_work_folder_that_cannot_be_written(tmp_path):
    problems = Problems(folder=tmp_path / "absent")
    with pytest.raises(OutputError, match="--work-dir"):
        for _ in range(KEPT_PROBLEMS + 1):
            problems.add("a", "no text")


def test_the_result_folder_has_the_file_only_when_there_are_problems(tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text("".join(GOOD % (k, k) + "{broken\n" for k in range(500)))
    report = neardup.dedup(bad).write(tmp_path / "out")
    lines = (tmp_path / "out/problems.jsonl").read_text().splitlines()
    assert len(lines) == 500 == report["problems"]["total"] and "problems.jsonl" in report["files"]
    assert [json.loads(line)["record"] for line in lines] == list(range(2, 1001, 2))
    good = tmp_path / "good.jsonl"
    good.write_text(GOOD % (1, 1))
    report = neardup.dedup(good).write(tmp_path / "out", force=True)
    assert not (tmp_path / "out/problems.jsonl").exists(), "that of the last run would be a lie"
    assert "problems.jsonl" not in report["files"]
