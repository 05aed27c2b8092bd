"""What kernels are tried on: every kind of text, and flat arrays in every shape that Arrow hands over."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from neardup import kernels
from neardup.text.words import unicode_table

COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"

TROUBLE = [
    "\0",
    "\ufeff",  # byte order mark
    "\u2028",
    "\u0085",
    "\u00a0",
    "\t",
    "\r\n",
    "e\u0301",  # a letter and its accent
    "a\u0328\u0301\u0323",  # accents that NFC puts in another order
    "\u0301",  # an accent that stands on nothing
    " \u0301x",
    "+\u0301",
    "\u1112\u1161\u11ab",  # Hangul in parts
    "\uac00\u11a8",
    "한국어",
    "\u212b",  # the sign that NFC makes a letter
    "שָׁלוֹם",
    "اَلْعَرَبِيَّةُ",
    "\u200f\u202b",
    "क्षत्रिय",
    "ภาษาไทย",
    "ខ្មែរ",
    "မြန်မာ",
    "中文",
    "が\u304b\u3099",
    "ｶﾞ",
    "\U00020000\U0002a6d6",
    "👩\u200d👩\u200d👧",
    "👍🏽",
    "❤\ufe0f",
    "🇫🇷🇩🇪",
    "1\ufe0f\u20e3",
    "🏴\U000e0067\U000e0062\U000e007f",
    "\u00ad",
    "\u200b\u200c\u200d",
    "İ",  # has no simple folding
    "ẞß",
    "ȺȾ",  # two bytes that fold to three
    "\u212a",  # three bytes that fold to one
    "ΣΑΣ",
    "ǅ",  # a title-case letter
    "ﬁ",
    "\u0345",  # a mark that folds to a letter
    "Ａ１",
    "٣७௭",
    "½²Ⅻ",
    "$5",
    "C++",
    "snake_case",
    "don't",
    "\ufffd",
    "\u0378",  # unassigned
    "\ue000",  # private
    "\U0001fbff",
    "\U0010ffff",
    "a" * 33,
    "Ж" * 70,
    "𝒳" * 40,
]


def known(char: str) -> bool:
    """Whether Python and the table, whose Unicode versions may differ, agree that it is assigned or not."""
    category, kind = unicodedata.category(char), entry(char) & 0xFF
    if table_version() == unicodedata.unidata_version:
        return True
    if category == "Cn":
        return kind == 0 or 0x1F000 <= ord(char) <= 0x1FFFF
    return kind != 0 or category[0] in "PZC"


def entry(char: str) -> int:
    """What the table says about a character."""
    return int(TABLE.pages[TABLE.index[ord(char) >> 8], ord(char) & 255])


@cache
def table_version() -> str:
    """The Unicode version of the tokeniser's table."""
    with files("neardup.text").joinpath("unicode.npz").open("rb") as file:
        return str(np.load(file)["version"])


TABLE = unicode_table("words")[0]

characters = st.characters(exclude_categories=["Cs"]).filter(known)
ascii_texts = st.text(st.characters(max_codepoint=127), max_size=80)
pieces = st.one_of(st.text(characters, max_size=20), ascii_texts, st.sampled_from(TROUBLE))
texts = st.lists(pieces, max_size=8).map("".join)  # often longer than a block of 128 bytes
batches = st.lists(texts, max_size=4).map(lambda found: ["", *found, ""])  # empty documents in every batch

hashes = st.integers(0, 2**64 - 1)
# Few different values, values that agree in their upper bits, and any.
hash_lists = st.one_of(
    st.lists(st.integers(0, 9), max_size=30),
    st.lists(st.integers(2**64 - 300, 2**64 - 1), max_size=120),
    st.lists(hashes, max_size=60),
)
hash_batches = st.lists(hash_lists, max_size=5).map(lambda found: [[], *found, []])
offset_types = st.sampled_from([np.int32, np.int64])


def pack(rows: Sequence[Sequence[int]], kind: type, offset_type: type = np.int64) -> tuple[NDArray, NDArray]:
    """Rows as flat values with offsets: read-only, as Arrow's are, and not at the start of their buffer."""
    before, after = [1, 2, 3], [4, 5]
    flat = [*before, *(value for row in rows for value in row), *after]
    offsets = np.cumsum([len(before), *map(len, rows)], dtype=offset_type)
    values = np.array(flat, kind)
    values.flags.writeable = False
    return values, offsets


def unpack(values: NDArray, offsets: NDArray) -> list[list[int]]:
    """Flat values by row."""
    return [values[a:b].tolist() for a, b in pairwise(offsets)]


def pack_texts(documents: Sequence[str], offset_type: type = np.int64) -> tuple[NDArray, NDArray]:
    """UTF-8 bytes and offsets."""
    return pack([document.encode() for document in documents], np.uint8, offset_type)


def kernel_tokens(documents: Sequence[str], tokens: str, offset_type: type = np.int64) -> list[list[tuple]]:
    """The compiled tokeniser's (hash, position, marks) of each document, which ought to be in NFC."""
    return run_tokenizer(documents, tokens, offset_type)[0]


def kernel_risks(documents: Sequence[str]) -> NDArray[np.bool_]:
    """For each document whether the tokeniser says that NFC might change it, whatever the kind of tokens."""
    found = [run_tokenizer(documents, tokens)[1] for tokens in ("words", "whitespace", "characters")]
    assert all(np.array_equal(found[0], other) for other in found)
    return found[0]


def run_tokenizer(
    documents: Sequence[str], tokens: str, offset_type: type = np.int64
) -> tuple[list[list[tuple]], NDArray[np.bool_]]:
    """All that the compiled tokeniser gives."""
    data, offsets = pack_texts(documents, offset_type)
    table, mode = unicode_table(tokens)
    room = len(data) + 1
    out = (np.empty(room, np.uint64), np.empty(room, np.uint32), np.empty(room, np.uint8))
    ends, risky = kernels.tokens.tokenize(data, offsets, table, mode, out)
    rows = list(zip(*(column[: ends[-1]].tolist() for column in out), strict=True))
    return [rows[a:b] for a, b in pairwise(ends)], risky
