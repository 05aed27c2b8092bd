"""What matching starts from and what it comes to: keys, and measured pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from neardup.candidates.buckets import BucketCounts
from neardup.columns import Hashes, Numbers, Pairs


@dataclass(frozen=True)
class TableKeys:
    """The keys of some contents, table by table, wherever they lie."""

    owners: Numbers
    tables: int
    key: Callable[[int], Hashes]  # of every document, or of every owner where they are `held`
    held: bool = False

    def of(self, table: int) -> Hashes:
        """The owners' keys in a table."""
        return self.key(table) if self.held else self.key(table)[self.owners]

    def at(self, table: int, *documents: Numbers) -> list[Hashes]:
        """The keys of some owners in a table."""
        keys = self.key(table)
        return [keys[np.searchsorted(self.owners, some) if self.held else some] for some in documents]

    def only(self, documents: Numbers) -> TableKeys:
        """The keys of some of the owners, and of nobody else, in memory."""
        values = [self.at(table, documents)[0] for table in range(self.tables if len(documents) else 0)]
        none = np.zeros(0, np.uint64)
        return TableKeys(documents, self.tables, lambda table: values[table] if values else none, held=True)


@dataclass
class Matches:
    """What the matching found: contents, evidence, and how it was come by."""

    content: Numbers  # for each document the one that stands for its content
    pairs: Pairs  # measured, between contents: at least `floor` similar, or inside a small cluster
    floor: float
    counts: BucketCounts = field(default_factory=BucketCounts)
    candidates: int = 0  # pairs that were measured
    large: TableKeys | None = None  # of the contents of clusters whose inner pairs were skipped
    cuts: int = 0  # lists of a join of which not all members were met
    joined: int = 0  # … and that were not, because their documents were in one cluster already
    besides: int = 0  # the last of the pairs, which are no candidates: decisions asked for them

    @property
    def found(self) -> Pairs:
        """The pairs that the matching itself has found."""
        return self.pairs.take(np.arange(len(self.pairs) - self.besides)) if self.besides else self.pairs
