"""Candidate pairs of joins without a filter: documents in blocks by id hash, and a task for every two blocks.

The local engine joins the same way (see `engines/local/join_blocks.py`); here the number of blocks follows from the
number of tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import isqrt

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from neardup.columns import Features, Numbers, Pairs
from neardup.engines.core.rounds import JOIN_BYTES, MOST_LINKS
from neardup.engines.spark.candidates import hot_buckets
from neardup.engines.spark.candidates.hot_buckets import PAIRS, REST, PairCollector, counts_block, pair_blocks
from neardup.engines.spark.shuffle import packed_blocks as shuffle
from neardup.engines.spark.shuffle.arrow import Batches, in_arrow, pack_features, unpack_features, unsigned
from neardup.engines.spark.shuffle.packed_blocks import PackedBlocks, column, in_blocks, part_of, shuffled
from neardup.engines.spark.signatures import DistinctTexts, distinct_chunk_features
from neardup.plan import FeatureJoin, Plan

FEATURE = 12  # bytes of a feature and its weight
CHUNK = ("chunk", "representation", "copies", "features")


@dataclass(frozen=True)
class BlockPairs:
    """The task of every two blocks."""

    blocks: int

    @staticmethod
    def of(tasks: int) -> BlockPairs:
        """The fewest blocks that make at least `tasks` pairs of blocks."""
        blocks = isqrt(2 * tasks)
        return BlockPairs(blocks if blocks * (blocks + 1) // 2 >= tasks else blocks + 1)

    @property
    def parts(self) -> int:
        """The number of pairs of blocks, a block with itself included."""
        return self.blocks * (self.blocks + 1) // 2

    def part(self, own: Numbers, other: int) -> Numbers:
        """The part for the pairs of blocks `own` with block `other`."""
        low, high = np.minimum(own, other), np.maximum(own, other)
        return high * (high + 1) // 2 + low


def find_by_blocks(plan: Plan, texts: DistinctTexts) -> DataFrame:
    """PAIRS that the plan's join finds: all of them, or enough to connect the same documents."""
    some, size = not plan.needs_every_candidate, texts.features * FEATURE
    blocks = tasks = texts.tasks(size)
    if some and _join(plan).truncates:  # the blocks of the local engine, for the same pairs
        blocks = -(-size // JOIN_BYTES)
    layout = BlockPairs.of(blocks)
    sides = in_blocks(texts.chunks.select(*CHUNK), partial(_copies_of_blocks, layout))
    found = in_blocks(shuffled(sides, layout.parts), partial(_join_blocks, plan, some, tasks))
    return in_arrow(shuffled(found, tasks), partial(hot_buckets.distinct_pairs, tasks), PAIRS)


def _copies_of_blocks(layout: BlockPairs, batches: Batches) -> PackedBlocks:
    """Blocks of documents, once for every pair of blocks that they are in."""
    for representation, places, features in distinct_chunk_features(batches):
        id_hashes = column(representation, "id_hash")
        own = part_of(id_hashes, layout.blocks)
        columns = {"block": own, "id_hash": id_hashes, "place": places, **pack_features(features)}
        for other in range(layout.blocks):
            yield from shuffle.split(columns, layout.part(own, other))


def _join_blocks(plan: Plan, some: bool, tasks: int, batches: Batches) -> PackedBlocks:
    """Blocks of the pairs that the plan's join finds between two blocks, by larger id hash."""
    found, cuts = PairCollector(), 0
    for rows in shuffle.received(batches).values():
        own, id_hashes = (column(rows, name) for name in ("block", "id_hash"))
        rows = rows.take(pa.array(np.lexsort((id_hashes, own)))).combine_chunks()
        own, id_hashes, places = (column(rows, name) for name in ("block", "id_hash", "place"))
        first = int((own == own[0]).sum()) % len(own)  # 0: a block is joined with itself
        features = unpack_features(rows.column("hashes"), rows.column("weights"))
        pairs, cut = _joined(plan, some, features, id_hashes, first)
        found.add(REST, id_hashes, places, pairs.left, pairs.right)
        cuts += cut
    yield from pair_blocks(found, tasks)
    yield from counts_block(above=cuts)


def _joined(plan: Plan, some: bool, features: Features, id_hashes: Numbers, first: int) -> tuple[Pairs, int]:
    """The pairs of the join, and the number of truncated posting lists."""
    if some:
        return _join(plan).links(features, plan.threshold, 1, unsigned(id_hashes), MOST_LINKS, first)
    return _join(plan).pairs(features, plan.threshold, 1, first), 0


def _join(plan: Plan) -> FeatureJoin:
    join: FeatureJoin = plan.candidates  # type: ignore[assignment]
    return join
