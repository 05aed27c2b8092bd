"""Blocks of pairs that are verified, one after the other, so that a resumed run compares only the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from neardup.columns import Pairs, ragged
from neardup.engines.local.checkpoint.workspace import Workspace

COLUMNS = ("left", "right", "shared", "left_size", "right_size")
COUNTS = ("measured", "joined", "inside")


@dataclass(frozen=True)
class VerifiedBlock:
    """Pairs that count, and how many pairs were measured or not."""

    pairs: Pairs
    measured: int  # candidates
    joined: int = 0  # candidates that were not measured, because their documents were in one cluster already
    inside: int = 0  # pairs inside small clusters that were measured and are no candidates


class VerifiedBlocks:
    """The blocks that are done, in order; stored only where a run can be resumed."""

    def __init__(self, work: Workspace | None) -> None:
        self._work = work if work is not None and work.path is not None else None

    def earlier(self) -> Iterator[VerifiedBlock]:
        """The blocks of an earlier run."""
        if self._work is None or not len(rows := self._work.rows("verify")):
            return
        columns = [rows.column(name) for name in (*COLUMNS, "kind", *COUNTS)]
        for *values, measured, joined, inside in zip(*columns, strict=True):
            *arrays, kind = values
            found = {name: array.values.to_numpy() for name, array in zip(COLUMNS, arrays, strict=True)}
            pairs = replace(Pairs(**found), kind=kind.as_py())
            yield VerifiedBlock(pairs, measured.as_py(), joined.as_py(), inside.as_py())

    def add(self, done: VerifiedBlock) -> VerifiedBlock:
        """Store a block."""
        if self._work is not None:
            self._work.rows("verify").add(_as_row(done))
            self._work.checkpoint()
        return done


def _as_row(done: VerifiedBlock) -> pa.RecordBatch:
    whole = np.array([0, len(done.pairs)], np.int64)
    row = {name: ragged(whole, getattr(done.pairs, name)) for name in COLUMNS}
    row |= {"kind": pa.array([done.pairs.kind])}
    return pa.record_batch(row | {name: pa.array([getattr(done, name)]) for name in COUNTS})
