"""Tokens of HTML pages that know the markup around them: headings, emphasis, links, the title."""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser

import numpy as np

from neardup.columns import Texts, Tokens, to_utf8
from neardup.text.words import TokenKind, Words

TAGS = ("title", "h1", "h2", "h3", "h4", "h5", "h6", "b", "strong", "i", "em", "a")  # bits of Tokens.tags
HIDDEN = ("script", "style", "noscript", "template")
VOID = ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")


@dataclass(frozen=True)
class TaggedWords:
    """Tokens of what an HTML page shows; `Tokens.tags` has a bit for each tag of TAGS that a token is inside of."""

    tokens: TokenKind = "words"
    markup: bool = True  # the engine hands over the page, not its text

    def __call__(self, texts: Texts, details: bool = True) -> Tokens:
        runs: list[bytes] = []
        masks: list[int] = []
        ends = [0]
        for number in range(len(texts)):
            page = _Page()
            page.feed(texts.document(number).decode("utf-8", "replace"))
            page.close()
            runs += [to_utf8(text) for text, _ in page.runs]
            masks += [mask for _, mask in page.runs]
            ends.append(len(runs))
        found = Words(self.tokens)(Texts.from_strings(runs), details)
        tags = np.repeat(np.array(masks, np.uint16), np.diff(found.offsets))
        return Tokens(found.offsets[ends], found.hashes, found.positions, found.marks, tags=tags)


class _Page(HTMLParser):
    """Runs of text with the tags around them. A tag that is never closed ends with the element around it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.runs: list[tuple[str, int]] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if any(tag in HIDDEN for tag in self._open):
            return
        mask = sum(1 << TAGS.index(tag) for tag in set(self._open) if tag in TAGS)
        self.runs.append((data, mask))
