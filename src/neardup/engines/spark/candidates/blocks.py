"""Candidate pairs of joins that compare whatever shares a feature: contents in blocks, every two of them in a task.

As in `engines.joining`, but that a block is a part of the ranks, and that there are as many as keep all tasks busy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from neardup.columns import Features, Numbers, Pairs
from neardup.engines.local.candidates import MOST_LINKS
from neardup.engines.spark.candidates.hot_buckets import PAIRS, REST, Collected, finished, sent, tally
from neardup.engines.spark.shuffle.arrow import Batches, in_arrow, pack_features, unpack_features, unsigned
from neardup.engines.spark.shuffle.packed_blocks import (
    PackedBlocks,
    column,
    in_blocks,
    part_of,
    received,
    shuffled,
    split,
)
from neardup.engines.spark.signatures import distinct_chunk_features
from neardup.plan import FeatureJoin, Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class BlockPairs:
    """Which two blocks meet where."""

    blocks: int

    @staticmethod
    def of(tasks: int) -> BlockPairs:
        """As many blocks as make at least so many tasks."""
        blocks = isqrt(2 * tasks)
        return BlockPairs(blocks if blocks * (blocks + 1) // 2 >= tasks else blocks + 1)

    @property
    def parts(self) -> int:
        """One for any two blocks, or a block and itself."""
        return self.blocks * (self.blocks + 1) // 2

    def part(self, own: Numbers, other: int) -> Numbers:
        """Where documents of some blocks meet those of another."""
        low, high = np.minimum(own, other), np.maximum(own, other)
        return high * (high + 1) // 2 + low


def find_in_blocks(plan: Plan, contents: DataFrame, some: bool, blocks: int, tasks: int) -> DataFrame:
    """Rows of candidates: all pairs that the plan's join finds, by so many tasks at least; `tasks` collect them."""
    grid = BlockPairs.of(blocks)
    sides = in_blocks(contents, partial(_sides, grid))
    found = in_blocks(shuffled(sides, grid.parts), partial(_meeting, plan, some, tasks))
    return in_arrow(shuffled(found, tasks), partial(finished, tasks), PAIRS)


def _sides(grid: BlockPairs, batches: Batches) -> PackedBlocks:
    """Contents, for wherever their block meets one."""
    for seen, places, features in distinct_chunk_features(batches):
        ranks = column(seen, "rank")
        own = part_of(ranks, grid.blocks)
        columns = {"block": own, "rank": ranks, "place": places, **pack_features(features)}
        for other in range(grid.blocks):
            yield from split(columns, grid.part(own, other))


def _meeting(plan: Plan, some: bool, tasks: int, batches: Batches) -> PackedBlocks:
    """Two blocks to the pairs that the plan's join finds, for the part of their larger rank."""
    found, cuts = Collected(), 0
    for contents in received(batches).values():
        own, ranks = (column(contents, name) for name in ("block", "rank"))
        contents = contents.take(pa.array(np.lexsort((ranks, own)))).combine_chunks()
        own, ranks, places = (column(contents, name) for name in ("block", "rank", "place"))
        first = int((own == own[0]).sum()) % len(own)  # 0 where a block meets itself
        features = unpack_features(contents.column("hashes"), contents.column("weights"))
        pairs, cut = _joined(plan, some, features, ranks, first)
        found.add(REST, ranks, places, pairs.left, pairs.right)
        cuts += cut
    yield from sent(found, tasks)
    yield from tally(above=cuts)


def _joined(plan: Plan, some: bool, features: Features, ranks: Numbers, first: int) -> tuple[Pairs, int]:
    """What the join finds, and how many crowds it has cut."""
    join: FeatureJoin = plan.candidates  # type: ignore[assignment]
    if some:
        return join.links(features, plan.threshold, 1, unsigned(ranks), MOST_LINKS, first)
    return join.pairs(features, plan.threshold, 1, first), 0
