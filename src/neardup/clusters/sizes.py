"""Sizes of clusters as the simhash thesis counts them, one around each document, and the evenness of fingerprints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from neardup.columns import Hashes, Numbers

BINS = 256  # as in figures 3-2 and 6-1


@dataclass(frozen=True)
class ClusterSizes:
    """For each distance 0, 1, … and document: the number of documents within the distance, itself included."""

    sizes: Numbers  # distances × documents

    @property
    def averages(self) -> list[float]:
        """Table 6.2: the average size of a cluster; one around each document, which may be alone in it."""
        return [float(row.mean()) if len(row) else 1.0 for row in self.sizes]

    def histogram(self, distance: int) -> tuple[Numbers, Numbers]:
        """Figure 6-2: the sizes that occur, and the number of clusters of each."""
        sizes, counts = np.unique(self.sizes[distance], return_counts=True)
        return sizes, counts.astype(np.int64)

    @property
    def growth(self) -> list[float]:
        """The relative growth of the average from each distance to the next."""
        return [after / before - 1 for before, after in pairwise(self.averages)]

    def suggest(self, growth: float = 0.1) -> int:
        """The least distance from which clusters grow by less than a share up to the largest one (6.4.8)."""
        means = np.array(self.averages)
        enough = means[-1] / means - 1 < growth
        return int(np.argmax(enough))


def cluster_sizes(
    n: int, left: Numbers, right: Numbers, apart: Numbers, most: int = 3, counts: Numbers | None = None
) -> ClusterSizes:
    """Sizes for each distance up to `most`, from all pairs within it; `counts` has the documents of each of n."""
    counts = np.ones(n, np.int64) if counts is None else counts
    sizes = np.repeat(counts[None, :], most + 1, axis=0)
    for distance in range(most + 1):
        a, b = (side[apart <= distance] for side in (left, right))
        sizes[distance] += (np.bincount(a, counts[b], n) + np.bincount(b, counts[a], n)).astype(np.int64)
    return ClusterSizes(sizes)


@dataclass(frozen=True)
class Evenness:
    """How evenly 64-bit values fill their space, in 256 bins of their leading bits (figures 3-2 and 6-1)."""

    counts: Numbers

    @property
    def chi_square(self) -> float:
        """Σ (count − expected)² / expected: about 255 ± 23 for random values."""
        expected = self.counts.sum() / len(self.counts)
        return float(((self.counts - expected) ** 2).sum() / max(expected, 1e-12))


def evenness(values: Hashes) -> Evenness:
    """The number of values in each bin."""
    return Evenness(np.bincount((values >> np.uint64(56)).astype(np.int64), minlength=BINS))


def balance(columns: Hashes) -> Sequence[float]:
    """For each bit the share of fingerprints that have it set."""
    bits = np.unpackbits(
        np.ascontiguousarray(columns.T).astype("<u8").view(np.uint8), axis=1, bitorder="little"
    )
    return [float(share) for share in bits.mean(axis=0)]
