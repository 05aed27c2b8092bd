"""csv as Excel and others write it, and files that are one JSON array."""

from __future__ import annotations

import csv
import gzip
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup
from neardup.documents import LIMITS, Limits, Problems, open_inputs
from neardup.documents.dialects import Dialect
from neardup.documents.json_array import array_lines
from neardup.errors import InputError, ParameterError

ROWS = [
    {"id": "1", "text": "Der Schlüssel, groß; und schön", "note": "a"},
    {"id": "2", "text": "Zwei\nZeilen", "note": "b"},
    {"id": "3", "text": 'Ein "Wort" für dich', "note": ""},
]


def written(delimiter: str = ",", encoding: str = "utf-8", head: str = "", header: bool = True) -> bytes:
    stream = io.StringIO(newline="")
    out = csv.writer(stream, delimiter=delimiter, lineterminator="\r\n")
    for row in ([list(ROWS[0])] if header else []) + [list(row.values()) for row in ROWS]:
        out.writerow(row)
    return (head + stream.getvalue()).encode(encoding)


def rows(source, problems: Problems | None = None) -> list[dict]:
    found = problems or Problems()
    read = [row for batch in source.read(None, found) for row in batch.columns.to_pylist()]
    assert problems is not None or found.total == 0, found.first
    return read


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_delimiter_and_encoding_are_detected(tmp_path, delimiter, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes(written(delimiter, encoding))
    inputs = open_inputs([str(path)])
    assert rows(inputs[0]) == ROWS
    assert (encoding == "cp1252") == any("encoding cp1252" in note for note in inputs.notes)
    assert (delimiter != ",") == any("(--delimiter)" in note for note in inputs.notes)


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252", "utf-8"])
def test_a_line_that_names_the_delimiter_is_no_record(tmp_path, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes(written(":", encoding, head="sep=:\r\n"))
    (source,) = open_inputs([str(path)])
    assert rows(source) == ROWS and source.delimiter == ":"
    (batch,) = source.read([], Problems(), raw=True)
    assert batch.numbers.tolist() == [1, 2, 3]


def test_dialects_that_cannot_be_seen_are_given(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(written("^", "cp437"))
    (source,) = open_inputs([str(path)], dialect=Dialect.of("^", "cp437", None))
    assert rows(source) == ROWS
    path.write_bytes(written("\t", "latin-1"))
    assert rows(open_inputs([str(path)], dialect=Dialect.of("tab", "latin1", None))[0]) == ROWS


def test_a_file_without_a_header_gets_names(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(written(";", header=False))
    (source,) = open_inputs([str(path)], dialect=Dialect.of(None, None, "id, text,note"))
    assert rows(source) == ROWS
    assert [batch.numbers.tolist() for batch in source.read([], Problems())] == [[1, 2, 3]]
    path.write_bytes(written(header=False) + b"4,short\n")
    problems = Problems()
    source = open_inputs([str(path)], dialect=Dialect.of(None, None, ["id", "text", "note"]))[0]
    assert len(rows(source, problems)) == 3 and problems.first[0].record == 4


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("text\na;b\nc\n", ","),
        ("text\nonly words\n", ","),
        ("id;text\n1;a, b, c\n2;d, e\n", ";"),
        ("a,b\n1;2,3\n4;5,6\n", ","),
        ("id|text\n1|x,y\n", "|"),
        ("a;b;c\n1,0;2,0;3,0\n4,5;5,5;6,5\n", ";"),
        ("id,text\n1,a;b;c;d\n", ","),
        ("", ","),
    ],
)
def test_the_delimiter_is_what_gives_a_table(tmp_path, text, delimiter):
    path = tmp_path / "a.csv"
    path.write_text(text or "x\n")
    assert open_inputs([str(path)])[0].delimiter == delimiter


def test_damaged_utf_8_is_not_taken_for_windows(tmp_path):
    path = tmp_path / "a.csv"
    for data in (b"id,text\n1,\xff\n", "id,text\n1,schön\n".encode() + b"2,sch\xf6n\n"):
        path.write_bytes(data)
        problems = Problems()
        rows(open_inputs([str(path)])[0], problems)
        assert "invalid UTF-8" in problems.first[0].reason


def test_kept_rows_keep_their_delimiter(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"id;text\r\n1;the same words, again\r\n2;the same words, again\r\n3;others\r\n")
    neardup.dedup(str(path), threads=1, keep="first").write(tmp_path / "out")
    assert (
        tmp_path / "out" / "kept.csv"
    ).read_bytes() == b"id;text\r\n1;the same words, again\r\n3;others\r\n"
    assert b"2;the same words, again;1;" in (tmp_path / "out" / "removed.csv").read_bytes()
    (tmp_path / "b.csv").write_text("id,text\n4,more; of it\n")
    both = neardup.dedup([str(path), str(tmp_path / "b.csv")], threads=1)
    both.write(tmp_path / "both")
    kept = rows(open_inputs([str(tmp_path / "both" / "kept.csv")])[0])
    assert [row["id"] for row in kept] == ["1", "3", "4"] and kept[2]["text"] == "more; of it"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((";;", None, None), "delimiter"),
        (("\n", None, None), "delimiter"),
        ((None, "klingon", None), "encoding"),
        ((None, "base64", None), "encoding"),
        ((None, None, "a,,b"), "columns"),
    ],
)
def test_impossible_dialects_are_refused(given, said):
    with pytest.raises(ParameterError, match=said):
        Dialect.of(*given)


def test_options_of_csv_are_refused_for_other_inputs(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n')
    with pytest.raises(InputError, match="--delimiter is for csv"):
        open_inputs([str(tmp_path / "a.jsonl")], dialect=Dialect.of(";", None, None))
    (tmp_path / "a.txt").write_bytes("schön".encode("cp1252"))
    (source,) = open_inputs([str(tmp_path / "a.txt")], dialect=Dialect.of(None, "cp1252", None))
    assert rows(source)[0]["text"] == "schön"


# --- arrays --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("indent", [None, 0, 2])
@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_an_array_of_objects_is_read(tmp_path, indent, suffix):
    data = json.dumps(ROWS, indent=indent, ensure_ascii=False).encode()
    path = tmp_path / f"a{suffix}"
    path.write_bytes(gzip.compress(data) if suffix.endswith(".gz") else data)
    (source,) = open_inputs([str(path)])
    assert rows(source) == ROWS
    assert neardup.dedup(str(path), threads=1).report["documents"] == 3
    neardup.dedup(str(path), threads=1).write(tmp_path / "out", format="parquet")
    assert rows(open_inputs([str(tmp_path / "out" / "kept.parquet")])[0]) == ROWS


@pytest.mark.parametrize(
    ("data", "read", "said"),
    [
        ('[{"text": "a"}, {"text": "b"', 1, "Expecting"),
        ('[{"text": "a"}, {"text": oops}, {"text": "c"}]' + " " * 40, 1, "Expecting value"),
        ('[{"text": "a"}', 1, "not closed"),
        ('[{"text": "a"}] [1]', 1, "behind the array"),
        ('[{"text": "a"}, 3, {"text": "b"}]', 2, "not a JSON object"),
        ('[{"text": "a"}, {"text": ' + "[" * 5000, 1, "invalid JSON"),
    ],
)
def test_damage_in_an_array_is_reported(tmp_path, data, read, said):
    (tmp_path / "a.json").write_text(data)
    problems = Problems()
    (source,) = open_inputs([str(tmp_path / "a.json")])
    assert len(rows(source, problems)) == read
    assert any(said in one.reason for one in problems.first), problems.first


@pytest.mark.parametrize("data", ['{\n "data": [1]\n}\n', "[1, 2]", '"text"', "nonsense"])
def test_other_json_is_refused_with_a_true_sentence(tmp_path, data):
    (tmp_path / "a.json").write_text(data)
    with pytest.raises(InputError, match="neither lines of JSON objects nor one array of objects"):
        open_inputs([str(tmp_path / "a.json")])


values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(values, max_size=6), st.integers(1, 9), st.sampled_from([None, 1]), st.booleans())
def test_an_array_in_any_pieces_gives_its_elements(elements, size, indent, ascii):
    data = json.dumps(elements, indent=indent, ensure_ascii=ascii).encode("utf-8", "surrogatepass")
    pieces = (data[at : at + size] for at in range(0, len(data), size))
    problems = Problems()
    lines = b"".join(array_lines(pieces, "a", LIMITS, problems)).decode("utf-8", "surrogatepass")
    assert problems.total == 0, problems.first
    assert [json.loads(line) for line in lines.split("\n") if line] == elements


def test_a_long_element_is_refused_and_memory_stays_bounded(tmp_path):
    (tmp_path / "a.json").write_text('[{"text": "a"}, {"text": "' + "x" * (9 << 20))
    problems = Problems()
    (source,) = open_inputs([str(tmp_path / "a.json")], limits=Limits(record=4 << 20))
    assert len(rows(source, problems)) == 1 and "record too long" in problems.first[0].reason
