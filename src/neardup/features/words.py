"""Features that are single words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from neardup.columns import Features, Hashes, Tokens
from neardup.features.shingles import Shingles
from neardup.text.stopwords import stop_words
from neardup.text.words import hash_words


@dataclass(frozen=True)
class ContentWords:
    """Every word that is no stop word, repeats included.

    stopwords  a language code, several joined by '+', or a tuple of words, which may be empty
    """

    stopwords: str | tuple[str, ...] = "en"
    details: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuses an unknown language before any text is read."""
        _hashes(self.stopwords)

    def __call__(self, tokens: Tokens) -> Features:
        kept = ~np.isin(tokens.hashes, _hashes(self.stopwords))
        ends = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
        words = Tokens(ends[tokens.offsets], tokens.hashes[kept], tokens.positions[:0], tokens.marks[:0])
        return Shingles(1)(words)


@cache
def _hashes(stopwords: str | tuple[str, ...]) -> Hashes:
    words = stop_words(stopwords) if isinstance(stopwords, str) else stopwords
    return hash_words(words)[0]
