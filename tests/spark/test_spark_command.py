"""`neardup dedup --engine spark`: what it writes, refuses and leaves behind; how it starts and ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest
from commanding import check_same, refused, spark_run, write_lines

from corpora import corpus
from neardup.cli import Stopped, main
from neardup.output import only_writer

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'neardup[spark]'")


@pytest.fixture(scope="module")
def table():
    return corpus(families=3).select(["id", "text"])


# output and stages -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ü #%41'?", "br[a]{b}*", "-o"])
def test_output_folder_of_any_name(spark, table, tmp_path, name):
    pq.write_table(table, tmp_path / "a.parquet")
    check_same(tmp_path, [tmp_path / "a.parquet"], name=name)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["a.parquet", "local", name])


@pytest.mark.slow
def test_work_and_output_folder_of_any_name(spark, table, tmp_path):
    """Stages stay in a folder that was named, and beside whatever else is in it."""
    pq.write_table(table, tmp_path / "a.parquet")
    work = tmp_path / "work %20 x"
    work.mkdir()
    (work / "mine").touch()
    check_same(tmp_path, [tmp_path / "a.parquet"], "--work-dir", str(work), name="ü #%41'?[a]{b}*")
    stages = [path for path in work.iterdir() if path.is_dir()]
    assert len(stages) == 1 and (stages[0] / "manifest.json").exists() and (work / "mine").exists()


@pytest.mark.slow
def test_refused_runs_are_forgotten(spark, table, tmp_path, capsys):
    """Another column of ids is tried in the same folder after one whose ids are not unique."""
    rows = [{**row, "id": "same", "url": row["id"]} for row in table.to_pylist()]
    path = write_lines(tmp_path / "a.jsonl", rows)
    assert "used by more than one document" in refused(capsys, tmp_path / "spark", [path])
    assert not (tmp_path / "spark").exists()
    check_same(tmp_path, [path], "--id-column", "url")


@pytest.mark.slow
def test_stages_of_another_run(spark, table, tmp_path, capsys, monkeypatch):
    """They are refused, or removed with --force; the same run resumes from its own."""
    from neardup.cli.support import spark_engine
    from neardup.cli.support.spark_folder import SparkOutput

    path = write_lines(tmp_path / "a.jsonl", [*table.to_pylist(), "{bad\n"])
    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(spark_engine._Job, "_written", stop)
        with pytest.raises(SystemExit) as stopped:
            spark_run(out, [path])
    said = capsys.readouterr().err
    assert stopped.value.code == 130
    assert said.endswith(f"kept in {out / '.stages'}: the same command resumes from them\n")
    assert "--force" in refused(capsys, out, [path], "--threshold", "0.9")
    run = next((out / ".stages").iterdir())
    before = (run / "manifest.json").read_text()
    report = spark_run(out, [path], "--mode", "none")
    assert list(report["seconds"]) == ["write"] and "documents" in json.loads(before)["stages"]
    assert report["problems"]["counts"] == {"invalid JSON": 1}, (
        "bad records are reported even if nothing is read again"
    )
    with monkeypatch.context() as patched:
        patched.setattr(SparkOutput, "finish", end)
        with pytest.raises(SystemExit) as stopped:
            spark_run(out, [path], "--threshold", "0.9", "--force")
    assert (
        stopped.value.code == 143
        and "stopped by SIGTERM; complete stages are kept" in capsys.readouterr().err
    )
    report = spark_run(out, [path], "--force")
    assert "documents" in report["seconds"] and not (out / ".stages").exists()


def stop(*_):
    raise KeyboardInterrupt


def end(*_):
    raise Stopped(signal.SIGTERM)


def test_a_second_run_into_one_folder_is_refused_at_once(table, tmp_path, capsys):
    """Before Spark starts; so is one with another output and the same work folder."""
    path = write_lines(tmp_path / "a.jsonl", table.to_pylist())
    with only_writer(tmp_path / "out"):
        assert "is written by another run" in refused(capsys, tmp_path / "out", [path])
        assert not list((tmp_path / "out").iterdir())
        work = ("--work-dir", str(tmp_path / "out"))
        assert "is written by another run" in refused(capsys, tmp_path / "other", [path], *work)
    assert not (tmp_path / "other").exists()


@pytest.mark.slow
def test_links_are_refused_or_replaced_not_followed(spark, table, tmp_path, capsys):
    path = write_lines(tmp_path / "a.jsonl", [*table.to_pylist(), "{bad\n"])
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    out.mkdir()
    elsewhere.mkdir()
    (out / ".stages").symlink_to(elsewhere)
    assert ".stages is a link" in refused(capsys, out, [path])
    (out / ".stages").unlink()
    for name in ("kept.parquet", "report.json", "problems.jsonl"):
        (elsewhere / name).write_text("mine")
        (out / name).symlink_to(elsewhere / name)
    spark_run(out, [path], "--force")
    assert all(
        (elsewhere / name).read_text() == "mine" for name in ("kept.parquet", "report.json", "problems.jsonl")
    )
    assert pq.read_table(out / "kept.parquet").num_rows and not (out / "report.json").is_symlink()
    assert not [each for each in out.iterdir() if each.name.startswith(".")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "pattern", ["side-files/documents/*.arrow", "documents/*.parquet", "copies/*.parquet"]
)
def test_flipped_bits_of_a_stage_are_named(spark, table, tmp_path, capsys, monkeypatch, pattern):
    """A run that resumes finds them, instead of counting with other texts."""
    from neardup.engines.spark.run import SparkRun

    path, out = write_lines(tmp_path / "a.jsonl", table.to_pylist()), tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(SparkRun, "_candidates", stop)
        with pytest.raises(SystemExit):
            spark_run(out, [path])
    run = next((out / ".stages").iterdir())
    assert run.stat().st_mode & 0o777 == 0o700
    damaged = max(run.glob(pattern), key=lambda file: file.stat().st_size)
    data = bytearray(damaged.read_bytes())
    for place in range(len(data) // 4, len(data) // 2):
        data[place] ^= 4
    damaged.write_bytes(data)
    said = refused(capsys, out, [path])
    assert "emove the work folder" in said


@pytest.mark.slow
def test_results_of_another_mode(spark, table, tmp_path, capsys):
    """Nothing of an earlier result is left beside a new one, whichever engine wrote it; strangers stay."""
    pq.write_table(table, tmp_path / "a.parquet")
    out = tmp_path / "out"
    main(["dedup", str(tmp_path / "a.parquet"), "-o", str(out)])
    assert "exists already" in refused(capsys, out, [tmp_path / "a.parquet"])
    spark_run(out, [tmp_path / "a.parquet"], "--force")
    names = {f"{name}.parquet" for name in ("kept", "removed", "pairs", "clusters")} | {"report.json"}
    assert {path.name for path in out.iterdir()} == names
    (out / "annotated.txt").touch()
    assert "exists" in refused(capsys, out, [tmp_path / "a.parquet"], "--mode", "annotate")
    spark_run(out, [tmp_path / "a.parquet"], "--mode", "annotate", "--force")
    assert {path.name for path in out.iterdir()} == names - {"kept.parquet", "removed.parquet"} | {
        "annotated.parquet",
        "annotated.txt",
    }
    assert len(pq.read_table(out / "annotated.parquet")) == len(table)
    main(["dedup", str(tmp_path / "a.parquet"), "-o", str(out), "--force"])
    names = {f"{name}.parquet" for name in ("kept", "removed", "pairs", "clusters")} | {"report.json"}
    assert {path.name for path in out.iterdir()} == names | {"annotated.txt"}


def test_results_are_not_overwritten_while_they_are_read(spark, table, tmp_path, capsys):
    (tmp_path / "out" / "kept.parquet").mkdir(parents=True)
    pq.write_table(table, tmp_path / "out" / "kept.parquet" / "part-0.parquet")
    before = sorted((tmp_path / "out" / "kept.parquet").iterdir())
    said = refused(capsys, tmp_path / "out", [tmp_path / "out" / "kept.parquet"], "--force")
    assert (
        "is an input of this run" in said and sorted((tmp_path / "out" / "kept.parquet").iterdir()) == before
    )


# start and end -----------------------------------------------------------------------------------


def command(*arguments, **options):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    line = [sys.executable, "-m", "neardup", "dedup", *map(str, arguments), "--engine", "spark"]
    return subprocess.Popen(
        line, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, **options
    )


@pytest.mark.parametrize(
    ("master", "said"),
    [
        (
            "nonsense",
            "must be local[*], local[N], spark://HOST:PORT, yarn or k8s://ADDRESS. Got 'nonsense' instead.",
        ),
        ("local[0]", "Got 'local[0]' instead."),
        ("spark://127.0.0.1:9", "127.0.0.1:9 cannot be reached (Connection refused)"),
    ],
)
def test_masters_that_are_none(master, said):
    from neardup.engines.spark.session.start import check_master
    from neardup.errors import NeardupError

    with pytest.raises(NeardupError) as error:
        check_master(master)
    assert str(error.value).endswith(said)


def test_reasons():
    """The one that Spark gives, wherever it gives it."""
    from neardup.engines.spark.session.start import reason

    raised = RuntimeError(
        "An error occurred.\n: org.apache.spark.SparkException: Could not parse it: 'x'\n\tat a.b"
    )
    assert reason(raised, "") == "Could not parse it: 'x'"
    exited = RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number.")
    log = 'WARN a\nException in thread "main" java.lang.IllegalArgumentException: too little\n\tat a.b(C.java)\n'
    assert reason(exited, log) == "too little"
    assert reason(exited, "Error: no such thing\nmore") == "no such thing"
    assert reason(exited, "").startswith("[JAVA_GATEWAY_EXITED]")


@pytest.mark.slow
def test_start_that_fails(java, tmp_path):
    """The reason of the JVM in one line, without its stack."""
    path = write_lines(tmp_path / "a.jsonl", [{"text": "one"}])
    run = command(path, "-o", tmp_path / "out", "--conf", "spark.driver.memory=lots")
    said = run.communicate(timeout=120)[1]
    assert run.returncode == 2 and len(said.splitlines()) == 1, said
    assert "Spark does not start on local[*]: " in said and "GATEWAY" not in said


@pytest.mark.slow
def test_worker_that_stops(java, tmp_path):
    """One line for a bad record of a strict run, without the stacks of worker and JVM."""
    path = write_lines(tmp_path / "a.jsonl", [{"text": "one"}, "{bad\n"])
    run = command(path, "-o", tmp_path / "out", "--strict", "--master", "local[1]")
    said = run.communicate(timeout=120)[1]
    assert (
        run.returncode == 2 and len(said.splitlines()) == 1 and "a.jsonl, record 2: invalid JSON" in said
    ), said
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code", "by"), [(signal.SIGINT, 130, ""), (signal.SIGTERM, 143, " by SIGTERM")]
)
def test_interrupted(java, table, tmp_path, number, code, by):
    """One line for Ctrl-C or a signal, in whatever it interrupts; then the same command ends as if nothing had been."""
    path = write_lines(tmp_path / "a.jsonl", table.to_pylist())
    arguments = (path, "-o", tmp_path / "out", "--master", "local[1]")
    run = command(*arguments, start_new_session=True)
    while run.poll() is None and not list(tmp_path.glob("out/.stages/*/manifest.json")):
        time.sleep(0.05)
    os.killpg(run.pid, number) if number == signal.SIGINT else run.send_signal(number)
    said = run.communicate(timeout=120)[1]
    ours = [line for line in said.splitlines() if line.startswith("neardup:")]
    assert run.returncode == code and "Traceback" not in said, said
    assert ours == [f"neardup: stopped{by}; complete stages are kept in {tmp_path / 'out' / '.stages'}: the same "
                    "command resumes from them"]  # fmt: skip
    again = command(*arguments)
    assert not again.wait(120) and (tmp_path / "out" / "report.json").exists()
    assert not (tmp_path / "out" / ".stages").exists()


def test_interrupted_start():
    """Ctrl-C waits until Spark has started, once."""
    from neardup.engines.spark.session.start import deferred_interrupt

    reached = []
    with pytest.raises(KeyboardInterrupt), deferred_interrupt():
        signal.raise_signal(signal.SIGINT)
        reached.append(1)
    with pytest.raises(KeyboardInterrupt), deferred_interrupt():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        reached.append(2)
    assert reached == [1]
