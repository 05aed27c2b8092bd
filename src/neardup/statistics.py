"""Document frequencies: in how many contents each feature occurs. Mergeable, frozen, named by a digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from neardup import kernels
from neardup.columns import Features, Hashes, Numbers, make_distinct
from neardup.errors import StatisticsError


@dataclass(frozen=True)
class Frequencies:
    """For each feature that occurs, in ascending order of its hash, the number of contents that have it."""

    keys: Hashes
    counts: Numbers

    @cached_property
    def _index(self) -> Numbers:
        """Where the keys of each leading run of bits begin: hashes are spread evenly, so a look-up is one step."""
        bits = max(1, len(self.keys).bit_length())
        return np.searchsorted(self.keys, np.arange(1 << bits, dtype=np.uint64) << np.uint64(64 - bits))

    def of(self, hashes: Hashes) -> Numbers:
        """The document frequency of each feature, 0 for one that was never counted."""
        found = np.zeros(len(hashes), np.int64)
        kernels.lookup.look_up(self.keys, self.counts, self._index, hashes, found)
        return found

    def merged(self, other: Frequencies) -> Frequencies:
        """The counts of two disjoint sets of documents together."""
        return add_up([self, other])


@dataclass(frozen=True)
class Statistics:
    """Frequencies of each kind of feature that was counted, over so many contents."""

    documents: int
    text: str  # the text stage, as JSON: its tokens are what was counted
    tables: Mapping[str, Frequencies] = field(default_factory=dict)  # by feature stage, as JSON

    def table(self, stage: str) -> Frequencies:
        """The frequencies of the features that a stage makes."""
        if stage not in self.tables:
            known = ", ".join(self.tables) or "nothing"
            raise StatisticsError(f"The statistics do not cover {stage}; they cover {known}.")
        return self.tables[stage]

    def merged(self, other: Statistics) -> Statistics:
        """The statistics of two disjoint collections together."""
        if self.text != other.text or set(self.tables) != set(other.tables):
            raise StatisticsError(
                "These statistics count different things and cannot be merged: "
                f"{self.text} with {sorted(self.tables)}, and {other.text} with {sorted(other.tables)}."
            )
        tables = {name: table.merged(other.tables[name]) for name, table in self.tables.items()}
        return Statistics(self.documents + other.documents, self.text, tables)

    @cached_property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that name what was counted and the result."""
        whole = hashlib.sha256(f"{self.documents} {self.text}".encode())
        for name in sorted(self.tables):
            whole.update(name.encode())
            whole.update(self.tables[name].keys.tobytes())
            whole.update(self.tables[name].counts.tobytes())
        return whole.hexdigest()[:16]


def count_features(features: Features) -> Frequencies:
    """The frequencies within one batch, each document counting once."""
    keys, counts = np.unique(make_distinct(features).hashes, return_counts=True)
    return Frequencies(keys, counts.astype(np.int64))


def add_up(parts: Iterable[Frequencies]) -> Frequencies:
    """The sum of several tables."""
    tables = list(parts)
    keys = np.concatenate([table.keys for table in tables])
    counts = np.concatenate([table.counts for table in tables])
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)])
    return Frequencies(keys[first], np.add.reduceat(counts, first) if len(first) else counts)
