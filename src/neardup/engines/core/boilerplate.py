"""How much of the visible text of pages is outside their articles: menus, links and notices, from a sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from neardup.documents import Problems, Source, choose_columns
from neardup.documents.document_columns import plain_column
from neardup.documents.textfiles import HTML_SUFFIXES, TextSource
from neardup.engines.core.documents import InputColumns

PAGES = 40  # in the sample …
SOURCES = 8  # … from at most so many inputs


def outside_article(sources: Sequence[Source], columns: InputColumns) -> dict[str, Any] | None:
    """The number of sampled pages, and the share of their visible text that is outside the article.

    None unless pages are compared by all their visible text, and some of them have an article.
    """
    if columns.html_text != "visible":
        return None
    from neardup.text.article import extract_text
    from neardup.text.html import visible_text

    visible = inside = pages = 0
    for page in islice(_pages(sources, columns), PAGES):
        text, found = extract_text(page, "article")
        if found:
            length = len(visible_text(page))
            visible, inside, pages = visible + length, inside + min(len(text), length), pages + 1
    return {"pages": pages, "share": round(1 - inside / visible, 3)} if visible else None


def _pages(sources: Sequence[Source], columns: InputColumns) -> Iterator[str]:
    """Pages of inputs that are spread over all of them, about as many of each."""
    each = -(-PAGES // max(1, min(len(sources), SOURCES)))
    for source in _spread(sources, SOURCES):
        if isinstance(source, TextSource):
            yield from _files(source, each)
            continue
        text, _ = choose_columns(source.names(), text=columns.text, id=columns.id, source=source.name)
        if columns.is_html(text):
            batch = next(source.read([text], Problems()), None)
            values = [] if batch is None else plain_column(batch, text).to_pylist()
            yield from (str(page) for page in _spread(values, each) if page)


def _files(source: TextSource, most: int) -> Iterator[str]:
    """HTML files, unread."""
    pages = [file for file in source.files if file[0].lower().endswith(HTML_SUFFIXES)]
    yield from replace(source, files=tuple(_spread(pages, most))).pages(Problems())


def _spread(some: Sequence[Any], most: int) -> list[Any]:
    """At most so many of them, from the first to the last."""
    places = np.unique(np.linspace(0, len(some) - 1, min(most, len(some))).astype(np.int64))
    return [some[int(place)] for place in places]
