"""An HTML page as tags and the text between them, in one pass whose time is linear in the page, whatever it holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

# No part of it crosses a "<", so that what is never closed is looked at once: a quote ends at the next "<" too.
MARKUP = re.compile(
    r"""<(?:(/?)([a-zA-Z][^\s<>/"']*)((?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+)>|(!--)|[!?/][^<>]*>)"""
)
ATTRIBUTE = re.compile(r"""([a-zA-Z-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
HIDDEN = (
    "script",
    "style",
    "noscript",
    "template",
)  # their content is not shown: passed over up to the end tag
END = {name: re.compile(f"</{name}", re.IGNORECASE) for name in HIDDEN}


class Piece(NamedTuple):
    """A start tag, an end tag (closing), or a text (without a name)."""

    name: str
    closing: bool
    rest: str  # what stands in a tag behind its name; or the text, references resolved

    def attribute(self, wanted: str) -> str | None:
        """The value of an attribute of a start tag."""
        for name, *values in ATTRIBUTE.findall(self.rest):
            if name.lower() == wanted:
                return unescape("".join(values))
        return None


def pieces(page: str) -> Iterator[Piece]:
    """Tags and texts in order; comments, declarations and content that is not shown are left out."""
    at, comments_end = 0, True
    while (match := MARKUP.search(page, at)) is not None:
        if match.start() > at:
            yield _text(page[at : match.start()])
        at = match.end()
        closing, name, rest, comment = match.groups()
        if comment:
            end = page.find("-->", match.start() + 2) if comments_end else -1
            comments_end = end >= 0  # looked for in vain once: not again
            end = end + 2 if end >= 0 else page.find(">", at)
            at = end + 1 if end >= 0 else len(page)
        elif name:
            name = name.lower()
            yield Piece(name, bool(closing), rest)
            if name in HIDDEN and not closing:
                found = END[name].search(page, at)
                at = len(page) if found is None else found.start()  # cut off inside: the rest is of it
    if at < len(page):
        yield _text(page[at:])


def _text(text: str) -> Piece:
    return Piece("", False, unescape(text) if "&" in text else text)
