"""Learned weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from naive.bits import mixed
from naive.common import GOLDEN, LAST, MASK, STIR


class Gram(NamedTuple):
    hash: int
    count: int
    first: int
    capitals: int
    digits: int
    places: int


def tabulate(hashes: Sequence[int], marks: Sequence[int], places: Sequence[int]) -> list[Gram]:
    """The distinct k-grams of a document by hash; marks and places are those of the tokens that they begin with."""
    found = []
    for h in sorted(set(hashes)):
        where = [i for i, x in enumerate(hashes) if x == h]
        inside = 0
        for i in where:
            inside |= places[i] if places else 1
        capitals = sum(marks[i] & 1 for i in where)
        digits = sum(marks[i] >> 1 & 1 for i in where)
        found.append(Gram(h, len(where), where[0], capitals, digits, inside))
    return found


def multiply_pairs(
    left: Mapping[int, Sequence[float]], right: Mapping[int, Sequence[float]], count: int
) -> list[float]:
    """The upper triangle of A + Aᵀ (its diagonal once), A the sum of φ(left)·φ(right)ᵀ over shared k-grams."""
    total = [[0.0] * count for _ in range(count)]
    for h in sorted(left.keys() & right.keys()):
        for r in range(count):
            for c in range(count):
                total[r][c] += left[h][r] * right[h][c]
    return [
        total[r][r] if r == c else total[r][c] + total[c][r] for r in range(count) for c in range(r, count)
    ]


def minhash_levels(levels: Mapping[int, int], mix: Sequence[int], steps: Sequence[int]) -> list[int]:
    """Min-hashes of the set of all (k-gram, level) up to the level of each."""
    a, b, c, d = mix
    halves = []
    for gram, most in levels.items():
        for level in range(1, most + 1):
            h = (gram ^ level * GOLDEN & MASK) * STIR & MASK
            h = (h ^ h >> 32) * LAST & MASK
            h ^= h >> 29
            halves.append((a * (h >> 32) + b, c * (h % 2**32) + d))
    return [min(((u + k * v) % 2**32 for u, v in halves), default=2**32 - 1) for k in steps]


def sampled_keys(bits: Sequence[int], chosen: Sequence[Sequence[int]], seed: int) -> list[int]:
    """A hash of the chosen bits of each band, 32 at a time."""
    keys = []
    for band, places in enumerate(chosen):
        h = (seed + band + 1) * GOLDEN & MASK
        whole = len(places) // 32 * 32
        groups = [places[start : start + 32] for start in range(0, whole, 32)] + [places[whole:]]
        for group in groups:
            word = 0
            for place in group:
                word = word << 1 | bits[place]
            h = (h ^ word) * STIR & MASK
            h ^= h >> 32
        keys.append(h)
    return keys


def weigh(numbers: Sequence[int], table: Sequence[float], factors: Sequence[float]) -> list[float]:
    """The table's entry for each number, its last one where there is none, times a factor if given."""
    return [
        table[min(number, len(table) - 1)] * (factors[i] if factors else 1)
        for i, number in enumerate(numbers)
    ]


def to_fixed_point(weights: Sequence[float], one: int) -> list[int]:
    """Weights as whole numbers, `one` being the largest of them by absolute value."""
    largest = max(map(abs, weights), default=0)
    return [math.floor(weight * (one / largest) + 0.5) if largest else 0 for weight in weights]


def largest_of_occurrences(
    features: Sequence[int], seen: Sequence[int], values: Sequence[float], least: float
) -> list[float]:
    """For each feature the largest value among its occurrences, `least` where it has none."""
    return [
        max([least, *(value for other, value in zip(seen, values, strict=True) if other == feature)])
        for feature in features
    ]


def projections(hashes: Sequence[int], weights: Sequence[int], bits: int, seed: int) -> list[int]:
    """The sums whose signs are the bits of a fingerprint."""
    found = []
    for block in range(bits // 64):
        words = [h ^ h >> 29 for h in (mixed(h, block, seed, 32) for h in hashes)]
        for bit in range(64):
            found.append(sum(w if word >> bit & 1 else -w for word, w in zip(words, weights, strict=True)))
    return found
