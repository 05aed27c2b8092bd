"""The `neardup` command as a process: exit codes, signals, pipes, full disks, and what it loads."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import neardup
from neardup.cli import main
from neardup.registry import methods

TEXT = "the quick brown fox jumps over the lazy dog and runs away"
MAIN = "from neardup.cli import main; main()"  # without Numba, as the installed command
NOTHING_KEPT = ("--checkpoint", "600")  # on a busy machine as well


def start(*arguments: str | bytes, code: str = MAIN, **options) -> subprocess.Popen:
    """The command in a process of its own, perhaps with something changed before it begins."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **options}
    return subprocess.Popen([sys.executable, "-c", code, *arguments], **options)


def without_compiling(text: str) -> str:
    """What the command says, but for the line that the first run on a machine adds."""
    return re.sub(r"^neardup: compiling kernels .*\n", "", text, flags=re.MULTILINE)


def run(*arguments: str | bytes, **options) -> tuple[int, str, str]:
    process = start(*arguments, **options)
    out, err = process.communicate(timeout=60)
    return process.returncode, (out or b"").decode(), without_compiling((err or b"").decode())


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"d{k}", "text": TEXT, "more": "x" * 100} for k in range(4)]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# --- the installed command ---------------------------------------------------------------------------------------


def test_the_installed_command(here):
    command = Path(sys.executable).parent / "neardup"
    done = subprocess.run([command, "dedup", "corpus.jsonl", "-o", "clean"], capture_output=True, text=True)
    assert (done.returncode, without_compiling(done.stderr)) == (0, "")
    assert "4 documents" in done.stdout and "1 kept, 3 removed" in done.stdout
    done = subprocess.run([command, "dedup", "missing.jsonl", "-o", "other"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "neardup: missing.jsonl does not exist\n")


def test_help_lists_the_commands_without_loading_what_computes(here):
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", MAIN, "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0
    for name in ("dedup", "pairs", "compare", "evaluate", "tune", "methods"):
        assert re.search(rf"^  {name}  ", done.stdout, re.MULTILINE)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "neardup.cli" in loaded
    assert not {name for name in loaded if name.split(".")[0] in ("numba", "pyarrow", "numpy", "rich")}


@pytest.mark.parametrize("command", ["dedup", "pairs", "compare", "evaluate", "tune", "methods"])
def test_help_of_a_command_does_not_load_the_compiler(here, command):
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", MAIN, command, "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout.startswith(f"Usage: neardup {command} ")
    assert "numba" not in done.stderr


def test_the_version():
    assert run("--version") == (0, f"neardup, version {neardup.__version__}\n", "")


def test_an_unknown_command_is_one_line():
    code, out, err = run("deduplicate")
    assert (code, out) == (2, "") and err.count("\n") == 1 and "deduplicate" in err


def test_without_a_command_there_is_help():
    code, out, err = run()
    assert code == 2 and "dedup" in out + err and "Traceback" not in err


def test_the_methods_are_listed_and_described(capsys):
    main(["methods"])
    out = capsys.readouterr().out
    assert out.splitlines()[1].startswith("minhash  ") and "fineweb" in out
    main(["methods", "minhash"])
    assert "--threshold  a number above 0 and up to 1 (default: 0.7)" in capsys.readouterr().out
    main(["methods", "--json"])
    assert [method["name"] for method in json.loads(capsys.readouterr().out)] == list(methods())
    with pytest.raises(SystemExit) as stopped:
        main(["methods", "magic"])
    assert stopped.value.code == 2


def test_a_run_says_nothing_on_standard_error(here):
    """The first one may have to compile kernels, and says so; the suite has compiled them before its tests."""
    _, err = start("dedup", "corpus.jsonl", "-o", "clean").communicate(timeout=60)
    assert err == b""


def test_a_first_run_says_that_it_compiles(here, tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "NUMBA_DISABLE_JIT": "0"}
    process = start("pairs", "corpus.jsonl", "-o", "p.parquet", env=environment)
    line = process.stderr.readline().decode()
    process.kill()
    process.communicate(timeout=60)
    assert line.startswith("neardup: compiling kernels for this machine")


# --- Ctrl-C ------------------------------------------------------------------------------------------------------

SLOW = """
import sys, time
import neardup.engines.{module} as module
def slow(*arguments):
    print("here", flush=True)
    time.sleep(60)
module.{name} = slow
""" + MAIN  # fmt: skip

IN_THREADS = """
import neardup.engines.core.represent as core
import neardup.engines.local.read as read
core.CHUNK, usual = 1, read.represent
def slow(*arguments):
    print("here", flush=True)
    time.sleep(0.3)
    return usual(*arguments)
read.represent = slow
"""


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(
            SLOW.format(module="local.run", name="find_matches"),
            id="while candidates are sought",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            SLOW.format(module="local.write_tables", name="cluster_table"),
            id="while results are written",
            marks=pytest.mark.slow,
        ),
        pytest.param(SLOW.format(module="local.write", name="_divide"), id="while documents are written"),
        pytest.param(f"import time\n{IN_THREADS}\n{MAIN}", id="while threads work"),
    ],
)
def test_ctrl_c_leaves_nothing_behind(here, code):
    process = start("dedup", "corpus.jsonl", "-o", "deep/clean", "--threads", "2", *NOTHING_KEPT, code=code)
    assert process.stdout.readline().startswith(b"here")
    process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert without_compiling(err.decode()).strip() == "neardup: stopped; nothing was written"
    assert time.monotonic() - begun < 10
    assert names(here) == ["corpus.jsonl"]


def test_ctrl_c_while_standard_input_is_awaited(here):
    process = start("dedup", "-", "-o", "clean", stdin=subprocess.PIPE)
    process.stdin.write(b'{"id": 1, "text": "one"}\n')
    process.stdin.flush()
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130 and names(here) == ["corpus.jsonl"]


# --- where standard output goes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments", [["dedup", "corpus.jsonl", "-o", "clean"], ["dedup", "--help"], ["methods"]], ids=" ".join
)
def test_a_reader_that_has_gone_is_no_failure(here, arguments):
    """`neardup … | head -1`: nobody is left to tell, and nothing failed; the result is written."""
    reader, writer = os.pipe()
    os.close(reader)
    code, _, err = run(*arguments, stdout=writer)
    os.close(writer)
    assert (code, err) == (0, "")
    files = ["clusters.parquet", "kept.jsonl", "pairs.parquet", "removed.jsonl", "report.json"]
    assert arguments[-1] != "clean" or names(here / "clean") == files


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_standard_output_on_a_full_disk(here):
    with Path("/dev/full").open("wb") as full:
        code, _, err = run("dedup", "corpus.jsonl", "-o", "clean", stdout=full)
    assert code == 2 and "Traceback" not in err and "No space left" in err


def test_standard_output_that_is_closed(here):
    code, _, err = run("dedup", "corpus.jsonl", "-o", "clean", stdout=None, preexec_fn=lambda: os.close(1))
    assert (code, err) == (0, "") and (here / "clean/report.json").exists()


@pytest.mark.parametrize("encoding", ["ascii", pytest.param("latin-1", marks=pytest.mark.slow)])
def test_a_terminal_that_knows_few_characters(here, encoding):
    (here / "odd.jsonl").write_text('{"id": "日本", "text": "one"}\n{"id": "日本語", "text": "one"}\n')
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    process = start("dedup", "odd.jsonl", "-o", "clean", env=environment)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0 and without_compiling(err.decode()) == ""


# --- disks and names ------------------------------------------------------------------------------------------------


def limited(size: int):
    """Files of this process may not grow beyond the size: what a full disk does to a write."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_no_space_for_the_output(here):
    rows = [{"id": k, "text": f"text number {k}", "more": "x" * 20_000} for k in range(100)]
    (here / "wide.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, err = run("dedup", "wide.jsonl", "-o", "clean", *NOTHING_KEPT, preexec_fn=limited(1_000_000))
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert err.startswith("neardup: ") and "clean cannot be written" in err
    assert names(here) == ["corpus.jsonl", "wide.jsonl"]


def test_no_space_for_the_work(here):
    rows = [{"id": k, "text": f"text number {k} " * 1000} for k in range(200)]
    (here / "long.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, err = run("dedup", "long.jsonl", "-o", "clean", preexec_fn=limited(1_000_000))
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert err.startswith("neardup: ") and "--work-dir" in err
    assert names(here) == ["corpus.jsonl", "long.jsonl"]


def test_a_file_whose_name_is_no_utf8(here):
    path = os.fsencode(here) + b"/caf\xe9.jsonl"
    with open(path, "w") as file:  # noqa: PTH123 (a name of bytes)
        file.write(json.dumps({"text": TEXT}) + "\n" + json.dumps({"text": TEXT}) + "\n")
    code, out, err = run("dedup", b"caf\xe9.jsonl", "-o", "clean")
    assert code == 0 and "2 documents" in out and err == ""


def test_no_work_is_left_in_the_temporary_folder(here):
    (here / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(here / "tmp")}
    code, _, _ = run("dedup", "-", "-o", "clean", stdin=(here / "corpus.jsonl").open("rb"), env=environment)
    assert code == 0 and list((here / "tmp").iterdir()) == []
    (here / "work").mkdir()
    main(["dedup", "corpus.jsonl", "-o", "again", "--work-dir", "work"])
    assert list((here / "work").iterdir()) == []
