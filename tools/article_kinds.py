"""Pages of other kinds, made from labelled ones: guides, lists of recommendations, tables, questions and answers.

The labelled pages are nearly all news. Their articles are rewritten here into the forms that other sites use, inside
their own boilerplate, and the gold text changes with them. Nothing of the result is kept: `train_article_weights.py`
makes the pages when it learns.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from html import escape, unescape
from typing import Any, NamedTuple

PARAGRAPH = re.compile(r"<p\b[^>]*>(.*?)</p\s*>", re.IGNORECASE | re.DOTALL)
TAG = re.compile(r"<[^>]*>")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z“\"(])")
NAMES = re.compile(r"\b(class|id)\s*=\s*(\"[^\"]*\"|'[^']*')", re.IGNORECASE)
LEAST = 40  # characters of a paragraph that is rewritten


class Piece(NamedTuple):
    """Markup, and the text that a person reads there."""

    html: str
    text: str


Rewrite = Callable[[list[str], "Words", random.Random], list[Piece]]


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


def rewritten(document: dict[str, Any], kind: str, words: Words, rng: random.Random) -> dict[str, Any] | None:
    """The page with its article in another form; None if it has too few paragraphs to rewrite."""
    html, gold = document["html"], " ".join(document["gold"].split())
    spans = [
        (found.start(), found.end(), text)
        for found in PARAGRAPH.finditer(html)
        if len(text := plain(found[1])) >= LEAST and text in gold
    ]
    if len(spans) < 3:
        return None
    groups = _neighbours(spans, html)
    parts, at = [], 0
    for group in groups:
        pieces = KINDS[kind]([text for _, _, text in group], words, rng)
        parts += [html[at : group[0][0]], "\n".join(piece.html for piece in pieces)]
        at = group[-1][1]
        first = gold.find(group[0][2])
        last = gold.find(group[-1][2], max(first, 0))
        if first < 0 or last < 0:
            return None
        gold = f"{gold[:first]} {' '.join(p.text for p in pieces)} {gold[last + len(group[-1][2]) :]}"
    page = "".join(parts) + html[at:]
    if rng.random() < 0.4:
        page = without_names(page, rng)
    return {**document, "id": f"{document['id']} {kind}", "html": page, "gold": gold}


def plain(html: str) -> str:
    """The text of a paragraph."""
    return " ".join(unescape(TAG.sub("", html)).split())


def without_names(html: str, rng: random.Random) -> str:
    """The page with names of classes as build tools make them, which say nothing."""
    known: dict[str, str] = {}

    def replace(found: re.Match[str]) -> str:
        name = found[2].strip("\"'")
        known.setdefault(name, f"{rng.choice('abcxyz')}{rng.randrange(16**6):06x}")
        return f'{found[1]}="{known[name]}"'

    return NAMES.sub(replace, html)


def _neighbours(spans: list[tuple[int, int, str]], html: str) -> list[list[tuple[int, int, str]]]:
    """Runs of paragraphs with nothing but white space between them."""
    groups = [[spans[0]]]
    for span in spans[1:]:
        between = html[groups[-1][-1][1] : span[0]]
        if between.strip():
            groups.append([])
        groups[-1].append(span)
    return [group for group in groups if group]


def _tag(tag: str, text: str, attributes: str = "") -> Piece:
    return Piece(f"<{tag}{attributes}>{escape(text, quote=False)}</{tag}>", text)


def _linked(tag: str, text: str) -> Piece:
    return Piece(f'<{tag}><a href="/x">{escape(text, quote=False)}</a></{tag}>', text)


def _around(before: str, pieces: Sequence[Piece], after: str) -> Piece:
    return Piece(before + "\n".join(p.html for p in pieces) + after, " ".join(p.text for p in pieces))


def _items(texts: Sequence[str], rng: random.Random) -> Piece:
    """A list, some of whose items are links or begin with a bold word."""
    tag, pieces = rng.choice(("ul", "ol")), []
    linked = rng.random() < 0.25
    for text in texts:
        pieces.append(_linked("li", text) if linked and rng.random() < 0.7 else _tag("li", text))
    return _around(f"<{tag}>", pieces, f"</{tag}>")


def guide(texts: list[str], words: Words, rng: random.Random) -> list[Piece]:
    """Sections with sub-headings, paragraphs, and lists of sentences or of a few words."""
    found: list[Piece] = []
    for number, text in enumerate(texts):
        if number and rng.random() < 0.45:
            found.append(_tag(rng.choice(("h2", "h2", "h3", "h4")), words.title(rng)))
        sentences = SENTENCE_END.split(text)
        if len(sentences) > 1 and rng.random() < 0.4:
            found += [_tag("p", sentences[0]), _items(sentences[1:], rng)]
        else:
            found.append(_tag("p", text))
        if rng.random() < 0.25:
            found.append(_items([words.some(rng, 1, 8) for _ in range(rng.randint(3, 9))], rng))
    return found


def listicle(texts: list[str], words: Words, rng: random.Random) -> list[Piece]:
    """Numbered entries, each with a title, a short text and sometimes facts or a button."""
    found: list[Piece] = []
    heading, box = rng.choice(("h2", "h3", "strong")), rng.random() < 0.5
    for number, text in enumerate(texts, 1):
        title = words.title(rng)
        shown = f"{number}. {title}" if rng.random() < 0.6 else title
        sentences = SENTENCE_END.split(text)
        entry = [_linked(heading, shown) if rng.random() < 0.3 else _tag(heading, shown)]
        entry.append(_tag("p", " ".join(sentences[: rng.randint(1, 3)])))
        if rng.random() < 0.4:
            entry.append(_items([words.some(rng, 2, 6) for _ in range(rng.randint(2, 5))], rng))
        found.append(_around("<div><div>", entry, "</div></div>") if box else _around("", entry, ""))
    return found


def table(texts: list[str], words: Words, rng: random.Random) -> list[Piece]:
    """Paragraphs with tables of short cells between them."""
    found: list[Piece] = []
    for text in texts:
        found.append(_tag("p", text))
        if rng.random() < 0.35:
            width = rng.randint(2, 4)
            rows = [
                _around("<tr>", [_tag("td", _cell(words, rng)) for _ in range(width)], "</tr>")
                for _ in range(rng.randint(3, 9))
            ]
            head = _around("<tr>", [_tag("th", words.some(rng, 1, 2)) for _ in range(width)], "</tr>")
            found.append(_around("<table>", [head, *rows], "</table>"))
    return found


def _cell(words: Words, rng: random.Random) -> str:
    return str(rng.randrange(10_000)) if rng.random() < 0.4 else words.some(rng, 1, 6)


def answers(texts: list[str], words: Words, rng: random.Random) -> list[Piece]:
    """Questions with their answers, definitions, and quotations."""
    found: list[Piece] = []
    defined = rng.random() < 0.4
    for text in texts:
        question = words.some(rng, 3, 9) + "?"
        if defined:
            found.append(_around("<dl>", [_tag("dt", question), _tag("dd", text)], "</dl>"))
        else:
            found += [_tag(rng.choice(("h3", "h4", "strong")), question), _tag("div", text)]
        if rng.random() < 0.15:
            found.append(_around("<blockquote>", [_tag("p", words.some(rng, 6, 25))], "</blockquote>"))
    return found


def lines(texts: list[str], words: Words, rng: random.Random) -> list[Piece]:
    """Text without paragraphs: line breaks, or containers of one line each."""
    if rng.random() < 0.5:
        pieces = [Piece(escape(text, quote=False) + "<br><br>", text) for text in texts]
        return [_around("<div>", pieces, "</div>")]
    sentences = [s for text in texts for s in SENTENCE_END.split(text)]
    return [_tag("div", sentence) for sentence in sentences]


KINDS: dict[str, Rewrite] = {
    "guide": guide,
    "listicle": listicle,
    "table": table,
    "answers": answers,
    "lines": lines,
}
