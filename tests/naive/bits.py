"""Bits and hashes of sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from naive.common import GOLDEN, LAST, MASK, STIR


def mixed(h: int, number: int, seed: int, last: int) -> int:
    """A hash of a feature for a lexicon or a block of projections, but for the last shift."""
    h ^= (number * GOLDEN + seed) & MASK
    h = (h ^ h >> 32) * STIR & MASK
    return (h ^ h >> last) * LAST & MASK


def sign_bits(hashes: Sequence[int], weights: Sequence[int], bits: int, seed: int) -> list[int]:
    """The sign of each random projection of a weighted document: 1 where it is positive."""
    found = []
    for block in range(bits // 64):
        words = [h ^ h >> 29 for h in (mixed(h, block, seed, 32) for h in hashes)]
        for bit in range(64):
            total = sum(w if word >> bit & 1 else -w for word, w in zip(words, weights, strict=True))
            found.append(int(total > 0))
    return found


def table_signs(
    hashes: Sequence[int], weights: Sequence[int], bits: int, seed: int, table: Sequence[int]
) -> list[int]:
    """The signs of projections whose coefficients are entries of a table, by the bytes of random words."""
    found = []
    for place in range(bits):
        words = [h ^ h >> 29 for h in (mixed(h, place // 8, seed, 32) for h in hashes)]
        total = sum(w * table[word >> 8 * (place % 8) & 255] for word, w in zip(words, weights, strict=True))
        found.append(int(total > 0))
    return found


def hamming(left: Sequence[int], right: Sequence[int]) -> int:
    """The number of bits in which two rows of words differ."""
    return sum((a ^ b).bit_count() for a, b in zip(left, right, strict=True))


def keep_near(
    rows: Sequence[Sequence[int]], exempt: Sequence[bool], most: int, pairs: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The pairs that differ in at most so many bits, and those of exempt documents."""
    return [(a, b) for a, b in pairs if exempt[a] or exempt[b] or hamming(rows[a], rows[b]) <= most]


def set_hash(hashes: Sequence[int], lexicons: int, limit: int, seed: int) -> list[int]:
    """A hash of the features in each lexicon, in order; the first lexicon has them all."""
    found = []
    for k in range(lexicons):
        h = GOLDEN
        for x in hashes:
            if k == 0 or mixed(x, k, seed, 29) >> 32 >= limit:
                h = (h ^ x) * STIR & MASK
                h ^= h >> 31
        h = (h ^ k) * LAST & MASK
        found.append(h ^ h >> 29)
    return found


def dot(left: Mapping[int, float], right: Mapping[int, float]) -> float:
    """The sum of products over shared features, in order of their hashes."""
    return sum(left[h] * right[h] for h in sorted(left.keys() & right.keys()))
