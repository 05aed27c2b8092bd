"""Tokens of HTML pages that know the markup around them: headings, emphasis, links, the title."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import numpy as np

from neardup.columns import Texts, Tokens, to_utf8
from neardup.text.fields import SEPARATOR, FieldedWords
from neardup.text.stemmed import Stemmed
from neardup.text.words import Words

TAGS = ("title", "h1", "h2", "h3", "h4", "h5", "h6", "b", "strong", "i", "em", "a")  # bits of Tokens.tags
HIDDEN = ("script", "style", "noscript", "template")
VOID = ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")


@dataclass(frozen=True)
class TaggedWords:
    """Tokens of what an HTML page shows; `Tokens.tags` has a bit for each tag of TAGS that a token is inside of.

    of      what makes tokens of the text between tags
    beside  what makes tokens of the fields behind the page, if there are any: they are no HTML
    """

    of: Words | Stemmed = field(default_factory=Words)
    beside: FieldedWords | Stemmed | None = None
    markup: bool = True  # the engine hands over the page, not its text

    @property
    def fields(self) -> tuple[str, ...]:
        """The columns that are read beside the page."""
        return () if self.beside is None else self.beside.fields

    def __call__(self, texts: Texts, details: bool = True) -> Tokens:
        documents = [texts.document(number) for number in range(len(texts))]
        if self.beside is None:
            return self._pages(documents, details)
        mark = SEPARATOR.encode()
        parts = [document.partition(mark) for document in documents]
        rest = self.beside(Texts.from_strings([mark + fields for _, _, fields in parts]), details)
        return _interleaved(self._pages([page for page, _, _ in parts], details), rest)

    def _pages(self, documents: list[bytes], details: bool) -> Tokens:
        runs: list[bytes] = []
        masks: list[int] = []
        ends = [0]
        for document in documents:
            page = _Page()
            page.feed(document.decode("utf-8", "replace"))
            page.close()
            runs += [to_utf8(text) for text, _ in page.runs]
            masks += [mask for _, mask in page.runs]
            ends.append(len(runs))
        found = self.of(Texts.from_strings(runs), details)
        tags = np.repeat(np.array(masks, np.uint16), np.diff(found.offsets))
        return Tokens(found.offsets[ends], found.hashes, found.positions, found.marks, tags=tags)


def _interleaved(pages: Tokens, fields: Tokens) -> Tokens:
    """For each document the tokens of its page, then those of its fields."""
    documents = np.arange(len(pages))
    owner = [np.repeat(documents, np.diff(some.offsets)) for some in (pages, fields)]
    order = np.argsort(np.concatenate(owner), kind="stable")

    def both(first: Any, second: Any) -> Any:
        whole = np.concatenate([first, second])
        return whole[order] if len(whole) == len(order) else whole  # positions and marks may be left out

    none = np.zeros(len(fields.hashes), np.uint16)
    text = np.zeros(len(pages.hashes), np.uint8)
    return Tokens(
        pages.offsets + fields.offsets, both(pages.hashes, fields.hashes),
        both(pages.positions, fields.positions), both(pages.marks, fields.marks),
        both(text, fields.fields), both(pages.tags, none),
    )  # fmt: skip


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
