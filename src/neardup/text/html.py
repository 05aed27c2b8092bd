"""The visible text of HTML pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from neardup import kernels
from neardup.errors import MissingExtra
from neardup.text.references import decode_references

__all__ = ["is_cheap_to_parse", "visible_text"]

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
# Beyond these the parser's quadratic steps would be felt; see docs/security.md.
_MOST_TAGS = 20_000
_MOST_ATTRIBUTES = 512  # of one tag: each is compared with the others
_MOST_REOPENED = 500_000  # formatting elements that stay open are opened again in each paragraph
_MOST_BODIES = 8  # the attributes of all <html> and <body> tags become those of the first
_MUCH_WORK = 50_000_000  # steps of about 5 ns
_BODY = re.compile(r"<(?:html|body)\b", re.IGNORECASE)
_FORMATTING = re.compile(r"<(?:b|big|code|em|font|i|s|small|strike|strong|tt|u)[\s/]", re.IGNORECASE)


def visible_text(html: str | bytes, main_content: bool = False) -> str:
    """The visible text of a page: block elements on lines of their own, entities decoded.

    Scripts, styles, comments and the head are left out. Bytes are decoded as the page declares.
    With `main_content`, resiliparse also drops menus, headers and footers.
    """
    parse, decode, extract = _tools()
    page = _fit(decode(html) if isinstance(html, bytes) else html)
    if not is_cheap_to_parse(page):
        return _flat_text(page)
    text: str = extract(
        parse(page), preserve_formatting=True, list_bullets=False, links=False, main_content=main_content
    )
    return _fit(text).strip()


def _fit(text: str) -> str:
    """The text for a parser of C strings. Encoding it looks for surrogates ten times as fast as a pattern does."""
    try:
        if "\0" not in text:
            text.encode()
            return text
    except UnicodeEncodeError:
        pass
    return _UNFIT.sub("\ufffd", text)


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


def is_cheap_to_parse(page: str) -> bool:
    """Whether the parser, which searches all open elements and attributes at each tag, needs linear time for a page.

    2 MB of attributes in one tag would take it a minute, 100,000 nested elements 48 s.
    """
    tags = page.count("<")
    return (
        tags <= _MOST_TAGS
        and tags * len(_FORMATTING.findall(page)) <= _MOST_REOPENED
        and len(_BODY.findall(page)) <= _MOST_BODIES
        and (tags * tags <= _MUCH_WORK or _steps(page) <= _MUCH_WORK)
        and kernels.attributes.most_attributes(_bytes(page), _MOST_ATTRIBUTES) <= _MOST_ATTRIBUTES
    )


def _bytes(page: str) -> Any:
    return np.frombuffer(page.encode(), np.uint8)


def _steps(page: str) -> int:
    """The open elements, summed over all tags; an end tag closes the last one opened if that has its name."""
    opened: list[str] = []
    steps = 0
    for closing, name in _TAG.findall(page):
        if not _UNCLOSED.fullmatch(name):
            if not closing:
                opened.append(name.lower())
            elif opened and opened[-1] == name.lower():
                opened.pop()
        steps += len(opened)
    return steps


def _flat_text(page: str) -> str:
    """The text between the tags, in one pass: for pages too deep for a tree."""
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
    lines = (" ".join(line.split()) for line in decode_references("".join(parts)).splitlines())
    return _UNFIT.sub("\ufffd", "\n".join(line for line in lines if line))
