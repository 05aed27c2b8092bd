"""The estimated cost of tables and of brute force for pairs within a Hamming distance, and the cheapest choice."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import ceil, comb, log2

import numpy as np
from numpy.typing import NDArray

from neardup.columns import Hashes, Numbers
from neardup.errors import ParameterError

SAMPLE = 1 << 18  # bits of the fingerprints sampled
TABLES = 512  # at most
SPARE = 6  # blocks beyond the number that may differ, at most
KEY = 32  # bits of a key, at most

# Nanoseconds, measured on one core (benchmarks/hamming.py); only their proportions matter.
COMPARE, SORT, GATHER, KEY_BIT, VISIT = 0.8, 15.0, 8.0, 0.8, 30.0


@dataclass(frozen=True)
class TableLayout:
    """The key bits of each table, and the same as masks: tables × words."""

    keys: list[Numbers]
    masks: Hashes


def choose_layout(
    columns: Hashes, distance: int, kind: str = "auto", most: int = KEY, single: bool = False
) -> TableLayout | None:
    """The cheapest tables that find all pairs within a distance; None if comparing all costs less.

    With `single`, for the cost of a look-up instead of a join.
    """
    if kind not in ("auto", "tables", "shards"):
        raise ParameterError("kind", "Hamming search", "'auto', 'tables' or 'shards'", kind)
    n = columns.shape[1]
    if kind == "shards" or n < 2:
        return None
    bits = _sample_bits(columns)
    collide = _collisions(bits)
    order = np.argsort(collide, kind="stable")  # the most selective bits first
    order = order[collide[order] < 1.0]
    width = min(most, KEY, ceil(log2(n)) + 2)
    best, least = None, np.inf if kind == "tables" else _shards_cost(bits, n, distance, len(columns), single)
    for blocks in range(distance + 1, min(distance + SPARE, len(order)) + 1):
        if comb(blocks, distance) > TABLES:
            break
        keys = _deal(order, blocks, distance, width)
        cost = _tables_cost(keys, collide, n, len(columns), single)
        if cost < least:
            best, least = keys, cost
    return None if best is None else TableLayout(best, _masks(best, len(columns)))


def _sample_bits(columns: Hashes) -> NDArray[np.bool_]:
    """A sample of the fingerprints: documents × bits."""
    words, n = columns.shape
    step = max(1, n * words * 64 // SAMPLE)
    some = np.ascontiguousarray(columns[:, ::step].T)
    return np.unpackbits(some.astype("<u8").view(np.uint8), axis=1, bitorder="little").astype(np.bool_)


def _collisions(bits: NDArray[np.bool_]) -> NDArray[np.float64]:
    """For each bit the probability that two documents agree in it."""
    ones = bits.mean(axis=0)
    return np.asarray(ones**2 + (1 - ones) ** 2, np.float64)


def _deal(order: Numbers, blocks: int, distance: int, width: int) -> list[Numbers]:
    """The key of each choice of blocks − distance blocks, bits dealt to blocks in turn."""
    hands = [order[block::blocks] for block in range(blocks)]
    keys = []
    for chosen in combinations(range(blocks), blocks - distance):
        deep = min(max(len(hands[block]) for block in chosen), -(-width // len(chosen)) + 1)
        turns = [hands[block][turn] for turn in range(deep) for block in chosen if turn < len(hands[block])]
        keys.append(np.array(turns[:width], np.int64))
    return keys


def _tables_cost(
    keys: list[Numbers], collide: NDArray[np.float64], n: int, words: int, single: bool
) -> float:
    total = 0.0
    for bits in keys:
        equal = float(np.prod(collide[bits]))
        if single:
            total += 200 * VISIT + equal * n * COMPARE * words * 4
            continue
        passes = ceil(len(bits) / 16)
        total += n * (KEY_BIT * len(bits) + SORT * passes + GATHER * words + VISIT)
        total += equal * n * n / 2 * COMPARE * words
    return total


def _shards_cost(bits: NDArray[np.bool_], n: int, distance: int, words: int, single: bool) -> float:
    """The cost of comparing all fingerprints with a similar number of ones."""
    ones = np.bincount(bits.sum(axis=1))
    share = ones / ones.sum()
    reach = min(distance, len(share))
    window = np.convolve(share, np.ones(2 * reach + 1), "same") if len(share) > 2 * reach else share * 0 + 1
    close = float((share * np.minimum(window, 1.0)).sum())
    if single:
        return n * COMPARE * words
    return n * (SORT + GATHER * words + VISIT) + close * n * n / 2 * COMPARE * words


def _masks(keys: list[Numbers], words: int) -> Hashes:
    masks = np.zeros((len(keys), words), np.uint64)
    for table, bits in enumerate(keys):
        for bit in bits.tolist():
            masks[table, bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)
    return masks
