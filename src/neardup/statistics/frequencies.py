"""Tables of document frequencies, and statistics: the tables of a collection."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Features, Hashes, Numbers
from neardup.errors import StatisticsError

Spread = tuple[Numbers, Numbers]
SPREAD = np.uint64(secrets.randbits(64) | 1)  # of this process; no count depends on it
PARTS = 11  # bits of a key: a part of forty million features fits into a processor's cache


@dataclass(frozen=True)
class Frequencies:
    """The document frequency of each listed feature, in ascending order of hash.

    A feature that is not listed occurs in fewer than `least` documents. Counts may be too low by up to `slack`,
    never too high; `slack` is 0 if they are exact.
    """

    keys: Hashes
    counts: Numbers
    least: int = 1
    slack: int = 0
    whole: Spread | None = None  # of all features, if only some of them are listed

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def _index(self) -> Numbers:
        """Where the keys of each bit prefix begin: hashes are spread evenly, so a look-up is one step."""
        bits = max(1, len(self.keys).bit_length())
        return np.searchsorted(self.keys, np.arange(1 << bits, dtype=np.uint64) << np.uint64(64 - bits))

    @cached_property
    def spread(self) -> Spread:
        """The distinct counts of features of at least two documents, and the number of features with each."""
        if self.whole is not None:
            return self.whole
        return np.unique(self.counts[self.counts >= 2], return_counts=True)

    def equals(self, other: Frequencies) -> bool:
        """Whether the other table is the same."""
        return self is other or (
            (self.least, self.slack) == (other.least, other.slack)
            and np.array_equal(self.keys, other.keys)
            and np.array_equal(self.counts, other.counts)
        )

    def of(self, hashes: Hashes) -> Numbers:
        """The document frequency of each feature, 0 for one that is not listed."""
        found = np.zeros(len(hashes), np.int64)
        kernels.lookup.look_up(self.keys, self.counts, self._index, hashes, found)
        return found

    @cached_property
    def _filter(self) -> tuple[Hashes, int]:
        """Eight bits for each key, of which one is set; and the logarithm of their number."""
        bits = max(6, (8 * len(self.keys)).bit_length())
        return kernels.lookup.make_filter(self.keys, bits), bits

    def lists(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Whether each feature is listed."""
        found = np.empty(len(hashes), np.bool_)
        kernels.lookup.among(self.keys, self._index, *self._filter, hashes, found)
        return found

    def quantile(self, share: float) -> int:
        """The frequency that this share of the features in at least two documents do not exceed; 1 if there are none.

        Most features of a collection occur once. They cannot make two documents similar, so they are left out.
        """
        counts, features = self.spread
        if len(counts) == 0:
            return 1
        at = np.searchsorted(np.cumsum(features), share * features.sum(), "left")
        return int(counts[min(int(at), len(counts) - 1)])

    def at_least(self, least: int) -> Frequencies:
        """The features of at least so many documents."""
        keep = self.counts >= least
        return Frequencies(self.keys[keep], self.counts[keep], max(least, self.least), self.slack)

    def plus(self, tables: Iterable[tuple[Frequencies, int]], least: int) -> Frequencies:
        """The table with others added or taken away, by their factors; features that are not listed here stay so."""
        counts, places = self.counts.copy(), replace(self, counts=np.arange(1, len(self) + 1))
        for table, factor in tables:
            found = places.of(table.keys)
            counts[found[found > 0] - 1] += factor * table.counts[found > 0]
        return replace(self, counts=counts).at_least(least)

    def above(self, limit: int) -> Frequencies:
        """The features of more documents than the limit; the last such table is kept."""
        last = self.__dict__.get("_above")
        if last is None or last[0] != limit:
            last = self.__dict__["_above"] = (limit, self.at_least(limit + 1))
        found: Frequencies = last[1]
        return found

    @cached_property
    def digest(self) -> str:
        """A digest of the table, the same whether it was counted at once or in parts."""
        whole = hashlib.sha256(f"{self.least} {self.slack}".encode())
        for column in (self.keys, self.counts):
            whole.update(hashlib.sha256(np.ascontiguousarray(column).data).digest())
        return whole.hexdigest()


@dataclass(frozen=True)
class Statistics:
    """Document frequencies of one or more feature stages over a collection."""

    documents: int  # in units of document frequency
    text: str  # the text stage whose tokens were counted, as JSON
    tables: Mapping[str, Frequencies] = field(default_factory=dict)  # by feature stage, as JSON
    df_unit: str = "texts"  # what counts as one document: see units

    def table(self, stage: str) -> Frequencies:
        """The frequencies of the features that a stage makes."""
        if stage not in self.tables:
            known = ", ".join(self.tables) or "nothing"
            raise StatisticsError(f"The statistics do not cover {stage}; they cover {known}.")
        return self.tables[stage]

    def check(self, text: str, stages: Iterable[str]) -> None:
        """Refuse tokens or features that were not counted."""
        if text != self.text:
            raise StatisticsError(
                f"The statistics count other tokens than the plan makes: {self.text} instead of {text}. "
                "Count again with the plan's text options (neardup stats build)."
            )
        for stage in stages:
            self.table(stage)

    @cached_property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that identify the features counted and their frequencies."""
        digests = {name: table.digest for name, table in self.tables.items()}
        return digest_of(self.documents, self.text, self.df_unit, digests)


def digest_of(documents: int, text: str, df_unit: str, tables: Mapping[str, str]) -> str:
    """The digest of statistics whose tables have these digests."""
    whole = hashlib.sha256(f"{documents} {text} {df_unit}".encode())
    for name in sorted(tables):
        whole.update(name.encode())
        whole.update(tables[name].encode())
    return whole.hexdigest()[:16]


def merge(parts: Iterable[Statistics]) -> Statistics:
    """The statistics of several disjoint collections together."""
    several = list(parts)
    first = several[0]
    for other in several[1:]:
        mine, theirs = _what(first), _what(other)
        if mine != theirs:
            raise StatisticsError(
                "These statistics count different features or units and cannot be merged: "
                f"{mine[0]} with {mine[1]} over {mine[2]}, and {theirs[0]} with {theirs[1]} over {theirs[2]}."
            )
    tables = {name: add_up([part.tables[name] for part in several]) for name in first.tables}
    return Statistics(sum(part.documents for part in several), first.text, tables, first.df_unit)


def _what(statistics: Statistics) -> tuple[str, list[str], str]:
    return statistics.text, sorted(statistics.tables), statistics.df_unit


def count_features(features: Features) -> Frequencies:
    """The frequencies within one batch, each document counting once."""
    return sorted_table(count_unsorted(features))


def count_unsorted(features: Features) -> Frequencies:
    """The same, in no order: all that a counter asks for."""
    size = int(features.offsets[-1] - features.offsets[0])
    keys, counts = np.empty(size, np.uint64), np.empty(size, np.int64)
    found = kernels.tables.count_rows(features.hashes, features.offsets, SPREAD, keys, counts)
    return Frequencies(keys[:found].copy(), counts[:found].copy())


def sorted_table(table: Frequencies) -> Frequencies:
    """The table in ascending order of hash."""
    order = np.argsort(table.keys)
    return replace(table, keys=table.keys[order], counts=table.counts[order])


def add_up(parts: Iterable[Frequencies]) -> Frequencies:
    """The sum of several tables; its slack is the most that the tables left out as too rare."""
    tables = list(parts)
    keys = np.concatenate([table.keys for table in tables])
    counts = np.concatenate([table.counts for table in tables])
    found, sums = np.empty_like(keys), np.empty_like(counts)
    starts = kernels.tables.cut(keys, counts, PARTS, found, sums)[None]
    none = np.zeros(0, np.uint64), np.zeros((0, starts.shape[1]), np.int64)
    size = kernels.tables.sum_parts(none, (found, sums, starts), 1, keys, counts)
    missing = [table.least - 1 for table in tables]
    slack = sum(table.slack for table in tables) + (sum(missing) - min(missing) if len(tables) > 1 else 0)
    return Frequencies(keys[:size].copy(), counts[:size].copy(), 1 + sum(missing), slack)
