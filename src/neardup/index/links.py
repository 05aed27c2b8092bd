"""Outgoing links and incoming anchor texts of crawled pages, as columns for fields (simhash thesis, 3.1, 5.4)."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urljoin, urlsplit, urlunsplit

from neardup.text.tag_scan import pieces

LONGEST = 200  # characters of an anchor text; a longer one is no description
MOST = 1000  # links of a page, and anchor texts of a page
LONGEST_URL = (
    8192  # characters; servers refuse longer ones, and each link of a page may cost the length of its base
)

LinkColumns = tuple[list[list[str]], list[list[str]]]


def address(url: str, base: str = "") -> str | None:
    """The absolute URL in canonical form (lower-case host, no fragment); None if it is not http or https."""
    if len(url) > LONGEST_URL:
        return None
    try:
        parts = urlsplit(urljoin(base, url.strip()))
        port = f":{parts.port}" if parts.port and parts.port not in (80, 443) else ""
        host = parts.hostname or ""
    except ValueError:
        return None
    if parts.scheme.lower() not in ("http", "https") or not host:
        return None
    return urlunsplit((parts.scheme.lower(), host + port, parts.path or "/", parts.query, ""))


def outgoing(page: str, url: str = "") -> list[tuple[str, str]]:
    """The links of an HTML page in order: absolute URL and anchor text; relative ones follow <base>."""
    found: list[tuple[str, str]] = []
    base, based, target, text = url, False, None, ""
    for piece in pieces(page):
        if piece.name == "a":
            found += _link(target, text)
            href = None if piece.closing else piece.attribute("href")
            target, text = None if href is None else address(href, base), ""
            if len(found) >= MOST:
                return found[:MOST]
        elif piece.name == "base" and not based and (href := piece.attribute("href")) is not None:
            base, based = join_url(base, href), True  # HTML knows the first one alone
        elif target is not None and len(text) <= LONGEST:
            alternative = piece.attribute("alt") if piece.name == "img" else None
            text += piece.rest if not piece.name else f" {alternative or ''} "
    return (found + _link(target, text))[:MOST]


def _link(target: str | None, text: str) -> list[tuple[str, str]]:
    words = " ".join(text.split())
    return [] if target is None else [(target, words if len(words) <= LONGEST else "")]


def join_url(base: str, url: str) -> str:
    """A relative URL made absolute; the base itself if the URL is invalid or too long."""
    try:
        return urljoin(base, url) if len(url) <= LONGEST_URL else base
    except ValueError:
        return base


def link_columns(urls: Sequence[str | None], pages: Sequence[str | None]) -> LinkColumns:
    """For each page the URLs it links to, and the anchor texts of links to it on other pages, each once.

    A URL that was fetched several times has the same anchor texts each time.
    """
    own = [None if url is None else address(url) for url in urls]
    anchors: dict[str, dict[str, None]] = {place: {} for place in own if place is not None}
    links = []
    for url, page in zip(own, pages, strict=True):
        found = outgoing(page or "", url or "")
        links.append(list(dict.fromkeys(target for target, _ in found if target != url)))
        for target, text in found:
            if target in anchors and target != url and text and len(anchors[target]) < MOST:
                anchors[target].setdefault(text)
    return links, [list(anchors[place]) if place is not None else [] for place in own]
