"""A clock that jumps: durations do not follow it, results and state files do not depend on it."""

from __future__ import annotations

import ast
import itertools
import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import neardup
from neardup.cli import group
from neardup.engines.local.checkpoint import workspace

SOURCES = sorted(Path(neardup.__file__).parent.rglob("*.py"))
WALL = {"time", "time_ns", "now", "utcnow"}  # of time and datetime: they follow whoever sets the clock
TEXTS = [f"the harbour council voted on Tuesday to widen pier {k % 9} for larger ships" for k in range(40)]


def wall_times(tree: ast.AST) -> list[int]:
    """The lines that subtract a time of the wall clock, as a duration would."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            for side in (node.left, node.right):
                name = side.func if isinstance(side, ast.Call) else None
                if isinstance(name, ast.Attribute) and name.attr in WALL:
                    found.append(node.lineno)
    return found


def test_durations_are_measured_by_a_clock_that_does_not_jump():
    assert wall_times(ast.parse("time.time() - start")) == [1], "the check can fail"
    bad = {path.name: lines for path in SOURCES if (lines := wall_times(ast.parse(path.read_text("utf-8"))))}
    assert not bad


@pytest.fixture
def jumping(monkeypatch):
    """The wall clock says 1970, then 2100, and so on."""
    moments = itertools.cycle([0.0, 4.1e9])
    monkeypatch.setattr(time, "time", lambda: next(moments))
    monkeypatch.setattr(time, "time_ns", lambda: int(next(moments) * 1e9))


def test_a_run_is_resumed_with_the_same_result(tmp_path, jumping, monkeypatch):
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"id": k, "text": text}) + "\n" for k, text in enumerate(TEXTS)))
    words = ["dedup", str(path), "--checkpoint", "0", "-o"]
    whole = CliRunner().invoke(group, [*words, str(tmp_path / "whole")])
    assert whole.exit_code == 0, whole.exception

    with monkeypatch.context() as patch:
        patch.setattr("neardup.engines.local.run.find_matches", lambda *a, **o: 1 / 0)
        patch.setattr(workspace.Workspace, "close", lambda self, keep=False: None)
        CliRunner().invoke(group, [*words, str(tmp_path / "out")])
    workspace._LOCKS.clear()
    done = CliRunner().invoke(group, [*words, str(tmp_path / "out"), "--resume"])
    assert done.exit_code == 0, done.exception
    reports = [json.loads((tmp_path / name / "report.json").read_text()) for name in ("whole", "out")]
    assert reports[0]["kept"] == reports[1]["kept"] and reports[0]["removed"] == reports[1]["removed"]
    assert all(0 <= seconds < 600 for report in reports for seconds in report["seconds"].values())


def test_an_index_is_read_and_written(tmp_path, jumping):
    documents = [
        {"id": str(k), "text": f"{text} and {k} more words of its own"} for k, text in enumerate(TEXTS)
    ]
    with neardup.Index(tmp_path / "i", method="minhash", threshold=0.5) as index:
        index.add(documents[:20])
    with neardup.Index(tmp_path / "i") as reader, neardup.Index(tmp_path / "i") as writer:
        writer.add(documents[20:])
        assert "30" in [match.id for match in reader.query(documents[30]["text"])]
    with neardup.Index(tmp_path / "i") as index:
        assert len(index) == len(documents) and index.verify().sound
