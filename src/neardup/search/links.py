"""Where the pages of a crawl link to, and what links to them say: columns that serve as fields (thesis, 3.1, 5.4)."""

from __future__ import annotations

from collections.abc import Sequence
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit, urlunsplit

__all__ = ["LinkColumns", "address", "link_columns", "outgoing"]

LONGEST = 200  # characters of an anchor text; what is longer is no description
MOST = 1000  # links of one page, and texts of links to one page
IGNORED = ("script", "style", "noscript", "template")

LinkColumns = tuple[list[list[str]], list[list[str]]]


def address(url: str, base: str = "") -> str | None:
    """The absolute address of a page, in one form: lower-case host, no fragment; None for what is no web address."""
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
    """The links of an HTML page in order: absolute address, and the text inside."""
    reader = _Links(url)
    reader.feed(page)
    reader.close()
    return reader.found[:MOST]


def link_columns(urls: Sequence[str | None], pages: Sequence[str | None]) -> LinkColumns:
    """For each page the addresses that it links to, and the texts of links to it on other pages; each once.

    A page that was fetched under several addresses, or several times, has the same texts each time.
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


class _Links(HTMLParser):
    """Collects the targets and texts of a-elements; <base> moves relative ones."""

    def __init__(self, base: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, str]] = []
        self._base, self._text, self._hidden = base, "", 0
        self._target: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value}
        if tag == "base" and "href" in given:
            self._base = urljoin(self._base, given["href"])
        elif tag == "a":
            self._end()
            self._target = address(given["href"], self._base) if "href" in given else None
        elif tag in IGNORED:
            self._hidden += 1
        elif tag == "img" and self._target is not None:
            self._text += f" {given.get('alt', '')} "

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._end()
        elif tag in IGNORED:
            self._hidden = max(0, self._hidden - 1)

    def handle_data(self, data: str) -> None:
        if self._target is not None and not self._hidden and len(self._text) <= LONGEST:
            self._text += data

    def close(self) -> None:
        super().close()
        self._end()

    def _end(self) -> None:
        if self._target is not None:
            text = " ".join(self._text.split())
            self.found.append((self._target, text if len(text) <= LONGEST else ""))
        self._target, self._text = None, ""
