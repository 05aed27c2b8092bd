"""Labels: the pairs of documents that are near-duplicates, as clusters or as judged pairs."""

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
    """The labelled near-duplicates: clusters, or judged pairs."""

    clusters: NDArray[np.int64] | None  # of each document; -1: excluded; None: judged pairs
    left: Numbers | None = None  # judged pairs, left < right, sorted, each once
    right: Numbers | None = None
    judged: Mask | None = None
    names: tuple[str, ...] = ()  # of the clusters, by number
    undecided: Numbers = field(default_factory=lambda: NONE)  # packed pairs of clusters that are excluded
    unclear: int = 0  # judgements that are excluded
    agreement: dict[str, Any] | None = None  # between raters, if they are named
    document_agreement: dict[str, Any] | None = None  # of labels that say whether documents are relevant
    excluded: int = 0  # pairs that are irrelevant, broken or in another language
    notes: tuple[str, ...] = ()  # how labels were used

    @staticmethod
    def of_pairs(left: Numbers, right: Numbers, judged: Mask, unclear: int = 0) -> Truth:
        """The truth of judged pairs; the order of the two documents does not matter."""
        low, high = np.minimum(left, right), np.maximum(left, right)
        order = np.argsort(pack_pairs(low, high), kind="stable")
        return Truth(None, low[order], high[order], judged[order], unclear=unclear)

    @property
    def positives(self) -> int:
        """The number of near-duplicate pairs, counted without listing them."""
        if self.clusters is None:
            return int(self._judged().sum())
        return int((self.sizes * (self.sizes - 1) // 2).sum())

    @property
    def total(self) -> int:
        """The number of labelled pairs."""
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
        """The sampling unit of each document: its cluster, or the documents that judged pairs connect it with.

        -1: the document has no label.
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

    @property
    def units_with_pairs(self) -> Mask:
        """Which sampling units have near-duplicates."""
        units = self.units
        if self.clusters is not None:
            return self.sizes[: int(units.max(initial=-1)) + 1] > 1
        assert self.left is not None
        found = np.zeros(int(units.max(initial=-1)) + 1, np.bool_)
        found[units[self.left[self._judged()]]] = True
        return found

    def positive(self, left: Numbers, right: Numbers) -> Mask:
        """Which of these pairs are near-duplicates; False for unlabelled pairs."""
        if self.clusters is not None:
            same: Mask = (self.clusters[left] == self.clusters[right]) & (self.clusters[left] >= 0)
            return same
        place, known = self._find(left, right)
        return known & self._judged()[place]

    def labelled(self, left: Numbers, right: Numbers) -> Mask:
        """Which of these pairs are labelled."""
        if self.clusters is None:
            return self._find(left, right)[1]
        a, b = self.clusters[left], self.clusters[right]
        known: Mask = (a >= 0) & (b >= 0) & (left != right)
        if len(self.undecided):
            known &= ~np.isin(pack_pairs(np.minimum(a, b), np.maximum(a, b)), self.undecided)
        return known

    def only(self, chosen: Mask) -> Truth:
        """The truth of pairs of chosen documents."""
        if self.clusters is not None:
            return replace(self, clusters=np.where(chosen, self.clusters, -1))
        assert self.left is not None and self.right is not None
        both = chosen[self.left] & chosen[self.right]
        return replace(self, left=self.left[both], right=self.right[both], judged=self._judged()[both])

    def require(self, source: str) -> Truth:
        """The truth itself; refuses labels without near-duplicates, or without different documents."""
        if self.clusters is not None and int((self.sizes > 0).sum()) < 2:
            raise InputError(
                f"{source} puts all labelled documents into one cluster, so that any method has precision 1; labels "
                "need at least two clusters"
            )
        if self.total == 0:
            raise InputError(f"{source} labels no pair of documents")
        if self.clusters is not None and self.positives == 0:
            raise InputError(f"{source} has no cluster of two documents, and so no near-duplicates")
        return self

    def _judged(self) -> Mask:
        assert self.judged is not None
        return self.judged

    def _find(self, left: Numbers, right: Numbers) -> tuple[Numbers, Mask]:
        """The position of each pair among the judged ones, and whether it is judged."""
        assert self.left is not None and self.right is not None
        known = pack_pairs(self.left, self.right)
        packed = pack_pairs(np.minimum(left, right), np.maximum(left, right))
        if len(known) == 0:
            return np.zeros(len(packed), np.int64), np.zeros(len(packed), np.bool_)
        place = np.minimum(np.searchsorted(known, packed), len(known) - 1)
        return place, known[place] == packed


def pack_pairs(left: Numbers, right: Numbers) -> Numbers:
    """Each pair packed into one number, ordered by left, then right."""
    packed: Numbers = (np.asarray(left, np.int64) << 32) | np.asarray(right, np.int64)
    return packed
