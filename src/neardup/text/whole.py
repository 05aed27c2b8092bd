"""The bytes of a text as a single thing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup import kernels
from neardup.columns import Texts, Tokens


@dataclass(frozen=True)
class TextBytes:
    """Two tokens for each text, which are the halves of a 128-bit digest of its bytes; none for blanks alone."""

    def __call__(self, texts: Texts, details: bool = True) -> Tokens:
        digests = np.empty((len(texts), 2), np.uint64)
        kernels.digest.digest(texts.data, texts.offsets, 2, digests)
        visible = np.empty(len(texts), np.bool_)
        kernels.digest.find_visible(texts.data, texts.offsets, visible)
        offsets = np.concatenate([[0], np.cumsum(2 * visible)]).astype(np.int64)
        hashes = digests[visible].ravel()
        room = len(hashes) * details
        return Tokens(offsets, hashes, np.zeros(room, np.uint32), np.zeros(room, np.uint8))
