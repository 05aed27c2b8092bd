"""Sets of features of documents that share most of them: a bit for each common feature, hashes for the others.

A nearly identical document takes a tenth of the memory of its hashes, and is compared ten times as fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Features, Hashes, Numbers, Offsets
from neardup.sorted_sets import run_starts

SHARE = (
    16  # a feature of more than one document in so many is common: its bit takes less room than its hashes
)
SPARE = 4  # places of a table for each of its hashes
MOST_HEADS = 64  # sets that others are compared with together

Rows = NDArray[np.int32] | Numbers


class OpenTable:
    """A hash table from hashes to whole numbers, with room for so many; `arrays` are what kernels take."""

    def __init__(self, room: int, kind: type[Any]) -> None:
        bits = max(4, (SPARE * room).bit_length())
        self.arrays = (np.uint64(64 - bits), np.zeros(1 << bits, np.uint64), np.zeros(1 << bits, kind))
        self.room = (1 << bits) // 2


@dataclass(frozen=True)
class CompactSets:
    """One set a document; all have the same common features."""

    bits: NDArray[np.uint64]  # documents × words
    others: Hashes  # sorted for each document
    offsets: Offsets
    sizes: Numbers  # how many features each document has

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def nbytes(self) -> int:
        """The memory that they take."""
        return sum(values.nbytes for values in (self.bits, self.others, self.offsets, self.sizes))

    def shared(self, left: Rows, right: Rows) -> Numbers:
        """How many features the sets of each pair of rows have in common."""
        found = np.zeros(len(left), np.int64)
        kernels.compact.shared_of_pairs((self.bits, self.others, self.offsets), left, right, found)
        return found


class CommonFeatures:
    """The features that are common among a sample of documents, numbered."""

    def __init__(self, sample: Features) -> None:
        hashes = np.sort(sample.hashes)
        starts = run_starts(hashes)
        found = hashes[starts[:-1][np.diff(starts) * SHARE > len(sample)]]
        self.words = max(1, -(-len(found) // 64))
        self._table = OpenTable(len(found), np.int32)
        kernels.compact.number_hashes(found, *self._table.arrays)

    def split(self, features: Features) -> CompactSets:
        """The features of documents as sets; they may be there more than once."""
        bits = np.zeros((len(features), self.words), np.uint64)
        others = np.empty(len(features.hashes), np.uint64)
        table = self._table.arrays
        ends = kernels.compact.split_common(features.hashes, features.offsets, table, bits, others)
        sizes = np.bitwise_count(bits).sum(axis=1, dtype=np.int64) + np.diff(ends)
        return CompactSets(bits, others[: ends[-1]], ends, sizes)


class GrowingSets:
    """Compact sets that come batch by batch, in room for so many documents and an estimate of their other features."""

    def __init__(self, documents: int, words: int, others: int) -> None:
        self._bits = np.empty((documents, words), np.uint64)
        self._others = np.empty(others, np.uint64)
        self._offsets = np.zeros(documents + 1, np.int64)
        self._sizes = np.empty(documents, np.int64)
        self._documents = 0

    def add(self, sets: CompactSets) -> None:
        """The sets of more documents."""
        first, last, size = self._documents, self._documents + len(sets), int(self._offsets[self._documents])
        end = size + len(sets.others)
        if end > len(self._others):
            room = np.empty(end + end // 4, np.uint64)
            room[:size] = self._others[:size]
            self._others = room
        self._others[size:end] = sets.others
        self._bits[first:last], self._sizes[first:last] = sets.bits, sets.sizes
        self._offsets[first + 1 : last + 1] = sets.offsets[1:] + size
        self._documents = last

    @property
    def all(self) -> CompactSets:
        """The sets of all documents, in the order in which they came."""
        return CompactSets(self._bits, self._others[: self._offsets[-1]], self._offsets, self._sizes)


class Heads:
    """Up to 64 sets that others are compared with together."""

    def __init__(self, words: int) -> None:
        self._bits = np.zeros((MOST_HEADS, words), np.uint64)
        self._sizes = np.zeros(MOST_HEADS, np.int64)
        self._others: list[Hashes] = []
        self._table = OpenTable(0, np.uint64)
        self._entered = 0

    def __len__(self) -> int:
        return len(self._others)

    def add(self, sets: CompactSets, row: int) -> None:
        """One more."""
        number = len(self._others)
        self._bits[number], self._sizes[number] = sets.bits[row], sets.sizes[row]
        self._others.append(sets.others[sets.offsets[row] : sets.offsets[row + 1]].copy())
        self._entered += len(self._others[-1])
        new = range(number, number + 1)
        if self._entered > self._table.room:
            self._table, new = OpenTable(self._entered, np.uint64), range(number + 1)
        for head in new:
            kernels.compact.mark_hashes(self._others[head], head, *self._table.arrays)

    def first_reached(
        self, sets: CompactSets, rows: Rows, begin: int, limit: Fraction
    ) -> tuple[Numbers, Numbers]:
        """For each of some rows the first head from `begin` on that it reaches a Jaccard similarity with, −1 if none
        is; and the number of features that they share."""
        first, shared = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
        kernels.compact.first_reached(
            (sets.bits, sets.others, sets.offsets, sets.sizes),
            rows,
            (self._bits, self._sizes[: len(self)], begin),
            self._table.arrays,
            (limit.numerator, limit.denominator),
            first,
            shared,
        )
        return first, shared

    def sizes_of(self, heads: Numbers) -> Numbers:
        """The number of features of some heads."""
        return self._sizes[heads]
