"""`neardup dedup --engine spark` over files of all kinds reads what the local engine reads, and reports the same."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commanding import check_same, printed, refused, spark_run, write_lines
from remote_servers import web_server

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


def write_rows(path, rows):
    if path.suffix == ".jsonl":
        return write_lines(path, rows)
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


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
    from neardup.engines.core.documents import InputColumns
    from neardup.engines.spark.io.files import load

    pq.write_table(table, tmp_path / "plain.parquet")
    pq.write_table(table, tmp_path / "_hidden.parquet")
    for name, own in (("plain", True), ("_hidden", False)):
        frame = load(spark, open_inputs([str(tmp_path / f"{name}.parquet")]), InputColumns()).frame
        assert bool(frame.inputFiles()) is own and frame.count() == len(table)


@pytest.mark.slow
def test_addresses_are_read_by_our_readers(spark, table, tmp_path):
    pq.write_table(table, tmp_path / "a.parquet")
    with web_server() as web:
        web.files["/a.parquet"] = (tmp_path / "a.parquet").read_bytes()
        report, _ = check_same(tmp_path, [f"{web.address}/a.parquet"])
    assert report["documents"] == len(table) and report["removed"]


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
        assert printed(pq.read_table(tmp_path / name / "clusters.parquet")) == printed(theirs), name
        kept = pq.read_table(tmp_path / name / "kept.parquet").drop_columns(["id"])
        assert printed(kept) == printed(
            pq.read_table(tmp_path / "local" / "kept.parquet").drop_columns(["id"])
        )
        local = json.loads((tmp_path / "local" / "report.json").read_text())["problems"]
        assert (
            report["problems"]["counts"] == local["counts"] and report["problems"]["first"] == local["first"]
        )


def clusters_of_texts(folder):
    """The schema of a table of clusters with ids as texts: Spark has no integers without a sign."""
    schema = pq.read_schema(folder / "clusters.parquet")
    fields = [field.with_type(pa.string()) if pa.types.is_uint64(field.type) else field for field in schema]
    return pa.schema(fields)


@pytest.mark.slow
def test_plain_parquet_without_some_ids(spark, table, tmp_path):
    """Spark reads the file itself, and calls documents as the local engine does; strict runs stop there."""
    ids = [None if place % 5 == 0 else name for place, name in enumerate(table["id"].to_pylist())]
    pq.write_table(table.set_column(0, "id", pa.array(ids, pa.string())), tmp_path / "a.parquet")
    report, local = check_same(tmp_path, [tmp_path / "a.parquet"])
    assert report["problems"]["counts"] == {"no id": len(table) // 5 + bool(len(table) % 5)}
    assert report["problems"]["first"] == local["problems"]["first"]
    with pytest.raises(SystemExit):
        spark_run(tmp_path / "strict", [tmp_path / "a.parquet"], "--strict")
    assert not (tmp_path / "strict" / "kept.parquet").exists()


@pytest.mark.parametrize("number", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_lines_without_some_ids(spark, table, tmp_path, number):
    """Documents without an id are called by file and number, bad records are counted: as in the local engine."""
    rows = table.to_pylist()
    for place, row in enumerate(rows):
        row["id"] = None if place % 4 == 1 else place if number else row["id"]
    a = write_lines(tmp_path / "a.jsonl", [*rows[:9], "{bad\n"])
    b = write_lines(tmp_path / "b.jsonl", [{"text": row["text"]} for row in rows[9:]])
    report, local = check_same(tmp_path, [a, b])
    assert report["problems"] == local["problems"] and report["problems"]["total"] > 1


@pytest.mark.slow
def test_damaged_parquet(spark, table, tmp_path, capsys):
    """Where Spark cannot read a file to its end, our readers leave out what is damaged, and report it."""
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, row_group_size=10, compression="zstd")
    content = bytearray(path.read_bytes())
    start = content.index(b"PAR1", 4) // 3
    content[start : start + 200] = bytes(200)
    path.write_bytes(bytes(content))
    report, local = check_same(tmp_path, [path])
    assert report["problems"] == local["problems"] and "damaged parquet" in report["problems"]["counts"]
    assert f"{path} cannot be read by Spark" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_columns_that_differ_in_case_only(spark, sensitive, table, tmp_path, suffix):
    rows = [{**row, "Title": "a", "title": "b", "TEXT": "other"} for row in table.to_pylist()]
    check_same(tmp_path, [write_rows(tmp_path / f"a.{suffix}", rows)])


@pytest.mark.parametrize("suffix", ["jsonl", pytest.param("parquet", marks=pytest.mark.slow)])
def test_columns_that_are_called_like_ours(spark, table, tmp_path, suffix):
    """Added columns get another name, as in the local engine; a dot is a letter like others."""
    ours = {"keep": "k", "cluster": 7, "similarity": [1], "_removed": 1, "a b,c": 2}
    rows = [{"m.t": row["text"], "id": row["id"], **ours, "m": {"t": "no"}} for row in table.to_pylist()]
    path = write_rows(tmp_path / f"a.{suffix}", rows)
    check_same(tmp_path, [path], "--text-column", "m.t", "--mode", "annotate", results=["annotated"])
    if suffix == "parquet":
        check_same(tmp_path, [path], "--text-column", "m.t", name="removed")


@pytest.mark.parametrize(
    ("empty", "keep"),
    [
        ("remove", "longest"),
        pytest.param("one", "last", marks=pytest.mark.slow),
        pytest.param("one", "highest:rank", marks=pytest.mark.slow),
    ],
)
def test_documents_without_a_token(spark, table, tmp_path, empty, keep):
    """Both engines remove the same ones, and say the same of them."""
    rows = [{**row, "rank": place % 3} for place, row in enumerate(table.to_pylist())]
    rows += [
        {**rows[0], "id": f"empty{k}", "text": text, "rank": k} for k, text in enumerate(["", "…!", "?"])
    ]
    path = write_lines(tmp_path / "a.jsonl", rows)
    report, local = check_same(tmp_path, [path], "--empty", empty, "--keep", keep)
    assert report["removals"] == local["removals"]
    assert report["removals"]["empty"] == report["without_tokens"] - (empty == "one") >= 2
    if empty == "one" and keep == "last":
        check_same(tmp_path, [path], "--empty", empty, "--mode", "annotate", results=["annotated"], name="b")


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
    assert said == f"neardup: {tmp_path / 'a.csv'}: no documents found."


def test_refused_columns(spark, tmp_path, capsys):
    """What a DataFrame cannot hold is said in one line."""
    (tmp_path / "twice.csv").write_text("text,a,a\nhello,1,2\n")
    assert "more than one column 'a'" in refused(capsys, tmp_path / "out", [tmp_path / "twice.csv"])
    a = write_lines(tmp_path / "a.jsonl", [{"text": "one"}])
    b = write_lines(tmp_path / "b.jsonl", [{"body": "two"}])
    assert "'text' of some files and in 'body'" in refused(capsys, tmp_path / "out", [a, b])
