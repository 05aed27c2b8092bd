"""What is known of document frequencies, and what can be asked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from neardup import kernels
from neardup.columns import Features, Hashes, Numbers, make_distinct
from neardup.errors import StatisticsError

Spread = tuple[Numbers, Numbers]


@dataclass(frozen=True)
class Frequencies:
    """For each feature that is listed, in ascending order of its hash, the number of contents that have it.

    A feature that is not listed occurs in fewer than `least` contents. Counts may be too low by up to `slack`,
    never too high: 0 where they are exact.
    """

    keys: Hashes
    counts: Numbers
    least: int = 1
    slack: int = 0
    whole: Spread | None = None  # of all features, where only some of them are listed

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def _index(self) -> Numbers:
        """Where the keys of each leading run of bits begin: hashes are spread evenly, so a look-up is one step."""
        bits = max(1, len(self.keys).bit_length())
        return np.searchsorted(self.keys, np.arange(1 << bits, dtype=np.uint64) << np.uint64(64 - bits))

    @cached_property
    def spread(self) -> Spread:
        """The different counts that features of at least two contents have, and how many features have each."""
        if self.whole is not None:
            return self.whole
        return np.unique(self.counts[self.counts >= 2], return_counts=True)

    def of(self, hashes: Hashes) -> Numbers:
        """The document frequency of each feature, 0 for one that is not listed."""
        found = np.zeros(len(hashes), np.int64)
        kernels.lookup.look_up(self.keys, self.counts, self._index, hashes, found)
        return found

    def quantile(self, share: float) -> int:
        """The frequency that this share of the features in at least two contents do not exceed; 1 without any.

        Most features of a collection occur once: they cannot make two documents similar, so they are not asked.
        """
        counts, features = self.spread
        if len(counts) == 0:
            return 1
        at = np.searchsorted(np.cumsum(features), share * features.sum(), "left")
        return int(counts[min(int(at), len(counts) - 1)])

    def at_least(self, least: int) -> Frequencies:
        """The features of so many contents or more."""
        keep = self.counts >= least
        return Frequencies(self.keys[keep], self.counts[keep], max(least, self.least), self.slack)

    def merged(self, other: Frequencies) -> Frequencies:
        """The counts of two disjoint sets of documents together."""
        return add_up([self, other])

    @cached_property
    def digest(self) -> str:
        """A name of all of it, the same whether it was made at once or in parts."""
        whole = hashlib.sha256(f"{self.least} {self.slack}".encode())
        for column in (self.keys, self.counts):
            whole.update(hashlib.sha256(np.ascontiguousarray(column).data).digest())
        return whole.hexdigest()


@dataclass(frozen=True)
class Statistics:
    """Frequencies of each kind of feature that was counted, over so many contents, or groups of them."""

    documents: int
    text: str  # the text stage, as JSON: its tokens are what was counted
    tables: Mapping[str, Frequencies] = field(default_factory=dict)  # by feature stage, as JSON
    df_unit: str = "texts"  # what counts once: each content, or each group of a kind

    def table(self, stage: str) -> Frequencies:
        """The frequencies of the features that a stage makes."""
        if stage not in self.tables:
            known = ", ".join(self.tables) or "nothing"
            raise StatisticsError(f"The statistics do not cover {stage}; they cover {known}.")
        return self.tables[stage]

    def check(self, text: str, stages: Iterable[str]) -> None:
        """Refuse to be used for tokens or features that were not counted."""
        if text != self.text:
            raise StatisticsError(
                f"The statistics count other tokens than the plan makes: {self.text} there, {text} here. "
                "Count again with the plan's text options (neardup stats build)."
            )
        for stage in stages:
            self.table(stage)

    def merged(self, other: Statistics) -> Statistics:
        """The statistics of two disjoint collections together."""
        return merge([self, other])

    @cached_property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that name what was counted and the result."""
        return name_of(self.documents, self.text, self.df_unit, self._digests)

    @property
    def _digests(self) -> dict[str, str]:
        return {name: table.digest for name, table in self.tables.items()}


def name_of(documents: int, text: str, df_unit: str, tables: Mapping[str, str]) -> str:
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
                "These statistics count different things and cannot be merged: "
                f"{mine[0]} with {mine[1]} over {mine[2]}, and {theirs[0]} with {theirs[1]} over {theirs[2]}."
            )
    tables = {name: add_up([part.tables[name] for part in several]) for name in first.tables}
    return Statistics(sum(part.documents for part in several), first.text, tables, first.df_unit)


def _what(statistics: Statistics) -> tuple[str, list[str], str]:
    return statistics.text, sorted(statistics.tables), statistics.df_unit


def count_features(features: Features) -> Frequencies:
    """The frequencies within one batch, each document counting once."""
    keys, counts = np.unique(make_distinct(features).hashes, return_counts=True)
    return Frequencies(keys, counts.astype(np.int64))


def add_up(parts: Iterable[Frequencies]) -> Frequencies:
    """The sum of several tables. What a part left out as too rare may be missing: that is the sum's slack."""
    tables = list(parts)
    keys = np.concatenate([table.keys for table in tables])
    counts = np.concatenate([table.counts for table in tables])
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)])
    missing = [table.least - 1 for table in tables]
    slack = sum(table.slack for table in tables) + (sum(missing) - min(missing) if len(tables) > 1 else 0)
    summed = np.add.reduceat(counts, first) if len(first) else counts
    return Frequencies(keys[first], summed, 1 + sum(missing), slack)
