"""The workers' functions without Spark: whatever batches rows come in, the rules are those of the local engine."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.candidates.buckets import bucket_pairs, find_buckets
from neardup.candidates.exact import exact_pairs
from neardup.candidates.hamming import near_pairs, to_columns
from neardup.columns import Features, make_distinct
from neardup.engines.spark import components, edges, joins
from neardup.engines.spark.arrow import (
    pack_features,
    ragged,
    signed,
    table,
    unpack_features,
    unragged,
    unsigned,
    whole_groups,
)


def in_batches(whole, cuts):
    """A table in batches that end at some places."""
    bounds = sorted({0, *(cut % (whole.num_rows + 1) for cut in cuts), whole.num_rows})
    return [whole.slice(a, b - a) for a, b in pairwise(bounds) if b > a]


@given(st.lists(st.integers(0, 2**64 - 1), max_size=20))
def test_signed_keeps_the_order(values):
    array = np.array(values, np.uint64)
    assert (unsigned(signed(array)) == array).all()
    assert (np.argsort(signed(array), kind="stable") == np.argsort(array, kind="stable")).all()


@given(st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=5), min_size=1, max_size=6))
def test_ragged_columns_come_back(lists):
    offsets = np.cumsum([0, *map(len, lists)])
    values = np.array([value for each in lists for value in each], np.uint64)
    for column in (ragged(offsets, values), pa.concat_arrays([ragged(offsets, values)] * 2)[len(lists) :]):
        back, entries = unragged(column, np.uint64)
        assert (back == offsets).all() and (entries == values).all()


@pytest.mark.parametrize("weights", [None, np.array([1, 2, 1], np.float32)])
def test_features_come_back(weights):
    features = Features(np.array([0, 2, 2, 3]), np.array([3, 9, 4], np.uint64), weights, distinct=True)
    packed = pack_features(features)
    back = unpack_features(packed["hashes"], packed["weights"])
    assert (back.offsets == features.offsets).all() and (back.hashes == features.hashes).all()
    assert (back.weights is None) == (weights is None)
    assert weights is None or (back.weights == weights).all()


@given(st.lists(st.integers(0, 3), max_size=60).map(sorted), st.lists(st.integers(0, 60), max_size=6))
def test_groups_stay_whole(names, cuts):
    whole = table({"name": np.array(names, np.int64)})
    parts = list(whole_groups(iter(in_batches(whole, cuts)), ("name",), most=64))
    assert [value for part in parts for value in part.column("name").to_pylist()] == names
    seen = [set(part.column("name").to_pylist()) for part in parts]
    assert sum(map(len, seen)) == len(set().union(*seen))


keys = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), max_size=60)


@given(keys, st.integers(2, 9), st.integers(1, 3), st.lists(st.integers(0, 60), max_size=6), st.randoms())
def test_pairs_of_buckets(rows, limit, pivots, cuts, source):
    """Star pairs, pivots and limits as in the local engine, for any buckets in any batches."""
    ranks = np.array(source.sample(range(1, 2**32), len(rows)), np.int64)
    tables = np.array([row[0] for row in rows], np.int32)
    keyed = np.array([row[1] for row in rows], np.int64)
    order = np.lexsort((ranks, keyed, tables))
    whole = table({"table": tables[order], "key": keyed[order], "rank": ranks[order]})
    rule = edges._Pairing(False, limit, pivots)
    found = [batch for batch in rule(iter(in_batches(whole, cuts))) if batch.num_rows]
    mine = {
        (k, a, b) for batch in found for k, a, b in zip(*(c.to_pylist() for c in batch.columns), strict=True)
    }
    expected, buckets, skipped, hot, largest = set(), 0, 0, 0, 0
    for number in (0, 1):
        owners = np.flatnonzero(tables == number)
        for kind, rule_ in ((edges.FIRST, (1, 1)), (edges.REST, (limit, pivots))):
            some = find_buckets(keyed[owners].astype(np.uint64), owners)
            left, right, counts = bucket_pairs(some, ranks.astype(np.uint64), *rule_)
            pairs = zip(ranks[left].tolist(), ranks[right].tolist(), strict=True)
            expected |= {(kind, min(pair), max(pair)) for pair in pairs}
        buckets, skipped = buckets + counts.buckets, skipped + counts.skipped
        hot, largest = hot + counts.hot, max(largest, counts.largest)
    if buckets:
        expected |= {(edges.BUCKETS, buckets, largest), (edges.LIMITED, hot, skipped)}
    assert mine == expected


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=30))
def test_a_forest_connects_what_its_pairs_connect(pairs):
    batch = table(
        {
            "left": np.array([p[0] for p in pairs], np.int64),
            "right": np.array([p[1] for p in pairs], np.int64),
        }
    )
    forest = list(components._forest(iter([batch] if pairs else [])))
    nodes, labels = components._connected(iter([batch] if pairs else []))
    again, named = components._connected(iter([b for b in forest if b.num_rows]))
    known = dict(zip(nodes.tolist(), labels.tolist(), strict=True))
    assert all(known[node] == label for node, label in zip(again.tolist(), named.tolist(), strict=True))
    assert {node for node, label in known.items() if node != label} <= set(again.tolist())


@pytest.mark.parametrize(
    "bits, distance, documents", [(64, 3, 1000), (64, 3, 10**12), (64, 0, 10), (128, 5, 10**9)]
)
def test_near_fingerprints_share_a_key(bits, distance, documents):
    rng = np.random.default_rng(bits + distance)
    first = rng.integers(0, 2**32, (200, bits // 32), dtype=np.uint32)
    second = first.copy()
    for row in range(200):
        for bit in rng.choice(bits, distance, replace=False).tolist():
            second[row, bit // 32] ^= np.uint32(1 << bit % 32)
    masks = joins.block_masks(bits, distance, documents)
    different = to_columns(first) ^ to_columns(second)
    assert all(any(not (different[:, row] & mask).any() for mask in masks) for row in range(200))
    assert len(masks) <= joins.MOST_TABLES


def test_buckets_of_fingerprints_find_every_near_pair():
    rng = np.random.default_rng(3)
    base = rng.integers(0, 2**32, (40, 2), dtype=np.uint32)
    slots = np.concatenate([base, base, base])
    slots[40:80, 0] ^= np.uint32(5)
    slots[80:, 1] ^= np.uint32(1 << 31)
    ranks = rng.permutation(len(slots)).astype(np.int64)
    batch = pa.RecordBatch.from_pydict(
        {"rank": pa.array(ranks), "slots": ragged(np.arange(len(slots) + 1) * 2, slots.ravel())}
    )
    rows = pa.Table.from_batches(joins._Fingerprints(joins.block_masks(64, 3, 100))(iter([batch])))
    rows = rows.sort_by([("table", "ascending"), ("key", "ascending"), ("rank", "ascending")])
    found = pa.Table.from_batches(joins._Nearby(3, False)(iter(rows.to_batches(max_chunksize=17))))
    mine = set(zip(found["left"].to_pylist(), found["right"].to_pylist(), strict=True))
    left, right, _ = near_pairs(to_columns(slots), 3)
    truth = {tuple(sorted((ranks[a], ranks[b]))) for a, b in zip(left, right, strict=True)}
    assert mine == truth and len(truth) >= 120


sets = st.lists(st.lists(st.integers(0, 12), max_size=10), min_size=1, max_size=14)


@given(
    sets, st.sampled_from(["0.3", "0.44", "0.5", "0.8", "1.0"]), st.booleans(), st.lists(st.integers(0, 13))
)
def test_prefixes_meet_whatever_is_similar(lists, threshold, counted, common):
    """Every pair that reaches the threshold is a candidate, whichever features are taken for common."""
    distinct = [sorted(set(each)) for each in lists]
    offsets = np.cumsum([0, *map(len, distinct)])
    hashes = np.array([value for each in distinct for value in each], np.uint64)
    weights = [each.count(value) for each, own in zip(lists, distinct, strict=True) for value in own]
    features = Features(offsets, hashes, np.array(weights, np.float32) if counted else None, distinct=True)
    ranks = np.arange(len(lists), dtype=np.int64)[::-1].copy()
    batch = pa.RecordBatch.from_pydict({"rank": pa.array(ranks), **pack_features(features)})
    sized = next(iter(joins._summarise(iter([batch]))))
    known = np.unique(np.array(common, np.uint64))
    limit = Fraction(threshold)
    rows = list(joins._Prefixes(limit, (known, np.arange(len(known)) + 2))(iter([sized])))
    order = [(name, "ascending") for name in ("part", "key", "size", "rank")]
    batches = pa.Table.from_batches(rows).sort_by(order).to_batches(max_chunksize=3) if rows else []
    found = [batch for batch in joins._Meeting(limit, 0)(iter(batches)) if batch.num_rows]
    mine = {
        (a, b)
        for each in found
        for k, a, b in zip(*(c.to_pylist() for c in each.columns), strict=True)
        if k < 2
    }
    truth = exact_pairs(make_distinct(features), float(threshold))
    wanted = {
        tuple(sorted((int(ranks[a]), int(ranks[b])))) for a, b in zip(truth.left, truth.right, strict=True)
    }
    assert wanted <= mine
