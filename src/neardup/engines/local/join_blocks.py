"""Joins over features that need not fit into memory: distinct texts in blocks, every two blocks together.

A block has texts of about the same number of features, so that most pairs of blocks have little to find. Its size does
not depend on the memory budget: which members of a long posting list meet may depend on it, and a result must not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from neardup.columns import Features, Numbers, Pairs
from neardup.engines.core import rounds
from neardup.engines.local.checkpoint.spill import SpilledRows
from neardup.engines.local.checkpoint.workspace import Workspace
from neardup.engines.local.representations import Representations
from neardup.sorted_sets import distinct

# Of some texts, or between so many first ones and the others; and how many posting lists were truncated.
BlockJoin = Callable[[Features, Numbers, int], tuple[Pairs, int]]


@dataclass(frozen=True)
class DistinctFeatures:
    """The features of each distinct text, in memory or in files."""

    representatives: Numbers
    sizes: Numbers  # features of each
    stored: Representations

    @property
    def bytes(self) -> int:
        """What they would take in memory."""
        each = 12 if self.stored.rows.has("weights") else 8
        return int(self.sizes.sum()) * each

    def join(self, work: Workspace, joined: BlockJoin) -> tuple[Pairs, int]:
        """All pairs that `joined` finds, by the places of the texts; and how many posting lists were truncated."""
        blocks = -(-self.bytes // rounds.JOIN_BYTES)
        if blocks <= 1:
            return joined(self.stored.features(), np.arange(len(self.representatives)), 0)
        places, parts = self._blocks(work, blocks)
        found, cuts = [], 0
        for i, own in enumerate(parts):
            mine = Representations(own).features()
            for j in range(i, len(parts)):
                some, more, first = places[i], mine, 0
                if j > i:
                    some, first = np.concatenate([places[i], places[j]]), len(places[i])
                    more = Features.concatenate([mine, Representations(parts[j]).features()])
                pairs, cut = joined(more, some, first)
                found.append(replace(pairs, left=some[pairs.left], right=some[pairs.right]))
                cuts += cut
        for part in parts:
            part.close()
        return Pairs.concatenate(found), cuts

    def _blocks(self, work: Workspace, blocks: int) -> tuple[list[Numbers], list[SpilledRows]]:
        """The texts of each block in ascending order, and their features in files of their own."""
        order = np.argsort(self.sizes, kind="stable")
        ends = np.cumsum(self.sizes[order])
        block = np.empty(len(order), np.int64)
        block[order] = np.minimum(ends * blocks // max(1, int(ends[-1])), blocks - 1)
        parts = [SpilledRows(f"join{k}", lambda name: None, work.folder, 1 << 22) for k in range(blocks)]
        names = [name for name in ("hashes", "weights", "distinct") if self.stored.rows.has(name)]
        done = 0
        for batch in self.stored.rows.batches(names):
            mine = block[done : done + batch.num_rows]
            for k in distinct(mine).tolist():
                parts[k].add(batch.take(pa.array(np.flatnonzero(mine == k))))
            done += batch.num_rows
        return [np.flatnonzero(block == k) for k in range(blocks)], parts
