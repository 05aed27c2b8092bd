"""Text files, lines, and HTML."""

import codecs

import pytest
from reading import batches, numbers, put, rows

from neardup.documents import Batch, Problems, choose_columns, document_ids, document_texts, open_inputs
from neardup.text.html import visible_text


def test_one_document_a_file_known_by_its_path(tmp_path):
    put(tmp_path / "b.txt", "second\nline")
    put(tmp_path / "a" / "c.md", "# first")
    put(
        tmp_path / "d.html",
        "<html><head><title>no</title></head><body><p>Hello</p><p>&amp; you</p></body></html>",
    )
    put(tmp_path / "ignored.bin", "x")
    put(tmp_path / ".hidden.txt", "x")
    inputs = open_inputs([tmp_path])
    assert rows(tmp_path)[0] == [
        {"path": "a/c.md", "text": "# first"},
        {"path": "b.txt", "text": "second\nline"},
        {"path": "d.html", "text": "Hello\n& you"},
    ]
    assert inputs[0].rows == 3
    assert inputs.notes == [f"{tmp_path}: 1 file of unknown format skipped"]
    (batch,), _ = batches(tmp_path)
    text, id = choose_columns(inputs[0].names(), text=None, id=None, source="x")
    assert (text, id) == ("text", "path")
    assert document_ids(batch, id).to_pylist() == ["a/c.md", "b.txt", "d.html"]


@pytest.mark.parametrize(
    ("data", "text", "count"),
    [
        (codecs.BOM_UTF8 + "é".encode(), "é", 0),
        ("é\U0001f600".encode("utf-16"), "é\U0001f600", 0),
        (codecs.BOM_UTF16_BE + "é".encode("utf-16-be"), "é", 0),
        ("é".encode("utf-32"), "é", 0),
        ("é".encode("latin-1"), "\ufffd", 1),
        (b"\xff\xfe\x00", "\ufffd", 1),
        ("\ud800".encode("utf-16", "surrogatepass"), "\ufffd", 1),
        (b"a\0b", "a\0b", 0),
        (b"", "", 0),
    ],
)
def test_encodings(tmp_path, data, text, count):
    put(tmp_path / "x" / "a.txt", data)
    found, problems = rows(tmp_path / "x")
    assert found == [{"path": "a.txt", "text": text}]
    assert problems.total == count


def test_batches_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("neardup.documents.source.BATCH_BYTES", 100)
    for n in range(30):
        put(tmp_path / f"{n:02}.txt", "x" * 40)
    assert [len(batch) for batch in batches(tmp_path)[0]] == [3] * 10
    assert numbers(tmp_path) == list(range(1, 31))


def test_a_file_that_vanishes_is_a_problem_and_the_rest_goes_on(tmp_path):
    put(tmp_path / "a.txt", "a")
    put(tmp_path / "b.txt", "b")
    source = open_inputs([tmp_path])[0]
    (tmp_path / "a.txt").unlink()
    from neardup.documents import Problems

    problems = Problems()
    assert [batch.numbers.tolist() for batch in source.read(None, problems)] == [[2]]
    assert problems.counts == {"unreadable file": 1}


def test_lines_as_documents(tmp_path):
    path = put(tmp_path / "a.txt", b"one\r\n\ntwo\xe2\x80\xa8\n\xff\nlast")
    found, problems = rows(path, format="lines")
    assert [row["text"] for row in found] == ["one", "two\u2028", "\ufffd", "last"]
    assert numbers(path, format="lines") == [1, 3, 4, 5]
    assert problems.counts == {"invalid UTF-8": 1}


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>a<script>x()</script><style>y</style>b</p>", "ab"),
        ("<ul><li>a<li>b</ul>", "a\n  b"),
        ("&lt;&eacute;&#x1F600;&nbsp;x", "<é\U0001f600\xa0x"),
        ("<div>a</div><!-- c --><div>b</div>", "a\nb"),
        ("", ""),
        ("plain words", "plain words"),
        ("<p>un<b>closed <i>tags", "unclosed tags"),
        ("<a href='http://x'>link</a>", "link"),
        ("a\0b", "a\ufffdb"),
        ("a\ud800b", "a\ufffdb"),
        (b"<meta charset=latin1><p>\xe9</p>", "é"),
    ],
)
def test_visible_text(html, text):
    assert visible_text(html) == text


def test_deep_nesting_does_not_crash():
    assert visible_text("<div>" * 300 + "x") == "x"
    assert isinstance(visible_text("<div>" * 20_000 + "x"), str)
    assert isinstance(visible_text("<b>" * 50_000 + "x" + "</i>" * 50_000), str)


def test_a_column_of_pages():
    import numpy as np
    import pyarrow as pa

    pages = pa.record_batch({"html": pa.array(["<p>a</p>", None], pa.large_string())})
    problems = Problems()
    found = document_texts(
        Batch("x", np.arange(1, 3), pages), "html", problems, html=True, html_text="visible"
    )
    assert found.equals(pa.array(["a", ""], pa.large_string()))
    assert problems.counts == {"no text": 1}


STORY = "".join(
    f"<p>The harbour was closed on Tuesday for the {k}th time, the port said.</p>" for k in range(6)
)
LINKS = "".join(f"<li><a href=/{k}>Section number {k} of our site</a>" for k in range(60))


@pytest.mark.parametrize("how", ["article", "segments", "resiliparse"])
def test_the_article_of_html_files_and_pages_without_one(tmp_path, how):
    put(tmp_path / "a.html", f"<nav><ul>{LINKS}</ul></nav><article>{STORY}</article>")
    put(tmp_path / "b.htm", f"<h1>Log in</h1><ul>{LINKS}</ul>")
    problems = Problems()
    (batch,) = open_inputs([tmp_path], html_text=how)[0].read(None, problems)
    article, other = batch.columns.column("text").to_pylist()
    assert article.count("harbour") == 6 and "Section number" not in article
    assert other.count("Section number") == 60
    if how == "article":
        (problem,) = problems.first
        assert (problem.source, problem.record, problem.kind) == ("b.htm", 2, "no article")
        assert problem.action == "compared by all its visible text"


@pytest.mark.parametrize("tags", ["<div>", "<ul><li>", "<b></p>", "<div><!-- x --><script>y</script>"])
def test_a_page_that_would_take_minutes_to_parse(tags):
    assert visible_text("<p>first &amp; <b>bold</b></p>" + tags * 100_000 + "last").split("\n") == [
        "first & bold",
        "last",
    ]
