"""`--normalize`: differences of writing that do not count."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup
from naive.tokens import tokenize as twin
from neardup.columns import Texts
from neardup.errors import ParameterError
from neardup.text.normalized import NormalizedWords, read_steps
from neardup.text.words import Words

letters = st.text(alphabet="aÁé ñß12٣９ﬁ①㎏ＡｂЙй中हि+.,-\u0301", max_size=12)


def hashes(text: str, steps: str = "") -> list[int]:
    stage: Any = NormalizedWords("words", read_steps(steps)) if steps else Words()
    found: list[int] = stage(Texts.from_strings([text])).hashes.tolist()
    return found


def plain(text: str, steps: str) -> list[int]:
    """The same by `unicodedata`, character by character, and then the tokenizer's twin."""
    text = unicodedata.normalize("NFC", text)
    text = unicodedata.normalize("NFKC", text) if "nfkc" in steps else text
    if "accents" in steps:
        parts = [unicodedata.normalize("NFD", one) if is_european(one) else one for one in text]
        text = "".join(part[0] for part in parts if not 0x300 <= ord(part[0]) < 0x370)
    if "digits" in steps:
        text = "".join("0" if unicodedata.category(one) == "Nd" else one for one in text)
    if "punctuation" in steps:
        text = "".join(" " if unicodedata.category(one)[0] in "PS" else one for one in text)
    return [token.hash for token in twin(text)]


def is_european(char: str) -> bool:
    return unicodedata.name(char, "").startswith(("LATIN", "GREEK", "CYRILLIC"))


@pytest.mark.parametrize("steps", ["nfkc", "accents", "digits", "punctuation", "nfkc,accents,digits"])
def test_steps_are_those_of_the_twin(steps: str) -> None:
    @given(letters)
    def same(text: str) -> None:
        assert hashes(text, steps) == plain(text, steps)

    same()


def test_full_width_latin_is_latin_in_every_method() -> None:
    assert hashes("ＴＯＫＹＯ２０２４年") == hashes("tokyo2024年")
    assert hashes("ﾄ") != hashes("ト"), "half-width kana take --normalize nfkc"
    assert hashes("ﾄ", "nfkc") == hashes("ト", "nfkc")


def test_accents_of_other_alphabets_stay() -> None:
    assert hashes("कि", "accents") != hashes("क", "accents")
    assert hashes("Zoë", "accents") == hashes("zoe")


def test_options_of_a_run() -> None:
    texts = ["the café opens in May 2024 at nine", "the cafe opens in May 2025 at nine"]
    assert len(neardup.dedup(texts, normalize="accents,digits", threshold=1).kept) == 1
    assert len(neardup.dedup(texts, threshold=1).kept) == 2
    with pytest.raises(ParameterError, match="nfkc, accents, case, digits, punctuation"):
        neardup.dedup(texts, normalize="vowels")
    with pytest.raises(ParameterError, match="does not compare plain words"):
        neardup.dedup(texts, method="exact", equal="bytes", normalize="nfkc")
