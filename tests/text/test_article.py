"""The text of a page's article: all of it, and little else."""

from __future__ import annotations

import sys
from typing import Any, get_args

import pytest
from article_pages import BLOG, EXAMPLES, HARBOUR, MODERN, Example

from neardup.errors import MissingExtra, ParameterError
from neardup.text import article
from neardup.text.article import HtmlText, article_text, article_texts, extract_text
from neardup.text.html import visible_text

METHODS = ["article", "segments", "resiliparse", "visible"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_the_article_is_there_and_what_is_around_it_is_not(example: Example) -> None:
    text = article_text(example.html)
    assert [sentence for sentence in example.article if sentence not in text] == []
    assert [phrase for phrase in example.around if phrase in text] == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
@pytest.mark.parametrize("how", METHODS)
def test_every_method_finds_the_article(example: Example, how: Any) -> None:
    text = " ".join(article_text(example.html, how).split())
    assert [sentence for sentence in example.article if sentence not in text] == []


def test_a_paragraph_is_a_line_and_references_are_decoded() -> None:
    page = MODERN.replace("Nobody", "Nobody &amp;&nbsp;nothing&#33;")
    lines = article_text(page).splitlines()
    assert lines[-4:] == [HARBOUR[0], HARBOUR[1].replace("Nobody", "Nobody & nothing!"), *HARBOUR[2:]]


def test_a_text_that_a_page_has_twice_comes_once() -> None:
    assert (
        article_text(MODERN.replace("</article>", f"</article><div>{HARBOUR[1]}</div>")).count(HARBOUR[1])
        == 1
    )


GUIDE = (
    "<ul class=menu><li><a href=/>Home</a><li><a href=/guides>Guides</a></ul>"
    "<div class=x81><h1>Paint a boat</h1><p>A wooden boat wants new paint every second spring, "
    "and a dry week for it.</p>"
    "<h2>What you need</h2><ul><li>sandpaper</li><li>two brushes</li><li>marine paint</li></ul>"
    "<p>Choose a week without rain, and work in the shade, because paint that dries too fast will blister.</p>"
    "<h2>How long it takes</h2><table><tr><td>sanding</td><td>one day</td></tr>"
    "<tr><td>painting</td><td>two days</td></tr></table>"
    "<p>Leave the boat alone for three days before you put it back into the water, even if it looks dry.</p></div>"
    "<div class=x82><a href=/1>Ten knots for beginners</a> <a href=/2>Is your anchor too small?</a></div>"
    "<footer><p>Copyright of the harbour club</p></footer>"
)


def test_short_parts_of_an_article_go_with_what_is_around_them() -> None:
    lines = article_text(GUIDE).splitlines()
    for part in ("What you need", "sandpaper", "two brushes", "How long it takes", "sanding", "two days"):
        assert part in lines
    assert not {"Home", "Guides", "Copyright of the harbour club"} & set(lines)
    assert "anchor" not in " ".join(lines)


def test_visible_is_what_a_reader_sees() -> None:
    assert extract_text(BLOG, "visible") == (visible_text(BLOG), True)


@pytest.mark.parametrize("how", METHODS)
@pytest.mark.parametrize(
    "page",
    ["<ul><li><a href=/a>Home</a><li><a href=/b>Shop</a></ul>", "<p>one", "word", "<nav><b>Menu</b></nav>"],
)
def test_a_page_without_an_article_gives_its_visible_text(page: str, how: Any) -> None:
    found = article_text(page, how).split()
    assert found
    if len(found) != len(
        visible_text(page).split()
    ):  # the best of it, where something is better than the rest
        assert set(found) < set(visible_text(page).split())


LOGIN = "<h1>Log in</h1>" + "".join(f"<li><a href=/{k}>Section number {k} of our site</a>" for k in range(80))


@pytest.mark.parametrize("how", get_args(HtmlText))
def test_a_few_words_of_a_long_page_are_no_article(how: Any) -> None:
    try:
        text, found = extract_text(LOGIN, how)
    except MissingExtra:
        pytest.skip("an extra, or what it needs, is not installed")
    assert "Log in" in text and "Section number 79 of our site" in text
    if how in ("article", "trafilatura"):  # the others take the list for an article
        assert not found


def test_it_is_told_whether_an_article_was_found() -> None:
    assert extract_text(MODERN).found
    assert not extract_text(LOGIN).found
    assert extract_text("").found and extract_text("<p></p>").found  # nothing is lost of nothing


def test_wholly_linked_pages_keep_all_their_words() -> None:
    assert article_text("<ul><li><a href=/a>Home</a><li><a href=/b>Shop</a></ul>").split() == ["Home", "Shop"]


@pytest.mark.parametrize("how", METHODS)
def test_an_empty_page_gives_an_empty_text(how: Any) -> None:
    assert [article_text(page, how) for page in ("", b"", "   ", "<p></p>", "<script>x</script>")] == [""] * 5


@pytest.mark.parametrize("threads", [1, 3])
def test_many_pages_give_what_each_gives_alone(threads: int) -> None:
    pages = [example.html for example in EXAMPLES] * 5 + ["", MODERN.encode()]
    assert article_texts(pages, threads=threads) == [article_text(page) for page in pages]


def test_unknown_methods_and_thread_numbers_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"'html_text'.*article, segments.*'magic'"):
        article_text("<p>x", "magic")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'html_text'"):
        article_texts([], "magic")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'threads'"):
        article_texts([], threads=0)


def test_without_trafilatura_its_user_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    article._trafilatura.cache_clear()
    with pytest.raises(MissingExtra, match=r"pip install 'neardup\[trafilatura\]'"):
        article_text(MODERN, "trafilatura")
    article._trafilatura.cache_clear()


def test_trafilatura_finds_the_article_where_it_is_installed() -> None:
    try:
        text = article_text(MODERN, "trafilatura")
    except MissingExtra:
        pytest.skip("trafilatura, or what it needs, is not installed")
    assert all(sentence in text for sentence in HARBOUR)


def test_the_weights_are_those_of_the_features() -> None:
    first, second = article.weights()
    assert len(first) == len(article.FEATURES) + 1
    assert (
        len(second) == len(article.SURROUNDINGS) + len(article.FEATURES) + 1
        and article.weights().second is second
    )


def test_a_list_of_links_beside_an_article_stays_out() -> None:
    links = "".join(f"<li><a href=/{k}>Section {k} of our site, which has many</a>" for k in range(60))
    story = "".join(
        f"<p>The harbour was closed again, for the {k}th time, the port said.</p>" for k in range(8)
    )
    found = article_text(f"<ul>{links}</ul><article>{story}</article>")
    assert "Section" not in found and found.count("The harbour") == 8
