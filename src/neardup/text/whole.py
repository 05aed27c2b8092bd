"""A text as a single thing: its bytes, or its words in their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Texts, Tokens
from neardup.text.normalized import NormalizedWords, Step, normalized_table
from neardup.text.words import TokenKind, Words, to_nfc, unicode_table


@dataclass(frozen=True)
class TextBytes:
    """Two tokens for each text, which are the halves of a 128-bit digest of its bytes; none for blanks alone."""

    def __call__(self, texts: Texts, details: bool = True) -> Tokens:
        visible = np.empty(len(texts), np.bool_)
        kernels.digest.find_visible(texts.data, texts.offsets, visible)
        return _digests(texts, 2, visible, details)

    def parts(self, texts: Texts) -> Tokens:
        """The bytes up to the end of the white space behind each word, for people who want to see what differs."""
        words = Words("whitespace")(texts)
        counts, starts = np.diff(words.offsets), texts.offsets[:-1]
        begins = np.repeat(starts, counts) + words.positions
        begins[words.offsets[:-1][counts > 0]] = starts[counts > 0]  # blanks before the first word
        hashes = np.empty((len(begins), 2), np.uint64)
        kernels.digest.digest(texts.data, np.append(begins, texts.offsets[-1]), 0, hashes)
        return Tokens(words.offsets, hashes[:, 0].copy(), words.positions, words.marks)


@dataclass(frozen=True)
class WholeWords:
    """Two tokens for each text, which are the halves of a 128-bit digest of its tokens in order; none without any.

    The tokens are those of `Words`, or with steps those of `NormalizedWords`; they are not made one by one.
    """

    tokens: TokenKind = "words"
    steps: tuple[Step, ...] = ()

    def __call__(self, texts: Texts, details: bool = True) -> Tokens:
        table, mode = normalized_table(self.tokens, self.steps) if self.steps else unicode_table(self.tokens)
        joined, risky = _joined(texts, table, mode)
        if risky.any() and (changed := to_nfc(texts, risky, "nfkc" in self.steps)) is not texts:
            joined, _ = _joined(changed, table, mode)
        return _digests(joined, 3, np.diff(joined.offsets) > 0, details)

    def parts(self, texts: Texts) -> Tokens:
        """The tokens, for people who want to see what differs."""
        return (NormalizedWords(self.tokens, self.steps) if self.steps else Words(self.tokens))(texts)


def _joined(texts: Texts, table: Any, mode: int) -> tuple[Texts, NDArray[np.bool_]]:
    """The joined tokens of each text, and which texts may not be in their normal form."""
    out = np.empty(2 * texts.size + 8, np.uint8)
    ends, risky = kernels.joined.join_tokens(texts.data, texts.offsets, table, mode, out)
    return Texts(ends, out), risky


def _digests(texts: Texts, seed: int, present: NDArray[np.bool_], details: bool) -> Tokens:
    """The digests of some of the texts, as two tokens each."""
    digests = np.empty((len(texts), 2), np.uint64)
    kernels.digest.digest(texts.data, texts.offsets, seed, digests)
    offsets = np.concatenate([[0], np.cumsum(2 * present)]).astype(np.int64)
    hashes = digests[present].ravel()
    room = len(hashes) * details
    return Tokens(offsets, hashes, np.zeros(room, np.uint32), np.zeros(room, np.uint8))
