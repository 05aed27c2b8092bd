"""A run that is stopped anywhere goes on from its work folder and ends as if nothing had happened."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from corpora import corpus, set_constants
from neardup.cli import group
from neardup.engines.local.checkpoint import workspace as work_module
from neardup.engines.local.checkpoint.workspace import NAME, Workspace
from neardup.registry import methods

RESULTS = ("kept.parquet", "removed.parquet", "pairs.parquet", "clusters.parquet", "problems.jsonl")
STEPS = {"CHUNK": 12_000, "CHUNK_ROWS": 40, "BATCH_ROWS": 60, "TILE_BYTES": 20_000, "BLOCK_PAIRS": 500}
STEPS |= {"LARGE_TILE_BYTES": 7_500, "HUB": 3, "ONE_ROUND": 20}
MAIN = "from neardup.cli import main; main()"  # without Numba, as the installed command


def results(folder: Path) -> dict[str, str]:
    """A hash of each file that must be the same, byte for byte."""
    return {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in RESULTS
        if (folder / name).exists()
    }


class Killed(BaseException):
    """What stops a run without giving it a chance to clean up."""


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    set_constants(monkeypatch, **STEPS)
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # nobody pulls the plug here


def command(*arguments: object) -> list[str]:
    return ["dedup", *map(str, arguments), "--checkpoint", "0", "--threads", "2"]


def stop_after(commits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends the process, as it seems, right after so many checkpoints."""
    real, count = Workspace.commit, [0]

    def commit(self: Workspace) -> None:
        real(self)
        count[0] += 1
        if count[0] == commits:
            raise Killed

    monkeypatch.setattr(Workspace, "commit", commit)


def killed_at(commits: int, arguments: list[str]) -> bool:
    """Whether a run was stopped there; if it was, its folder is as a kill would leave it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Workspace, "close", lambda self, keep=False: None)
        stop_after(commits, patch)
        try:
            done = CliRunner().invoke(group, arguments, standalone_mode=False)
        except Killed:
            done = None
    work_module._LOCKS.clear()
    return done is None or isinstance(done.exception, Killed)


# In this order the cut leaves all pairs of andd and rare_phrases, whose many tables take long in small steps, to the
# long matrix.
@pytest.mark.cut("name")
@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("name", sorted(methods()))
@pytest.mark.parametrize("shape", ["clusters", "all"])
def test_stopped_after_any_checkpoint(name: str, shape: str, tmp_path: Path) -> None:
    pq.write_table(corpus(families=5), tmp_path / "corpus.parquet", row_group_size=30)
    arguments = command(tmp_path / "corpus.parquet", "--method", name, "--pairs", shape)
    whole = CliRunner().invoke(group, [*arguments, "-o", str(tmp_path / "whole")])
    assert whole.exit_code == 0, whole.output
    expected, stops = results(tmp_path / "whole"), 0
    again = [*arguments, "-o", str(tmp_path / "out"), "--resume"]
    for commits in (1, 2, 4, 7):  # each goes on from where the one before it was stopped
        if not killed_at(commits, again):
            break
        stops += 1
        assert (tmp_path / "out" / NAME / "journal.json").exists()
    assert stops >= 2
    done = CliRunner().invoke(group, again)
    assert done.exit_code == 0, done.output
    assert results(tmp_path / "out") == expected
    assert not (tmp_path / "out" / NAME).exists()


def bad_lines(path: Path, count: int = 300) -> None:
    """Documents with broken lines, repeated texts and missing ids among them."""
    source = random.Random(3)
    lines = []
    for number in range(count):
        text = " ".join(source.choices("abcdefghij", k=12)) if number % 3 else "the same text again and again"
        row = {"id": f"{path.stem}{number}", "text": text} if number % 7 else {"text": text}
        lines.append(json.dumps(row) if number % 11 else "{broken")
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("commits", [1, 2, 4, 7])
def test_every_problem_is_told_once(commits: int, tmp_path: Path) -> None:
    bad_lines(tmp_path / "a.jsonl")
    bad_lines(tmp_path / "b.jsonl", 100)
    inputs = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    arguments = command(*inputs, "--output-format", "parquet")
    assert CliRunner().invoke(group, [*arguments, "-o", str(tmp_path / "whole")]).exit_code == 0
    again = [*arguments, "-o", str(tmp_path / "out"), "--resume"]
    assert killed_at(commits, again)
    assert CliRunner().invoke(group, again).exit_code == 0
    assert results(tmp_path / "out") == results(tmp_path / "whole")
    assert len((tmp_path / "out/problems.jsonl").read_text().splitlines()) > 50


@pytest.fixture
def stopped(tmp_path: Path, small_steps: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a corpus and a run that was stopped."""
    monkeypatch.chdir(tmp_path)
    pq.write_table(corpus(families=8), "corpus.parquet", row_group_size=50)
    assert killed_at(2, command("corpus.parquet", "-o", "out"))
    return tmp_path


@pytest.mark.parametrize(
    "more, said",
    [
        ([], "holds an unfinished run: continue it with --resume, or start over with --force"),
        (["--resume", "--threshold", "0.8"], "it was made with another plan"),
        (["--resume", "--id-column", "text"], "other columns or readers' options were given"),
    ],
)
def test_leftovers_of_something_else_are_refused(more: list[str], said: str, stopped: Path) -> None:
    refused = CliRunner().invoke(group, [*command("corpus.parquet", "-o", "out"), *more])
    assert said in str(refused.exception)
    assert (stopped / "out" / NAME / "journal.json").exists(), "what can be resumed stays"


def test_an_input_that_changed_is_refused(stopped: Path) -> None:
    os.utime("corpus.parquet", (1, 1))
    refused = CliRunner().invoke(group, [*command("corpus.parquet", "-o", "out"), "--resume"])
    assert "corpus.parquet has changed since" in str(refused.exception)


def test_force_begins_anew(stopped: Path) -> None:
    done = CliRunner().invoke(group, [*command("corpus.parquet", "-o", "out"), "--force"])
    assert done.exit_code == 0 and not (stopped / "out" / NAME).exists()


def test_half_written_results_of_a_killed_run_go(stopped: Path) -> None:
    (stopped / "out/.kept.parquet.0badc0de.partial").write_text("half")
    (stopped / "out/.mine.partial").write_text("not ours")
    done = CliRunner().invoke(group, [*command("corpus.parquet", "-o", "out"), "--resume"])
    assert done.exit_code == 0
    assert [path.name for path in (stopped / "out").glob(".*")] == [".mine.partial"]


def test_two_runs_at_once(stopped: Path) -> None:
    work_module.lock(stopped / "out" / NAME)
    arguments = [*command("corpus.parquet", "-o", "out"), "--resume"]
    done = subprocess.run([sys.executable, "-c", MAIN, *arguments], capture_output=True, text=True)
    work_module.unlock(stopped / "out" / NAME)
    assert done.returncode == 2 and "is used by another run" in done.stderr


def test_standard_input_cannot_be_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = '{"text": "one"}\n'
    refused = CliRunner().invoke(group, [*command("-", "-o", "out", "--resume")], input=given)
    assert "--resume needs files" in str(refused.exception)


def test_a_finished_run_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(corpus(families=8), "corpus.parquet")
    arguments = command("corpus.parquet", "-o", "out")
    assert CliRunner().invoke(group, arguments).exit_code == 0
    before = (tmp_path / "out/report.json").read_text()
    again = CliRunner().invoke(group, [*arguments, "--resume"])
    assert again.exit_code == 0 and "documents" in again.output
    assert (tmp_path / "out/report.json").read_text() == before


@pytest.mark.parametrize("what", ["input", "column", "mode", "lost file"])
def test_another_run_is_not_taken_for_the_finished_one(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(corpus(families=5), "corpus.parquet")
    arguments = command("corpus.parquet", "-o", "out")
    assert CliRunner().invoke(group, arguments).exit_code == 0
    more = {"column": ["--no-html"], "mode": ["--mode", "annotate"]}.get(what, [])
    if what == "input":
        pq.write_table(corpus(families=6), "corpus.parquet")
    if what == "lost file":
        Path("out/removed.parquet").unlink()
    again = CliRunner().invoke(group, [*arguments, "--resume", *more], standalone_mode=False)
    assert "exists already" in str(again.exception)


def kill_and_resume(kills: int, folder: Path, seed: int) -> None:
    """Kill a process at random moments until it has ended, and compare with one that was let alone."""
    pq.write_table(corpus(families=150), folder / "corpus.parquet", row_group_size=100)
    run = [sys.executable, "-c", MAIN, *command(folder / "corpus.parquet", "--resume")]
    begun = time.monotonic()
    subprocess.run([*run, "-o", folder / "whole"], check=True, capture_output=True)
    whole = time.monotonic() - begun
    source, killed = random.Random(seed), 0
    for _ in range(20 * kills):
        process = subprocess.Popen(
            [*run, "-o", folder / "out"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            process.wait(timeout=source.uniform(0.3, 1.0) * whole)
            shutil.rmtree(folder / "out")  # it was faster: the next one begins anew
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            killed += 1
        _, said = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), said
        if killed == kills:
            break
    assert killed == kills
    subprocess.run([*run, "-o", folder / "out"], check=True, capture_output=True)
    assert results(folder / "out") == results(folder / "whole")
    assert not list((folder / "out").glob(".*"))


@pytest.mark.slow
def test_killed_three_times(tmp_path: Path) -> None:
    kill_and_resume(3, tmp_path, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_killed_a_hundred_times(seed: int, tmp_path: Path) -> None:
    kill_and_resume(10, tmp_path, 100 + seed)
