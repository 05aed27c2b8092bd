"""Min-hash slots, and the keys of bands of slots."""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit

U32, U64 = np.uint32, np.uint64
BLOCK = 4096  # features of a document that are hashed together: they stay in the L1 cache


@inline
def next_four(values, steps, least):
    """The smallest values of four slots; the values advance by their steps from slot to slot."""
    m0 = m1 = m2 = m3 = U32(0xFFFFFFFF)
    for i in range(len(values)):
        x, step = values[i], steps[i]
        m0 = min(m0, x)
        x = U32(x + step)
        m1 = min(m1, x)
        x = U32(x + step)
        m2 = min(m2, x)
        x = U32(x + step)
        m3 = min(m3, x)
        values[i] = U32(x + step)
    least[0], least[1], least[2], least[3] = m0, m1, m2, m3


@jit
def minhash(hashes, offsets, mix, places, slots):
    """Fills slots[d, places[k]] with the least of u + k·v mod 2³² over document d's features.

    u and v are the two halves of a feature's hash, each sent through a permutation x → a·x + b that `mix`
    holds. Hashes are already mixed, so the value of a feature in a slot is uniform and independent of other
    features: the estimate has no bias. Its values in two slots are independent (u + k·v and u + m·v determine u
    and v): the variance is that of independent slots, for an addition where other hash functions multiply. Three
    slots in arithmetic progression do depend on each other; `places` scatters them over the bands. len(places) is a
    multiple of four. A document without features keeps the largest value in every slot.
    """
    scratch = np.empty((2, BLOCK), U32)
    least = np.empty(4, U32)
    for d in range(len(offsets) - 1):
        slots[d, :] = U32(0xFFFFFFFF)
        for start in range(offsets[d], offsets[d + 1], BLOCK):
            some = hashes[start : min(start + BLOCK, offsets[d + 1])]
            values, steps = scratch[0, : len(some)], scratch[1, : len(some)]
            for i in range(len(some)):
                values[i] = U32(U32(U32(some[i] >> U64(32)) * mix[0]) + mix[1])
                steps[i] = U32(U32(U32(some[i]) * mix[2]) + mix[3])
            for k in range(0, len(places), 4):
                next_four(values, steps, least)
                for j in range(4):
                    slots[d, places[k + j]] = min(slots[d, places[k + j]], least[j])


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
