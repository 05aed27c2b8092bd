"""Texts and pages that are made to be slow cost as much per byte as others."""

from __future__ import annotations

import random
import sys
import time
import unicodedata

import numpy as np
import pytest
from counting import assert_linear, insertions, lines_run
from hypothesis import given
from hypothesis import strategies as st

from neardup.columns import Texts
from neardup.explain.passages import shared_passages
from neardup.plans import make_plan
from neardup.text import composed, html
from neardup.text.article import extract_text
from neardup.text.composed import LONG, to_compatible, to_composed
from neardup.text.references import decode_references
from neardup.text.tagged import tagged_runs
from neardup.text.words import Words

MARKS = "\u0301\u0323\u0344\u0f73\u0f71\u0f72\u05b0\u0327"
some_marks = st.text(st.sampled_from(MARKS + "ae\u00e9\u1ea5"), max_size=3 * LONG)


@given(some_marks, st.integers(0, 2 * LONG))
def test_long_runs_of_marks_are_composed_as_unicode_has_it(text, times):
    whole = text + "\u0323\u0301" * times + text
    assert to_composed(whole) == unicodedata.normalize("NFC", whole)


def test_every_combining_mark_is_known():
    for point in range(sys.maxunicode + 1):
        first = unicodedata.normalize("NFD", chr(point))[0]
        marked = bool(composed._marks()[min(point, composed._LAST)])
        assert marked == (unicodedata.combining(first) > 0), hex(point)


@given(some_marks, st.integers(0, 2 * LONG))
def test_marks_of_the_compatible_form_are_sorted_too(text, times):
    whole = text + "\uff9e\u0301\u0323\uff9f" * times + text + "\ufb01"
    assert to_compatible(whole) == unicodedata.normalize("NFKC", whole)


def test_every_mark_of_the_compatible_form_is_known():
    """Other characters begin with a letter in this form, so that no run goes on behind them."""
    for point in range(sys.maxunicode + 1):
        first = unicodedata.normalize("NFKD", chr(point))[0]
        known = bool(composed._marks()[min(point, composed._LAST)]) or point in composed._PRINTED_MARKS
        assert known == (unicodedata.combining(first) > 0), hex(point)


@pytest.mark.parametrize("marks", ["\uff9e\u0301", "\uff9f\u0327\uff9e"])
def test_the_compatible_form_takes_linear_time(monkeypatch, marks):
    given_to_unicode = []
    normalize = unicodedata.normalize
    note = lambda form, text: given_to_unicode.append(text) or normalize(form, text)  # noqa: E731
    monkeypatch.setattr(composed.unicodedata, "normalize", note)
    costs = []
    for n in (1000, 2000, 4000):
        given_to_unicode.clear()
        to_compatible("a" + marks * n)
        costs.append(sum(insertions(text.translate(composed._PRINTED_MARKS)) for text in given_to_unicode))
    assert_linear(costs)


@pytest.mark.parametrize("marks", ["\u0301\u0323", "\u0f73", "\u0344\u0323", "\u05b0\u0301\u0323"])
def test_marks_behind_a_letter_are_sorted_in_linear_time(monkeypatch, marks):
    given_to_unicode = []
    normalize = unicodedata.normalize
    monkeypatch.setattr(
        composed.unicodedata,
        "normalize",
        lambda form, text: given_to_unicode.append(text) or normalize(form, text),
    )
    costs = []
    for n in (1000, 2000, 4000):
        given_to_unicode.clear()
        tokens = Words()(Texts.from_strings(["\u1ea5" + marks * n]))
        assert len(tokens.hashes) == 1
        costs.append(
            sum(
                map(
                    insertions,
                    (normalize("NFD", text) if len(text) < 9 else text for text in given_to_unicode),
                )
            )
        )
    assert_linear(costs)


def test_the_reproduction_is_quadratic():
    """The count that the other tests rely on sees what was wrong."""
    with pytest.raises(AssertionError):
        assert_linear([insertions("a" + "\u0301\u0323" * n) for n in (1000, 2000, 4000)])


def test_comparing_texts_of_marks_is_linear():
    text = "word " * 50 + "a" + "\u0301\u0323" * 50_000
    start = time.process_time()
    assert shared_passages(make_plan("minhash"), text, text).similarity == 1.0
    assert time.process_time() - start < 20  # more than five minutes without the sort


LONG_NUMBER = "&#" + "9" * 5000 + ";"


@pytest.mark.parametrize("how", ["article", "segments", "resiliparse", "visible"])
def test_a_character_reference_of_many_digits_is_no_character(how):
    page = f"<p>{'some words of a page ' * 20}{LONG_NUMBER} and more</p>"
    text = extract_text(page, how).text
    assert "\ufffd" in text and "and more" in text


def test_references():
    assert decode_references(f"a{LONG_NUMBER}b") == "a\ufffdb"
    assert decode_references("&#" + "0" * 5000 + "65;&#65;&amp;&#x41") == "AA&A"
    assert decode_references("&#" + "0" * 5000 + "1114112;") == "\ufffd"
    assert [text for text, _ in tagged_runs(f"<b>{LONG_NUMBER}</b>")] == ["\ufffd"]


HOSTILE = {
    "attributes": lambda n: "<p " + " ".join(f"a{i}=1" for i in range(n)) + ">x</p>",
    "attributes behind a quoted >": lambda n: "<p " + "".join(f"a{i}='>'" for i in range(n)) + ">x</p>",
    "attributes in a comment": lambda n: (
        "<!-- <p x=' --><p " + " ".join(f"a{i}" for i in range(n)) + ">x</p>"
    ),
    "attributes in a script": lambda n: '<script><p x="</script><p ' + "a/" * n + ">x",
    "many bodies": lambda n: "".join(f"<body a{i}=1>" for i in range(n)) + "x",
    "open formatting": lambda n: "".join(f"<font a={i}>" for i in range(n)) + "</p><p>x" * n,
    "nested": lambda n: "<div>" * n + "x",
    "nested behind false ends": lambda n: "<div></x>" * n + "x",
    "lists": lambda n: "<ul><li>x" * n,
    "unclosed": lambda n: "<p a='" * n,
    "comments": lambda n: "<!--" * n,
    "references": lambda n: "&#" + "1" * n + "&amp" * n,
}


@pytest.mark.parametrize("page", HOSTILE.values(), ids=HOSTILE)
def test_no_page_costs_the_parser_quadratic_time(monkeypatch, page):
    """Large pages of each kind do not reach the parser, and what reads them instead takes a line of Python a piece."""
    parsed = []
    monkeypatch.setattr(html, "_tools", lambda: (parsed.append, None, lambda tree, **options: ""))
    for how in ("visible", "resiliparse"):
        cost = lines_run(lambda how=how: extract_text(page(30_000), how))
        assert cost < 40 * len(page(30_000))
    assert not parsed or page in (HOSTILE["references"],)


@pytest.mark.parametrize("page", HOSTILE.values(), ids=HOSTILE)
def test_reading_a_page_without_the_parser_is_linear(page):
    assert_linear([lines_run(lambda n=n: html._flat_text(page(n))) for n in (500, 1000, 2000)])
    assert_linear([lines_run(lambda n=n: list(tagged_runs(page(n)))) for n in (500, 1000, 2000)])
    assert_linear([lines_run(lambda n=n: html._steps(page(n)) or True) for n in (500, 1000, 2000)])


def test_ordinary_pages_reach_the_parser():
    rows = "".join(
        f"<div class='a'><i class='x{i}'></i><p id={i}>some words <b>and</b> more</p></div>"
        for i in range(200)
    )
    script = "<script>for(i=0;i<n;i++){x='" + "word " * 300 + "'}</script>"
    assert html.is_cheap_to_parse(f"<html><body>{rows}{script}</body></html>")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["article", "segments", "resiliparse", "visible"])
@pytest.mark.parametrize("page", HOSTILE.values(), ids=HOSTILE)
def test_two_megabytes_of_page_take_seconds(page, how):
    size = len(page(1000)) / 1000
    whole = page(int(2_300_000 / size))
    start = time.process_time()
    extract_text(whole, how)
    assert time.process_time() - start < 20


def test_tokens_of_shuffled_marks_are_equal():
    draw = random.Random(1)
    marks = list("\u0301" * 40 + "\u0323" * 40 + "\u0327" * 40)
    texts = []
    for _ in range(3):
        draw.shuffle(marks)
        texts.append("word a" + "".join(marks) + " end")
    found = Words()(Texts.from_strings(texts))
    parts = np.split(found.hashes, found.offsets[1:-1])
    assert all(np.array_equal(part, parts[0]) for part in parts)
