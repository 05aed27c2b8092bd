"""A whole text as its only feature, in two halves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from neardup import kernels
from neardup.columns import Features, Texts, Tokens


@dataclass(frozen=True)
class WholeText:
    """The halves of a 128-bit digest of all tokens in order; nothing for a text without tokens."""

    details: ClassVar[bool] = False

    def __call__(self, tokens: Tokens) -> Features:
        sequence = Texts(8 * tokens.offsets, tokens.hashes.view(np.uint8))
        digests = np.empty((len(tokens), 2), np.uint64)
        kernels.digest.digest(sequence.data, sequence.offsets, 3, digests)
        present = np.diff(tokens.offsets) > 0
        offsets = np.concatenate([[0], np.cumsum(2 * present)]).astype(np.int64)
        return Features(offsets, digests[present].ravel())
