"""What users name as input, and their mistakes."""

import io
import os
import sys
import types
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reading import put, rows

from neardup.documents import Problems, choose_columns, open_inputs
from neardup.errors import InputError, ParameterError

LINE = '{"id": "a", "text": "b"}\n'


def formats(inputs, **options):
    return [(source.name, source.format) for source in open_inputs(inputs, **options)]


def test_a_folder_of_mixed_formats_in_a_stable_order(tmp_path):
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "z.parquet")
    put(tmp_path / "sub" / "b.jsonl", LINE)
    put(tmp_path / "sub" / "a.csv", "text\nx\n")
    put(tmp_path / "m.txt", "text")
    put(tmp_path / "n.md", "text")
    put(tmp_path / "config.json", '{\n  "key": 1\n}\n')
    put(tmp_path / "lines.json", LINE)
    put(tmp_path / "_SUCCESS", "")
    inputs = open_inputs([tmp_path])
    assert [(source.name, source.format) for source in inputs] == [
        ("lines.json", "jsonl"),
        ("text files", "text"),
        ("sub/a.csv", "csv"),
        ("sub/b.jsonl", "jsonl"),
        ("z.parquet", "parquet"),
    ]
    assert inputs.notes == [f"{tmp_path}: 2 files of unknown format skipped"]
    assert formats([tmp_path], format="csv") == [("_SUCCESS", "csv"), ("sub/a.csv", "csv")][1:]


def test_names_stay_apart_when_there_are_several_inputs(tmp_path):
    for name in ("a/x.jsonl", "b/x.jsonl", "c.jsonl"):
        put(tmp_path / name, LINE)
    found = formats([tmp_path / "a", f"{tmp_path}/b/", tmp_path / "c.jsonl"])
    assert [name for name, _ in found] == [
        f"{tmp_path}/a/x.jsonl",
        f"{tmp_path}/b/x.jsonl",
        f"{tmp_path}/c.jsonl",
    ]


def test_globs_are_sorted_and_pass_over_what_they_do_not_know(tmp_path):
    for name in ("b.jsonl", "a.jsonl", "c.bin", "deep/er/d.jsonl"):
        put(tmp_path / name, LINE)
    assert [name for name, _ in formats([f"{tmp_path}/*"])] == [
        f"{tmp_path}/{name}" for name in ("a.jsonl", "b.jsonl", "deep/er/d.jsonl")
    ]
    assert len(formats([f"{tmp_path}/**/*.jsonl"])) == 3
    with pytest.raises(InputError, match="no file matches"):
        open_inputs([f"{tmp_path}/*.parquet"])
    put(tmp_path / "odd[1].jsonl", LINE)
    assert formats([tmp_path / "odd[1].jsonl"])


def test_links_in_a_circle_end(tmp_path):
    put(tmp_path / "a" / "x.jsonl", LINE)
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "a" / "self.jsonl").symlink_to(tmp_path / "a" / "self.jsonl")
    (tmp_path / "a" / "b").symlink_to(tmp_path / "a" / "b")
    put(tmp_path / "other" / "y.jsonl", LINE)
    (tmp_path / "linked").symlink_to(tmp_path / "other")
    assert [name for name, _ in formats([tmp_path])] == ["a/self.jsonl", "a/x.jsonl", "linked/y.jsonl"]
    assert rows(tmp_path)[1].counts == {"unreadable file": 1}


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        (None, "", "does not exist"),
        ("a.bin", "x", r"--format \(parquet, jsonl.*\.jsonl"),
        ("a.txt.gz", "x", "--format"),
        ("a.json", "[1]", "jq -c"),
        ("a.jsonl", "", "empty"),
        ("a.csv", "", "empty"),
    ],
)
def test_files_that_cannot_be_used_are_named(tmp_path, name, data, message):
    path = tmp_path / "missing.jsonl" if name is None else put(tmp_path / name, data)
    with pytest.raises(InputError, match=f"{path.name}.*{message}"):
        open_inputs([path])


def test_folders_without_a_usable_file(tmp_path):
    put(tmp_path / "a.bin", "x")
    with pytest.raises(InputError, match=r"has no file with a known suffix: \.parquet"):
        open_inputs([tmp_path])
    with pytest.raises(InputError, match="no input was given"):
        open_inputs([])
    with pytest.raises(ParameterError, match=r"'format'.*one of parquet"):
        open_inputs([tmp_path], format="xml")


def test_an_unreadable_file_is_named(tmp_path):
    path = put(tmp_path / "a.jsonl", LINE)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(InputError, match=r"a\.jsonl cannot be read: Permission denied"):
        open_inputs([path])


def test_a_file_given_twice_is_refused(tmp_path):
    path = put(tmp_path / "a.jsonl", LINE)
    with pytest.raises(InputError, match="given twice"):
        open_inputs([path, tmp_path])


def test_empty_files_beside_others_are_left_out(tmp_path):
    put(tmp_path / "a.jsonl", "")
    put(tmp_path / "b.jsonl", LINE)
    inputs = open_inputs([tmp_path])
    assert [source.name for source in inputs] == ["b.jsonl"]
    assert inputs.notes == ["1 empty file left out"]


@pytest.mark.parametrize(
    ("data", "format"),
    [
        (LINE.encode(), "jsonl"),
        (b"\xef\xbb\xbf" + LINE.encode(), "jsonl"),
        (b"id,text\n1,a\n", "csv"),
        (b"id\ttext\n1\ta\n", "tsv"),
        (b"text\na\n", "tsv"),
        (b"From a@b\nSubject: x\n\nbody\n", "mail"),
        (b"just words, and a comma\nmore\n", "lines"),
        (b"From here to there\n", "lines"),
        (b"\xff\xfe{", "lines"),
    ],
)
def test_standard_input_by_its_beginning(monkeypatch, data, format):
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(data)))
    (source,) = open_inputs(["-"])
    assert (source.name, source.format) == ("stdin", format)


def test_standard_input_is_read_twice_and_compressed(monkeypatch):
    import gzip

    stream = types.SimpleNamespace(buffer=io.BytesIO(gzip.compress(LINE.encode() * 3)))
    monkeypatch.setattr(sys, "stdin", stream)
    (source,) = open_inputs(["-"])
    from neardup.documents import Problems

    for _ in range(2):
        assert sum(len(batch) for batch in source.read(["text"], Problems())) == 3


def test_a_pipe_is_read_like_standard_input(tmp_path):
    import threading

    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=[LINE])
    writer.start()
    (source,) = open_inputs([tmp_path / "pipe"])
    writer.join()
    assert (source.name, source.format) == (str(tmp_path / "pipe"), "jsonl")
    put(tmp_path / "a.jsonl", LINE)
    assert [name for name, _ in formats([tmp_path])] == ["a.jsonl"]


def test_empty_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(b"")))
    with pytest.raises(InputError, match="standard input is empty"):
        open_inputs(["-"])


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["id", "text"], ("text", "id")),
        (["body", "content", "url"], ("content", "url")),
        (["html", "path", "doc_id"], ("html", "doc_id")),
        (["ID", "Text"], ("Text", "ID")),
        (["TEXT", "text"], ("text", None)),
        (["text"], ("text", None)),
        ([], ("text", None)),
    ],
)
def test_columns_are_detected(names, chosen):
    assert choose_columns(names, text=None, id=None, source="x") == chosen


def test_a_format_for_a_strange_suffix(tmp_path):
    path = put(tmp_path / "a.dump", LINE)
    assert rows(path, ["text"], format="jsonl")[0] == [{"text": "b"}]


def test_a_folder_that_cannot_be_entered_is_left_out_and_the_others_are_read(tmp_path, monkeypatch):
    """Its names can be listed, and nothing can be said about them: what `Path.is_dir` raises there."""
    (tmp_path / "closed").mkdir()
    (tmp_path / "in.txt").write_text("a text")
    stat = os.stat

    def refused(path, *arguments, **options):
        if isinstance(path, (str, Path)) and "closed/" in str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, *arguments, **options)

    monkeypatch.setattr(os, "stat", refused)
    [source] = open_inputs([str(tmp_path)])
    assert [batch.columns.column(0).to_pylist() for batch in source.read(["text"], Problems())] == [
        ["a text"]
    ]
