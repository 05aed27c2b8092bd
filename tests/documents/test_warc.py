"""Web archives: pages with address and date, whatever happened to their neighbours."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

pytest.importorskip("fastwarc", reason="needs the extra 'warc'")

import neardup
from neardup.documents import Limits, Problems, open_inputs
from neardup.errors import RecordError
from neardup.text.article import article_text
from neardup.text.html import visible_text


def record(
    number: int, body: bytes, *, http: str = "", status: str = "200 OK", kind: str = "text/html"
) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{http}\r\n".encode()
    block = head + body
    fields = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{number}>\r\n"
        f"WARC-Target-URI: http://example.org/{number}\r\nWARC-Date: 2020-05-01T00:00:0{number}Z\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return fields.encode() + block + b"\r\n\r\n"


PAGES = [record(number, b"<p>page %d of the archive</p>" % number * 20) for number in range(6)]
INFO = b"WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nhaha\r\n\r\n"


def read(path: Path, strict: bool = False) -> tuple[list[dict[str, str]], Problems]:
    problems = Problems(strict=strict)
    (source,) = open_inputs([path])
    rows = [row for batch in source.read(None, problems) for row in batch.columns.to_pylist()]
    return rows, problems


def numbers(rows: list[dict[str, str]]) -> list[int]:
    return [int(row["url"].rpartition("/")[2]) for row in rows]


def test_pages_have_address_date_and_text(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(INFO + b"".join(PAGES))
    (tmp_path / "a.warc.gz").write_bytes(b"".join(gzip.compress(part) for part in (INFO, *PAGES)))
    plain, problems = read(tmp_path / "a.warc")
    assert plain == read(tmp_path / "a.warc.gz")[0] and problems.total == 0
    assert numbers(plain) == list(range(6))
    first = plain[0]
    assert (first["id"], first["date"]) == ("urn:uuid:0", "2020-05-01T00:00:00+00:00")
    assert first["html"].startswith("<p>page 0 of the archive</p>")


def test_what_is_no_page_is_passed_over_and_encodings_are_undone(tmp_path: Path) -> None:
    parts = [
        record(0, gzip.compress("<p>größer</p>".encode()), http="Content-Encoding: gzip\r\n"),
        record(1, "<p>größer</p>".encode("latin-1"), kind="text/html; charset=iso-8859-1"),
        record(2, b"\x89PNG", kind="image/png"),
        record(3, b"not here", status="404 Not Found"),
        record(4, "<meta charset=koi8-r><p>привет</p>".encode("koi8-r")),
    ]
    (tmp_path / "a.warc").write_bytes(b"".join(parts))
    rows, problems = read(tmp_path / "a.warc")
    assert numbers(rows) == [0, 1, 4] and problems.total == 0
    assert "größer" in rows[0]["html"] and "größer" in rows[1]["html"] and "привет" in rows[2]["html"]


def test_plain_text_keeps_its_signs_and_lines(tmp_path: Path) -> None:
    text = "if a <b then\nc & d"
    (tmp_path / "a.warc").write_bytes(record(0, text.encode(), kind="text/plain; charset=utf-8"))
    (row,), _ = read(tmp_path / "a.warc")
    assert row["html"] == "<pre>if a &lt;b then\nc &amp; d</pre>" and row["type"].startswith("text/plain")
    assert visible_text(row["html"]) == text and article_text(row["html"]).split() == text.split()


def test_articles_of_an_archive(tmp_path: Path) -> None:
    links = "".join(f"<li><a href=/{k}>Section {k} of our site, which has many</a>" for k in range(60))
    story = "".join(
        f"<p>The harbour was closed again, for the {k}th time, the port said.</p>" for k in range(8)
    )
    pages = [
        f"<ul>{links}</ul><article>{story}</article>",
        f"<article>{story}</article>",
        f"<ul>{links}</ul>",
    ]
    (tmp_path / "a.warc").write_bytes(b"".join(record(k, page.encode()) for k, page in enumerate(pages)))
    found = neardup.dedup(tmp_path / "a.warc", threshold=0.95, html_text="article")
    assert found.report["removed"] == 1 and found.report["problems"]["counts"] == {"no article": 1}
    visible = neardup.dedup(tmp_path / "a.warc", threshold=0.95, html_text="visible")
    assert visible.report["removed"] == 0


def damaged(kind: str) -> bytes:
    members = [gzip.compress(page) for page in PAGES]
    if kind == "gzip, bytes overwritten":
        members[2] = members[2][:20] + bytes(40) + members[2][60:]
    if kind == "gzip, member cut off":
        members[2] = members[2][:60]
    if kind.startswith("gzip"):
        return b"".join(members)
    plain = list(PAGES)
    if kind == "plain, no header":
        plain[2] = b"what is this\r\n\r\n"
    if kind == "plain, wrong length":
        plain[2] = plain[2].replace(b"Content-Length: ", b"Content-Length: 9")
    if kind == "plain, payload that is no gzip":
        plain[2] = record(2, b"not compressed", http="Content-Encoding: gzip\r\n")
    return b"".join(plain)


KINDS = [
    "gzip, bytes overwritten", "gzip, member cut off", "plain, no header", "plain, wrong length",
    "plain, payload that is no gzip",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_one_bad_record_does_not_lose_the_rest(kind: str, tmp_path: Path) -> None:
    path = tmp_path / ("a.warc.gz" if kind.startswith("gzip") else "a.warc")
    path.write_bytes(damaged(kind))
    rows, problems = read(path)
    assert numbers(rows) == [0, 1, 3, 4, 5]
    assert problems.counts == {"broken record": 1}
    with pytest.raises(RecordError, match="broken record"):
        read(path, strict=True)


def test_a_file_that_was_cut_off_and_one_of_nothing_but_noise(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(b"".join(gzip.compress(page) for page in PAGES)[:-300])
    rows, problems = read(path)
    assert numbers(rows)[:4] == [0, 1, 2, 3] and len(rows) + problems.total >= 5
    path.write_bytes(bytes(range(256)) * 40)
    assert read(path)[0] == []


def test_archives_are_deduplicated(tmp_path: Path) -> None:
    text = b"<p>" + b" ".join(b"word%d" % k for k in range(60)) + b"</p>"
    (tmp_path / "a.warc.gz").write_bytes(
        b"".join(gzip.compress(record(n, text + b"<i>%d</i>" % (n // 2))) for n in range(4))
    )
    result = neardup.dedup(tmp_path / "a.warc.gz", threshold=0.8)
    assert result.report["kept"] == 1
    assert result.kept.column("url").to_pylist() == ["http://example.org/0"] or len(result.kept) == 1


def test_pages_that_would_not_fit_or_hold_half_a_character(tmp_path: Path) -> None:
    bomb = gzip.compress(b"<p>boom</p>" * 1_000_000)
    parts = [PAGES[0], record(1, bomb, http="Content-Encoding: gzip\r\n"), PAGES[2]]
    parts.append(record(3, b"<p>+2AA-</p>", kind="text/html; charset=utf-7"))
    (tmp_path / "a.warc").write_bytes(b"".join(parts))
    problems = Problems()
    (source,) = open_inputs([tmp_path / "a.warc"], limits=Limits(record=4 << 20))
    rows = [row for batch in source.read(None, problems) for row in batch.columns.to_pylist()]
    assert numbers(rows) == [0, 2, 3] and rows[-1]["html"] == "<p>\ufffd</p>"
    assert problems.total == 1 and "--max-record" in problems.first[0].reason


def test_an_archive_that_vanishes_or_shrinks(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(b"".join(PAGES) * 2000)
    (source,) = open_inputs([tmp_path / "a.warc"])
    problems = Problems()
    reading = source.read(["html"], problems)
    assert len(next(reading)) > 0
    (tmp_path / "a.warc").write_bytes(b"")
    assert sum(map(len, reading)) < 12_000
    (tmp_path / "a.warc").unlink()
    problems = Problems()
    assert list(source.read(["html"], problems)) == [] and problems.counts == {"unreadable file": 1}
