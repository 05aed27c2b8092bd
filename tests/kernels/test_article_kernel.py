"""Articles of a batch are those of the twin, and references are decoded as Python decodes them."""

from __future__ import annotations

from html import unescape
from html.entities import html5

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from test_markup import pages

import naive_article
from neardup.columns import Texts
from neardup.kernels import references
from neardup.text.article import extract_articles
from neardup.text.references import reference_table

pieces = st.sampled_from([
    "&", "#", ";", "x", "X", "0", "1", "65", "8212", "128", "159", "&#", "&#x", "&#X2014;", "&#0;", "&#xD800;", "&#13;",
    "&#1;", "&#xFFFF;", "&#x110000;", "&amp", "&amp;", "&notit;", "&not", "&nGt;", "&LT", "&thetasym;", "&Aacute", "é",
    "&CounterClockwiseContourIntegral;", "中", "&é;", "a", " ", "\n", "<", "&frac12", "&" + "a" * 40 + ";",
    "&#" + "0" * 30 + "65;", "&#" + "9" * 400 + ";", "\U0001f600",
])  # fmt: skip
references_in_text = st.lists(st.one_of(pieces, st.sampled_from([f"&{name}" for name in html5])), max_size=12)
spaces = st.sampled_from(
    ["\u3000", "\x85", "&#32;", "&emsp;", "&#x1680;", "\u2028", "&nbsp;", "\u200b", "&#28;", "x"]
)
texts = st.one_of(references_in_text.map("".join), st.lists(spaces, max_size=5).map("".join))


def decoded(text: str) -> str:
    data = text.encode()
    out = np.empty(len(data) * 5 // 4 + 8, np.uint8)
    end = references.decode_references(np.frombuffer(data, np.uint8), reference_table(), out, 0)
    return out[:end].tobytes().decode()


@given(references_in_text.map("".join))
def test_references_are_decoded_as_python_decodes_them(text: str) -> None:
    assert decoded(text) == unescape(text)


def test_every_name_and_every_number_of_one_byte() -> None:
    for text in [*(f"&{name}" for name in html5), *(f"&#{number};" for number in range(300))]:
        assert decoded(text) == unescape(text)
        assert len(unescape(text).encode()) <= len(text) * 5 // 4  # which the room for texts relies on


@given(st.lists(st.lists(st.one_of(pages, texts), max_size=3).map("".join), max_size=4))
def test_the_articles_of_a_batch_are_those_of_the_twin(batch: list[str]) -> None:
    articles, found = extract_articles(Texts.from_strings(["skipped", *batch]).slice(1, len(batch) + 1))
    expected = [naive_article.extract(page.encode()) for page in batch]
    texts = [articles.document(number).decode() for number in range(len(batch))]
    assert list(zip(texts, found.tolist(), strict=True)) == expected
