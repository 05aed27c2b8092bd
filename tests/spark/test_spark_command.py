"""`neardup dedup --engine spark` over files, beside the local engine: what it reads, writes, refuses and leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpora import corpus
from neardup.cli import main

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'neardup[spark]'")


@pytest.fixture(scope="module")
def table():
    return corpus(families=3).select(["id", "text"])


@pytest.fixture
def sensitive(spark):
    """The setting that sessions of the command line have."""
    spark.conf.set("spark.sql.caseSensitive", "true")
    yield
    spark.conf.unset("spark.sql.caseSensitive")


def write_lines(path, rows):
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    return path


def printed(table):
    return sorted(json.dumps(row, default=str, sort_keys=True) for row in table.to_pylist())


def spark_run(output, inputs, *options):
    main(["dedup", *map(str, inputs), "-o", str(output), "--engine", "spark", *options])
    return json.loads((output / "report.json").read_text())


def refused(capsys, output, inputs, *options):
    """The one line that a run is refused with."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as stopped:
        spark_run(output, inputs, *options)
    said = capsys.readouterr().err
    lines = [line for line in said.splitlines() if not line.endswith("left aside")]
    assert stopped.value.code == 2 and len(lines) == 1, said
    return lines[0]


def check_same(tmp_path, inputs, *options, results=("kept", "removed"), name="spark"):
    """Both engines write the same documents and clusters; the report of Spark."""
    main(
        [
            "dedup",
            *map(str, inputs),
            "-o",
            str(tmp_path / "local"),
            "--output-format",
            "parquet",
            "--force",
            *options,
        ]
    )
    report = spark_run(tmp_path / name, inputs, *options)
    for result in (*results, "clusters"):
        theirs = pq.read_table(tmp_path / "local" / f"{result}.parquet")
        mine = pq.read_table(tmp_path / name / result)
        assert set(mine.column_names) == set(theirs.column_names), result
        if "id" in theirs.column_names:
            assert str(mine.schema.field("id").type) == str(theirs.schema.field("id").type)
        assert printed(mine) == printed(theirs), result
    assert not (tmp_path / name / ".stages").exists()
    local = json.loads((tmp_path / "local" / "report.json").read_text())
    assert [report[key] for key in ("documents", "kept", "removed", "clusters", "inputs")] == [
        local[key] for key in ("documents", "kept", "removed", "clusters", "inputs")
    ]
    return report, local


# input -------------------------------------------------------------------------------------------


def test_parquet_files(spark, table, tmp_path):
    """Several files that Spark reads itself, with columns that not all of them have."""
    half = len(table) // 2
    pq.write_table(table.slice(0, half), tmp_path / "a.parquet")
    extra = pa.array(range(len(table) - half), pa.int32())
    pq.write_table(table.slice(half).append_column("extra", extra), tmp_path / "b.parquet")
    report, _ = check_same(tmp_path, [tmp_path / "a.parquet", tmp_path / "b.parquet"], "--keep", "last")
    assert report["documents"] == len(table) and report["removed"]


def test_parquet_is_read_by_spark(spark, table, tmp_path):
    """Spark prunes columns only in files that it reads itself."""
    from neardup.documents import open_inputs
    from neardup.engines.reader import Columns
    from neardup.engines.spark.loading import load

    pq.write_table(table, tmp_path / "plain.parquet")
    pq.write_table(table, tmp_path / "_hidden.parquet")
    for name, own in (("plain", True), ("_hidden", False)):
        frame = load(spark, open_inputs([str(tmp_path / f"{name}.parquet")]), Columns()).frame
        assert bool(frame.inputFiles()) is own and frame.count() == len(table)


def test_names_that_spark_would_change(spark, table, tmp_path):
    """Files and folders whose names Spark would escape, take for a pattern or leave out."""
    names = [
        "sp ace",
        "ümlaut",
        "a@b=c+d,(e)!'f",
        "h#p%20q?",
        "br[a]{b}*",
        "co:lon;x",
        "_under",
        ".hidden",
        "-d",
    ]
    folder = tmp_path / "in [x] %41"
    folder.mkdir()
    size = len(table) // len(names)
    for place, name in enumerate(names):
        pq.write_table(table.slice(place * size, size), folder / f"{name}.parquet")
    files = [folder / f"{name}.parquet" for name in names]
    report, _ = check_same(tmp_path, files)
    assert report["documents"] == size * len(names) and sorted(report["inputs"]) == sorted(map(str, files))


@pytest.mark.slow
def test_types_that_spark_has_not(spark, tmp_path):
    """Columns of other types than Spark's are kept, and ids of any type are named as the local engine names them."""
    texts = ["one text that is here and then here again, all of it", "something else that nobody says twice"]
    rows = [texts[0], texts[1], texts[0]]
    columns = {
        "text": pa.array(rows),
        "small": pa.array([1, 2, None], pa.uint8()),
        "nothing": pa.nulls(3),
        "names": pa.array(["a", "b", "a"]).dictionary_encode(),
        "map": pa.array([[("a", 1)]] * 3, pa.map_(pa.string(), pa.uint32())),
        "when": pa.array([datetime(2020, 1, 2, 3, 4, 5)] * 3, pa.timestamp("ns")),
        "list": pa.array([[1], [], None], pa.large_list(pa.uint16())),
    }
    ids = {
        "uint64": pa.array([1, 2**64 - 1, 3], pa.uint64()),
        "float": pa.array([1.5, 2.0, None]),
        "bytes": pa.array([b"a", b"\xff", b"c"]),
        "date": pa.array([date(2020, 1, day) for day in (1, 2, 3)]),
        "decimal": pa.array([Decimal(1), Decimal(2), Decimal(3)], pa.decimal128(5, 0)),
        "strings": pa.array(["a", None, "c"]),
        "numbers": pa.array([1, None, 3], pa.int32()),
    }
    for name, values in ids.items():
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table({"id": values, **columns}), path)
        main(["dedup", str(path), "-o", str(tmp_path / "local"), "--force"])
        report = spark_run(tmp_path / name, [path])
        theirs = pq.read_table(tmp_path / "local" / "clusters.parquet").cast(
            clusters_of_texts(tmp_path / "local")
        )
        assert printed(pq.read_table(tmp_path / name / "clusters")) == printed(theirs), name
        kept = pq.read_table(tmp_path / name / "kept").drop_columns(["id"])
        assert printed(kept) == printed(
            pq.read_table(tmp_path / "local" / "kept.parquet").drop_columns(["id"])
        )
        local = json.loads((tmp_path / "local" / "report.json").read_text())["problems"]
        assert report["problems"]["kinds"] == local["kinds"] and report["problems"]["first"] == local["first"]


def clusters_of_texts(folder):
    """The schema of a table of clusters with ids as texts: Spark has no integers without a sign."""
    schema = pq.read_schema(folder / "clusters.parquet")
    fields = [field.with_type(pa.string()) if pa.types.is_uint64(field.type) else field for field in schema]
    return pa.schema(fields)


def test_plain_parquet_without_some_ids(spark, table, tmp_path):
    """Spark reads the file itself, and calls documents as the local engine does; strict runs stop there."""
    ids = [None if place % 5 == 0 else name for place, name in enumerate(table["id"].to_pylist())]
    pq.write_table(table.set_column(0, "id", pa.array(ids, pa.string())), tmp_path / "a.parquet")
    report, local = check_same(tmp_path, [tmp_path / "a.parquet"])
    assert report["problems"]["kinds"] == {"no id": len(table) // 5 + bool(len(table) % 5)}
    assert report["problems"]["first"] == local["problems"]["first"]
    with pytest.raises(SystemExit):
        spark_run(tmp_path / "strict", [tmp_path / "a.parquet"], "--strict")
    assert not (tmp_path / "strict" / "kept").exists()


@pytest.mark.parametrize("number", [False, True])
def test_lines_without_some_ids(spark, table, tmp_path, number):
    """Documents without an id are called by file and number, bad records are counted: as in the local engine."""
    rows = table.to_pylist()
    for place, row in enumerate(rows):
        row["id"] = None if place % 4 == 1 else place if number else row["id"]
    a = write_lines(tmp_path / "a.jsonl", [*rows[:9], "{bad\n"])
    b = write_lines(tmp_path / "b.jsonl", [{"text": row["text"]} for row in rows[9:]])
    report, local = check_same(tmp_path, [a, b])
    assert report["problems"] == local["problems"] and report["problems"]["total"] > 1


def test_damaged_parquet(spark, table, tmp_path, capsys):
    """Where Spark cannot read a file to its end, our readers leave out what is damaged, and report it."""
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, row_group_size=10, compression="zstd")
    content = bytearray(path.read_bytes())
    start = content.index(b"PAR1", 4) // 3
    content[start : start + 200] = bytes(200)
    path.write_bytes(bytes(content))
    report, local = check_same(tmp_path, [path])
    assert report["problems"] == local["problems"] and "damaged parquet" in report["problems"]["kinds"]
    assert f"{path} cannot be read by Spark" in capsys.readouterr().err


def test_columns_that_differ_in_case_only(spark, sensitive, table, tmp_path):
    rows = [{**row, "Title": "a", "title": "b", "TEXT": "other"} for row in table.to_pylist()]
    check_same(tmp_path, [write_lines(tmp_path / "a.jsonl", rows)])
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    check_same(tmp_path, [tmp_path / "a.parquet"], name="parquet")


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_columns_that_are_called_like_ours(spark, table, tmp_path, suffix):
    """The answers take the place of columns of the same name, as in the local engine; a dot is a letter like others."""
    ours = {"keep": "k", "cluster": 7, "similarity": [1], "_removed": 1, "a b,c": 2}
    rows = [{"m.t": row["text"], "id": row["id"], **ours, "m": {"t": "no"}} for row in table.to_pylist()]
    path = tmp_path / f"a.{suffix}"
    if suffix == "jsonl":
        write_lines(path, rows)
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    check_same(tmp_path, [path], "--text-column", "m.t", "--mode", "annotate", results=["annotated"])
    check_same(tmp_path, [path], "--text-column", "m.t", name="removed")


@pytest.mark.parametrize("lines", [["{bad\n", "{bad\n"], ["[]\n"]])
def test_nothing_but_bad_records(spark, tmp_path, capsys, lines):
    path = write_lines(tmp_path / "bad.jsonl", lines)
    with pytest.raises(SystemExit):
        main(["dedup", str(path), "-o", str(tmp_path / "local")])
    said = [line for line in capsys.readouterr().err.splitlines() if "no documents" in line]
    assert refused(capsys, tmp_path / "out", [path]) == said[-1]


def test_only_a_header(spark, tmp_path, capsys):
    (tmp_path / "a.csv").write_text("id,text\n")
    said = refused(capsys, tmp_path / "out", [tmp_path / "a.csv"])
    assert said == f"neardup: There are no documents in {tmp_path / 'a.csv'}."


def test_refused_columns(spark, tmp_path, capsys):
    """What a DataFrame cannot hold is said in one line."""
    (tmp_path / "twice.csv").write_text("text,a,a\nhello,1,2\n")
    assert "more than one column 'a'" in refused(capsys, tmp_path / "out", [tmp_path / "twice.csv"])
    a = write_lines(tmp_path / "a.jsonl", [{"text": "one"}])
    b = write_lines(tmp_path / "b.jsonl", [{"body": "two"}])
    assert "'text' of some files and in 'body'" in refused(capsys, tmp_path / "out", [a, b])
    page = write_lines(tmp_path / "p.jsonl", [{"html": "<p>one"}])
    assert "'html_text'" in refused(capsys, tmp_path / "out", [page], "--html-text", "segments")


# output and stages -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ü #%41'?", "br[a]{b}*", "-o"])
def test_output_folder_of_any_name(spark, table, tmp_path, name):
    pq.write_table(table, tmp_path / "a.parquet")
    check_same(tmp_path, [tmp_path / "a.parquet"], name=name)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["a.parquet", "local", name])


def test_work_folder_of_any_name(spark, table, tmp_path):
    """Stages stay in a folder that was named, and beside whatever else is in it."""
    pq.write_table(table, tmp_path / "a.parquet")
    work = tmp_path / "work %20 x"
    work.mkdir()
    (work / "mine").touch()
    check_same(tmp_path, [tmp_path / "a.parquet"], "--work-dir", str(work))
    stages = [path for path in work.iterdir() if path.is_dir()]
    assert len(stages) == 1 and (stages[0] / "manifest.json").exists() and (work / "mine").exists()


def test_refused_runs_are_forgotten(spark, table, tmp_path, capsys):
    """Another column of ids is tried in the same folder after one whose ids are not unique."""
    rows = [{**row, "id": "same", "url": row["id"]} for row in table.to_pylist()]
    path = write_lines(tmp_path / "a.jsonl", rows)
    assert "stand for more than one document" in refused(capsys, tmp_path / "spark", [path])
    assert not list((tmp_path / "spark").iterdir())
    check_same(tmp_path, [path], "--id-column", "url")


def test_stages_of_another_run(spark, table, tmp_path, capsys, monkeypatch):
    """They are refused, or removed with --force; those of the same run are gone on from."""
    from neardup.cli import spark_engine
    from neardup.cli.spark_folder import Target

    path = write_lines(tmp_path / "a.jsonl", table.to_pylist())
    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(spark_engine, "_written", stop)
        with pytest.raises(SystemExit) as stopped:
            spark_run(out, [path])
    said = capsys.readouterr().err
    assert stopped.value.code == 130
    assert said.endswith(f"kept in {out / '.stages'}: the same command goes on from there\n")
    assert "--force" in refused(capsys, out, [path], "--threshold", "0.9")
    run = next((out / ".stages").iterdir())
    before = (run / "manifest.json").read_text()
    report = spark_run(out, [path])
    assert not report["seconds"] and "ids" in json.loads(before)["stages"]
    with monkeypatch.context() as patched:
        patched.setattr(Target, "finish", stop)
        with pytest.raises(SystemExit):
            spark_run(out, [path], "--threshold", "0.9", "--force")
    report = spark_run(out, [path], "--force")
    assert report["seconds"] and not (out / ".stages").exists()


def stop(*_):
    raise KeyboardInterrupt


def test_results_of_another_mode(spark, table, tmp_path, capsys):
    """Nothing of an earlier result is left beside a new one, whichever engine wrote it; strangers stay."""
    pq.write_table(table, tmp_path / "a.parquet")
    out = tmp_path / "out"
    main(["dedup", str(tmp_path / "a.parquet"), "-o", str(out)])
    assert "report.json exists" in refused(capsys, out, [tmp_path / "a.parquet"])
    spark_run(out, [tmp_path / "a.parquet"], "--force")
    names = {"kept", "removed", "pairs", "clusters", "report.json"}
    assert {path.name for path in out.iterdir()} == names
    (out / "annotated.txt").touch()
    assert "exists" in refused(capsys, out, [tmp_path / "a.parquet"], "--mode", "annotate")
    spark_run(out, [tmp_path / "a.parquet"], "--mode", "annotate", "--force")
    assert {path.name for path in out.iterdir()} == names - {"kept", "removed"} | {
        "annotated",
        "annotated.txt",
    }
    assert len(pq.read_table(out / "annotated")) == len(table)
    main(["dedup", str(tmp_path / "a.parquet"), "-o", str(out), "--force"])
    names = {f"{name}.parquet" for name in ("kept", "removed", "pairs", "clusters")} | {"report.json"}
    assert {path.name for path in out.iterdir()} == names | {"annotated.txt"}


def test_results_are_not_overwritten_while_they_are_read(spark, table, tmp_path, capsys):
    pq.write_table(table, tmp_path / "a.parquet")
    spark_run(tmp_path / "out", [tmp_path / "a.parquet"])
    before = sorted((tmp_path / "out" / "kept").iterdir())
    said = refused(capsys, tmp_path / "out", [tmp_path / "out" / "kept"], "--force")
    assert "is an input of this run" in said and sorted((tmp_path / "out" / "kept").iterdir()) == before


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
    from neardup.engines.spark.starting import check_master
    from neardup.errors import NeardupError

    with pytest.raises(NeardupError) as error:
        check_master(master)
    assert str(error.value).endswith(said)


def test_reasons():
    """The one that Spark gives, wherever it gives it."""
    from neardup.engines.spark.starting import reason

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
def test_interrupted(java, table, tmp_path):
    """One line for Ctrl-C, in whatever it interrupts; then the same command ends as if nothing had been."""
    path = write_lines(tmp_path / "a.jsonl", table.to_pylist())
    arguments = (path, "-o", tmp_path / "out", "--master", "local[1]")
    run = command(*arguments, start_new_session=True)
    while run.poll() is None and not list(tmp_path.glob("out/.stages/*/manifest.json")):
        time.sleep(0.05)
    os.killpg(run.pid, signal.SIGINT)
    said = run.communicate(timeout=120)[1]
    ours = [line for line in said.splitlines() if line.startswith("neardup:")]
    assert run.returncode == 130 and "Traceback" not in said, said
    assert ours == [f"neardup: stopped; what is done so far is kept in {tmp_path / 'out' / '.stages'}: the same "
                    "command goes on from there"]  # fmt: skip
    again = command(*arguments)
    assert not again.wait(120) and (tmp_path / "out" / "report.json").exists()
    assert not (tmp_path / "out" / ".stages").exists()
