"""Links of pages as columns: where they lead, and what is said about a page elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.cli import main
from neardup.index.links import address, link_columns, outgoing


def test_addresses_have_one_form() -> None:
    assert address("HTTP://A.org:80/x?q=1#part") == "http://a.org/x?q=1"
    assert address("b/c", "http://a.org/d/e") == "http://a.org/d/b/c"
    assert address("http://a.org:8080") == "http://a.org:8080/"
    for bad in ("mailto:a@b", "javascript:void(0)", "", "#x", "http://", "http://[", "http://a:port/"):
        assert address(bad) is None


def test_links_and_their_texts() -> None:
    page = (
        "<base href='http://c.org/'><a href=d>D <script>x()</script> <b>bold</b></a> <a>no link</a>"
        "<a href='/e'>one <a href='/f'>never closed <img alt='a picture'>"
    )
    assert outgoing(page, "http://a.org/") == [
        ("http://c.org/d", "D bold"), ("http://c.org/e", "one"), ("http://c.org/f", "never closed a picture"),
    ]  # fmt: skip
    assert outgoing(f"<a href=http://x/>{'long ' * 100}</a>") == [("http://x/", "")]


def test_anchors_come_from_other_pages() -> None:
    urls = ["http://a/", "http://a/b", "http://a/#again", None]
    pages = [
        "<a href='b'>about b</a><a href='/'>home</a>",
        "<a href='/'>up</a><a href='http://z/'>z</a>",
        "<a href='b'>about b</a><a href='b'>more</a>",
        "<a href='http://a/b'>from nowhere</a>",
    ]
    links, anchors = link_columns(urls, pages)
    assert links == [["http://a/b"], ["http://a/", "http://z/"], ["http://a/b"], ["http://a/b"]]
    assert anchors == [["up"], ["about b", "more", "from nowhere"], ["up"], []]


@given(st.text("<a href='/b'>\"x=/!-& ", max_size=60), st.text("htp:/a.b#?[]%", max_size=20))
def test_no_page_is_too_strange(page: str, url: str) -> None:
    links, anchors = link_columns([url, None], [page, None])
    assert len(links) == len(anchors) == 2
    assert all(address(link) == link for link in links[0])


def run(*arguments: str) -> int:
    try:
        main(list(arguments))
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def test_the_command_adds_columns_that_serve_as_fields(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    crawl, linked = tmp_path / "crawl.jsonl", tmp_path / "linked.parquet"
    pages = [("http://a/", "<a href=b>the b</a> text"), ("http://a/b", "<a href=/>home</a> text")]
    crawl.write_text("".join(json.dumps({"url": u, "html": h}) + "\n" for u, h in pages))
    assert run("links", str(crawl), "-o", str(linked)) == 0
    assert "2 pages, 2 with links from other pages" in capsys.readouterr().out
    rows = pq.read_table(linked).to_pylist()
    assert [(row["links"], row["anchors"]) for row in rows] == [
        (["http://a/b"], ["home"]),
        (["http://a/"], ["the b"]),
    ]
    options = ["--fields", "links:value,anchors", "--weights", "tfidf, fields(0.5)", "--list"]
    assert run("fingerprints", str(linked), *options) == 0
    assert len(set(capsys.readouterr().out.split())) == 4
    assert run("links", str(crawl), "-o", str(linked)) == 2 and "--force" in capsys.readouterr().err
    assert run("links", str(crawl), "-o", "x.csv") == 2 and ".parquet" in capsys.readouterr().err
    assert run("links", str(crawl), "-o", str(linked), "--force", "--url-column", "where") == 2
    assert "no column 'where'" in capsys.readouterr().err
