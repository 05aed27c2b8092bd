"""Words by passage: what frequencies of words are counted over, where pages are too large a unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from neardup.columns import Features, Tokens


@dataclass(frozen=True)
class PassageWords:
    """The words of each run of `width` tokens: one row for each passage, not for each document.

    On web pages 'home' stands in as many documents as 'the'. It stands there once, and 'the' in every passage of
    running text: counted by passage, frequency tells them apart. For counting only.
    """

    width: int = 50
    details: ClassVar[bool] = False
    passages: ClassVar[bool] = True

    def __call__(self, tokens: Tokens) -> Features:
        sizes = np.diff(tokens.offsets)
        rows = -(-sizes // self.width)
        last = np.cumsum(rows)
        starts = np.repeat(tokens.offsets[:-1], rows)
        starts = starts + self.width * (np.arange(len(starts)) - np.repeat(last - rows, rows))
        return Features(np.append(starts, tokens.offsets[-1]), tokens.hashes)
