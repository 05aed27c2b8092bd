"""Candidate pairs from keys: sort, find the documents with equal keys, pair them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neardup import kernels
from neardup.candidates.bit_bands import Sieve
from neardup.columns import Hashes, Numbers

SLOTS = 8  # bits for each key that is asked whether it may occur twice


@dataclass(frozen=True)
class BucketCounts:
    """Counts over the buckets that were paired."""

    buckets: int = 0
    largest: int = 0
    hot: int = 0  # buckets above the limit
    skipped: int = 0  # pairs of hot buckets that were not compared

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


def find_buckets(keys: Hashes, documents: Numbers) -> Buckets:
    """The buckets of one table; most keys occur once, and need not be sorted."""
    some = kernels.buckets.may_repeat(keys, max(10, (SLOTS * len(keys)).bit_length()))
    places, starts = kernels.equal_keys.equal_runs(keys[some])
    return Buckets(documents[some[places]], starts)


def bucket_pairs(
    buckets: Buckets, id_hashes: Hashes, limit: int, pivots: int
) -> tuple[Numbers, Numbers, BucketCounts]:
    """The pairs of each bucket, every one of a bucket of up to `limit` documents.

    In a larger one, each member is paired with the `pivots` members of the smallest id hashes: linear work.
    """
    packed, counts = packed_bucket_pairs(buckets, id_hashes, limit, pivots)
    left, right = np.divmod(packed, max(1, len(id_hashes)))
    return left, right, counts


def packed_bucket_pairs(
    buckets: Buckets, id_hashes: Hashes, limit: int, pivots: int, begin: int = 0, sieve: Sieve | None = None
) -> tuple[Numbers, BucketCounts]:
    """The same pairs, packed: left · n + right, without those of each bucket's `begin` first members by id hash, and
    without those that a sieve takes out."""
    sizes = buckets.sizes
    each = kernels.buckets.count_pairs(buckets.starts, limit, pivots)
    hot = sizes > limit
    skipped = int((sizes[hot] * (sizes[hot] - 1) // 2 - each[hot]).sum())
    counts = BucketCounts(len(sizes), int(sizes.max(initial=0)), int(hot.sum()), skipped)
    packed = np.empty(int(each.sum()) - begin * int((sizes - 1).sum()), np.int64)
    some = buckets.members, buckets.starts, id_hashes, (limit, pivots, begin)
    if sieve is not None:
        return sieve.among(*some, packed), counts
    kernels.buckets.fill_pairs(*some, packed)
    return packed, counts


def count_all(buckets: Buckets) -> int:
    """The number of pairs of all buckets."""
    return int((buckets.sizes * (buckets.sizes - 1) // 2).sum())


def all_pairs(buckets: Buckets, most: int) -> Iterator[tuple[Numbers, Numbers]]:
    """Every pair of every bucket, `most` at a time: a bucket of any size needs no more memory."""
    sizes = buckets.sizes
    for bucket, k in numbered_rows(sizes * (sizes - 1) // 2, most):
        i, j = unranked_pairs(k)
        first = buckets.starts[bucket]
        a, b = buckets.members[first + i], buckets.members[first + j]
        yield np.minimum(a, b), np.maximum(a, b)


def numbered_rows(counts: Numbers, most: int) -> Iterator[tuple[Numbers, Numbers]]:
    """The group of each row and its number in the group, at most `most` rows at a time."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    for start in range(0, total, most):
        rows = np.arange(start, min(start + most, total))
        group = np.searchsorted(ends, rows, "right")
        yield group, rows - (ends[group] - counts[group])


def unranked_pairs(k: Numbers) -> tuple[Numbers, Numbers]:
    """The k-th pair (i, j), i < j, in the order (0, 1), (0, 2), (1, 2), (0, 3) …"""
    j = ((1 + np.sqrt(1 + 8 * k.astype(np.float64))) / 2).astype(np.int64)
    j -= j * (j - 1) // 2 > k  # the root may round to either side
    j += (j + 1) * j // 2 <= k
    return k - j * (j - 1) // 2, j
