"""128-bit digests of texts, to recognise exact copies."""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit
from neardup.kernels.tokens import ascii_end, load

U8, U64 = np.uint8, np.uint64
A, B = U64(0xD6E8FEB86659FD93), U64(0xA0761D6478BD642F)


@inline
def stir(h, x, factor):
    """The state after one more word."""
    h = U64((h ^ x) * factor)
    return U64(h ^ h >> U64(31))


@inline
def halves_swapped(x):
    """The word for the second hash: a high bit hardly spreads, so it must not be high in both."""
    return U64(x << U64(32) | x >> U64(32))


@jit
def digest(data, offsets, seed, out):
    """Fills out[d] with two independent 64-bit hashes of each text and its length.

    Even and odd words have separate states, which are combined at the end: a multiplication need not wait for the
    one before it.
    """
    for d in range(len(offsets) - 1):
        source = data[offsets[d] : offsets[d + 1]]
        size = len(source)
        a = U64(seed) ^ U64(size) * U64(0x9E3779B97F4A7C15)
        b = U64(~U64(seed)) ^ U64(size) * U64(0xC2B2AE3D27D4EB4F)
        odd_a, odd_b = U64(~a), U64(~b)
        for i in range(size >> 4):
            x, y = load(source, U64(i << 4)), load(source, U64((i << 4) + 8))
            a, odd_a = stir(a, x, A), stir(odd_a, y, A)
            b, odd_b = stir(b, halves_swapped(x), B), stir(odd_b, halves_swapped(y), B)
        if size >= 16:  # halves swapped: a bit that changed in both must not vanish
            a, b = stir(a, halves_swapped(odd_a), A), stir(b, halves_swapped(odd_b), B)
        if size & 8:
            x = load(source, U64(size & ~15))
            a, b = stir(a, x, A), stir(b, halves_swapped(x), B)
        rest = U64(0)
        for i in range(size & ~7, size):
            rest = rest << U64(8) | U64(source[i])
        a, b = stir(a, rest, A), stir(b, halves_swapped(rest), B)
        out[d, 0] = stir(a, a >> U64(32), U64(0x9E3779B97F4A7C15))
        out[d, 1] = stir(b, b >> U64(32), U64(0x9E3779B97F4A7C15))


@inline
def word_product(word, place):
    """What the eight bytes around a place add to a checksum: a change of one half of them always changes it.

    The upper half counts once more with another factor: two flips of the highest bit would cancel otherwise.
    """
    x = U64(place >> U64(3)) * U64(0x9E3779B97F4A7C15)
    x = U64((x ^ x >> U64(29)) | U64(1))
    return U64(word * x + (word >> U64(32)) * (U64(x >> U64(32) | x << U64(32)) | U64(1)))


@inline
def byte_product(value, place):
    """What a byte at a place adds to a checksum."""
    return word_product(U64(U64(value) << ((place & U64(7)) << U64(3))), place)


@jit
def checksum(data, start):
    """What bytes from a place of a file on add to its checksum of 64 bits, wherever the pieces of a file end.

    A sum over all words of eight bytes, each times factors of its place: several times as fast as a CRC.
    """
    total, at, end = U64(0), U64(start), U64(start) + U64(len(data))
    for k in range(min(-start & 7, len(data))):
        total += byte_product(data[k], at)
        at += U64(1)
    while at + U64(8) <= end:
        total += word_product(load(data, at - U64(start)), at)
        at += U64(8)
    while at < end:
        total += byte_product(data[at - U64(start)], at)
        at += U64(1)
    return total


@jit
def count_characters(data, offsets, out):
    """Fills out[d] with the number of code points of each text: bytes that do not continue one."""
    for d in range(len(offsets) - 1):
        source = data[offsets[d] : offsets[d + 1]]
        count = i = ascii_end(source, 0)
        while i < len(source):
            count += (source[i] & U8(0xC0)) != U8(0x80)
            after = ascii_end(source, i + 1)
            count += after - (i + 1)
            i = after
        out[d] = count


@jit
def find_visible(data, offsets, out):
    """Fills out[d] with whether a text has a byte that is no ASCII blank or control character."""
    for d in range(len(offsets) - 1):
        i, stop = offsets[d], offsets[d + 1]
        while i < stop and data[i] <= 32:
            i += 1
        out[d] = i < stop


@jit
def gather(block, begins, ends, data, offsets):
    """Copies block[begins[k]:ends[k]] to data[offsets[k]:] for each k."""
    for k in range(len(begins)):
        source = block[begins[k] : ends[k]]
        target = data[offsets[k] : offsets[k] + len(source)]
        for i in range(len(source)):  # ten times as fast as an assignment of slices
            target[i] = source[i]
