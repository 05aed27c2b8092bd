"""Lists of pairs, and a page that goes through one of them: the list beside both texts."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from neardup.explain.passages import shared_passages
from neardup.pages.escaping import named, safe
from neardup.pages.parts import figure_text
from neardup.pages.side_by_side import LEGEND, Caption, one_text, side_by_side
from neardup.plan import Plan
from neardup.studio.app_page import link

__all__ = ["ListedPair", "PairList", "pair_page"]

BEFORE, AFTER = 4, 10  # pairs of the list around the current one
NO_TEXT = "The text was not found."


@dataclass(frozen=True)
class ListedPair:
    """A removed document and the one that it duplicates."""

    id: str
    duplicate_of: str
    similarity: float | None
    about: str = ""  # further words, such as another document that it is near


@dataclass(frozen=True)
class PairList:
    """Pairs of a database in a fixed order, read a few at a time."""

    name: str
    heading: str
    words: str  # what the pairs have in common
    path: Path
    query: str  # SELECT id, duplicate_of, similarity … in order
    values: tuple[Any, ...]
    count: int
    address: dict[str, str]  # parameters that name the list

    def rows(self, first: int, most: int) -> list[ListedPair]:
        """Some pairs from a place on, the first one 0."""
        with closing(sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            found = database.execute(f"{self.query} LIMIT ? OFFSET ?", (*self.values, most, first)).fetchall()
        return [ListedPair(*row) for row in found]

    def where(self, place: int) -> str:
        """The address of the pair at a place, the first one 1."""
        return f"/workbench/pairs?{urlencode({**self.address, 'list': self.name, 'at': str(place)})}"


def text_of(indexes: Sequence[Path], id: str) -> str | None:
    """The text of a document, from the first index that has it."""
    words = "SELECT text FROM texts JOIN documents ON document = number WHERE id = ?"
    for path in indexes:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            found = database.execute(words, (id,)).fetchone()
        if found is not None:
            return str(found[0])
    return None


def pair_page(pairs: PairList, at: int, indexes: Sequence[Path], plan: Plan, back: str) -> str:
    """The pair at a place (the first one 1) beside its list."""
    first = max(at - 1 - BEFORE, 0)
    shown = pairs.rows(first, BEFORE + 1 + AFTER)
    one = shown[at - 1 - first]
    entries = "".join(
        f'<li><a href="{safe(pairs.where(place))}"{" aria-current=true" if place == at else ""}>'
        f'<span class="name">{named(row.id)}</span>'
        f'<span class="tags">{figure_text(row.similarity)} with {named(row.duplicate_of)}</span></a></li>'
        for place, row in enumerate(shown, first + 1)
    )
    steps = "".join(
        link(pairs.where(place), label, key=key, class_="button", help=f"{label} pair")
        for place, label, key in ((at - 1, "Previous", "k"), (at + 1, "Next", "j"))
        if 1 <= place <= pairs.count
    )
    leave = link(back, "Back", key="b", class_="button", help="Back to the counts")
    about = f'<p class="note">{safe(one.about)}</p>' if one.about else ""
    keys = '<button type="button" class="quiet" data-open-keys hidden>Keys <kbd aria-hidden="true">?</kbd></button>'
    return (
        f'<div class="review"><aside aria-label="Pairs"><p class="note">{safe(pairs.words)}</p>'
        f'<ol class="queue" aria-label="{safe(pairs.heading)}">{entries}</ol></aside>\n<article>'
        f'<div class="head"><div><p class="kind">{safe(pairs.heading)}: {at:,} of {pairs.count:,}</p>'
        f"<h1>{named(one.id)} and {named(one.duplicate_of)}</h1>"
        f'<ul class="chips"><li>similarity {figure_text(one.similarity)}</li></ul></div>'
        f'<div class="steps">{steps}{leave}{keys}</div>'
        f"</div>{about}{_texts(one, indexes, plan)}</article></div>"
    )


def _texts(one: ListedPair, indexes: Sequence[Path], plan: Plan) -> str:
    texts = [text_of(indexes, name) for name in (one.id, one.duplicate_of)]
    captions = Caption(one.id), Caption(one.duplicate_of)
    if texts[0] is None or texts[1] is None:
        body = "".join(
            one_text(caption, text, NO_TEXT) for caption, text in zip(captions, texts, strict=True)
        )
        return f'<section class="texts" aria-label="Texts"><div class="sides">{body}</div></section>\n'
    shown = side_by_side(shared_passages(plan, texts[0], texts[1]), captions)
    return f'<section class="texts" aria-label="Texts"><p class="note">{LEGEND}</p>{shown}</section>\n'
