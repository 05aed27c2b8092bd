"""One hash for a set of features, and for the same set without a random share of the vocabulary."""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit

U32, U64 = np.uint32, np.uint64


@inline
def draw(h, lexicon, seed):
    """32 random bits that decide whether a feature is in a lexicon, the same in every document."""
    h = U64(h ^ U64(U64(lexicon) * U64(0x9E3779B97F4A7C15) + U64(seed)))
    h = U64((h ^ h >> U64(32)) * U64(0xD6E8FEB86659FD93))
    h = U64((h ^ h >> U64(29)) * U64(0xC2B2AE3D27D4EB4F))
    return U64(h >> U64(32))


@jit
def set_hash(hashes, offsets, limit, seed, out):
    """Fills out[d, 2·k] and out[d, 2·k + 1] with the two halves of a hash of the features in lexicon k.

    Features are sorted and distinct, so equal sets have equal hashes. Lexicon 0 is complete; a feature is
    missing in another one if its 32 random bits are below `limit`.
    """
    lexicons = out.shape[1] // 2
    for d in range(len(offsets) - 1):
        for k in range(lexicons):
            h = U64(0x9E3779B97F4A7C15)
            for i in range(offsets[d], offsets[d + 1]):
                if k == 0 or draw(hashes[i], k, seed) >= limit:
                    h = U64((h ^ hashes[i]) * U64(0xD6E8FEB86659FD93))
                    h ^= h >> U64(31)
            h = U64((h ^ U64(k)) * U64(0xC2B2AE3D27D4EB4F))
            h ^= h >> U64(29)
            out[d, 2 * k] = U32(h >> U64(32))
            out[d, 2 * k + 1] = U32(h & U64(0xFFFFFFFF))
