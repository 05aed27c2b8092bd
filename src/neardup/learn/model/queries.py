"""Query frequencies of k-grams: a small table, packed as text in a model or a plan."""

from __future__ import annotations

import base64
import binascii
from functools import lru_cache

import numpy as np

from neardup.columns import Hashes, Numbers
from neardup.errors import ParameterError
from neardup.learn.model.grams import Floats

MOST = 4096  # k-grams in a table
STEPS = 255  # of a rounded share


def pack_queries(hashes: Hashes, counts: Numbers, most: int = MOST) -> str:
    """The most frequent k-grams (ties: the lower hash) and log(1 + frequency) as a share of the maximum."""
    chosen = np.sort(np.lexsort((hashes, -counts))[:most])
    if len(chosen) == 0:
        return ""
    shares = np.log1p(counts[chosen]) / np.log1p(counts.max())
    levels = np.maximum(np.rint(STEPS * shares), 1).astype(np.uint8)
    return base64.b64encode(hashes[chosen].astype("<u8").tobytes() + levels.tobytes()).decode()


@lru_cache(maxsize=16)
def unpack_queries(packed: str) -> tuple[Hashes, Floats] | None:
    """Hashes in ascending order, and the share of each; None for an empty table."""
    try:
        raw = base64.b64decode(packed, validate=True)
    except binascii.Error as error:
        raise ParameterError("queries", "andd", "a packed table of query frequencies", packed[:20]) from error
    count = len(raw) // 9
    hashes = np.frombuffer(raw[: 8 * count], "<u8").astype(np.uint64)
    if len(raw) != 9 * count or (hashes[1:] <= hashes[:-1]).any():
        raise ParameterError("queries", "andd", "a packed table of query frequencies", packed[:20])
    return (hashes, np.frombuffer(raw[8 * count :], np.uint8) / STEPS) if count else None
