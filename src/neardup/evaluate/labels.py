"""Which pairs of documents are near-duplicates, according to people: as clusters, or as judged pairs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.clusters.graph import components
from neardup.columns import Numbers
from neardup.errors import InputError

Mask = NDArray[np.bool_]
NONE: Numbers = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Truth:
    """Which pairs of documents are near-duplicates, according to people."""

    clusters: NDArray[np.int64] | None  # of each document; -1: left out; None: pairs were judged
    left: Numbers | None = None  # judged pairs, left < right, in order, each once
    right: Numbers | None = None
    judged: Mask | None = None
    names: tuple[str, ...] = ()  # of the clusters, by number
    undecided: Numbers = field(default_factory=lambda: NONE)  # coded pairs of clusters that are left out
    unclear: int = 0  # judgements that count neither way
    agreement: dict[str, Any] | None = None  # between several people, where their names were given

    @staticmethod
    def of_pairs(left: Numbers, right: Numbers, judged: Mask, unclear: int = 0) -> Truth:
        """The truth that judged pairs tell; which of two documents is named first is of no account."""
        low, high = np.minimum(left, right), np.maximum(left, right)
        order = np.argsort(pair_codes(low, high), kind="stable")
        return Truth(None, low[order], high[order], judged[order], unclear=unclear)

    @property
    def positives(self) -> int:
        """How many pairs are near-duplicates, known without listing them."""
        if self.clusters is None:
            return int(self._judged().sum())
        return int((self.sizes * (self.sizes - 1) // 2).sum())

    @property
    def total(self) -> int:
        """How many pairs have a known truth."""
        if self.clusters is None:
            return len(self._judged())
        sizes, n = self.sizes, int(self.sizes.sum())
        a, b = self.undecided >> 32, self.undecided & 0xFFFFFFFF
        return n * (n - 1) // 2 - int((sizes[a] * sizes[b]).sum())

    @property
    def sizes(self) -> Numbers:
        """The number of documents in each cluster."""
        assert self.clusters is not None
        return np.bincount(self.clusters[self.clusters >= 0], minlength=len(self.names)).astype(np.int64)

    @property
    def units(self) -> Numbers:
        """For each document what it is drawn with when samples are taken; -1: it has no label.

        Clusters; or, where pairs were judged, documents that are connected by such pairs.
        """
        if self.clusters is not None:
            return self.clusters
        assert self.left is not None and self.right is not None
        n = int(self.right.max(initial=-1)) + 1
        roots = components(n, self.left, self.right)
        known = np.zeros(n, np.bool_)
        known[self.left] = known[self.right] = True
        units = np.full(n, -1, np.int64)
        units[known] = np.unique(roots[known], return_inverse=True)[1]
        return units

    def positive(self, left: Numbers, right: Numbers) -> Mask:
        """Which of these pairs are near-duplicates; False where nobody knows."""
        if self.clusters is not None:
            same: Mask = (self.clusters[left] == self.clusters[right]) & (self.clusters[left] >= 0)
            return same
        place, known = self._find(left, right)
        return known & self._judged()[place]

    def counted(self, left: Numbers, right: Numbers) -> Mask:
        """Of which of these pairs the truth is known."""
        if self.clusters is None:
            return self._find(left, right)[1]
        a, b = self.clusters[left], self.clusters[right]
        known: Mask = (a >= 0) & (b >= 0) & (left != right)
        if len(self.undecided):
            known &= ~np.isin(pair_codes(np.minimum(a, b), np.maximum(a, b)), self.undecided)
        return known

    def only(self, wanted: Mask) -> Truth:
        """The truth about pairs of which both documents are wanted."""
        if self.clusters is not None:
            return replace(self, clusters=np.where(wanted, self.clusters, -1))
        assert self.left is not None and self.right is not None
        both = wanted[self.left] & wanted[self.right]
        return replace(self, left=self.left[both], right=self.right[both], judged=self._judged()[both])

    def require(self, source: str) -> Truth:
        """The truth itself, if there is something to be found and something to be wrong about."""
        if self.clusters is not None and int((self.sizes > 0).sum()) < 2:
            raise InputError(
                f"{source} puts all labelled documents into one cluster: every pair would be right, and "
                "precision 1 for any method; labels need two clusters at least"
            )
        if self.total == 0:
            raise InputError(f"{source} decides about no pair of documents")
        if self.clusters is not None and self.positives == 0:
            raise InputError(f"{source} has no cluster of two documents: there is no near-duplicate to find")
        return self

    def _judged(self) -> Mask:
        assert self.judged is not None
        return self.judged

    def _find(self, left: Numbers, right: Numbers) -> tuple[Numbers, Mask]:
        """Where each pair stands among the judged ones, and whether it does."""
        assert self.left is not None and self.right is not None
        known = pair_codes(self.left, self.right)
        codes = pair_codes(np.minimum(left, right), np.maximum(left, right))
        if len(known) == 0:
            return np.zeros(len(codes), np.int64), np.zeros(len(codes), np.bool_)
        place = np.minimum(np.searchsorted(known, codes), len(known) - 1)
        return place, known[place] == codes


def pair_codes(left: Numbers, right: Numbers) -> Numbers:
    """One number for each pair, in the order of left and right."""
    codes: Numbers = (np.asarray(left, np.int64) << 32) | np.asarray(right, np.int64)
    return codes
