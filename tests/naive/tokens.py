"""Tokens: characters one by one, by `unicodedata`."""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from naive.common import GOLDEN, LAST, MASK, STIR


class Token(NamedTuple):
    hash: int
    position: int  # of its first byte
    marks: int


Kind = Literal["words", "whitespace", "characters", "code"]

# Scripts written without spaces between words, by the names of their characters.
UNSPACED = (
    "CJK UNIFIED IDEOGRAPH",
    "CJK COMPATIBILITY IDEOGRAPH",
    "IDEOGRAPHIC ITERATION MARK",
    "IDEOGRAPHIC CLOSING MARK",
    "IDEOGRAPHIC NUMBER ZERO",
    "VERTICAL IDEOGRAPHIC ITERATION MARK",
    "HANGZHOU NUMERAL",
    "HIRAGANA",
    "KATAKANA",
    "HALFWIDTH KATAKANA",
    "HENTAIGANA",
    "VERTICAL KANA",
    "MASU MARK",
    "THAI",
    "LAO",
    "KHMER",
    "MYANMAR",
    "TAI LE",
    "NEW TAI LUE",
    "TAI THAM",
)


PUNCTUATION = frozenset(chr(point) for point in range(33, 127) if not chr(point).isalnum())


@cache
def kind(char: str) -> Literal["word", "single", "mark", "ignored", "outside"]:
    """What a character does to the tokens around it."""
    category, point = unicodedata.category(char), ord(char)
    if category == "Cf" or 0xFE00 <= point <= 0xFE0F or 0xE0100 <= point <= 0xE01EF:
        return "ignored"  # format characters and variation selectors
    if category[0] == "M":
        return "mark"
    if category[0] in "LN":
        return "single" if unicodedata.name(char, "").startswith(UNSPACED) else "word"
    if category[0] == "S" or category == "Co" or (category == "Cn" and 0x1F000 <= point <= 0x1FFFF):
        return "single"  # symbols, private characters, and emoji that are still to come
    return "outside"


@cache
def fold(char: str) -> str:
    """Simple case folding: one character for one character; full-width Latin letters and digits are the ASCII ones."""
    if unicodedata.decomposition(char).startswith("<wide>") and unicodedata.normalize("NFKC", char).isascii():
        narrow = unicodedata.normalize("NFKC", char)
        if narrow.isalnum():
            return narrow.lower()
    candidates = (char.casefold(), char.lower(), char)
    return next(candidate for candidate in candidates if len(candidate) == 1)


@cache
def marks(char: str) -> int:
    """What a token that begins with this character is marked with: 1 a capital, 2 a digit."""
    category = unicodedata.category(char)
    return 1 if category in ("Lu", "Lt") else 2 if category == "Nd" else 0


def tokenize(text: str, tokens: Kind = "words") -> list[Token]:
    """The tokens of a text in NFC."""
    return [Token(hash_token(folded.encode()), *rest) for folded, *rest in split_tokens(text, tokens)]


def join_tokens(text: str, tokens: Kind = "words") -> bytes:
    """The tokens of a text in NFC, with a byte that UTF-8 does not have between two of them."""
    return b"\xff".join(folded.encode() for folded, *_ in split_tokens(text, tokens))


def split_tokens(text: str, tokens: Kind) -> list[tuple[str, int, int]]:
    """The folded tokens of a text in NFC, the position of each, and its marks."""
    found: list[tuple[list[str], int, int]] = []  # folded characters, position, marks
    inside = None  # whether the character before belongs to a "word", a "single", or to nothing
    position = 0
    for char in text:
        role = kind(char)
        if tokens == "code":
            role = "word" if char == "_" else "single" if char in PUNCTUATION else role
        elif tokens != "words" and role != "ignored":
            role = "outside" if char.isspace() else "word" if tokens == "whitespace" else "single"
        joins = inside is not None if role == "mark" else role == "word" == inside
        if role == "outside":
            inside = None
        elif role != "ignored" and joins:
            found[-1][0].append(fold(char))
        elif role != "ignored":  # a mark that stands on nothing begins a word
            found.append(([fold(char)], position, marks(char)))
            inside = "single" if role == "single" else "word"
        position += len(char.encode())
    return [("".join(folded), *rest) for folded, *rest in found]


@lru_cache(1 << 16)
def hash_token(folded: bytes) -> int:
    """Eight bytes at a time, the last one to eight shifted to the top of a word."""
    last = (len(folded) - 1) // 8 * 8
    h = len(folded) * GOLDEN & MASK
    for i in range(0, last, 8):
        h = (h ^ int.from_bytes(folded[i : i + 8], "little")) * STIR & MASK
        h ^= h >> 32
    h = (h ^ int.from_bytes(folded[last:].rjust(8, b"\0"), "little")) * STIR & MASK
    h ^= h >> 32
    h = h * LAST & MASK
    return h ^ h >> 29


def longest_segment(text: bytes, size: int) -> int:
    """The largest piece, if each is cut behind its last blank within `size` bytes or the first one after."""
    longest = 0
    while len(text) > size:
        blanks = [place for place, byte in enumerate(text) if byte in b" \n" and place > 0]
        within = [place for place in blanks if place < size]
        after = [place for place in blanks if place >= size]
        cut = 1 + (within[-1] if within else after[0] if after else len(text) - 1)
        longest, text = max(longest, cut), text[cut:]
    return max(longest, len(text))
