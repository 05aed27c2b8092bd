"""Files that unpack to far more than they are: the record is named and skipped, the rest is read."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pytest
from counting import assert_linear, lines_run

from neardup.documents import Limits, Problems, open_inputs
from neardup.errors import InputError

MB = 1 << 20


def zipped(start: bytes, blanks: int, end: bytes) -> bytes:
    return gzip.compress(start) + gzip.compress(b" " * blanks, 9) + gzip.compress(end)


def read(path, **options):
    problems = Problems()
    [source] = open_inputs([str(path)], **options)
    texts = [
        text for batch in source.read(["text"], problems) for text in batch.columns.column(0).to_pylist()
    ]
    return texts, problems


@pytest.mark.parametrize("compress", [gzip.compress, lambda data: pa.compress(data, "zstd", asbytes=True)])
def test_a_record_of_blanks_is_skipped_and_the_next_is_read(tmp_path, compress):
    path = tmp_path / "in.jsonl"
    path = path.with_suffix(".jsonl.gz" if compress is gzip.compress else ".jsonl.zst")
    path.write_bytes(
        compress(b'{"id": 1, "text": "one"}\n' + b" " * (110 * MB) + b'\n{"id": 3, "text": "three"}\n')
    )
    texts, problems = read(path)
    assert texts == ["one", "three"]
    [problem] = problems.first
    assert (problem.kind, problem.record) == ("decompression bomb", 2)
    assert "a tenth of --max-expansion" in problem.reason


@pytest.mark.slow
def test_a_long_record_that_is_not_compressed_much_is_read(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"id": 1, "text": "' + b"word " * (14 * MB) + b'"}\n')
    texts, problems = read(path)
    assert len(texts[0]) == 70 * MB and not problems.total


@pytest.mark.slow
def test_a_cell_of_blanks_is_skipped(tmp_path):
    path = tmp_path / "in.csv.gz"
    path.write_bytes(gzip.compress(b'id,text\n1,one\n2,"' + b" " * (70 * MB) + b"\n3,three\n"))
    texts, problems = read(path)
    assert texts == ["one", "three"]
    assert problems.counts == {"malformed csv": 1}


def response(name: bytes, body: bytes, encoding: bytes = b"") -> bytes:
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + encoding + b"\r\n" + body
    return (
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:%s>\r\nContent-Type: application/http; "
        b"msgtype=response\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n" % (name, len(http), http)
    )


def archive(bomb: bytes, pack) -> bytes:
    return b"".join(pack(record) for record in (response(b"a", b"<p>one"), bomb, response(b"c", b"<p>three")))


BOMBS = {
    "body": (".warc", lambda: archive(
        response(b"b", gzip.compress(b" " * (80 * MB)), b"Content-Encoding: gzip\r\n"), lambda data: data)),
    "member": (".warc.gz", lambda: archive(response(b"b", b" " * (80 * MB)), gzip.compress)),
    "both": (".warc.gz", lambda: archive(
        response(b"b", gzip.compress(b" " * (80 * MB)), b"Content-Encoding: gzip\r\n"), gzip.compress)),
}  # fmt: skip


@pytest.mark.parametrize(("suffix", "make"), BOMBS.values(), ids=BOMBS)
def test_a_bomb_in_a_web_archive_is_named_and_the_next_record_is_read(tmp_path, suffix, make):
    pytest.importorskip("fastwarc")
    path = tmp_path / f"in{suffix}"
    path.write_bytes(make())
    [source] = open_inputs([str(path)])
    problems = Problems()
    pages = [
        page for batch in source.read(["html"], problems) for page in batch.columns.column(0).to_pylist()
    ]
    assert pages == ["<p>one", "<p>three"]
    [problem] = problems.first
    assert "urn:uuid:b: decompression bomb" in problem.reason


def test_an_archive_that_unpacks_to_too_much_is_read_up_to_there(tmp_path):
    pytest.importorskip("fastwarc")
    path = tmp_path / "in.warc.gz"
    path.write_bytes(b"".join(gzip.compress(response(b"%d" % k, b"x" * MB)) for k in range(8)))
    [source] = open_inputs([str(path)], limits=Limits(decompressed=5 * MB))
    problems = Problems()
    assert sum(len(batch) for batch in source.read(["html"], problems)) == 6
    assert problems.counts == {"too much data": 1}


CSV = {
    "line ends outside quotes": lambda n: b'1,5"\rx y\n' * n,
    "open quotes": lambda n: b'1,"x\n' * n,
    "quotes": lambda n: b'"' * n,
}


@pytest.mark.parametrize("rows", CSV.values(), ids=CSV)
def test_csv_that_cannot_be_parsed_costs_linear_time(tmp_path, rows):
    import numpy as np

    from neardup.documents import records

    parsed = []
    split = records.split

    def counted(data, *arguments, **options):
        parsed.append(len(data))
        return split(data, *arguments, **options)

    costs = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "split", counted)
        for n in (2000, 4000, 8000):
            parsed.clear()
            path = tmp_path / f"{n}.csv"
            path.write_bytes(b"id,text\n" + rows(n))
            read(path)
            costs.append(int(np.sum(parsed)))
    assert_linear(costs)


def test_keys_that_are_data_do_not_make_a_table(tmp_path):
    def rows(n: int) -> bytes:
        return b"".join(b'{"text": "x", "k%d": 1}\n' % k for k in range(n))

    costs = []
    for n in (500, 1000, 2000):
        path = tmp_path / f"{n}.jsonl"
        path.write_bytes(rows(n))
        [source] = open_inputs([str(path)])
        costs.append(lines_run(lambda source=source: source.names()))
    assert_linear(costs)
    with pytest.raises(InputError, match="2,001 different keys"):
        source.schema()
    texts, _ = read(path)
    assert len(texts) == 2000
