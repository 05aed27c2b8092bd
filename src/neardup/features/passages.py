"""Words by passage, to count word frequencies over passages instead of whole pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from neardup.columns import Features, Tokens


@dataclass(frozen=True)
class PassageWords:
    """The words of each run of `width` tokens: one row for each passage, not for each document.

    On web pages 'home' occurs in as many documents as 'the', but once in each, and 'the' in every passage of
    running text: frequencies by passage distinguish them. For counting only.
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
