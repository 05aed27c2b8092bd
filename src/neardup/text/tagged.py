"""Tokens of HTML pages with the markup around them: headings, emphasis, links, the title."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neardup.columns import Texts, Tokens, to_utf8
from neardup.text.fields import SEPARATOR, FieldedWords
from neardup.text.stemmed import Stemmed
from neardup.text.tag_scan import pieces
from neardup.text.words import Words

TAGS = ("title", "h1", "h2", "h3", "h4", "h5", "h6", "b", "strong", "i", "em", "a")  # bits of Tokens.tags
BITS = {tag: 1 << place for place, tag in enumerate(TAGS)}
VOID = ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")


@dataclass(frozen=True)
class TaggedWords:
    """Tokens of the visible text of HTML pages; `Tokens.tags` has a bit for each tag of TAGS around a token.

    of      the stage for the text between tags
    beside  the stage for the fields after the page, if there are any: they are no HTML
    """

    of: Words | Stemmed = field(default_factory=Words)
    beside: FieldedWords | Stemmed | None = None
    markup: bool = True  # the engine passes the page, not its text

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
            found = list(tagged_runs(document.decode("utf-8", "replace")))
            runs += [to_utf8(text) for text, _ in found]
            masks += [mask for _, mask in found]
            ends.append(len(runs))
        made = self.of(Texts.from_strings(runs), details)
        tags = np.repeat(np.array(masks, np.uint16), np.diff(made.offsets))
        return Tokens(made.offsets[ends], made.hashes, made.positions, made.marks, tags=tags)


def _interleaved(pages: Tokens, fields: Tokens) -> Tokens:
    """For each document the tokens of its page, then those of its fields."""
    documents = np.arange(len(pages))
    document_of = [np.repeat(documents, np.diff(some.offsets)) for some in (pages, fields)]
    order = np.argsort(np.concatenate(document_of), kind="stable")

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


def tagged_runs(page: str) -> Iterator[tuple[str, int]]:
    """Runs of text with a bit for each tag around them. A tag that is never closed ends with the element around it.

    Open tags are counted as they open and close: a page of a hundred thousand unclosed tags stays linear.
    """
    opened: list[str] = []
    counts: Counter[str] = Counter()
    mask = 0
    for piece in pieces(page):
        if not piece.name:
            yield piece.rest, mask
        elif not piece.closing:
            if piece.name not in VOID:
                opened.append(piece.name)
                counts[piece.name] += 1
                mask |= BITS.get(piece.name, 0)
        elif counts[piece.name]:
            last = ""
            while last != piece.name:
                last = opened.pop()
                counts[last] -= 1
                mask &= ~0 if counts[last] else ~BITS.get(last, 0)
