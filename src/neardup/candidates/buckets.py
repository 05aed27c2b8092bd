"""Candidate pairs from keys: sort, find the documents with equal keys, pair them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neardup import kernels
from neardup.columns import Hashes, Numbers

UNLIMITED = np.iinfo(np.int64).max


@dataclass(frozen=True)
class BucketCounts:
    """What was met while pairing buckets."""

    buckets: int = 0
    largest: int = 0
    hot: int = 0  # buckets above the limit
    skipped: int = 0  # pairs of hot buckets that were not compared there

    def __add__(self, other: BucketCounts) -> BucketCounts:
        """The counts of both."""
        return BucketCounts(
            self.buckets + other.buckets,
            max(self.largest, other.largest),
            self.hot + other.hot,
            self.skipped + other.skipped,
        )


@dataclass(frozen=True)
class Buckets:
    """Groups of documents with equal keys, two or more each."""

    members: Numbers
    starts: Numbers

    @property
    def sizes(self) -> Numbers:
        """The number of documents in each."""
        return np.diff(self.starts)


def find_buckets(keys: Hashes, owners: Numbers) -> Buckets:
    """The buckets of one table."""
    order = np.argsort(keys)
    ordered = keys[order]
    begins = (
        np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))) if len(keys) else owners[:0]
    )
    sizes = np.diff(np.append(begins, len(keys)))
    several = sizes > 1
    members = owners[order[np.repeat(several, sizes)]]
    return Buckets(members, np.concatenate(([0], np.cumsum(sizes[several]))))


def bucket_pairs(
    buckets: Buckets, ranks: Hashes, limit: int, pivots: int
) -> tuple[Numbers, Numbers, BucketCounts]:
    """The pairs of each bucket, every one of a bucket of up to `limit` documents.

    A larger bucket is linear work: all its members meet the `pivots` members whose ranks are smallest.
    """
    sizes = buckets.sizes
    each = kernels.buckets.count_pairs(buckets.starts, limit, pivots)
    total = int(each.sum())
    left, right = np.empty(total, np.int64), np.empty(total, np.int64)
    kernels.buckets.fill_pairs(buckets.members, buckets.starts, ranks, (limit, pivots), (left, right))
    hot = sizes > limit
    skipped = int((sizes[hot] * (sizes[hot] - 1) // 2 - each[hot]).sum())
    counts = BucketCounts(len(sizes), int(sizes.max(initial=0)), int(hot.sum()), skipped)
    return left, right, counts


def count_all(buckets: Buckets) -> int:
    """How many pairs the buckets hold."""
    return int((buckets.sizes * (buckets.sizes - 1) // 2).sum())


def split(buckets: Buckets, most: int) -> Iterator[Buckets]:
    """The buckets in portions of about so many pairs; one bucket is never divided."""
    sizes = buckets.sizes
    ends = np.cumsum(sizes * (sizes - 1) // 2)
    start = 0
    while start < len(sizes):
        done = ends[start - 1] if start else 0
        stop = max(int(np.searchsorted(ends, done + most, "right")), start + 1)
        low, high = buckets.starts[start], buckets.starts[stop]
        yield Buckets(buckets.members[low:high], buckets.starts[start : stop + 1] - low)
        start = stop
