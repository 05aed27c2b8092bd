"""Clusters by average or complete linkage, from all similarities of small groups of documents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup import kernels
from neardup.columns import Numbers
from neardup.thresholds import TOLERANCE

Floats = NDArray[np.float64]
STEPS = 2.0**32  # of a similarity: sums of up to 2²⁰ rounded ones are exact, whatever their order


def linkage(sizes: Numbers, similarity: Floats, threshold: float, complete: bool) -> tuple[Numbers, Floats]:
    """For each member of each group the first member of its cluster, and the similarity of the cluster's last merge.

    Inside a group the two most similar clusters are merged as long as their similarity reaches the threshold: the mean
    over all pairs of a member of one and a member of the other, or with `complete` the least. Of equally similar ones
    those with the first members are merged. `similarity` has the pairs of each group in the order of
    `candidates.buckets.unranked_pairs`. A cluster of one has the height 1.
    """
    rounded = np.rint(similarity * STEPS) / STEPS
    label, height = kernels.linkage.linkage(sizes, rounded, threshold - TOLERANCE, complete)
    return label, height
