"""Text of every script: no false copies, no false merges, both Unicode forms alike, recall as for English."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import cache
from random import Random

import pyarrow as pa
import pytest
from scripts import EMOJI, SCRIPTS, edited

import neardup

PAIRS = 400
LENGTH = 200  # units of a text, words or characters: as many edits for every script
EDITED_PAIRS = 200
RATES = (0.02, 0.03, 0.04)


def units(name: str, text: str) -> list[str]:
    """What an edit changes: words, or characters (with the marks upon them) where there are no words."""
    if SCRIPTS[name].between:
        return text.split(" ")
    found: list[str] = []
    for character in text:
        if found and unicodedata.category(character) in ("Mn", "Mc"):
            found[-1] += character
        elif not character.isspace() and character != "。":
            found.append(character)
    return found


def text_of(name: str, draw: Random, length: int = LENGTH) -> list[str]:
    script = SCRIPTS[name]
    found: list[str] = []
    while len(found) < length:
        found += units(name, script.written([script.sentence(draw)]))
    return found[:length]


def joined(name: str, parts: list[str]) -> str:
    return SCRIPTS[name].between.join(parts)


@cache
def recall(name: str, rate: float) -> float:
    """The share of texts that are found again after edits; the same places are edited in every script."""
    known = tuple(dict.fromkeys(unit for word in SCRIPTS[name].words for unit in units(name, word)))
    texts, ids = [], []
    for number in range(PAIRS):
        text = text_of(name, Random(number))
        changed = edited(text, known, rate, number)
        texts += [joined(name, text), joined(name, changed)]
        ids += [f"{number}a", f"{number}b"]
    found = neardup.pairs(pa.table({"id": ids, "text": texts}))
    names = {tuple(sorted((row["left"], row["right"]))) for row in found.to_pylist()}
    assert all(left[:-1] == right[:-1] for left, right in names), "texts of other words do not meet"
    return len(names) / PAIRS


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("name", SCRIPTS)
def test_recall_is_that_of_english(name, rate):
    assert recall(name, rate) >= recall("English", rate) - 0.02


def one_word(text: list[str], other: list[str], where: Random) -> list[str]:
    """One unit is another."""
    place = where.randrange(len(text))
    return [*text[:place], other[0], *text[place + 1 :]]


def a_sentence(text: list[str], other: list[str], where: Random) -> list[str]:
    """Nine units in a row are others."""
    place = where.randrange(len(text) - 9)
    return [*text[:place], *other[:9], *text[place + 9 :]]


def a_cut(text: list[str], other: list[str], where: Random) -> list[str]:
    """A sixth to a third of the end is gone."""
    return text[: len(text) - where.randrange(len(text) // 6, len(text) // 3)]


def boilerplate(text: list[str], other: list[str], where: Random) -> list[str]:
    """Text of others, a fifth to three fifths of the length, stands before and behind it."""
    size = where.randrange(len(text) // 5, 3 * len(text) // 5)
    return [*other[: size // 2], *text, *other[size // 2 : size]]


EDITS = (one_word, a_sentence, a_cut, boilerplate)


@cache
def recall_of_edit(name: str, edit: Callable[[list[str], list[str], Random], list[str]]) -> float:
    """The share of texts that are found again after the edit, at the same places in every script."""
    texts, ids = [], []
    for number in range(EDITED_PAIRS):
        text, other = text_of(name, Random(number)), text_of(name, Random(-1 - number))
        changed = edit(text, other, Random(f"edit {number}"))
        texts += [joined(name, text), joined(name, changed)]
        ids += [f"{number}a", f"{number}b"]
    found = neardup.pairs(pa.table({"id": ids, "text": texts}))
    names = {tuple(sorted((row["left"], row["right"]))) for row in found.to_pylist()}
    return sum(left[:-1] == right[:-1] for left, right in names) / EDITED_PAIRS


@pytest.mark.cut("name")
@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
@pytest.mark.parametrize("name", SCRIPTS)
def test_recall_of_an_edit_is_that_of_english(name, edit):
    assert recall_of_edit(name, edit) >= recall_of_edit("English", edit) - 0.02


def test_the_edits_tell_something():
    assert recall_of_edit("English", one_word) == 1
    assert all(0.1 < recall_of_edit("English", edit) < 1 for edit in (a_cut, boilerplate))


def test_the_rates_tell_something():
    found = [recall("English", rate) for rate in RATES]
    assert found[0] == 1 and found[-1] < 1, "the last one is where pairs begin to be lost"


@pytest.mark.parametrize("name", SCRIPTS)
def test_texts_that_differ_in_a_token_are_no_copies(name):
    draw, variants = Random(3), set()
    for length in (1, 2, 3, 8, 40):
        text = text_of(name, draw, length)
        other = next(word for word in SCRIPTS[name].words if word not in text)
        variants |= {joined(name, text), joined(name, [*text, text[-1]]), joined(name, [other, *text])}
        variants |= {
            joined(name, [*text[:-1], other]),
            joined(name, [*text, "🙂"]),
            joined(name, [*text, "🙂🙂"]),
        }
    result = neardup.dedup(sorted(variants), pairs="all", threshold=0.1)
    assert result.report["exact_copies"] == 0 and len(result.pairs) > 0
    assert "copy" not in result.pairs["reason"].to_pylist()


@pytest.mark.parametrize("name", SCRIPTS)
def test_distinct_short_texts_do_not_merge(name):
    draw = Random(5)
    texts = {joined(name, text_of(name, draw, draw.randrange(1, 6))) for _ in range(1500)}
    result = neardup.dedup(sorted(texts))
    assert result.report["clusters"] == 0 and len(result.kept) == len(texts)


def test_emoji_and_their_number_tell_short_texts_apart():
    texts = [f"thanks {'🙏' * count}" for count in range(5)] + [f"ok {emoji}" for emoji in EMOJI.split()]
    texts += EMOJI.split() + ["🔥" * count for count in range(2, 6)]
    assert len(set(texts)) == len(texts)
    result = neardup.dedup(texts)
    assert result.report["clusters"] == 0


def test_one_emoji_five_times_or_more_is_similar_and_never_a_copy():
    """Their runs of five tokens are all the same: as sets they are equal, as texts they are not."""
    result = neardup.dedup(["🔥" * count for count in range(5, 9)], pairs="all")
    assert result.pairs["reason"].to_pylist() == ["similar"] * 6 and result.report["exact_copies"] == 0


NUKTA = {
    "क\u093c": "\u0958",
    "ज\u093c": "\u095b",
    "ड\u093c": "\u095c",
    "ढ\u093c": "\u095d",
}  # composed, yet not NFC


def other_form(name: str, text: str) -> str:
    """The text in the form that it does not have."""
    if name != "Hindi":
        return unicodedata.normalize("NFD", text)
    for apart, together in NUKTA.items():
        text = text.replace(apart, together)
    return text


@pytest.mark.parametrize("name", ["German", "Arabic", "Hindi", "Korean", "Japanese"])
def test_composed_and_decomposed_forms_match(name):
    plain = unicodedata.normalize("NFC", joined(name, text_of(name, Random(11), 400)))
    other = other_form(name, plain)
    assert plain != other, "or nothing is tested"
    assert neardup.dedup([plain, other], pairs="all").pairs["similarity"].to_pylist() == [1.0]
    assert neardup.compare(plain, other).similarity == 1.0


def test_short_texts_in_both_forms_match():
    words = [word for script in SCRIPTS.values() for word in script.words]
    both = [(unicodedata.normalize("NFC", word), unicodedata.normalize("NFD", word)) for word in words]
    differing = [pair for pair in dict.fromkeys(both) if pair[0] != pair[1]]
    result = neardup.dedup([form for pair in differing for form in pair])
    assert len(differing) > 150 and result.report["clusters"] == len(differing) == len(result.kept)
    assert set(result.clusters["size"].to_pylist()) == {2}, (
        "each word meets its other form, and no other word"
    )
