"""Tokens of texts: Unicode words, runs between white space, characters, or those of source code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Hashes, Texts, Tokens
from neardup.text.composed import to_compatible, to_composed

TokenKind = Literal["words", "whitespace", "characters", "code"]
UNDERSCORE = ord("_")  # part of a name in source code
FULL_WIDTH = 0xFF01  # of '!', and so on in the order of ASCII
SPACE_FLAG = 64  # in the entries of unicode.npz


@dataclass(frozen=True)
class Words:
    """Case-folded tokens of NFC text.

    words       letters and digits; each character of a script without spaces; each symbol and emoji
    whitespace  runs between white space, punctuation included
    characters  every character that is not white space
    code        names and numbers, with _; each other ASCII character that is not white space; the rest as words
    """

    tokens: TokenKind = "words"

    def __call__(self, texts: Texts, details: bool = True) -> Tokens:
        tokens, risky = self.tokenize(texts, details)
        if risky.any():
            composed = to_nfc(texts, risky)
            tokens = tokens if composed is texts else self.tokenize(composed, details)[0]
        return tokens

    def tokenize(self, texts: Texts, details: bool) -> tuple[Tokens, NDArray[np.bool_]]:
        """The tokens of the texts as they are, and which of them may not be in NFC."""
        table, mode = unicode_table(self.tokens)
        return tokenize_with(texts, table, mode, details)


def tokenize_with(texts: Texts, table: Any, mode: int, details: bool) -> tuple[Tokens, NDArray[np.bool_]]:
    """The tokens of the texts by a table of code points, and which of them may not be in NFC."""
    room = texts.size + 1  # no token is shorter than a byte
    hashes = np.empty(room, np.uint64)
    positions, marks = np.empty(room * details, np.uint32), np.empty(room * details, np.uint8)
    out = (hashes, positions, marks)
    ends, risky = kernels.tokens.tokenize(texts.data, texts.offsets, table, mode, out)
    total = ends[-1]
    return Tokens(ends, hashes[:total], positions[:total], marks[:total]), risky


def hash_words(words: Iterable[str]) -> tuple[Hashes, tuple[str, ...]]:
    """The hashes of words, sorted; and the entries that are not exactly one word.

    An entry like "can't" is two words, but one token between white space: its hash is included, and does no harm if
    words are tokens. Entries with blanks have no hash.
    """
    given = tuple(dict.fromkeys(words))
    texts = Texts.from_strings(list(given))
    hashes, known = np.zeros(len(given), np.uint64), np.zeros(len(given), np.bool_)
    single = known
    kinds: tuple[TokenKind, ...] = ("whitespace", "words")
    for kind in kinds:
        tokens = Words(kind)(texts, details=False)
        single = np.diff(tokens.offsets) == 1
        hashes[single] = tokens.hashes[tokens.offsets[:-1][single]]
        known = known | single
    return np.unique(hashes[known]), tuple(word for word, one in zip(given, single, strict=True) if not one)


@cache
def unicode_table(tokens: TokenKind) -> tuple[Any, int]:
    """The table of code points for a type of token, and the kernel's mode for ASCII."""
    kernel = kernels.tokens
    with files("neardup.text").joinpath("unicode.npz").open("rb") as file:
        stored = np.load(file)
        index, pages = stored["index"], stored["pages"]
    _fold_full_width(index, pages)
    if tokens == "words":
        return kernel.CodePointTable(index, pages), kernel.WORDS
    if tokens == "code":
        return _code_table(index, pages)
    inside = kernel.WORD if tokens == "whitespace" else kernel.SINGLE
    kinds = np.where(pages & SPACE_FLAG, kernel.OUTSIDE, inside).astype(np.uint32)
    kinds[pages & kernel.KIND == kernel.IGNORE] = kernel.IGNORE
    pages = pages & ~np.uint32(kernel.KIND) | kinds
    return kernel.CodePointTable(index, pages), kernel.WHITESPACE if tokens == "whitespace" else kernel.TABLE


def _fold_full_width(index: NDArray[Any], pages: NDArray[Any]) -> None:
    """Has full-width Latin letters and digits be the ASCII ones: Chinese and Japanese text mixes the two at will."""
    ascii, wide = pages[index[0]], pages[index[FULL_WIDTH >> 8]]
    for first, last in ("09", "AZ", "az"):
        for point in range(ord(first), ord(last) + 1):
            target = ascii[point] >> 8 or point
            wide[point - 0x20 & 255] = target << 8 | ascii[point] & 255


def _code_table(index: NDArray[Any], pages: NDArray[Any]) -> tuple[Any, int]:
    """The table for source code: operators are tokens, which text has as punctuation."""
    kernel = kernels.tokens
    ascii = pages[index[0], :128].copy()
    graphic = (np.arange(128) > 32) & (np.arange(128) < 127)
    operators = graphic & (ascii & kernel.KIND == kernel.OUTSIDE)
    ascii[operators] |= kernel.SINGLE
    ascii[UNDERSCORE] = ascii[UNDERSCORE] & ~np.uint32(kernel.KIND) | kernel.WORD
    pages[index[0], :128] = ascii
    return kernel.CodePointTable(index, pages), kernel.TABLE


def to_nfc(texts: Texts, risky: NDArray[np.bool_], compatible: bool = False) -> Texts:
    """The same texts in NFC, or in NFKC; nearly always they already are."""
    composed: dict[int, bytes] = {}
    for number in np.flatnonzero(risky).tolist():
        text = texts.document(number).decode("utf-8", "replace")
        if (after := to_compatible(text) if compatible else to_composed(text)) != text:
            composed[number] = after.encode()
    if not composed:
        return texts
    return Texts.from_strings([composed.get(n) or texts.document(n) for n in range(len(texts))])
