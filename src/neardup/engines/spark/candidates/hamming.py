"""Candidate pairs of near fingerprints: a table for each choice of blocks of bits that a near pair agrees in.

Fingerprints travel in parcels to the part of their table and key, as in `edges`; there the local kernel joins buckets.
Where only clusters are asked for, equal fingerprints meet first, and the one of the smallest rank goes on for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from neardup.candidates.hamming import Hamming, run_pairs, to_columns
from neardup.columns import Hashes
from neardup.engines.local.checkpoint.spill import matrix
from neardup.engines.spark.candidates.bands import represented_texts
from neardup.engines.spark.candidates.hot_buckets import NAMES, PAIRS, REST, Collected, finished, sent
from neardup.engines.spark.shuffle.arrow import Batches, begins, in_arrow
from neardup.engines.spark.shuffle.packed_blocks import (
    PackedBlocks,
    column,
    in_blocks,
    part_of,
    received,
    shuffled,
    split,
)
from neardup.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BUCKET = 4096  # members that a bucket of fingerprints may have on average
MOST_TABLES = 256
MIX = np.uint64(0xD6E8FEB86659FD93)
Fingerprints = dict[str, Any]  # rank, place, and a column for each word


@dataclass(frozen=True)
class HammingTables:
    """Which bits each table's pairs agree in (tables × words), how far they may be apart, and where keys go."""

    masks: Hashes
    distance: int
    spanning: bool
    tasks: int

    @staticmethod
    def of(plan: Plan, join: Hamming, documents: int, some: bool, tasks: int) -> HammingTables:
        decided = plan.check.measures == join.decides and plan.check_view is None
        distance = join.distance(plan.threshold)
        masks = block_masks(join.bits, distance, documents) | last_bits(join.bits, join.exact)
        return HammingTables(masks, distance, decided and some, tasks)

    @property
    def pairs(self) -> int:
        """The first part of pairs that are known already."""
        return len(self.masks) * self.tasks


def find_near(rule: HammingTables, contents: DataFrame) -> DataFrame:
    """Every pair of near fingerprints; or as many as connect them. `contents` as for `edges.find_by_keys`."""
    chunks = contents.select("chunk", "seen", "wanted")
    if rule.spanning:
        named = in_blocks(chunks, partial(_named, rule))
        keys = in_blocks(shuffled(named, rule.tasks), partial(_first_of_equal, rule))
    else:
        keys = in_blocks(chunks, partial(_keys, rule))
    found = in_blocks(shuffled(keys, rule.tasks), partial(_meeting, rule))
    return in_arrow(shuffled(found, rule.tasks), partial(finished, rule.tasks), PAIRS)


def block_masks(bits: int, distance: int, documents: int) -> Hashes:
    """For each table the bits that its pairs agree in: tables × words.

    Of b blocks, b − distance agree. More blocks make longer keys and more tables: as many as it takes for buckets of
    a size that is worth comparing.
    """
    blocks = min(distance + 1, bits)
    while (
        documents > BUCKET << min(62, bits * (blocks - distance) // blocks)
        and blocks < bits
        and comb(blocks + 1, distance) <= MOST_TABLES
    ):
        blocks += 1
    edges = np.linspace(0, bits, blocks + 1).astype(int)
    masks = []
    for chosen in combinations(range(blocks), max(blocks - distance, 0)):
        wanted = np.zeros(-(-bits // 64) * 64, np.uint8)
        for block in chosen:
            wanted[edges[block] : edges[block + 1]] = 1
        masks.append(np.packbits(wanted, bitorder="little").view(np.uint64))
    return np.stack(masks)


def last_bits(bits: int, count: int) -> Hashes:
    """The mask of the last bits, in which every pair must agree."""
    wanted = np.zeros(-(-bits // 64) * 64, np.uint8)
    wanted[bits - count : bits] = 1
    return np.packbits(wanted, bitorder="little").view(np.uint64)


def _fingerprints(batches: Batches) -> Any:
    """The fingerprints of each chunk's contents."""
    for batch in batches:
        for seen, places in represented_texts(batch):
            if len(places):
                words = to_columns(matrix(seen.column("slots")))
                yield {"rank": column(seen, "rank"), "place": places, **_by_name(words)}


def _by_name(words: Hashes) -> dict[str, Hashes]:
    return {f"word{number}": word for number, word in enumerate(words)}


def _words(some: Fingerprints) -> Hashes:
    return np.stack([some[f"word{number}"] for number in range(len(some) - 2)])


def _key(words: Hashes, mask: Hashes) -> Hashes:
    """A hash of the bits that a mask chooses."""
    key = np.zeros(words.shape[1], np.uint64)
    for word, wanted in zip(words, mask, strict=True):
        key = (key ^ (word & wanted)) * MIX
        key ^= key >> np.uint64(32)
    return key


def _named(rule: HammingTables, batches: Batches) -> PackedBlocks:
    """Fingerprints for the part where equal ones meet."""
    for some in _fingerprints(batches):
        every = np.full(len(rule.masks[0]), ~np.uint64(0))
        yield from split(some, part_of(_key(_words(some), every), rule.tasks))


def _first_of_equal(rule: HammingTables, batches: Batches) -> PackedBlocks:
    """Equal fingerprints as pairs with the one of the smallest rank, which alone goes on to the tables."""
    found = Collected()
    for some in received(batches).values():
        values = {name: column(some, name) for name in some.column_names}
        words = _words(values)
        order = np.lexsort((values["rank"], *words))
        values = {name: each[order] for name, each in values.items()}
        starts = begins(*words[:, order])
        first = np.repeat(starts[:-1], np.diff(starts))
        other = np.flatnonzero(first != np.arange(len(first)))
        found.add(REST, values["rank"], values["place"], first[other], other)
        yield from _tables(rule, {name: each[starts[:-1]] for name, each in values.items()})
    for part, pairs in sent(found, rule.tasks):
        yield rule.pairs + part, pairs


def _keys(rule: HammingTables, batches: Batches) -> PackedBlocks:
    """All fingerprints for their parts of all tables."""
    for some in _fingerprints(batches):
        yield from _tables(rule, some)


def _tables(rule: HammingTables, some: Fingerprints) -> PackedBlocks:
    words = _words(some)
    for number, mask in enumerate(rule.masks):
        key = _key(words, mask)
        yield from split({"key": key, **some}, number * rule.tasks + part_of(key, rule.tasks))


def _meeting(rule: HammingTables, batches: Batches) -> PackedBlocks:
    """Fingerprints, bucket by bucket, to pairs of near ones; pairs that are known go on."""
    found = Collected()
    for part, some in received(batches).items():
        values = {name: column(some, name) for name in some.column_names}
        if part >= rule.pairs:
            found.put({name: values[name] for name in NAMES})
        else:
            _join(rule, part // rule.tasks, values.pop("key"), values, found)
    yield from sent(found, rule.tasks)


def _join(rule: HammingTables, number: int, keys: Hashes, some: Fingerprints, found: Collected) -> None:
    """Collects the near pairs of a part of a table that no earlier table has."""
    order = np.lexsort((some["rank"], keys))
    ranks, places = some["rank"][order], some["place"][order]
    words = np.ascontiguousarray(_words(some)[:, order])
    left, right, _ = run_pairs(words, begins(keys[order]), rule.distance, rule.masks[:number], rule.spanning)
    found.add(REST, ranks, places, left, right)
