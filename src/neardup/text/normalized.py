"""Words of text that is normalised further than case: compatibility forms, accents, digits, punctuation."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Texts, Tokens
from neardup.errors import ParameterError
from neardup.text.words import TokenKind, to_nfc, tokenize_with, unicode_table

Step = Literal["nfkc", "accents", "case", "digits", "punctuation"]
STEPS: tuple[Step, ...] = get_args(Step)
ALPHABETS = ("LATIN", "GREEK", "CYRILLIC")  # whose accents are no letters of their own
DIACRITICS = range(0x300, 0x370)
ZERO = ord("0")
LAST = 0x1FFFF  # no code point above has another form, but for rare ideographs
FLAGS = 0xFF  # the bits of an entry that are no code point


def read_steps(text: str) -> tuple[Step, ...]:
    """The steps of 'nfkc,accents', each once, in one order; an unknown one is a ParameterError."""
    given = [part.strip() for part in text.split(",") if part.strip()]
    unknown = [part for part in given if part not in STEPS]
    if unknown or not given:
        raise ParameterError("normalize", "dedup", f"some of {', '.join(STEPS)}, joined by commas", text)
    return tuple(step for step in STEPS if step in given)


@dataclass(frozen=True)
class NormalizedWords:
    """The tokens of `Words` after these steps.

    nfkc         characters that are another one in print: ﬁ is fi, ① is 1, ㎏ is kg
    accents      Latin, Greek and Cyrillic letters without their accents: é is e
    case         always done
    digits       every digit is 0
    punctuation  symbols are left out too, and punctuation where tokens have it
    """

    tokens: TokenKind = "words"
    steps: tuple[Step, ...] = ()

    def __call__(self, texts: Texts, details: bool = True) -> Tokens:
        table, mode = normalized_table(self.tokens, self.steps)
        tokens, risky = tokenize_with(texts, table, mode, details)
        if risky.any():
            changed = to_nfc(texts, risky, "nfkc" in self.steps)
            tokens = tokens if changed is texts else tokenize_with(changed, table, mode, details)[0]
        return tokens


@cache
def normalized_table(tokens: TokenKind, steps: tuple[Step, ...]) -> tuple[Any, int]:
    """The table of code points after the steps, and the kernel's mode for ASCII."""
    kernel = kernels.tokens
    table, mode = unicode_table(tokens)
    index, pages = _own_pages(table)
    for point in range(1, LAST + 1):
        char = chr(point)
        if (
            0x3400 <= point < 0xA000 or 0xAC00 <= point < 0xE000
        ):  # ideographs, syllables, surrogates: as they are
            continue
        entry = _entry(char, steps, index, pages)
        if entry is not None:
            pages[index[point >> 8], point & 255] = entry
    if {"digits", "punctuation"} & set(steps):
        mode = kernel.TABLE  # ASCII has digits and punctuation
    return kernel.CodePointTable(index, pages), mode


def _own_pages(table: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """The table with a page of its own for each 256 code points: code points share pages that are equal."""
    index = np.arange(len(table.index)).astype(table.index.dtype if len(table.index) <= 256 else np.uint32)
    return index, np.ascontiguousarray(table.pages[table.index])


def _entry(char: str, steps: tuple[Step, ...], index: NDArray[Any], pages: NDArray[Any]) -> int | None:
    """The entry of a character after the steps; None where it stays."""
    kernel, point = kernels.tokens, ord(char)
    category = unicodedata.category(char)
    stored = int(pages[index[point >> 8], point & 255])
    if "punctuation" in steps and category[0] in "PS":
        return stored & ~kernel.KIND | kernel.IGNORE if _is_word(stored) else stored & ~kernel.KIND
    if "accents" in steps and point in DIACRITICS:
        return stored & ~kernel.KIND | kernel.IGNORE
    form = unicodedata.normalize("NFKC", char) if "nfkc" in steps else char
    if len(form) > 1:
        return stored | kernel.NOT_NFC  # the whole text is normalised
    if "accents" in steps and unicodedata.name(form, "").startswith(ALPHABETS):
        form = unicodedata.normalize("NFD", form)[0]
    if "digits" in steps and unicodedata.category(form) == "Nd":
        form = "0"
    return None if form == char else _as(form, index, pages, stored)


def _is_word(entry: int) -> bool:
    return entry & kernels.tokens.KIND == kernels.tokens.WORD


def _as(form: str, index: NDArray[Any], pages: NDArray[Any], stored: int) -> int:
    """The entry of another character, and what it folds to."""
    point = ord(form)
    entry = int(pages[index[point >> 8], point & 255])
    return ((entry >> 8) or point) << 8 | entry & FLAGS | stored & kernels.tokens.CAPITAL
