"""Parts of made-up pages: markup with the text that a person reads there, and short texts to fill it."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z“\"(])")


class Piece(NamedTuple):
    """Markup, and the text that a person reads there."""

    html: str
    text: str


class Words:
    """Short texts for headings, cells and items, from the sentences of all articles."""

    def __init__(self, golds: Sequence[str]) -> None:
        sentences = [s for gold in golds for s in SENTENCE_END.split(" ".join(gold.split()))]
        self.sentences = [s for s in sentences if 30 <= len(s) <= 300 and "<" not in s]

    def some(self, rng: random.Random, low: int, high: int) -> str:
        """A few words of a random sentence."""
        words = rng.choice(self.sentences).split()
        start = rng.randrange(max(1, len(words) - high))
        return " ".join(words[start : start + rng.randint(low, high)]).strip(",.;:")

    def title(self, rng: random.Random) -> str:
        """A heading."""
        found = self.some(rng, 2, 7)
        return found.title() if rng.random() < 0.5 else found[:1].upper() + found[1:]


def element(tag: str, text: str) -> Piece:
    """An element with a text."""
    return Piece(f"<{tag}>{escape(text, quote=False)}</{tag}>", text)


def link_element(tag: str, text: str) -> Piece:
    """An element whose text is a link."""
    return Piece(f'<{tag}><a href="/x">{escape(text, quote=False)}</a></{tag}>', text)


def wrap(before: str, pieces: Sequence[Piece], after: str) -> Piece:
    """Pieces inside an element."""
    return Piece(before + "\n".join(p.html for p in pieces) + after, " ".join(p.text for p in pieces))


def item_list(texts: Sequence[str], rng: random.Random, linked: bool | None = None) -> Piece:
    """A list; most items of some lists are links."""
    tag, pieces = rng.choice(("ul", "ol")), []
    linked = rng.random() < 0.25 if linked is None else linked
    for text in texts:
        pieces.append(link_element("li", text) if linked and rng.random() < 0.7 else element("li", text))
    return wrap(f"<{tag}>", pieces, f"</{tag}>")


def cell(words: Words, rng: random.Random) -> str:
    """A number, or a few words."""
    return str(rng.randrange(10_000)) if rng.random() < 0.4 else words.some(rng, 1, 6)
