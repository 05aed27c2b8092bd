"""Reading from a web server: ranges, retries, cut connections, servers without ranges, and errors in one line."""

from __future__ import annotations

import gzip
import io
import json
import random
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from remote_servers import Web, web_server

import neardup
from neardup.documents import Problems, open_inputs
from neardup.documents.source import watched
from neardup.errors import InputError, OutputError
from neardup.remote import files, open_remote, remote_status, retries
from neardup.remote.files import open_raw
from sentences import overlapping

TEXTS = overlapping(random.Random(5), 40)
ROWS = [{"id": str(k), "text": text} for k, text in enumerate(TEXTS)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


@pytest.fixture(scope="module")
def server():
    with web_server() as web:
        yield web


@pytest.fixture
def web(server: Web, monkeypatch) -> Web:
    """The server with its files and no failures; retries do not wait."""
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0)
    server.failures, server.cuts, server.status, server.ranges = 0, 0, None, True
    server.requests.clear()
    server.files = {"/news.jsonl": LINES, "/news.jsonl.gz": gzip.compress(LINES)}
    return server


def parquet(rows: int = 2000) -> bytes:
    """A file of several row groups, with a column that nobody asks for."""
    draw = random.Random(1)
    table = pa.table(
        {
            "id": [str(k) for k in range(rows)],
            "text": [f"{k} {TEXTS[k % 40]}" for k in range(rows)],
            "unused": [draw.randbytes(2000) for _ in range(rows)],
        }
    )
    stream = io.BytesIO()
    pq.write_table(table, stream, row_group_size=rows // 4)
    return stream.getvalue()


def ids(source) -> list[str]:
    problems = Problems()
    found = [
        one for batch in watched(source, ["id"], problems) for one in batch.columns.column(0).to_pylist()
    ]
    assert problems.total == 0, problems.first
    return found


# --- what is read ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["news.jsonl", "news.jsonl.gz"])
@pytest.mark.parametrize("ranges", [True, False])
def test_a_file_of_lines_is_read(web, name, ranges):
    web.ranges = ranges
    (source,) = open_inputs([f"{web.address}/{name}"])
    assert ids(source) == [row["id"] for row in ROWS]
    assert source.name == f"{web.address}/{name}" and source.size == len(web.files[f"/{name}"])


@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.mbox", "a.eml", "a.html", "a.lines"])
def test_every_format_is_read_as_from_a_file(web, name, tmp_path):
    data = {
        "a.csv": b"id,text\n1,one\n2,two\n",
        "a.txt": b"a text",
        "a.mbox": b"From a\nSubject: s\n\ntext\n\nFrom b\n\nmore\n",
        "a.eml": b"Subject: s\n\ntext\n",
        "a.html": b"<p>one</p>",
        "a.lines": b"one\ntwo\n",
    }[name]
    web.files[f"/{name}"] = data
    (tmp_path / name).write_bytes(data)
    format = "lines" if name == "a.lines" else None
    here, there = (
        [batch.columns.to_pydict() for batch in open_inputs([place], format=format)[0].read(None, Problems())]
        for place in (str(tmp_path / name), f"{web.address}/{name}")
    )
    for batch in (*here, *there):
        batch.pop("path", None)
        batch["id"] = [one.rpartition("/")[2] for one in batch.get("id", [])]
    assert here == there


def test_a_web_archive_is_read(web):
    pytest.importorskip("fastwarc")
    body = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>one</p>"
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a/\r\nWARC-Date: 2024-01-01T00:00:00Z\r\n"
    )
    head += "WARC-Record-ID: <urn:x:1>\r\nContent-Type: application/http; msgtype=response\r\n"
    web.files["/a.warc.gz"] = gzip.compress(
        f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body + b"\r\n\r\n"
    )
    (source,) = open_inputs([f"{web.address}/a.warc.gz"])
    assert [b.columns.column("url").to_pylist() for b in source.read(["url"], Problems())] == [["http://a/"]]


def test_parquet_asks_for_ranges_and_not_for_columns_that_nobody_needs(web, monkeypatch):
    monkeypatch.setattr(files, "LEAST", 1 << 12)
    web.files["/a.parquet"] = data = parquet()
    (source,) = open_inputs([f"{web.address}/a.parquet"])
    assert len(ids(source)) == 2000
    read = 0
    for request in web.requests:
        first, last = request.rpartition("=")[2].split("-")
        read += int(last) - int(first) + 1
    assert read < len(data) / 10


def test_the_library_takes_addresses(web):
    result = neardup.dedup(f"{web.address}/news.jsonl", threads=1)
    assert result.report["documents"] == 40
    both = neardup.dedup(
        [f"{web.address}/news.jsonl", f"{web.address}/news.jsonl.gz"], duplicate_ids="rename"
    )
    assert both.report["documents"] == 80 and both.report["exact_copies"] >= 40


def test_the_query_of_an_address_is_not_shown(web):
    (source,) = open_inputs([f"{web.address}/news.jsonl?signature=secret"])
    assert "secret" not in source.name and len(ids(source)) == 40
    with pytest.raises(InputError) as error:
        open_inputs([f"{web.address.replace('//', '//user:secret@')}/absent.jsonl?signature=secret"])
    assert "secret" not in str(error.value)


# --- failures ----------------------------------------------------------------------------------------------------


def test_a_failure_that_passes_is_tried_again(web):
    web.failures = 3
    (source,) = open_inputs([f"{web.address}/news.jsonl"])
    web.failures = 4
    assert len(ids(source)) == 40


def test_a_cut_connection_is_continued(web, monkeypatch):
    (source,) = open_inputs([f"{web.address}/news.jsonl"])
    web.cuts = 3
    assert ids(source) == [row["id"] for row in ROWS]


def test_a_server_without_ranges_that_cuts_is_asked_again(web):
    web.ranges, web.cuts = False, 2
    (source,) = open_inputs([f"{web.address}/news.jsonl"])
    assert len(ids(source)) == 40


def test_a_connection_that_is_always_cut_is_one_problem(web, monkeypatch):
    web.files["/lost.jsonl"] = LINES
    (source,) = open_inputs([f"{web.address}/lost.jsonl"])
    found = remote_status(f"{web.address}/lost.jsonl")
    monkeypatch.setattr(files, "remote_status", lambda address: found)
    web.cuts = 1000
    problems = Problems()
    assert list(source.read(["id"], problems)) == []
    assert "read error: the connection ended after" in problems.first[0].reason
    assert "(5 attempts)" in problems.first[0].reason


def test_a_file_that_changes_while_it_is_read_is_reported(web, monkeypatch):
    monkeypatch.setattr(files, "LEAST", 64)
    monkeypatch.setattr(files, "MOST", 64)
    web.files["/changing"] = LINES
    file = open_raw(f"{web.address}/changing")
    assert file.read(10) == LINES[:10]
    web.files["/changing"] = LINES.replace(b"text", b"TEXT")
    with pytest.raises(OSError, match="it changed while it was read"):
        file.read()


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (404, "does not exist: the server answers 404"),
        (403, "cannot be read: access is refused: the server answers 403"),
        (401, "access is refused: the server answers 401"),
        (500, r"cannot be read: the server answers 500 .*\(5 attempts\)"),
        (418, "cannot be read: the server answers 418"),
    ],
)
def test_refusals_are_one_line(web, status, said):
    web.status = status
    with pytest.raises(InputError, match=said) as error:
        open_inputs([f"{web.address}/news.jsonl"])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("http://127.0.0.1:1/a.jsonl", "127.0.0.1 cannot be reached: "),
        ("http:///a.jsonl", "cannot be "),
        ("http:/host/a.jsonl", "write http:// with two slashes"),
        ("https://127.0.0.1:99999/a.jsonl", "cannot be "),
    ],
)
def test_addresses_that_cannot_be_used_are_one_line(web, given, said):
    with pytest.raises(InputError, match=said) as error:
        open_inputs([given])
    assert "\n" not in str(error.value)


def test_an_address_without_a_suffix_needs_a_format(web):
    web.files["/data"] = LINES
    with pytest.raises(InputError, match="--format"):
        open_inputs([f"{web.address}/data"])
    assert len(ids(open_inputs([f"{web.address}/data"], format="jsonl")[0])) == 40


def test_a_web_server_takes_no_results(web):
    with pytest.raises(OutputError, match="takes no files"):
        neardup.dedup(TEXTS, threads=1).write(f"{web.address}/out")


# --- the file over ranges ------------------------------------------------------------------------------------------


def test_a_remote_file_reads_like_a_file(web, monkeypatch):
    """The naive twin is BytesIO: any sequence of seeks and reads gives the same bytes."""
    monkeypatch.setattr(files, "LEAST", 32)
    monkeypatch.setattr(files, "MOST", 256)
    draw, data = random.Random(2), LINES[:5000]
    web.files["/part"] = data
    ours, twin = open_raw(f"{web.address}/part"), io.BytesIO(data)
    for _ in range(200):
        if draw.random() < 0.4:
            place = draw.randrange(-10, 5100)
            ours.seek(max(0, place)), twin.seek(max(0, place))
        size = draw.choice([0, 1, 7, 100, 1000, -1]) if draw.random() < 0.9 else None
        assert ours.read(size) == twin.read(size) and ours.tell() == twin.tell()
    with zipfile.ZipFile(stream := io.BytesIO(), "w") as archive:
        archive.writestr("name", LINES)
    web.files["/a.zip"] = stream.getvalue()
    assert zipfile.ZipFile(open_raw(f"{web.address}/a.zip")).read("name") == LINES
    assert open_remote(f"{web.address}/part").size() == 5000


def test_an_empty_file_is_empty(web):
    web.files["/none.jsonl"] = b""
    with pytest.raises(InputError, match="is empty"):
        open_inputs([f"{web.address}/none.jsonl"])
