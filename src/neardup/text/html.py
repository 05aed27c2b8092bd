"""The visible text of HTML pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from neardup.errors import MissingExtra

__all__ = ["visible_text"]

_UNFIT = re.compile("[\0\ud800-\udfff]")  # characters that a parser of UTF-8 in C strings cannot take
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)[^<>]*>")  # [^<>]: linear even where no tag is closed
_MARKUP = re.compile(r"<!--|-->|<[/!?a-zA-Z][^<>]*>")
_INLINE = re.compile(
    "a|abbr|b|bdi|bdo|cite|code|em|font|i|kbd|mark|q|s|samp|small|span|strong|sub|sup|tt|u|var"
)
_HIDDEN = re.compile("head|script|style|template|noscript")
# Elements that need no end tag: counted as open they would make a long list look deep.
_UNCLOSED = re.compile(
    "area|base|br|col|dd|dt|embed|hr|img|input|li|link|meta|option|p|source|td|th|tr|wbr", re.IGNORECASE
)
_MANY_TAGS = 20_000
_MUCH_WORK = 50_000_000  # steps of about 5 ns


def visible_text(html: str | bytes, main_content: bool = False) -> str:
    """The visible text of a page: block elements on lines of their own, entities decoded.

    Scripts, styles, comments and the head are left out. Bytes are decoded as the page declares.
    With `main_content`, resiliparse also drops menus, headers and footers.
    """
    parse, decode, extract = _tools()
    page = _UNFIT.sub("\ufffd", decode(html) if isinstance(html, bytes) else html)
    if page.count("<") > _MANY_TAGS and _work(page) > _MUCH_WORK:
        return _flat_text(page)
    text: str = extract(
        parse(page), preserve_formatting=True, list_bullets=False, links=False, main_content=main_content
    )
    return _UNFIT.sub("\ufffd", text).strip()


@cache
def _tools() -> tuple[Callable[[str], Any], Callable[[bytes], str], Callable[..., str]]:
    """The parser, the decoder and the extractor of resiliparse, which is optional."""
    try:
        from resiliparse.extract.html2text import extract_plain_text
        from resiliparse.parse.encoding import bytes_to_str, detect_encoding
        from resiliparse.parse.html import HTMLTree
    except ImportError:
        raise MissingExtra("resiliparse", "html", "Reading HTML") from None

    def decode(data: bytes) -> str:
        text: str = bytes_to_str(data, detect_encoding(data, from_html_meta=True) or "utf-8")
        return text

    return HTMLTree.parse, decode, extract_plain_text


def _work(page: str) -> int:
    """The steps of building the tree, which searches all open elements at each tag.

    100,000 nested elements, a file of 500 kB, would take it 48 s.
    """
    depth = steps = 0
    for closing, name in _TAG.findall(page):
        if not _UNCLOSED.fullmatch(name):
            depth = max(0, depth - 1) if closing else depth + 1
        steps += depth
    return steps


def _flat_text(page: str) -> str:
    """The text between the tags, in one pass: for pages too deep for a tree."""
    from html import unescape

    parts, at, hidden = [], 0, ""
    for match in _MARKUP.finditer(page):
        markup = match.group().lower()
        if not hidden:
            parts.append(page[at : match.start()])
        at = match.end()
        name = markup.strip("</>!? \n\t").partition(" ")[0]
        if hidden:
            hidden = "" if markup == "-->" == hidden or markup.startswith(f"</{hidden}") else hidden
        elif markup == "<!--":
            hidden = "-->"
        elif _HIDDEN.fullmatch(name) and not markup.startswith("</"):
            hidden = name
        elif not _INLINE.fullmatch(name):
            parts.append("\n")
    parts.append("" if hidden else page[at:])
    lines = (" ".join(line.split()) for line in unescape("".join(parts)).splitlines())
    return _UNFIT.sub("\ufffd", "\n".join(line for line in lines if line))
