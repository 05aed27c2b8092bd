"""Candidate pairs of fingerprints within a Hamming distance: one table for each choice of blocks of bits that agree.

Fingerprints are shuffled by table and key, as in `bands`; the local kernel joins the buckets. If only clusters are
requested, equal fingerprints are joined first, and only the one with the smallest id hash enters the tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from pyspark.sql import DataFrame

from neardup.candidates.hamming import Hamming, run_pairs, to_columns
from neardup.columns import Hashes, matrix
from neardup.engines.spark.candidates import hot_buckets
from neardup.engines.spark.candidates.hot_buckets import NAMES, PAIRS, REST, PairCollector, pair_blocks
from neardup.engines.spark.shuffle import packed_blocks as shuffle
from neardup.engines.spark.shuffle.arrow import Batches, in_arrow
from neardup.engines.spark.shuffle.packed_blocks import PackedBlocks, column, in_blocks, part_of, shuffled
from neardup.engines.spark.signatures import DistinctTexts, represented_texts
from neardup.plan import Plan
from neardup.sorted_sets import run_starts

FINGERPRINT = 32  # bytes of a key, an id hash, a place and a word
BUCKET = 4096  # the largest average number of members of a bucket
MOST_TABLES = 256
MIX = np.uint64(0xD6E8FEB86659FD93)
Fingerprints = dict[str, Any]  # id_hash, place, and a column for each word


@dataclass(frozen=True)
class HammingTables:
    """The bits that pairs of each table agree in (tables × words), the largest distance, and the number of tasks."""

    masks: Hashes
    distance: int
    spanning: bool
    tasks: int

    @staticmethod
    def of(plan: Plan, texts: DistinctTexts) -> HammingTables:
        join: Hamming = plan.candidates  # type: ignore[assignment]
        distance = join.distance(plan.threshold)
        masks = block_masks(join.bits, distance, texts.documents) | last_bits(join.bits, join.exact)
        tasks = texts.tasks(texts.documents * len(masks) * FINGERPRINT)
        return HammingTables(masks, distance, plan.needs_spanning_pairs, tasks)

    @property
    def pairs(self) -> int:
        """The first part of pairs that are found already."""
        return len(self.masks) * self.tasks


def find_by_hamming(plan: Plan, texts: DistinctTexts) -> DataFrame:
    """PAIRS of near fingerprints: all of them, or enough to connect the same documents."""
    rule = HammingTables.of(plan, texts)
    chunks = texts.chunks.select("chunk", "representation", "copies")
    if rule.spanning:
        blocks = in_blocks(chunks, partial(_fingerprint_blocks, rule))
        keys = in_blocks(shuffled(blocks, rule.tasks), partial(_first_of_equal, rule))
    else:
        keys = in_blocks(chunks, partial(_key_blocks, rule))
    found = in_blocks(shuffled(keys, rule.tasks), partial(_near_pairs, rule))
    return in_arrow(shuffled(found, rule.tasks), partial(hot_buckets.distinct_pairs, rule.tasks), PAIRS)


def block_masks(bits: int, distance: int, documents: int) -> Hashes:
    """The bits that pairs of each table agree in: tables × words.

    Of b blocks, b − distance agree. More blocks make longer keys and more tables; b is the smallest number for which
    buckets have BUCKET members on average.
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
        mask = np.zeros(-(-bits // 64) * 64, np.uint8)
        for block in chosen:
            mask[edges[block] : edges[block + 1]] = 1
        masks.append(np.packbits(mask, bitorder="little").view(np.uint64))
    return np.stack(masks)


def last_bits(bits: int, count: int) -> Hashes:
    """The mask of the last bits, in which every pair must agree."""
    mask = np.zeros(-(-bits // 64) * 64, np.uint8)
    mask[bits - count : bits] = 1
    return np.packbits(mask, bitorder="little").view(np.uint64)


def _fingerprints(batches: Batches) -> Any:
    """The fingerprints of the distinct texts of each chunk."""
    for batch in batches:
        for representation, places in represented_texts(batch):
            if len(places):
                words = enumerate(to_columns(matrix(representation.column("slots"))))
                named = {f"word{number}": word for number, word in words}
                yield {"id_hash": column(representation, "id_hash"), "place": places, **named}


def _words(some: Fingerprints) -> Hashes:
    return np.stack([some[f"word{number}"] for number in range(len(some) - 2)])


def _key(words: Hashes, mask: Hashes) -> Hashes:
    """A hash of the masked bits."""
    key = np.zeros(words.shape[1], np.uint64)
    for word, bits in zip(words, mask, strict=True):
        key = (key ^ (word & bits)) * MIX
        key ^= key >> np.uint64(32)
    return key


def _fingerprint_blocks(rule: HammingTables, batches: Batches) -> PackedBlocks:
    """Blocks of fingerprints, by value."""
    for some in _fingerprints(batches):
        every = np.full(len(rule.masks[0]), ~np.uint64(0))
        yield from shuffle.split(some, part_of(_key(_words(some), every), rule.tasks))


def _first_of_equal(rule: HammingTables, batches: Batches) -> PackedBlocks:
    """Blocks of the first of equal fingerprints for all tables, and of its pairs with the others."""
    found = PairCollector()
    for some in shuffle.received(batches).values():
        values = {name: column(some, name) for name in some.column_names}
        words = _words(values)
        order = np.lexsort((values["id_hash"], *words))
        values = {name: each[order] for name, each in values.items()}
        starts = run_starts(*words[:, order])
        first = np.repeat(starts[:-1], np.diff(starts))
        other = np.flatnonzero(first != np.arange(len(first)))
        found.add(REST, values["id_hash"], values["place"], first[other], other)
        yield from _table_blocks(rule, {name: each[starts[:-1]] for name, each in values.items()})
    for part, pairs in pair_blocks(found, rule.tasks):
        yield rule.pairs + part, pairs


def _key_blocks(rule: HammingTables, batches: Batches) -> PackedBlocks:
    """Blocks of all fingerprints for all tables."""
    for some in _fingerprints(batches):
        yield from _table_blocks(rule, some)


def _table_blocks(rule: HammingTables, some: Fingerprints) -> PackedBlocks:
    words = _words(some)
    for number, mask in enumerate(rule.masks):
        key = _key(words, mask)
        yield from shuffle.split({"key": key, **some}, number * rule.tasks + part_of(key, rule.tasks))


def _near_pairs(rule: HammingTables, batches: Batches) -> PackedBlocks:
    """Blocks of near pairs, including those found already."""
    found = PairCollector()
    for part, some in shuffle.received(batches).items():
        values = {name: column(some, name) for name in some.column_names}
        if part >= rule.pairs:
            found.put({name: values[name] for name in NAMES})
        else:
            _join(rule, part // rule.tasks, values.pop("key"), values, found)
    yield from pair_blocks(found, rule.tasks)


def _join(rule: HammingTables, number: int, keys: Hashes, some: Fingerprints, found: PairCollector) -> None:
    """Collects the near pairs in a part of a table that no earlier table has."""
    order = np.lexsort((some["id_hash"], keys))
    id_hashes, places = some["id_hash"][order], some["place"][order]
    words = np.ascontiguousarray(_words(some)[:, order])
    left, right, _ = run_pairs(
        words, run_starts(keys[order]), rule.distance, rule.masks[:number], rule.spanning
    )
    found.add(REST, id_hashes, places, left, right)
