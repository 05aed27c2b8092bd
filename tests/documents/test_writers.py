"""Every format into every other, verbatim copies, added columns."""

import csv
import gzip
import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import put, rows, table

from neardup.documents import Problems, open_inputs, open_writer, output_format, output_layout, unified_schema
from neardup.documents.formulas import escaped
from neardup.errors import OutputError

EXTRA = pa.schema([("keep", pa.bool_()), ("cluster", pa.string()), ("similarity", pa.float64())])


def copied(inputs, folder, wanted=None, rows=None, extra=None):
    """The inputs written as the engine does it: the rows whose place is in `rows`, with `extra` values."""
    sources = open_inputs(inputs)
    layout = output_layout(sources, wanted)
    path = folder / f"out.{layout.extension}"
    writer = layout.open(path, extra and EXTRA)
    done = 0
    for source in sources:
        for batch in source.read(layout.columns, Problems(), raw=layout.verbatim):
            places = np.arange(done, done + len(batch))
            done += len(batch)
            chosen = np.arange(len(batch)) if rows is None else np.flatnonzero(np.isin(places, rows))
            added = extra and pa.RecordBatch.from_pylist([extra] * len(chosen), schema=EXTRA)
            writer.write(batch, chosen if rows is not None else None, added)
    writer.close()
    return path


@pytest.fixture
def corpus(tmp_path):
    records = [
        {"id": 1, "text": 'a, "b"\nc', "n": 1.5, "tags": ["x"]},
        {"id": 2, "text": "\u2028 é \U0001f600", "n": None, "tags": []},
        {"id": 3, "text": "=SUM(A1)", "n": -2.0, "tags": ["y", "z"]},
    ]
    pq.write_table(pa.Table.from_pylist(records), tmp_path / "a.parquet", compression="gzip")
    put(tmp_path / "a.jsonl", "".join(json.dumps(record) + "\n" for record in records))
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "text", "n"], *([r["id"], r["text"], r["n"]] for r in records)])
    return tmp_path, records


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_the_same_format_keeps_the_bytes_of_records(corpus, name):
    folder, _ = corpus
    assert copied([folder / name], folder).read_bytes() == (folder / name).read_bytes()


def test_parquet_keeps_schema_and_codec(corpus):
    folder, records = corpus
    path = copied([folder / "a.parquet"], folder)
    file = pq.ParquetFile(path)
    assert file.schema_arrow.equals(pq.read_schema(folder / "a.parquet"))
    assert file.metadata.row_group(0).column(1).compression == "GZIP"
    assert rows(path)[0] == records


@pytest.mark.parametrize("wanted", ["parquet", "jsonl", "csv", "tsv", "jsonl.gz", "jsonl.zst", "csv.gz"])
@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl", "a.csv"])
def test_every_format_into_every_other(corpus, name, wanted):
    folder, records = corpus
    path = copied([folder / name], folder, wanted, rows=[0, 1])
    assert path.name == f"out.{wanted}"
    found, problems = rows(path)
    assert [row["text"] for row in found] == [record["text"] for record in records[:2]]
    assert [str(row["id"]) for row in found] == ["1", "2"]
    assert not problems.total
    if "csv" not in (name[2:], wanted[:3]) and wanted != "tsv":
        assert found == records[:2]


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl", "a.csv"])
@pytest.mark.parametrize("wanted", [None, "parquet", "jsonl", "csv"])
def test_columns_are_added(corpus, name, wanted):
    folder, _ = corpus
    extra = {"keep": True, "cluster": 'a"b', "similarity": 0.5}
    found, _ = rows(copied([folder / name], folder, wanted, rows=[0, 2], extra=extra))
    assert [str(row["id"]) for row in found] == ["1", "3"]
    for row in found:
        assert (str(row["keep"]).lower(), row["cluster"], str(row["similarity"])) == ("true", 'a"b', "0.5")


def test_added_members_of_json_are_spliced_before_the_brace(tmp_path):
    lines = [
        b'{"text":"a"}',
        b" { } \r",
        b'{"text": "\xff"}\t',
        b'{"keep": 3, "text": "b"}',
        b'{"text": "\\"keep\\""}',
    ]
    path = put(tmp_path / "a.jsonl", b"\n".join(lines) + b"\n")
    extra = {"keep": None, "cluster": "c\u2028", "similarity": math.nan}
    out = copied([path], tmp_path, extra=extra).read_bytes().splitlines()
    added = b'"keep": null, "cluster": "c\xe2\x80\xa8", "similarity": null}'
    assert out == [
        b'{"text":"a", ' + added,
        b" { " + added,
        b'{"text": "\xff", ' + added,
        b'{"text": "b", ' + added,
        b'{"text": "\\"keep\\"", ' + added,
    ]


def test_an_added_column_replaces_one_of_the_same_name(tmp_path):
    pq.write_table(pa.table({"keep": [1], "text": ["a"]}), tmp_path / "a.parquet")
    put(tmp_path / "b.csv", "keep,text\n1,a\n")
    extra = {"keep": False, "cluster": "c", "similarity": 1.0}
    assert rows(copied([tmp_path / "a.parquet"], tmp_path, extra=extra))[0] == [{"text": "a", **extra}]
    out = copied([tmp_path / "b.csv"], tmp_path, extra=extra).read_text()
    assert out == "text,keep,cluster,similarity\na,false,c,1\n"


def test_sources_of_different_columns_are_unified(tmp_path):
    put(tmp_path / "a.jsonl", '{"id": 1, "text": "a", "x": 1}\n')
    put(tmp_path / "b.csv", "text,id\nb,two\n")
    pq.write_table(pa.table({"text": ["c"], "x": [1.5]}), tmp_path / "c.parquet")
    sources = open_inputs([tmp_path])
    assert [(f.name, str(f.type)) for f in unified_schema(sources)] == [
        ("id", "string"),
        ("text", "string"),
        ("x", "double"),
    ]
    out = copied([tmp_path], tmp_path)
    assert [json.loads(line) for line in out.read_text().splitlines()] == [
        {"id": "1", "text": "a", "x": 1.0},
        {"id": "two", "text": "b", "x": None},
        {"id": None, "text": "c", "x": 1.5},
    ]


def test_csv_files_of_different_headers_are_not_copied_blindly(tmp_path):
    put(tmp_path / "a.csv", "id,text\n1,a\n")
    put(tmp_path / "b.csv", "text,id\nb,2\n")
    assert copied([tmp_path], tmp_path).read_text() == "id,text\n1,a\n2,b\n"


@pytest.mark.parametrize(
    ("names", "wanted", "result"),
    [
        (["a.parquet"], None, ("parquet", "parquet", "zstd-fast")),
        (["a.jsonl"], None, ("jsonl", "jsonl", None)),
        (["a.jsonl.gz"], None, ("jsonl", "jsonl.gz", "gzip")),
        (["a.jsonl", "a.jsonl.gz"], None, ("jsonl", "jsonl", None)),
        (["a.tsv"], None, ("tsv", "tsv", None)),
        (["a.txt"], None, ("jsonl", "jsonl", None)),
        (["a.txt", "a.jsonl"], None, ("jsonl", "jsonl", None)),
        (["a.jsonl.gz"], "parquet", ("parquet", "parquet", "zstd")),
        (["a.jsonl"], "csv.zst", ("csv", "csv.zst", "zstd")),
        (["a.jsonl"], ".parquet", ("parquet", "parquet", "zstd")),
    ],
)
def test_the_output_format(tmp_path, names, wanted, result):
    for name in names:
        put(tmp_path / name, gzip.compress(b"{}") if name.endswith("gz") else '{"text": "a"}\n')
    if "a.parquet" in names:
        pq.write_table(pa.table({"text": ["a"]}), tmp_path / "a.parquet")
    assert output_format(open_inputs([tmp_path / name for name in names]), wanted) == result


def test_memory_becomes_parquet_and_unknown_formats_are_refused(tmp_path):
    sources = open_inputs([["a", "b"]])
    assert output_format(sources, None) == ("parquet", "parquet", "zstd")
    for wanted in ("xml", "parquet.gz", "jsonl.rar"):
        with pytest.raises(OutputError, match="choose parquet, jsonl, csv, tsv"):
            output_format(sources, wanted)
    with pytest.raises(OutputError, match="choose one of parquet"):
        open_writer(tmp_path / "x", "xml", columns=[])


def test_formulas_are_escaped_in_cells_that_are_made_and_not_in_those_that_are_copied(tmp_path):
    cells = ["=1", "+x", "-5", "-1.5e3", "- item", "@a", "\tb", "\rc", "plain", "", None, "1=1"]
    wanted = ["'=1", "'+x", "-5", "-1.5e3", "'- item", "'@a", "'\tb", "'\rc", "plain", "", "", "1=1"]
    assert [text or "" for text in escaped(pa.array(cells)).to_pylist()] == wanted
    assert (
        rows(copied([pa.table({"text": cells, "n": [1] * len(cells)})], tmp_path, "csv"))[0][0]["text"]
        == "'=1"
    )
    path = put(tmp_path / "b.csv", "id,text\n1,=1\n")
    extra = {"keep": True, "cluster": "=2", "similarity": -1.0}
    assert copied([path], tmp_path, extra=extra).read_text().splitlines()[1] == "1,=1,true,'=2,-1"


def test_an_output_without_rows_still_has_its_columns(corpus):
    folder, _ = corpus
    assert pq.read_schema(copied([folder / "a.parquet"], folder, rows=[])).names == [
        "id",
        "text",
        "n",
        "tags",
    ]
    assert copied([folder / "a.csv"], folder, rows=[]).read_text() == "id,text,n\n"
    assert copied([folder / "a.jsonl"], folder, rows=[]).read_text() == ""


def test_types_that_parquet_does_not_have_become_text(tmp_path):
    data = pa.table(
        {
            "text": pa.array(["a", None], pa.string_view()),
            "empty": pa.array([{}, None], pa.struct([])),
            "runs": pa.RunEndEncodedArray.from_arrays([2], ["x"]),
        }
    )
    assert rows(copied([data], tmp_path))[0] == [
        {"text": "a", "empty": "{}", "runs": "x"},
        {"text": None, "empty": None, "runs": "x"},
    ]


def test_row_groups_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("neardup.documents.parquet_writer.GROUP_BYTES", 100_000)
    texts = [f"{n} " + "x" * 1000 for n in range(3000)]
    pq.write_table(pa.table({"text": texts}), tmp_path / "a.parquet", row_group_size=50)
    path = copied([tmp_path / "a.parquet"], tmp_path)
    assert table(path)["text"].to_pylist() == texts
    metadata = pq.ParquetFile(path).metadata
    sizes = [metadata.row_group(n).total_byte_size for n in range(metadata.num_row_groups)]
    assert 90_000 < max(sizes) < 170_000
    assert not metadata.row_group(0).column(0).is_stats_set


def test_chosen_rows_are_written_in_order(tmp_path):
    data = pa.table({"id": range(300), "text": [f"text {k} " * (k % 40) for k in range(300)]})
    kept = [k for k in range(300) if k % 9 != 4]
    assert table(copied([data], tmp_path, rows=kept)).equals(data.take(kept))


def test_gzip_depends_on_content_only(corpus):
    folder, _ = corpus
    first = copied([folder / "a.jsonl"], folder, "jsonl.gz").read_bytes()
    (folder / "b").mkdir()
    assert copied([folder / "a.jsonl"], folder / "b", "jsonl.gz").read_bytes() == first


def test_values_that_json_does_not_have(tmp_path):
    import datetime
    import decimal

    data = pa.table(
        {
            "text": ["a"],
            "when": [datetime.datetime(2020, 1, 2, 3, 4, 5)],
            "day": [datetime.date(2020, 1, 2)],
            "price": [decimal.Decimal("1.50")],
            "data": [b"\xff\0"],
            "nan": [math.nan],
        }
    )
    line = json.loads(copied([data], tmp_path, "jsonl").read_text())
    assert line == {
        "text": "a",
        "when": "2020-01-02T03:04:05",
        "day": "2020-01-02",
        "price": "1.50",
        "data": "/wA=",
        "nan": None,
    }


texts = st.text(st.characters(codec="utf-8"), max_size=20)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(texts, st.none() | st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=6),
    st.sampled_from(["parquet", "jsonl", "csv", "tsv"]),
)
def test_tables_survive_a_round_trip(tmp_path_factory, records, format):
    folder = tmp_path_factory.mktemp("any")
    data = pa.table(
        {"text": [text for text, _ in records], "id": pa.array([n for _, n in records], pa.int64())}
    )
    sources = open_inputs([data])
    path = folder / f"a.{format}"
    writer = open_writer(path, format, data.schema, escape_formulas=False)
    for batch in sources[0].read(None, Problems()):
        writer.write(batch)
    writer.close()
    found, problems = rows(path)
    assert [row["text"] for row in found] == [text for text, _ in records]
    assert [row["id"] or None for row in found if row["id"] not in (0, "0")] == [
        n if format in ("parquet", "jsonl") else n if n is None else str(n) for _, n in records if n != 0
    ]
    assert not problems.total
