"""Features that are runs of consecutive tokens."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from neardup import kernels
from neardup.columns import Features, Hashes, Tokens


@dataclass(frozen=True)
class Shingles:
    """Every run of `width` tokens, repeats included; a shorter document is one run of all its tokens."""

    width: int = 5
    details = False

    def __call__(self, tokens: Tokens) -> Features:
        hashes = np.empty(len(tokens.hashes) + 1, np.uint64)
        ends = kernels.shingles.shingle(tokens.hashes, tokens.offsets, factors(self.width), hashes)
        return Features(ends, hashes[: ends[-1]])


@cache
def factors(width: int) -> Hashes:
    """Odd 64-bit multipliers, one for each place in a run. Fixed: features do not depend on a seed."""
    return np.random.Generator(np.random.PCG64(20080720)).integers(
        0, 2**64, max(width, 1), dtype=np.uint64
    ) | np.uint64(1)
