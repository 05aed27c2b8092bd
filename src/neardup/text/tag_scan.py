"""An HTML page as tags and the text between them, in one pass of linear time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from neardup.text.references import decode_references

# No part of it crosses a "<", so that unclosed markup is scanned once: a quote also ends at the next "<".
MARKUP = re.compile(
    r"""<(?:(/?)([a-zA-Z][^\s<>/"']*)((?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+)>|(!--)|[!?/][^<>]*>)"""
)
# A name begins where no letter stands before it: of a long word without "=" not every tail is tried.
ATTRIBUTE = re.compile(r"""(?<![a-zA-Z-])([a-zA-Z-]++)\s*+=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
HIDDEN = ("script", "style", "noscript", "template")  # not visible: skipped up to the end tag
END = {name: re.compile(f"</{name}", re.IGNORECASE) for name in HIDDEN}


class Markup(NamedTuple):
    """A start tag, an end tag (closing), or a text (without a name)."""

    name: str
    closing: bool
    rest: str  # the attributes of a tag, or the text with character references decoded

    def attribute(self, attribute: str) -> str | None:
        """The value of an attribute of a start tag."""
        for name, *values in ATTRIBUTE.findall(self.rest):
            if name.lower() == attribute:
                return decode_references("".join(values))
        return None


def pieces(page: str) -> Iterator[Markup]:
    """Tags and texts in order; comments, declarations and hidden elements are left out."""
    at, comments_end = 0, True
    while (match := MARKUP.search(page, at)) is not None:
        if match.start() > at:
            yield _text(page[at : match.start()])
        at = match.end()
        closing, name, rest, comment = match.groups()
        if comment:
            end = page.find("-->", match.start() + 2) if comments_end else -1
            comments_end = end >= 0  # after one failed search, no other
            end = end + 2 if end >= 0 else page.find(">", at)
            at = end + 1 if end >= 0 else len(page)
        elif name:
            name = name.lower()
            yield Markup(name, bool(closing), rest)
            if name in HIDDEN and not closing:
                found = END[name].search(page, at)
                at = len(page) if found is None else found.start()  # cut off inside: the rest belongs to it
    if at < len(page):
        yield _text(page[at:])


def _text(text: str) -> Markup:
    return Markup("", False, decode_references(text))
