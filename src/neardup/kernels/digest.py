"""128-bit digests of texts, to recognise exact copies."""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit

U64 = np.uint64


@inline
def word(source, i):
    """Eight bytes from position i, little end first (one load, once compiled)."""
    low = U64(source[i]) | U64(source[i + 1]) << U64(8)
    low = low | U64(source[i + 2]) << U64(16) | U64(source[i + 3]) << U64(24)
    high = U64(source[i + 4]) | U64(source[i + 5]) << U64(8)
    high = high | U64(source[i + 6]) << U64(16) | U64(source[i + 7]) << U64(24)
    return U64(low | high << U64(32))


@inline
def stir(h, x, factor):
    """The state after one more word."""
    h = U64((h ^ x) * factor)
    return U64(h ^ h >> U64(31))


@inline
def halves_swapped(x):
    """The word as the second hash sees it: a high bit hardly spreads, so it must not be high in both."""
    return U64(x << U64(32) | x >> U64(32))


@jit
def digest(data, offsets, seed, out):
    """Fills out[d] with two independent 64-bit hashes of each text and its length."""
    for d in range(len(offsets) - 1):
        source = data[offsets[d] : offsets[d + 1]]
        size = len(source)
        a = U64(seed) ^ U64(size) * U64(0x9E3779B97F4A7C15)
        b = U64(~U64(seed)) ^ U64(size) * U64(0xC2B2AE3D27D4EB4F)
        for i in range(size >> 3):
            x = word(source, i << 3)
            a = stir(a, x, U64(0xD6E8FEB86659FD93))
            b = stir(b, halves_swapped(x), U64(0xA0761D6478BD642F))
        rest = U64(0)
        for i in range(size & ~7, size):
            rest = rest << U64(8) | U64(source[i])
        a = stir(a, rest, U64(0xD6E8FEB86659FD93))
        b = stir(b, halves_swapped(rest), U64(0xA0761D6478BD642F))
        out[d, 0] = stir(a, a >> U64(32), U64(0x9E3779B97F4A7C15))
        out[d, 1] = stir(b, b >> U64(32), U64(0x9E3779B97F4A7C15))


@jit
def count_characters(data, offsets, out):
    """Fills out[d] with the number of code points of each text: bytes that do not continue one."""
    for d in range(len(offsets) - 1):
        source = data[offsets[d] : offsets[d + 1]]
        count = 0
        for i in range(len(source)):
            count += (source[i] & np.uint8(0xC0)) != np.uint8(0x80)
        out[d] = count


@jit
def gather(block, begins, ends, data, offsets):
    """Copies block[begins[k]:ends[k]] to data[offsets[k]:] for each k."""
    for k in range(len(begins)):
        data[offsets[k] : offsets[k] + ends[k] - begins[k]] = block[begins[k] : ends[k]]
