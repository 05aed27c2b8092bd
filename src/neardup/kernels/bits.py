"""Sign bits of random projections, and Hamming distances."""

from __future__ import annotations

import numpy as np

from neardup.kernels import inline, jit
from neardup.kernels.buckets import put_firsts_first
from neardup.kernels.sets import longest_run

I32, U32, U64 = np.int32, np.uint32, np.uint64


@inline
def random_word(h, block, seed):
    """64 random bits for a feature, others for each block of projections."""
    h = U64(h ^ U64(U64(block) * U64(0x9E3779B97F4A7C15) + U64(seed)))
    h = U64((h ^ h >> U64(32)) * U64(0xD6E8FEB86659FD93))
    h = U64((h ^ h >> U64(32)) * U64(0xC2B2AE3D27D4EB4F))
    return U64(h ^ h >> U64(29))


@inline
def add_half(word, weight, sums):
    """Adds the weight to the sums of those of 32 bits that are set; compiles to vector instructions.

    A shift moves the bit to the sign and spreads it over the word: a product would take 64 bits.
    """
    for bit in range(32):
        spread = I32(I32(word << I32(31 - bit)) >> I32(31))
        sums[bit] += I32(spread & weight)


@jit
def to_fixed_point(weights, offsets, one, out):
    """Fills out with each document's weights as whole numbers: `one` is the largest of them, by absolute value."""
    for d in range(len(offsets) - 1):
        largest = np.float32(0)
        for i in range(offsets[d], offsets[d + 1]):
            largest = max(largest, abs(weights[i]))
        scale = np.float64(one) / np.float64(largest) if largest > 0 else 0.0
        for i in range(offsets[d], offsets[d + 1]):
            out[i] = np.int64(np.floor(np.float64(weights[i]) * scale + 0.5))


@jit
def sign_bits(hashes, weights, offsets, seed, out):
    """Fills out[d] with the signs of random ±1 projections of each document's weighted features, packed.

    Weights are integers (fixed point, below 2³⁰), so that a sum does not depend on the order of its terms: twice
    the weight of the features whose bit is set, less that of all. Runs of features whose weights cannot exceed
    32 bits together are added up in 32 bits, eight sums at a time. A document of weight 0 in a direction has
    the bit 0 there.
    """
    blocks = out.shape[1] // 2
    sums, part = np.empty(64, np.int64), np.empty(64, I32)
    low, high = part[:32], part[32:]
    for d in range(len(offsets) - 1):
        total, largest = 0, 1
        for i in range(offsets[d], offsets[d + 1]):
            total += weights[i]
            largest = max(largest, abs(weights[i]))
        run = max(1, (1 << 30) // largest)
        for block in range(blocks):
            sums[:] = 0
            for start in range(offsets[d], offsets[d + 1], run):
                part[:] = 0
                for i in range(start, min(start + run, offsets[d + 1])):
                    word, weight = random_word(hashes[i], block, seed), I32(weights[i])
                    add_half(I32(word & U64(0xFFFFFFFF)), weight, low)
                    add_half(I32(word >> U64(32)), weight, high)
                for bit in range(64):
                    sums[bit] += part[bit]
            for half in range(2):
                packed = U32(0)
                for bit in range(32):
                    packed |= U32(2 * sums[half * 32 + bit] > total) << U32(bit)
                out[d, 2 * block + half] = packed


@jit
def table_signs(hashes, weights, offsets, seed, table, out):
    """Fills out[d] with the signs of projections whose coefficients are drawn from a table of 256 whole numbers.

    Each byte of a random word draws one coefficient. Everything is a whole number, as in `sign_bits`: no sum
    depends on the order of its terms. A document of weight 0 in a direction has the bit 0 there.
    """
    sums = np.empty(64, np.int64)
    for d in range(len(offsets) - 1):
        for block in range(out.shape[1] // 2):
            sums[:] = 0
            for i in range(offsets[d], offsets[d + 1]):
                weight = np.int64(weights[i])
                for eighth in range(8):
                    word = random_word(hashes[i], 8 * block + eighth, seed)
                    for byte in range(8):
                        sums[8 * eighth + byte] += weight * table[(word >> U64(8 * byte)) & U64(255)]
            for half in range(2):
                packed = U32(0)
                for bit in range(32):
                    packed |= U32(sums[half * 32 + bit] > 0) << U32(bit)
                out[d, 2 * block + half] = packed


@jit
def projections(hashes, weights, offsets, seed, out):
    """Fills out[d] with the ±1 projections of each document's weighted features: the sums whose signs are its bits."""
    for d in range(len(offsets) - 1):
        for block in range(out.shape[1] // 64):
            sums = out[d, block * 64 : block * 64 + 64]
            sums[:] = 0
            for i in range(offsets[d], offsets[d + 1]):
                word, weight = random_word(hashes[i], block, seed), weights[i]
                for bit in range(64):
                    sums[bit] += weight if (word >> U64(bit)) & U64(1) else -weight


@inline
def count_bits(x):
    """The number of bits that are set."""
    x = U32(x - U32(U32(x >> U32(1)) & U32(0x55555555)))
    x = U32(U32(x & U32(0x33333333)) + U32(U32(x >> U32(2)) & U32(0x33333333)))
    x = U32(U32(x + U32(x >> U32(4))) & U32(0x0F0F0F0F))
    return U32(U32(x * U32(0x01010101)) >> U32(24))


@jit
def hamming(slots, left, right, out):
    """Fills out[p] with the number of bits in which documents left[p] and right[p] differ."""
    for p in range(len(left)):
        a, b = left[p], right[p]
        total = U32(0)
        for k in range(slots.shape[1]):
            total += count_bits(U32(slots[a, k] ^ slots[b, k]))
        out[p] = total


@inline
def count_all_bits(x):
    """The same for 64 bits."""
    x = U64(x - ((x >> U64(1)) & U64(0x5555555555555555)))
    x = U64((x & U64(0x3333333333333333)) + ((x >> U64(2)) & U64(0x3333333333333333)))
    x = U64((x + (x >> U64(4))) & U64(0x0F0F0F0F0F0F0F0F))
    return U64(U64(x * U64(0x0101010101010101)) >> U64(56))


@jit
def keep_near(words, exempt, most, left, right):
    """Moves the pairs that differ in at most so many bits, or have an exempt document, to the front.

    Returns how many there are.
    """
    kept, most = 0, U64(most)
    for p in range(len(left)):
        a, b = left[p], right[p]
        total = U64(0)
        for k in range(words.shape[1]):
            total += count_all_bits(U64(words[a, k] ^ words[b, k]))
        left[kept], right[kept] = a, b
        kept += (total <= most) | exempt[a] | exempt[b]
    return kept


@jit
def near_pairs(members, starts, id_hashes, rule, sieve, packed):
    """Writes the pairs that `fill_pairs` makes of buckets and `keep_near` keeps, left · n + right; returns how many.

    rule = (limit, pivots, begin), sieve = (words, exempt, most). The words of a bucket are copied behind each other
    first: each document meets all others of it.
    """
    words, exempt, most = sieve
    width, total, n = words.shape[1], 0, len(id_hashes)
    own = np.empty((max(longest_run(starts), 1), width), U64)
    for k in range(len(starts) - 1):
        bucket = members[starts[k] : starts[k + 1]]
        size, firsts = len(bucket), put_firsts_first(bucket, id_hashes, rule)
        for i in range(size):
            own[i] = words[bucket[i]]
        for i in range(rule[2], firsts):
            a = bucket[i]
            for j in range(i + 1, size):
                different = U64(0)
                for w in range(width):
                    different += count_all_bits(U64(own[i, w] ^ own[j, w]))
                b = bucket[j]
                packed[total] = min(a, b) * n + max(a, b)
                total += (different <= U64(most)) | exempt[a] | exempt[b]
    return total


@jit
def sampled_keys(slots, chosen, seed, keys):
    """Fills keys[band, d] with a 64-bit hash of the bits chosen[band] of document d's packed bits."""
    for d in range(slots.shape[0]):
        for band in range(chosen.shape[0]):
            h = U64(seed + band + 1) * U64(0x9E3779B97F4A7C15)
            word = U64(0)
            for k in range(chosen.shape[1]):
                bit = chosen[band, k]
                word = U64(word << U64(1)) | U64((slots[d, bit >> 5] >> U32(bit & 31)) & U32(1))
                if k & 31 == 31:
                    h = U64((h ^ word) * U64(0xD6E8FEB86659FD93))
                    h ^= h >> U64(32)
                    word = U64(0)
            h = U64((h ^ word) * U64(0xD6E8FEB86659FD93))
            keys[band, d] = h ^ h >> U64(32)
