"""Weighted phrases and samples."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from naive.common import GOLDEN, MASK, STIR

HALF = (1 << 32) - 1  # 32-bit arithmetic wraps


def stir_half(x: int) -> int:
    """Murmur's finisher of 32 bits."""
    x = (x ^ x >> 16) * 0x85EBCA6B & HALF
    x = (x ^ x >> 13) * 0xC2B2AE35 & HALF
    return x ^ x >> 16


def fraction(x: int) -> float:
    return ((x >> 8) + 0.5) / 2**24


class Sampled(NamedTuple):
    slot: int
    margin: (
        float  # how far the winner is from losing, or from another step: rounding decides where it is tiny
    )


def sample(hashes: Sequence[int], log_weights: Sequence[float], seed: int, number: int) -> Sampled:
    """One consistent weighted sample, in double precision."""
    found = []
    for h, log_weight in zip(hashes, log_weights, strict=True):
        low, high = h & HALF, h >> 32
        w = stir_half((low + number * (high | 1) & HALF) ^ seed)
        x = stir_half(w + (high ^ 0x9E3779B9) & HALF)
        y = stir_half(x + 0xDAA66D2B & HALF)
        z = stir_half(y + 0x78DDE6E4 & HALF)
        beta = fraction((w & 255) << 24 | (x & 255) << 16 | (y & 255) << 8)
        span = -math.log(fraction(w) * fraction(x))
        clock = -math.log(fraction(y) * fraction(z))
        exact = log_weight / span + beta
        step = math.floor(exact)
        slot = stir_half(((h & HALF) ^ stir_half(h >> 32)) + step * 0x9E3779B9 & HALF)
        margin = min(exact - step, step + 1 - exact) / max(1.0, abs(exact))
        found.append((math.log(clock) - (step - beta + 1) * span, slot, margin))
    if not found:
        return Sampled(0, 1.0)
    first, *others = sorted(found)
    scale = max(1.0, abs(first[0]))
    return Sampled(first[1], min([first[2], *((other[0] - first[0]) / scale for other in others)]))


def race(hashes: Sequence[int], weights: Sequence[float], seed: int, count: int) -> list[int]:
    """For each slot the phrase that rings first in it, every phrase ringing often enough to reach all slots."""
    times, slots = [math.inf] * count, [0] * count
    for h, weight in zip(hashes, weights, strict=True):
        state, time, reached = (h ^ seed * GOLDEN & MASK) * STIR & MASK, 0.0, set()
        while len(reached) < count:
            state = state + GOLDEN & MASK
            x = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & MASK
            x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
            x ^= x >> 31
            time -= math.log(((x >> 12) + 0.5) / 2**52) / weight
            k = (x & HALF) * count >> 32
            reached.add(k)
            if time < times[k]:
                times[k], slots[k] = time, stir_half((h & HALF) ^ stir_half(h >> 32))
    return slots


def sum_around(values: Sequence[int], half: int) -> list[int]:
    """The sum of `half` values before each place and as many from it on."""
    return [sum(values[max(0, i - half) : i + half]) for i in range(len(values))]


def heaviest(hashes: Sequence[int], weights: Sequence[float]) -> dict[int, float]:
    """Each hash with its largest weight, in order."""
    return {h: max(w for g, w in zip(hashes, weights, strict=True) if g == h) for h in sorted(set(hashes))}


def darts(
    hashes: Sequence[int], weights: Sequence[float], seed: int, count: int, strips: int = 28
) -> list[int]:
    """For each slot the first dart that hits; enough darts of every octave are drawn for all slots to be hit."""
    total = sum(weights)
    bound = (math.log(count) + 4.5) * count / total if total else 0.0
    times, slots = [math.inf] * count, [0] * count
    while total and max(times) == math.inf:
        for h, weight in zip(hashes, weights, strict=True):
            key = (h ^ seed * GOLDEN & MASK) * STIR & MASK
            top = math.frexp(weight)[1] - 1
            for e in range(top, top - strips - 4, -1):  # a few more than needed: they change nothing
                for time, x in octave_darts(key, e, bound):
                    k = (x & HALF) * count >> 32
                    if (e < top or 2.0**e * (1 + (x >> 32) / 2**32) < weight) and time < times[k]:
                        times[k], slots[k] = time, stir_half((x & HALF) ^ stir_half(x >> 32))
        bound *= 2
    return slots


def octave_darts(key: int, e: int, bound: float) -> Iterable[tuple[float, int]]:
    """Time and bits of the darts of an octave of a phrase, up to a time."""
    field = splitmix(key + (e >> 2) * GOLDEN) >> 16 * (e & 3) & 0xFFFF
    state = splitmix(key ^ e * STIR & MASK)
    time = -math.log1p(-(field + ((state >> 12) + 0.5) / 2**52) / 2**16) / 2.0**e
    while time < bound:
        yield time, splitmix(state + GOLDEN)
        state += 2 * GOLDEN
        time -= math.log(((splitmix(state) >> 12) + 0.5) / 2**52) / 2.0**e


def splitmix(x: int) -> int:
    x &= MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31
