"""Min-hash slots, and the keys of bands of slots."""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit

U32, U64 = np.uint32, np.uint64


@inline
def least_four(values, a, b, out):
    """The smallest of a·x + b mod 2³² for four (a, b) at once: one pass over the values serves four slots."""
    a0, a1, a2, a3 = a[0], a[1], a[2], a[3]
    b0, b1, b2, b3 = b[0], b[1], b[2], b[3]
    m0 = m1 = m2 = m3 = U32(0xFFFFFFFF)
    for i in range(len(values)):
        x = values[i]
        m0 = min(m0, U32(U32(a0 * x) + b0))
        m1 = min(m1, U32(U32(a1 * x) + b1))
        m2 = min(m2, U32(U32(a2 * x) + b2))
        m3 = min(m3, U32(U32(a3 * x) + b3))
    out[0], out[1], out[2], out[3] = m0, m1, m2, m3


@jit
def minhash(hashes, offsets, a, b, slots):
    """Fills slots[d, k] with the least value of permutation k over document d's features.

    len(a) is a multiple of four. The permutations are x → a·x + b mod 2³² with a odd, over 32 bits of hashes
    that are already mixed: no prime, no wrapped modulus, hence no bias. A document without features keeps
    the largest value in every slot.
    """
    longest = 0
    for d in range(len(offsets) - 1):
        longest = max(longest, offsets[d + 1] - offsets[d])
    scratch = np.empty(longest, U32)
    for d in range(len(offsets) - 1):
        document = hashes[offsets[d] : offsets[d + 1]]
        values = scratch[: len(document)]
        for i in range(len(document)):
            values[i] = U32(document[i] >> U64(32))
        for k in range(0, len(a), 4):
            least_four(values, a[k : k + 4], b[k : k + 4], slots[d, k : k + 4])


@jit
def band_keys(slots, rows, seed, keys):
    """Fills keys[band, d] with a 64-bit hash of the band's slots."""
    for d in range(slots.shape[0]):
        for band in range(keys.shape[0]):
            h = U64(seed + band + 1) * U64(0x9E3779B97F4A7C15)
            for k in range(band * rows, (band + 1) * rows):
                h = U64((h ^ U64(slots[d, k])) * U64(0xD6E8FEB86659FD93))
                h ^= h >> U64(32)
            keys[band, d] = h
