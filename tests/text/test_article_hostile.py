"""Pages that are broken, huge or in the wrong encoding: nothing is raised, time is bounded, no text is lost."""

from __future__ import annotations

import time
from typing import Any

import pytest
from article_pages import HARBOUR, JAPANESE_TEXT, MODERN
from hypothesis import given
from hypothesis import strategies as st

from neardup.text.article import article_text
from neardup.text.encoding import declared_encoding, page_bytes

OURS = ["article", "segments"]
SECONDS = 5.0  # each of these takes some tenths of one; what is quadratic takes minutes


def timed(page: str | bytes, how: Any) -> str:
    """The text, in bounded time."""
    start = time.process_time()
    text = article_text(page, how)
    assert time.process_time() - start < SECONDS
    return text


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    for how in OURS:
        article_text(MODERN, how)  # type: ignore[arg-type]


@pytest.mark.parametrize("how", [*OURS, "resiliparse", "visible"])
def test_a_hundred_thousand_nested_elements(how: str) -> None:
    assert timed("<div>" * 100_000 + "deep text" + "</div>" * 100_000, how) == "deep text"


@pytest.mark.parametrize("how", OURS)
@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<div>" * 100_000 + "deep" + "</section>" * 100_000, "deep"),
        ("<p title='" + "x" * 50_000_000 + "'>text here</p>", "text here"),
        ('<a href="x>' * 100_000 + "text", "text"),
        ("<!-- " * 200_000 + "<p>text</p>", "text"),
        ("<script>" * 200_000 + "<p>text</p>", "text"),
        ("<style>" * 200_000 + "<p>text</p>", "text"),
        ("<" * 500_000, "<" * 500_000),
        ("<table><tr><td>" * 50_000 + "cell", "cell"),
        ("<ul><li>" * 100_000 + "item", "item"),
        ("<b><i>" * 200_000 + "bold", "bold"),
        ("<p " + "a=b " * 500_000 + ">x", "x"),
        ("&nbsp;" * 300_000 + "x", "x"),
    ],
    ids=lambda value: value[:12],
)
def test_repeated_markup(page: str, text: str, how: str) -> None:
    assert timed(page, how) == text


@pytest.mark.parametrize("how", OURS)
def test_more_blocks_than_there_is_room_for_lose_no_text(how: str) -> None:
    assert timed("<p>a b" * 400_000, how).count("a b") == 400_000


@pytest.mark.parametrize("how", OURS)
def test_an_unclosed_script_does_not_swallow_the_page(how: str) -> None:
    page = f"<p>{HARBOUR[0]}</p><script>if (a < b) {{ x() }}\n<p>{HARBOUR[1]}</p>"
    assert timed(page, how) == f"{HARBOUR[0]}\n{HARBOUR[1]}"


@pytest.mark.parametrize("how", OURS)
def test_a_page_cut_off_inside_a_script_loses_only_the_script(how: str) -> None:
    assert "var" not in timed(f"<p>{HARBOUR[0]}</p><script>var x = 1; // {'y' * 1000}", how)


def test_nul_bytes_are_white_space() -> None:
    assert article_text("<p>one\0two</p>\0<\0div>") == "one two\n< div>"


def test_lone_surrogates_become_the_replacement_character() -> None:
    assert article_text("<p>one \ud800 two") == "one \ufffd two"


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("utf-8", "utf-8"), ("utf-8", "iso-8859-1"), ("utf-8", "shift_jis"), ("utf-8", "no-such-name"), ("utf-8", ""),
        ("shift_jis", "shift_jis"), ("euc_jp", "euc-jp"), ("iso2022_jp", "iso-2022-jp"), ("utf-16", ""),
        ("utf-8-sig", "iso-8859-1"),
    ],
)  # fmt: skip
def test_japanese_is_read_in_any_encoding(encoding: str, declared: str) -> None:
    meta = f'<meta charset="{declared}">' if declared else ""
    page = f"<html><head>{meta}</head><body><p>{'</p><p>'.join(JAPANESE_TEXT)}</p></body></html>"
    assert article_text(page.encode(encoding)) == "\n".join(JAPANESE_TEXT)


@pytest.mark.parametrize("declared", ["", "iso-8859-1", "windows-1252", "utf-8", "us-ascii", "hex", "utf-16"])
def test_western_text_keeps_its_quotes_and_accents(declared: str) -> None:
    text = "“Où est le café déjà fermé ?” – l’été, à côté de la forêt, près du château où naît l’âme. " * 3
    page = f'<meta http-equiv=content-type content="text/html; charset={declared}"><p>{text}</p>'
    assert article_text(page.encode("cp1252")) == text.strip()


def test_one_bad_byte_in_utf8_costs_one_character() -> None:
    page = "<meta charset=utf-8><p>" + "déjà vu " * 100 + "</p>"
    assert article_text(page.encode() + b"<p>\xff end") == ("déjà vu " * 100).strip() + "\n\ufffd end"


@given(st.binary(max_size=300))
def test_any_bytes_become_utf8(data: bytes) -> None:
    page_bytes(data).decode()
    declared_encoding(b"<meta charset=" + data)


@given(
    st.lists(
        st.sampled_from(
            ["<", ">", "/", "!", "-", "'", '"', "=", " ", "p", "a", "script", "td", "x.", "&", ";", "\0", "é"]
        )
    )
)
def test_any_characters_are_read_by_every_method(parts: list[str]) -> None:
    page = "".join(parts)
    for how in OURS:
        text = article_text(page, how)  # type: ignore[arg-type]
        assert text == text.strip()
        text.encode()


@given(
    st.lists(
        st.sampled_from(["<div>", "</div>", "<p>", "<li>", "<td>", "<br>", "<a href=x>", "</a>", "</p>"])
    ),
    st.data(),
)
def test_where_there_is_text_there_is_an_answer(tags: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(tags)))
    for how in OURS:
        assert article_text("".join([*tags[:at], "word", *tags[at:]]), how) == "word"  # type: ignore[arg-type]
