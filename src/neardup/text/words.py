"""Tokens of texts: Unicode words, what stands between white space, or characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Hashes, Texts, Tokens

TokenKind = Literal["words", "whitespace", "characters"]
SPACE_FLAG = 64  # in the entries of unicode.npz


@dataclass(frozen=True)
class Words:
    """Case-folded tokens of NFC text.

    words       letters and digits; each character of a script without spaces; each symbol and emoji
    whitespace  whatever stands between white space, punctuation included
    characters  every character that is not white space
    """

    tokens: TokenKind = "words"

    def __call__(self, texts: Texts, details: bool = True) -> Tokens:
        tokens, risky = self._tokenize(texts, details)
        if risky.any():
            composed = to_nfc(texts, risky)
            tokens = tokens if composed is texts else self._tokenize(composed, details)[0]
        return tokens

    def _tokenize(self, texts: Texts, details: bool) -> tuple[Tokens, NDArray[np.bool_]]:
        """The tokens of the texts as they are, and which of them may not be in NFC."""
        table, mode = unicode_table(self.tokens)
        room = texts.size + 1  # no token is shorter than a byte
        hashes = np.empty(room, np.uint64)
        positions, marks = np.empty(room * details, np.uint32), np.empty(room * details, np.uint8)
        out = (hashes, positions, marks)
        ends, risky = kernels.tokens.tokenize(texts.data, texts.offsets, table, mode, out)
        total = ends[-1]
        return Tokens(ends, hashes[:total], positions[:total], marks[:total]), risky


def hash_words(words: Iterable[str]) -> tuple[Hashes, tuple[str, ...]]:
    """The hashes of words, sorted; and the entries that are more than one word, or none.

    An entry like "can't" is two words. Between white space it is one token, whose hash is among those returned: it
    does no harm where words are tokens. Entries with blanks have no hash.
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
    """What a kind of token makes of each code point, and the kernel's mode for ASCII."""
    codes = kernels.tokens
    with files("neardup.text").joinpath("unicode.npz").open("rb") as file:
        stored = np.load(file)
        index, pages = stored["index"], stored["pages"]
    if tokens == "words":
        return codes.Table(index, pages), codes.WORDS
    inside = codes.WORD if tokens == "whitespace" else codes.SINGLE
    kinds = np.where(pages & SPACE_FLAG, codes.OUTSIDE, inside).astype(np.uint32)
    kinds[pages & codes.KIND == codes.IGNORE] = codes.IGNORE
    pages = pages & ~np.uint32(codes.KIND) | kinds
    return codes.Table(index, pages), codes.WHITESPACE if tokens == "whitespace" else codes.TABLE


def to_nfc(texts: Texts, risky: NDArray[np.bool_]) -> Texts:
    """The same texts in Unicode's composed form; nearly always nothing has to be done."""
    composed: dict[int, bytes] = {}
    for number in np.flatnonzero(risky).tolist():
        text = texts.document(number).decode("utf-8", "replace")
        if not unicodedata.is_normalized("NFC", text):
            composed[number] = unicodedata.normalize("NFC", text).encode()
    if not composed:
        return texts
    return Texts.from_strings([composed.get(n) or texts.document(n) for n in range(len(texts))])
