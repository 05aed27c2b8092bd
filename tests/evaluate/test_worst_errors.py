"""The errors that a reader is shown first, in the terminal and as a page."""

from __future__ import annotations

import io
from html.parser import HTMLParser
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import neardup
from neardup.cli.support.worst_errors import print_errors
from neardup.errors import ParameterError
from neardup.evaluate.evaluation_page import errors_of
from neardup.evaluate.method_errors import MethodErrors
from neardup.evaluate.worst_errors import WorstErrors, WorstPair, compare_worst, worst_errors
from neardup.pages.evaluation_page import EvaluationPage, evaluation_page

STORY = "the council met on monday and voted for the new bridge over the river after a long debate"
HOSTILE = (
    '<script>alert("1")</script> & </div></body> <img src=x onerror=alert(1)> \x00\x1b[31m \u202ekcab ]]> -->'
)
HEBREW = "מועצת העיר אישרה ביום שני את הגשר החדש מעל הנהר לאחר דיון ארוך"


def pages_of(
    texts: list[str], ids: list[str] | None = None, **options: float
) -> tuple[list[WorstPair], WorstErrors]:
    """Every pair of the texts as a false positive with the score 0.9."""
    left, right = np.array(list(combinations(range(len(texts)), 2))).reshape(-1, 2).T
    scores = np.full(len(left), 0.9)
    errors = worst_errors(left, right, scores, scores < 0, 0.5, **options)
    names = ids or [f"doc-{number}" for number in range(len(texts))]
    plan = neardup.make_plan(ngram=3)
    name, text = names.__getitem__, texts.__getitem__
    pairs = compare_worst(errors, left, right, scores, plan=plan, name=name, text=text, cluster=name)
    return pairs, errors


def errors_page(pairs: list[WorstPair], errors: WorstErrors, *, title: str, threshold: float) -> str:
    """The page of one method's errors."""
    return evaluation_page(
        EvaluationPage(title, methods=[errors_of(MethodErrors("m", threshold, pairs, errors))])
    )


class Page(HTMLParser):
    """What a browser would make of it: the open tags, all text, and every tag and attribute that occurs."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.marks: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("meta", "br"):  # the others have an end
            self.open.append(tag)
        if tag == "mark":
            self.marks.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        if "mark" in self.open:
            self.marks[-1] += data


ALLOWED = {
    *"html head meta title style body header footer main nav section h1 h2 h3 p ol li a bdi div figure".split()
}
ALLOWED |= {"figcaption", "small", "mark", "span", "strong", "details", "summary", "script"}


def test_the_worst_come_first() -> None:
    score = np.array([0.9, 0.8, 0.1, 0.3, 0.95, 0.2])
    same = np.array([False, False, True, True, True, False])
    errors = worst_errors([0, 2, 4, 6, 8, 10], [1, 3, 5, 7, 9, 11], score, same, 0.5)
    assert errors.false_positives.tolist() == [0, 1]
    assert errors.false_negatives.tolist() == [2, 3]
    assert (errors.total_positives, errors.total_negatives) == (2, 2)


def test_a_score_at_the_threshold_is_a_find() -> None:
    errors = worst_errors([0, 0], [1, 2], [0.5, 0.5], [True, False], 0.5)
    assert (errors.false_positives.tolist(), errors.false_negatives.tolist()) == ([1], [])


def test_one_bad_cluster_does_not_fill_the_list() -> None:
    clusters = ["bad"] * 6 + ["worse"] * 6 + [f"c{number}" for number in range(8)]
    left = [*(a for a in range(6) for _ in range(6)), 12, 14, 16, 0]
    right = [*(b for _ in range(6) for b in range(6, 12)), 13, 15, 17, 18]
    score = np.concatenate([np.linspace(0.99, 0.9, 36), [0.8, 0.7, 0.6, 0.85]])
    errors = worst_errors(left, right, score, np.zeros(40, bool), 0.5, clusters=clusters, most=5)
    assert errors.false_positives.tolist() == [0, 36, 37, 38, 1]
    assert errors.similar_positives.tolist() == [36, 1, 1, 1, 36]
    assert errors.total_positives == 40


def test_a_cluster_that_is_confused_with_many_does_not_fill_the_list() -> None:
    right = list(range(1, 20))
    errors = worst_errors(
        [0] * 19 + [21], [*right, 22], [*np.linspace(1, 0.9, 19), 0.6], [False] * 20, 0.5, most=2
    )
    assert errors.false_positives.tolist() == [0, 19]


pairs = st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from([0.1, 0.4, 0.6, 0.9]), st.booleans())


@given(st.lists(pairs, max_size=30), st.integers(0, 8))
def test_errors_are_errors_and_as_many_as_asked(rows: list[tuple], most: int) -> None:
    left, right, score, same = ([row[k] for row in rows] for k in range(4))
    errors = worst_errors(left, right, score, same, 0.5, clusters=np.arange(10) // 2, most=most)
    wrong = [place for place in range(len(rows)) if (score[place] >= 0.5) != same[place]]
    for chosen, kind in ((errors.false_positives, False), (errors.false_negatives, True)):
        all_of_kind = [place for place in wrong if same[place] == kind]
        assert len(chosen) == min(most, len(all_of_kind)) == len(set(chosen.tolist()))
        assert set(chosen.tolist()) <= set(all_of_kind)
        if len(chosen):  # the very worst is always there
            ends = max if not kind else min
            assert score[chosen[0]] == ends(score[place] for place in all_of_kind)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ParameterError, match="'positive'"):
        worst_errors([0], [1], [0.5], [True, False], 0.5)
    with pytest.raises(ParameterError, match="'most'"):
        worst_errors([0], [1], [0.5], [True], 0.5, most=-1)


def test_the_page_marks_what_is_shared() -> None:
    found, errors = pages_of([f"Rain fell. {STORY}", f"{STORY}. The mayor smiled."])
    page = Page(errors_page(found, errors, title="Worst errors", threshold=0.5))
    assert page.open == [] and page.tags <= ALLOWED
    assert [mark.strip(" .") for mark in page.marks] == [STORY, STORY]
    text = " ".join(page.text)
    assert "Rain fell." in text and "The mayor smiled." in text
    assert "1 false positive, 0 false negatives" in text


@pytest.mark.parametrize("hostile", [HOSTILE, "<mark>", "&lt;b&gt;", '" onmouseover="x', "\ud800 lone"])
def test_hostile_text_stays_text(hostile: str) -> None:
    found, errors = pages_of([f"{STORY} {hostile}", f"{hostile} {STORY}"], ids=[hostile, f"2 {hostile}"])
    source = errors_page(found, errors, title=hostile, threshold=0.5)
    page = Page(source)
    assert page.open == [] and page.tags <= ALLOWED
    assert page.attributes <= {
        "lang",
        "charset",
        "name",
        "content",
        "http-equiv",
        "class",
        "href",
        "id",
        "aria-labelledby",
        "open",
        "dir",
        "data-n",
    }
    assert not any((ord(char) < 32 and char not in "\n\t") or char in "\x1b\u202e\ud800" for char in source)
    assert "default-src 'none'" in source and "http://" not in source and "https://" not in source
    printed = "".join(page.text)
    harmless = (
        hostile.replace("\x00", "␀")
        .replace("\x1b", "␛")
        .replace("\u202e", "\ufffd")
        .replace("\ud800", "\ufffd")
    )
    assert printed.count(harmless) >= 5  # title, heading, summary, captions, texts


def test_right_to_left_text_keeps_its_direction() -> None:
    found, errors = pages_of([HEBREW, f"{HEBREW} בשלום"])
    source = errors_page(found, errors, title="כותרת", threshold=0.5)
    assert source.count('<div class="text" dir="auto">') == 2
    assert HEBREW in "".join(Page(source).marks)


@pytest.mark.parametrize("texts", [["", ""], ["", STORY], [STORY, "  \n "], ["!!!", "???"]])
def test_empty_texts_are_shown_as_such(texts: list[str]) -> None:
    found, errors = pages_of(texts)
    page = Page(errors_page(found, errors, title="t", threshold=0.5))
    assert page.open == [] and page.marks == []
    assert ("no text" in "".join(page.text)) == ("" in texts)
    out = io.StringIO()
    print_errors(Console(file=out, width=100), found, errors)
    assert "doc-0 and doc-1" in out.getvalue()


def test_long_texts_are_cut_to_what_is_around_the_passages() -> None:
    filler = [" ".join(f"{letter}{number}" for number in range(3000)) for letter in "xy"]
    found, errors = pages_of([f"{filler[0]} {STORY} {filler[0]}", f"{STORY} {filler[1]}"])
    source = errors_page(found, errors, title="t", threshold=0.5)
    assert len(source) < 12_000 + len(errors_page([], errors, title="t", threshold=0.5))
    text = "".join(Page(source).text)
    assert "x0 x1 x2" in text and "x2998 x2999" in text and "… 2,921 words …" in text
    assert STORY in text and "y0 y1" in text


def test_no_errors_make_a_page_too() -> None:
    found, errors = pages_of([STORY])
    page = Page(errors_page(found, errors, title="None", threshold=0.5))
    assert "".join(page.text).count("None.") == 2


def test_the_terminal_shows_both_kinds_side_by_side() -> None:
    texts = [f"Rain fell. {STORY}", f"{STORY}. The mayor smiled.", "Something else altogether.", HOSTILE]
    left, right, score = [0, 2, 1], [1, 3, 2], [0.9, 0.1, 0.2]
    errors = worst_errors(left, right, score, [False, True, True], 0.5, most=1)
    plan = neardup.make_plan(ngram=3)
    found = compare_worst(
        errors,
        left,
        right,
        score,
        plan=plan,
        name=str,
        text=texts.__getitem__,
        cluster="abbb".__getitem__,
    )
    out = io.StringIO()
    print_errors(Console(file=out, width=100, no_color=True), found, errors)
    printed = out.getvalue()
    assert "1 false positive\n" in printed and "2 false negatives, the worst 1 shown" in printed
    assert "clusters a and b" in printed and "cluster b" in printed
    assert "\x1b" not in printed and "Rain fell." in printed and "≠" in printed
