"""Buckets give all their pairs, or, when they are hot, those of a few members chosen by id hash alone."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive
from neardup.kernels import bits, buckets, equal_keys

NODES = 40
# Members of a bucket are different documents; a document may be in several buckets.
bucket_lists = st.lists(st.lists(st.integers(0, NODES - 1), min_size=2, max_size=15, unique=True), max_size=6)
id_hashes = st.permutations(range(NODES))
limits, pivot_counts = st.integers(1, 16), st.integers(1, 20)


def kernel_pairs(
    found: list[list[int]], id_hashes: list[int], limit: int, pivots: int, begin: int = 0
) -> tuple[list[tuple[int, int]], list[int]]:
    """The pairs of all buckets, and how many each was said to have."""
    members = np.array([member for bucket in found for member in bucket], np.int64)
    starts = np.cumsum([0, *map(len, found)])
    counts = buckets.count_pairs(starts, limit, pivots)
    packed = np.full(counts.sum() - begin * sum(len(bucket) - 1 for bucket in found), -1)
    total = buckets.fill_pairs(
        members, starts, np.array(id_hashes, np.uint64), (limit, pivots, begin), packed
    )
    assert total == len(packed)
    left, right = np.divmod(packed, NODES)
    return list(zip(left.tolist(), right.tolist(), strict=True)), counts.tolist()


@given(bucket_lists, id_hashes, limits, pivot_counts)
def test_pairs_are_those_of_the_twin_each_once(
    found: list[list[int]], id_hashes: list[int], limit: int, pivots: int
) -> None:
    expected = [naive.fill_pairs(bucket, id_hashes, limit, pivots) for bucket in found]
    pairs, counts = kernel_pairs(found, id_hashes, limit, pivots)
    assert sorted(pairs) == sorted(pair for bucket in expected for pair in bucket)
    assert counts == [len(bucket) for bucket in expected]


@given(bucket_lists, id_hashes, limits, pivot_counts)
def test_pairs_without_the_first_member_are_those_of_the_twin(
    found: list[list[int]], id_hashes: list[int], limit: int, pivots: int
) -> None:
    expected = [naive.fill_pairs(bucket, id_hashes, limit, pivots, 1) for bucket in found]
    pairs, _ = kernel_pairs(found, id_hashes, limit, pivots, 1)
    assert sorted(pairs) == sorted(pair for bucket in expected for pair in bucket)


@given(bucket_lists, id_hashes, limits, pivot_counts, st.randoms(use_true_random=False))
def test_the_order_in_which_members_come_makes_no_difference(
    found: list[list[int]], id_hashes: list[int], limit: int, pivots: int, random: Random
) -> None:
    shuffled = [random.sample(bucket, len(bucket)) for bucket in found]
    pairs, _ = kernel_pairs(found, id_hashes, limit, pivots)
    again, _ = kernel_pairs(shuffled, id_hashes, limit, pivots)
    assert sorted(pairs) == sorted(again)


@given(bucket_lists, id_hashes, st.integers(0, 5))
def test_rounds_of_stars_are_those_of_the_twin(
    found: list[list[int]], id_hashes: list[int], most: int
) -> None:
    pairs = sorted({pair for bucket in found for pair in naive.fill_pairs(bucket, id_hashes, 1, 1)})
    packed = np.array([a * NODES + b for a, b in pairs], np.int64)
    ranks = np.array(id_hashes, np.uint32)
    least = buckets.least_partners(packed, NODES, ranks, most)
    assert least.tolist() == naive.least_partners(pairs, id_hashes, NODES, most)
    rounds = buckets.star_rounds(packed, NODES, ranks, least)
    assert rounds.tolist() == naive.star_rounds(pairs, id_hashes, most)


@given(st.integers(2, 2000), st.integers(1, 5))
def test_a_hot_bucket_is_linear_work_and_stays_connected(size: int, pivots: int) -> None:
    counts = buckets.count_pairs(np.array([0, size]), 1, pivots)
    assert size - 1 <= counts[0] <= pivots * size


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 20), max_size=60), st.integers(10, 16))
def test_no_key_that_repeats_is_left_out(keys: list[int], bits: int) -> None:
    found = buckets.may_repeat(np.array(keys, np.uint64), bits).tolist()
    assert found == sorted(set(found))
    assert set(naive.may_repeat(keys)) <= set(found)


def test_few_keys_that_occur_once_are_sorted() -> None:
    keys = np.random.default_rng(1).integers(0, 2**64, 10_000, np.uint64)
    assert len(buckets.may_repeat(keys, 17)) < 1_500


words = st.lists(st.integers(0, 2**64 - 1), min_size=NODES, max_size=NODES)


@given(bucket_lists, id_hashes, limits, pivot_counts, st.integers(0, 1), words, st.integers(0, 64))
def test_near_pairs_of_buckets_are_those_of_the_twin(
    found: list[list[int]],
    id_hashes: list[int],
    limit: int,
    pivots: int,
    begin: int,
    rows: list[int],
    most: int,
) -> None:
    members = np.array([member for bucket in found for member in bucket], np.int64)
    starts, rule = np.cumsum([0, *map(len, found)]), (limit, pivots, begin)
    exempt = [row % 7 == 0 for row in rows]
    sieve = (np.array(rows, np.uint64)[:, None], np.array(exempt), most)
    packed = np.empty(buckets.count_pairs(starts, limit, pivots).sum(), np.int64)
    kept = bits.near_pairs(members, starts, np.array(id_hashes, np.uint64), rule, sieve, packed)
    expected = naive.near_pairs(found, id_hashes, rule, ([[row] for row in rows], exempt, most))
    assert sorted(packed[:kept].tolist()) == sorted(a * NODES + b for a, b in expected)


def runs_of(keys: list[int]) -> list[list[int]]:
    places, starts = equal_keys.equal_runs(np.array(keys, np.uint64))
    return [places[a:b].tolist() for a, b in pairwise(starts.tolist())]


@given(st.lists(st.sampled_from([0, 1, 5, 1 << 62, 1 << 63, 2**64 - 1]), max_size=150))
def test_equal_keys_are_found_together(keys: list[int]) -> None:
    found = runs_of(keys)
    assert [sorted(run) for run in found] == naive.equal_runs(keys)


def test_many_keys_with_equal_leading_bits_are_sorted() -> None:
    keys = [each % 50 for each in range(200)]
    assert [sorted(run) for run in runs_of(keys)] == naive.equal_runs(keys)
