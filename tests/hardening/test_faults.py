"""Signals, threads that raise, no memory, files that change: one sentence, and nothing is half-written."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import neardup
from neardup.cli import Stopped, group, main
from neardup.engines.local.checkpoint.workspace import NAME
from neardup.errors import InputError, NeardupError

RESULTS = ("kept.jsonl", "removed.jsonl", "pairs.parquet", "clusters.parquet", "report.json")


@pytest.fixture
def corpus(tmp_path) -> Path:
    path = tmp_path / "in.jsonl"
    with path.open("w") as file:
        for k in range(3000):
            file.write(json.dumps({"id": k, "text": " ".join(str(k * n % 997) for n in range(40))}) + "\n")
    return path


def started(
    corpus: Path, out: Path, *more: str, waits: str = "checkpoint", **options
) -> subprocess.Popen[str]:
    """A run that stays where it has read everything and written a checkpoint."""
    code = (
        "import sys, time, neardup.engines.local.run as run\n"
        "run.find_matches = lambda *a, **o: time.sleep(60)\n"
        "from neardup.cli import main\n"
        "main()\n"
    )
    words = ["dedup", str(corpus), "-o", str(out), "--checkpoint", "0", *more]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )
    until = time.monotonic() + 60
    folder = Path(more[more.index("--work-dir") + 1]) if "--work-dir" in more else out
    while time.monotonic() < until and process.poll() is None:
        journal = folder / NAME / "journal.json"
        if journal.exists() and json.loads(journal.read_text())["stages"].get("read", {}).get("complete"):
            return process
        time.sleep(0.05)
    raise AssertionError(process.communicate()[1])


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("SIGTERM", 143),
        pytest.param("SIGHUP", 129, marks=pytest.mark.slow),
        pytest.param("SIGINT", 130, marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_a_run_in_order_and_it_can_be_resumed(corpus, tmp_path, name, code):
    out = tmp_path / "out"
    process = started(corpus, out)
    process.send_signal(getattr(signal, name))
    _, said = process.communicate(timeout=30)
    assert process.returncode == code, said
    assert "Traceback" not in said and "--resume continues" in said
    assert "stopped" in said.splitlines()[-1]
    assert [path.name for path in out.iterdir()] == [NAME]
    done = CliRunner().invoke(group, ["dedup", str(corpus), "-o", str(out), "--resume"])
    assert done.exit_code == 0, done.exception
    whole = neardup.dedup(str(corpus))
    assert json.loads((out / "report.json").read_text())["kept"] == whole.report["kept"]


@pytest.mark.slow
def test_a_hangup_is_ignored_by_a_run_that_was_told_to(corpus, tmp_path):
    process = started(
        corpus, tmp_path / "out", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    )
    process.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert process.poll() is None
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 143


@pytest.mark.parametrize(
    "elsewhere",
    [pytest.param(False, marks=pytest.mark.slow), True],
    ids=["one work folder", "two work folders"],
)
def test_a_second_run_into_one_folder_is_refused_at_once(corpus, tmp_path, elsewhere):
    out = tmp_path / "out"
    more = ["--work-dir", str(tmp_path / "first")] if elsewhere else []
    process = started(corpus, out, *more)
    try:
        start = time.monotonic()
        words = ["dedup", str(corpus), "-o", str(out), "--force"]
        words += ["--work-dir", str(tmp_path / "second")] if elsewhere else []
        done = CliRunner().invoke(group, words)
        assert "another run" in str(done.exception), done.exception
        assert time.monotonic() - start < 10
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (MemoryError(), 2, "out of memory; nothing was written"),
        (RuntimeError("can't start new thread"), 2, "use fewer with --threads"),
        (ZeroDivisionError("a bug"), 1, "an error inside neardup, ZeroDivisionError at test_faults.py"),
    ],
)
def test_a_worker_that_raises(corpus, tmp_path, monkeypatch, capsys, threads, error, code, sentence):
    calls = []

    def represent(*arguments):
        calls.append(1)
        raise error

    monkeypatch.setattr("neardup.engines.local.read.represent", represent)
    with pytest.raises(SystemExit) as stop:
        main(["dedup", str(corpus), "-o", str(tmp_path / "out"), "--threads", threads])
    said = capsys.readouterr().err.strip().splitlines()
    assert stop.value.code == code and sentence in said[-1]
    assert calls and not (tmp_path / "out").exists()


@pytest.mark.parametrize(("signal_or_key", "code"), [(Stopped(15), 143), (KeyboardInterrupt(), 130)])
def test_a_signal_while_an_error_is_put_into_words(monkeypatch, capsys, signal_or_key, code):
    """Which loads every method, and takes seconds on a busy machine."""

    def interrupted(*arguments):
        raise signal_or_key

    monkeypatch.setattr("neardup.cli._about_option", interrupted)
    with pytest.raises(SystemExit) as stop:
        main(["methods", "zebra"])
    said = capsys.readouterr().err
    assert stop.value.code == code and said.startswith("neardup: stopped") and said.count("\n") == 1


def test_the_whole_trace_of_a_bug_is_shown_on_request(corpus, tmp_path, monkeypatch):
    monkeypatch.setenv("NEARDUP_TRACEBACK", "1")
    monkeypatch.setattr("neardup.engines.local.read.represent", lambda *a: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["dedup", str(corpus), "-o", str(tmp_path / "out"), "--threads", "1"])


@pytest.mark.slow
@pytest.mark.parametrize("room", [400, 500, 600, 800, 900])
def test_little_memory_ends_in_a_sentence_or_in_a_result(corpus, tmp_path, room):
    """Below some hundred MB the C++ libraries abort by themselves: even then nothing is half-written."""
    out = tmp_path / "out"
    limit = (room << 20, room << 20)
    done = subprocess.run(
        [sys.executable, "-m", "neardup", "dedup", str(corpus), "-o", str(out), "--threads", "2"],
        capture_output=True, text=True, timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit),
    )  # fmt: skip
    assert done.returncode in (0, 1, 2, -signal.SIGABRT, -signal.SIGSEGV), done.stderr
    written = {path.name for path in out.glob("*")} if out.exists() else set()
    assert written - {NAME} in ({*RESULTS}, set()), done.stderr
    assert done.returncode == 0 or written <= {NAME}


def test_a_document_beyond_the_budget_is_refused_with_its_size(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps({"id": 1, "text": "word " * (8 << 20)}) + "\n")
    words = ["dedup", str(path), "-o", str(tmp_path / "out"), "--memory", "256M"]
    done = CliRunner().invoke(group, words)
    assert isinstance(done.exception, InputError) and "a record of 40 MB" in str(done.exception)
    assert "--max-record" in str(done.exception) and not (tmp_path / "out").exists()


def test_output_that_is_not_read_to_its_end_is_no_error(corpus, tmp_path):
    line = f"{sys.executable} -m neardup compare --json --in {corpus} 1 2 | head -c 10"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True)
    assert done.returncode in (0, 141) and done.stderr == "", done.stderr


def change(path: Path, how: str) -> None:
    data = path.read_bytes()
    if how == "shrinks":
        os.truncate(path, len(data) // 2)
    elif how == "grows":
        path.write_bytes(data + b'{"id": "new", "text": "a new one"}\n')
    elif how == "goes":
        path.unlink()
    else:
        path.write_bytes(data.replace(b"1", b"2"))


@pytest.mark.parametrize("how", ["grows", "shrinks", "changes", "goes"])
def test_an_input_that_changes_before_it_is_written(corpus, tmp_path, monkeypatch, how):
    from neardup.engines.local import run

    decide = run.decided

    def decided(*arguments):
        change(corpus, how)
        return decide(*arguments)

    monkeypatch.setattr(run, "decided", decided)
    done = CliRunner().invoke(group, ["dedup", str(corpus), "-o", str(tmp_path / "out")])
    assert isinstance(done.exception, NeardupError), done.output
    assert not any((tmp_path / "out" / name).exists() for name in RESULTS)


READ_ONLY = 'mount -t tmpfs -o ro none "$0" && exec "$@"'


@pytest.mark.parametrize(
    "words",
    [
        ["dedup", "in.jsonl", "-o", "disk/out"],
        pytest.param(["dedup", "in.jsonl", "-o", "out", "--work-dir", "disk/work"], marks=pytest.mark.slow),
        pytest.param(["pairs", "in.jsonl", "-o", "disk/pairs.parquet"], marks=pytest.mark.slow),
        pytest.param(["index", "build", "disk/i.index", "in.jsonl"], marks=pytest.mark.slow),
        pytest.param(["track", "disk/pages.db", "in.jsonl"], marks=pytest.mark.slow),
        pytest.param(["stats", "build", "in.jsonl", "-o", "disk/s.parquet"], marks=pytest.mark.slow),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_disk_that_is_read_only_is_named_in_one_line(corpus, tmp_path, words):
    disk = tmp_path / "disk"
    disk.mkdir()
    unshare = ["unshare", "--mount", "--map-root-user", "sh", "-c", READ_ONLY, str(disk)]
    if shutil.which("unshare") is None or subprocess.run([*unshare, "true"], capture_output=True).returncode:
        pytest.skip("this machine gives no disk of its own to a process (unshare --mount --map-root-user)")
    command = [*unshare, sys.executable, "-m", "neardup", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    said = [line for line in done.stderr.splitlines() if not line.startswith("neardup: compiling")]
    assert done.returncode == 2 and len(said) == 1, done.stderr
    assert "disk/" in said[0] and ("Read-only file system" in said[0] or "unable to open" in said[0])


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full", "/dev/urandom"])
@pytest.mark.parametrize("command", ["dedup", "pairs", "against", "index"])
def test_a_device_without_an_end_is_refused(corpus, tmp_path, device, command):
    """It would fill the disk."""
    words = {
        "dedup": ["dedup", device, "-o", str(tmp_path / "out")],
        "pairs": ["pairs", device, "-o", str(tmp_path / "pairs.parquet")],
        "against": ["dedup", str(corpus), "--against", device, "-o", str(tmp_path / "out")],
        "index": ["index", "build", str(tmp_path / "i.index"), device],
    }[command]
    done = CliRunner().invoke(group, words)
    assert isinstance(done.exception, InputError) and f"{device} is a device" in str(done.exception)


def test_a_file_that_cannot_be_completed_leaves_the_old_one(tmp_path):
    from neardup.output import whole_file

    path = tmp_path / "run.toml"
    path.write_text("old")
    with pytest.raises(OSError, match="no room"), whole_file(path) as aside:
        aside.write_text("half")
        raise OSError("no room")
    assert [each.name for each in tmp_path.iterdir()] == ["run.toml"] and path.read_text() == "old"
    link = tmp_path / "link.toml"
    link.symlink_to(path)
    with whole_file(link) as aside:
        assert aside.suffix == ".toml"
        aside.write_text("new")
    assert path.read_text() == "new" and link.is_symlink()
    with whole_file(Path("/dev/null")) as aside:
        assert aside == Path("/dev/null")


@pytest.mark.parametrize(
    "words",
    [
        ["dedup", "in.jsonl", "-o", "out", "--save-config", "disk/run.toml"],
        ["tune", "--plot", "disk/curve.svg"],
        ["fingerprints", "in.jsonl", "--plots", "disk/plots"],
    ],
    ids=lambda words: words[0],
)
def test_a_disk_that_is_full_is_named_and_gets_no_half_of_a_file(corpus, tmp_path, words):
    if "plot" in words[-2]:
        pytest.importorskip("matplotlib")
    disk = tmp_path / "disk"
    disk.mkdir()
    full = 'mount -t tmpfs -o size=4k none "$0" && { echo >"$0/other" && "$@"; code=$?; find "$0" -type f; '
    unshare = ["unshare", "--mount", "--map-root-user", "sh", "-c", full + "exit $code; }", str(disk)]
    if shutil.which("unshare") is None or subprocess.run([*unshare, "true"], capture_output=True).returncode:
        pytest.skip("this machine gives no disk of its own to a process (unshare --mount --map-root-user)")
    command = [*unshare, sys.executable, "-m", "neardup", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "disk/" in done.stderr.splitlines()[-1] and "No space left" in done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith(str(disk))] == [f"{disk}/other"]
