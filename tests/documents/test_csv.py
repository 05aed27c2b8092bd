"""csv and tsv files, well-formed and not."""

import csv
import gzip
import io

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reading import batches, numbers, put, rows

from neardup.documents import BATCH_ROWS, Limits, Problems, choose_columns, open_inputs
from neardup.documents.delimited import DelimitedSource
from neardup.errors import InputError


def test_cells_are_text(tmp_path):
    path = put(tmp_path / "a.csv", 'id,text,n\n007,"a, ""b""\nc",1.50\n8,,\n')
    assert rows(path)[0] == [
        {"id": "007", "text": 'a, "b"\nc', "n": "1.50"},
        {"id": "8", "text": "", "n": ""},
    ]
    assert rows(path, ["n", "missing"])[0] == [{"n": "1.50", "missing": None}, {"n": "", "missing": None}]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends(tmp_path, end, last):
    lines = ["id,text", '1,"a"', "2,b"]
    path = put(tmp_path / "a.csv", end.join(lines) + (end if last else ""))
    assert [row["text"] for row in rows(path)[0]] == ["a", "b"]


def test_tsv_and_compression(tmp_path):
    path = put(tmp_path / "a.tsv.gz", gzip.compress(b'id\ttext\n1\ta,b\n2\t"c\td"\n'))
    assert [row["text"] for row in rows(path)[0]] == ["a,b", "c\td"]
    assert open_inputs([path])[0].format == "tsv"


def test_wrong_rows_are_reported_and_the_rest_goes_on(tmp_path):
    path = put(tmp_path / "a.csv", b"id,text\n1,a\n2,b,c\n\n3\n4,d\n5,e\xff\n")
    found, problems = rows(path)
    assert [row["text"] for row in found] == ["a", "d", "e\ufffd"]
    assert numbers(path) == [1, 4, 5]
    assert problems.counts == {"wrong number of cells": 2, "invalid UTF-8": 1}
    assert [problem.record for problem in problems.first] == [2, 3, 5]


def test_stray_quotes_do_not_swallow_rows(tmp_path):
    path = put(tmp_path / "a.csv", 'id,text\n1,a 5" pipe\n2,"b ""q"" c"\n3,"d" e\n4,"f\ng"\n')
    assert [row["text"] for row in rows(path)[0]] == ['a 5" pipe', 'b "q" c', "d e", "f\ng"]


def test_a_quote_that_is_never_closed_costs_one_row(tmp_path):
    path = put(tmp_path / "a.csv", 'id,text\n1,a\n2,"open\n3,c\n4,d\n')
    found, problems = rows(path)
    assert [row["id"] for row in found] == ["1", "3", "4"]
    assert numbers(path) == [1, 3, 4]
    assert problems.counts == {"malformed csv": 1}


def test_a_record_beyond_the_cap_is_taken_for_an_open_quote(tmp_path, monkeypatch):
    monkeypatch.setattr("neardup.documents.blocks.BATCH_BYTES", 1 << 18)
    many = range(3, 99_000)
    path = put(tmp_path / "a.csv", 'id,text\n1,a\n2,"open\n' + "".join(f"{n},text {n}\n" for n in many))
    found, problems = rows(path, limits=Limits(record=4 << 20))
    assert [row["id"] for row in found] == ["1", *map(str, many)]
    assert problems.counts == {"malformed csv": 1}


def test_a_bare_return_outside_quotes_is_one_bad_row(tmp_path):
    path = put(tmp_path / "a.csv", "id,text\n1,a\rb\n2,c\n")
    found, problems = rows(path)
    assert [row["text"] for row in found] == ["c"]
    assert problems.counts == {"malformed csv": 1}


def test_marks_and_odd_characters(tmp_path):
    path = put(tmp_path / "a.csv", "\ufeffid,text\n1,a\u2028b\0c\n".encode())
    assert rows(path)[0] == [{"id": "1", "text": "a\u2028b\0c"}]
    path = put(tmp_path / "b.csv", "id,text\n1,Grüße\n".encode("utf-16"))
    assert rows(path)[0] == [{"id": "1", "text": "Grüße"}]


def test_duplicate_columns_keep_both_and_the_first_counts(tmp_path):
    path = put(tmp_path / "a.csv", "text,text\na,b\n")
    assert rows(path, ["text"])[0] == [{"text": "a"}]
    (batch,), _ = batches(path)
    assert [column.to_pylist() for column in batch.columns.columns] == [["a"], ["b"]]


def test_a_header_alone_has_names_and_no_rows(tmp_path):
    path = put(tmp_path / "a.csv", "id,text\n")
    assert rows(path)[0] == []
    assert open_inputs([path])[0].names() == ["id", "text"]


def test_a_broken_header_is_a_file_without_columns_and_reported(tmp_path):
    path = put(tmp_path / "a.csv", 'id,"text\n')
    assert open_inputs([path])[0].names() == []
    found, problems = rows(path)
    assert found == [] and problems.counts == {"no header": 1}


def test_an_absent_column_is_named_with_its_file_and_option(tmp_path):
    path = put(tmp_path / "a.csv", "id,words\n1,a\n")
    names = open_inputs([path])[0].names()
    with pytest.raises(
        InputError, match=r"a\.csv has no text column .*its columns are id, words.*--text-column"
    ):
        choose_columns(names, text=None, id=None, source="a.csv")
    with pytest.raises(InputError, match=r"a\.csv has no column 'body' \(--text-column\)"):
        choose_columns(names, text="body", id=None, source="a.csv")
    with pytest.raises(InputError, match=r"no column 'key' \(--id-column\)"):
        choose_columns(names, text="words", id="key", source="a.csv")


def test_bounded_batches_and_long_cells(tmp_path, monkeypatch):
    monkeypatch.setattr("neardup.documents.blocks.BATCH_BYTES", 512)
    texts = ['x, "y"\n' * (n % 9) for n in range(100)] + ["long\n" * 2000] + ["z"] * 50
    out = io.StringIO()
    csv.writer(out).writerows([["id", "text"], *([str(n), text] for n, text in enumerate(texts))])
    path = put(tmp_path / "a.csv", out.getvalue())
    found, problems = batches(path, ["text"], raw=True)
    assert [text for batch in found for text in batch.columns["text"].to_pylist()] == texts
    assert not problems.total
    assert [len(batch) for batch in batches(path, ["text"])[0]] == [len(batch) for batch in found]
    lines = b"\r\n".join(record.rstrip(b"\r") for batch in found for record in batch.raw.to_pylist())
    assert b"id,text\r\n" + lines + b"\r\n" == out.getvalue().encode()


def test_batches_have_a_bounded_number_of_rows(tmp_path):
    path = put(tmp_path / "a.csv", "text\n" + "a\n" * (BATCH_ROWS + 5))
    assert [len(batch) for batch in batches(path, ["text"])[0]] == [BATCH_ROWS, 5]


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(cells, cells, cells), max_size=8),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_what_the_standard_library_writes_is_read(tmp_path_factory, records, quoting, end):
    # Older Pythons do not quote a cell for its returns: then the file itself is ambiguous.
    assume(
        quoting == csv.QUOTE_ALL or end == "\r\n" or not any("\r" in "".join(record) for record in records)
    )
    out = io.StringIO()
    csv.writer(out, quoting=quoting, lineterminator=end).writerows([("id", "text", "x"), *records])
    path = put(tmp_path_factory.mktemp("any") / "a.csv", out.getvalue())
    found, problems = rows(path)
    assert [tuple(row.values()) for row in found] == records
    assert not problems.total


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from([b'"', b",", b"\n", b"\r", b"a", b"\xff", b'""', b'\n1,"', b'",b\n']), max_size=14
    )
)
def test_any_bytes_are_read_or_reported_alike_each_time(tmp_path_factory, parts):
    path = put(tmp_path_factory.mktemp("any") / "a.csv", b"id,text\n" + b"".join(parts))
    source = DelimitedSource("a", str(path))
    first, again = Problems(), Problems()
    found = [
        (b.numbers.tolist(), b.columns.to_pylist()) for b in source.read(["id", "text"], first, raw=True)
    ]
    bare = [batch.numbers.tolist() for batch in source.read([], again)]
    assert [numbers for numbers, _ in found] == bare
    assert first.total >= again.total
