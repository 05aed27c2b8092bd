"""Writes src/neardup/text/unicode.npz: what the tokeniser knows about every code point.

Run it only to move to a newer Unicode version (it reads Python's own `unicodedata`): tokens, and with them
every signature, may change for the code points concerned, so it is a change that users can see.
"""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

import numpy as np

OUTSIDE, WORD, SINGLE, EXTEND, IGNORE = range(5)
NOT_NFC, CAPITAL, DIGIT, SPACE = 1 << 3, 1 << 4, 1 << 5, 1 << 6

# Scripts written without spaces between words: each character is a token of its own.
UNSPACED = [
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19DF),  # Tai Le, New Tai Lue
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x2E80, 0x2FDF),  # Han radicals
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3031, 0x303C),
    (0x3041, 0x30FF),  # Hiragana, Katakana
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xA9E0, 0xA9FF),  # Myanmar extended
    (0xAA60, 0xAA7F),
    (0xF900, 0xFAFF),  # Han, compatibility
    (0xFF66, 0xFF9F),  # half-width Katakana
    (0x1AFF0, 0x1B16F),  # Kana supplements
    (0x20000, 0x323AF),  # Han, supplementary planes
]


def compositions() -> set[int]:
    """Code points that may merge with the one before them under NFC."""
    seconds = set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))  # Hangul vowels and finals
    for point in range(sys.maxunicode + 1):
        parts = unicodedata.decomposition(chr(point))
        if parts and not parts.startswith("<") and " " in parts:
            seconds.add(int(parts.split()[1], 16))
    return seconds


def kind(point: int, category: str, unspaced: set[int]) -> int:
    """How the tokeniser treats one code point."""
    if category in ("Cf", "Cs", "Cc") or 0xFE00 <= point <= 0xFE0F or 0xE0100 <= point <= 0xE01EF:
        return OUTSIDE if category == "Cc" else IGNORE
    if category.startswith("M"):
        return EXTEND
    if category[0] in "LN":
        return SINGLE if point in unspaced else WORD
    # Symbols are tokens, and so are emoji of a later Unicode version and private characters.
    later_emoji = category == "Cn" and 0x1F000 <= point <= 0x1FFFF
    return SINGLE if category[0] == "S" or category == "Co" or later_emoji else OUTSIDE


def fold(point: int) -> int:
    """Simple case folding: one code point for one code point."""
    folded = chr(point).casefold()
    if len(folded) == 1:
        return ord(folded)
    lower = chr(point).lower()
    return ord(lower) if len(lower) == 1 else point


def flags(point: int, category: str, seconds: set[int]) -> int:
    """NOT_NFC where a text with this code point may not be in NFC; CAPITAL, DIGIT, SPACE as they say."""
    char = chr(point)
    risky = category != "Cs" and (
        unicodedata.combining(char) != 0 or point in seconds or not unicodedata.is_normalized("NFC", char)
    )
    return (
        NOT_NFC * risky
        | CAPITAL * (category in ("Lu", "Lt"))
        | DIGIT * (category == "Nd")
        | SPACE * char.isspace()
    )


def main() -> None:
    """Write the table: 256 entries a page, equal pages stored once."""
    seconds = compositions()
    unspaced = {point for low, high in UNSPACED for point in range(low, high + 1)}
    entries = np.zeros(sys.maxunicode + 1, np.uint32)
    for point in range(sys.maxunicode + 1):
        category = unicodedata.category(chr(point))
        bits = kind(point, category, unspaced) | flags(point, category, seconds)
        entries[point] = fold(point) << 8 | bits
    # Code points that fold to themselves store 0, so that most pages are equal.
    points = np.arange(len(entries), dtype=np.uint32)
    entries[(entries >> 8) == points] &= 0xFF
    pages, index = np.unique(entries.reshape(-1, 256), axis=0, return_inverse=True)
    target = Path(__file__).parent.parent / "src/neardup/text/unicode.npz"
    np.savez_compressed(
        target,
        pages=pages.astype(np.uint32),
        index=index.reshape(-1).astype(np.uint16),
        version=unicodedata.unidata_version,
    )
    print(
        f"{target.name}: Unicode {unicodedata.unidata_version}, {len(pages)} pages, {target.stat().st_size} bytes"
    )


if __name__ == "__main__":
    main()
