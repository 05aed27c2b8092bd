"""The workers' functions without Spark: for any batches, the rules are those of the local engine."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import neardup
from neardup.candidates.buckets import BucketCounts, all_pairs, bucket_pairs, find_buckets
from neardup.candidates.exact import exact_pairs
from neardup.candidates.hamming import Hamming, to_columns
from neardup.columns import Features, Signatures, make_distinct
from neardup.engines.core.rounds import ROUNDS
from neardup.engines.spark import candidate_components, components, copies
from neardup.engines.spark.candidates import bands, blocks, hamming, hot_buckets, prefix
from neardup.engines.spark.frequencies import count
from neardup.engines.spark.shuffle import packed_blocks, side_files, stages
from neardup.engines.spark.shuffle.arrow import (
    pack_features,
    ragged,
    signed,
    table,
    unpack_features,
    unragged,
    unsigned,
)
from neardup.errors import OutputError
from neardup.plan import stage_json
from neardup.statistics import Frequencies, Statistics


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


NO_BLOCKS = pa.schema({"part": pa.int32(), "packed": pa.binary()})


class Wire:
    """Packed blocks between two functions, for tasks that all run in this process."""

    def __init__(self, tasks):
        self.tasks = tasks

    def __call__(self, function, batches):
        """The rows that a function yields for the blocks of each task."""
        rows = [batch for batch in batches if batch.num_rows]
        whole = pa.Table.from_batches(rows, None if rows else NO_BLOCKS)
        for task in range(self.tasks):
            mine = whole.filter(pa.array(whole["part"].to_numpy() % self.tasks == task))
            yield from function(iter(mine.to_batches(max_chunksize=2)))

    def blocks(self, step, batches):
        """The blocks that a step makes, as rows."""
        return self(lambda some: packed_blocks.packed_rows(step(some)), batches)


def chunk_row(number, present, id_hashes, keys):
    """A chunk with keys (tables × documents), as `bands` reads it."""
    representation = {
        "id_hash": id_hashes,
        "present": present,
        **{f"key{t}": each for t, each in enumerate(keys)},
    }
    return table(
        {
            "chunk": np.array([number]),
            "representation": [packed_blocks.pack(representation)],
            "copies": pa.nulls(1, pa.binary()),
        }
    )


keyed = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), max_size=60)


@given(
    keyed,
    st.integers(2, 5),
    st.integers(1, 3),
    st.integers(1, 5),
    st.integers(1, 3),
    st.booleans(),
    st.randoms(),
)
def test_pairs_of_buckets(documents, limit, pivots, tasks, spread, every, source):
    """Star pairs, pivots, limits and counts as in the local engine, for any buckets, tasks and hot_buckets."""
    n = len(documents)
    id_hashes = np.array(source.sample(range(1, 2**32), n), np.int64)
    keys = np.array(documents, np.uint64).reshape(n, 2).T
    rule = bands.BucketRule(every, limit, pivots, 2, tasks, tasks)
    cut = source.randrange(n + 1)
    wire, present = Wire(tasks), np.ones(n, np.bool_)
    rows = [
        chunk_row(number, present[part], id_hashes[part], keys[:, part])
        for number, part in enumerate((slice(0, cut), slice(cut, n)))
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hot_buckets, "HOT", 2 * rule.heads)  # so that few members make a hot bucket
        patch.setattr(hot_buckets, "SPREAD", spread)
        sent = [
            batch for row in rows for batch in packed_blocks.packed_rows(bands._key_blocks(rule, iter([row])))
        ]
        found = list(wire.blocks(partial(bands._pair_blocks, rule), sent)) if sent else []
        if sent and not rule.by_member:
            found = list(wire.blocks(partial(bands._deferred_pairs, rule), found))
        found = list(wire(partial(hot_buckets.distinct_pairs, tasks), found)) if sent else []
    got = [row for batch in found for row in batch.to_pylist()]
    mine = {(r["kind"], r["left"], r["right"]) for r in got if r["kind"] != bands.BUCKET_COUNTS}
    assert len(mine) == sum(r["kind"] != bands.BUCKET_COUNTS for r in got), "each pair once"
    expected, counts = local_pairs(keys, id_hashes, rule)
    assert mine == expected
    places = {
        id_hash: (int(k >= cut) << 16) + (k - cut if k >= cut else k)
        for k, id_hash in enumerate(id_hashes.tolist())
    }
    for row in got:
        if row["kind"] != bands.BUCKET_COUNTS:
            assert (row["left_place"], row["right_place"]) == (places[row["left"]], places[row["right"]])
    counted = [[r[name] for name in hot_buckets.NAMES[1:]] for r in got if r["kind"] == bands.BUCKET_COUNTS]
    total = sum((BucketCounts(*each) for each in counted), BucketCounts())
    assert total == counts


def local_pairs(keys, id_hashes, rule):
    """Pairs (kind, left, right) of id hashes, and counts, by the local engine's functions."""
    pairs, counts, documents = {}, BucketCounts(), np.arange(len(id_hashes))
    for each in keys:
        buckets = find_buckets(each, documents)
        if rule.every:
            counts += BucketCounts(len(buckets.sizes), int(buckets.sizes.max(initial=0)))
            found = [(bands.REST, *some) for some in all_pairs(buckets, 7)]
        else:
            first = bucket_pairs(find_buckets(each, documents), id_hashes.astype(np.uint64), 1, 1)
            rest = bucket_pairs(buckets, id_hashes.astype(np.uint64), rule.limit, rule.pivots)
            counts += rest[2]
            found = [(bands.REST, *rest[:2]), (bands.FIRST, *first[:2])]
        for kind, left, right in found:
            for a, b in zip(id_hashes[left].tolist(), id_hashes[right].tolist(), strict=True):
                pairs[min(a, b), max(a, b)] = min(kind, pairs.get((min(a, b), max(a, b)), kind))
    stars = [pair for pair, kind in pairs.items() if kind == bands.FIRST]
    order = {id_hash: id_hash for pair in stars for id_hash in pair}
    for pair, number in zip(stars, naive.star_rounds(stars, order, ROUNDS - 1), strict=True):
        pairs[pair] += number
    return {(kind, *pair) for pair, kind in pairs.items()}, counts


def test_copies_are_left_out():
    row = chunk_row(3, np.array([True, False, True, True]), np.arange(4), np.zeros((1, 4), np.uint64))
    copies = packed_blocks.pack({"place": packed_blocks.places_of(3, np.array([2]))})
    row = row.set_column(2, "copies", pa.array([copies], pa.binary()))
    representation, places = next(bands.represented_texts(row))
    assert representation["id_hash"].to_pylist() == [0, 3] and (places & 0xFFFF).tolist() == [0, 3]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.booleans()), max_size=30), st.integers(1, 3)
)
def test_copies(documents, tasks):
    """The representative of a text has its smallest id hash, wherever copies are; all texts are counted."""
    n = len(documents)
    id_hashes = np.arange(n, dtype=np.int64)[::-1].copy()
    names = {
        "id_hash": id_hashes, "second_hash": id_hashes,
        "digest_a": np.array([d[0] for d in documents], np.int64),
        "digest_b": np.array([d[1] for d in documents], np.int64),
        "tokens": np.array([d[2] for d in documents], np.int64),
    }  # fmt: skip
    row = table({"chunk": np.array([5]), "identity": [packed_blocks.pack(names)]})
    wire = Wire(tasks)
    sent = list(packed_blocks.packed_rows(copies._identity_blocks(tasks, iter([row]))))
    found = list(wire(copies._by_chunk, wire.blocks(partial(copies._copy_blocks, tasks), sent))) if n else []
    rows = [
        each
        for batch in found
        for packed in batch["rows"]
        if packed.is_valid
        for each in packed_blocks.unpack(packed).to_pylist()
    ]
    best = {}
    for k in range(n):
        best.setdefault(documents[k][:2], []).append(int(id_hashes[k]))
    expected = {(id_hash, min(same)) for same in best.values() for id_hash in same if id_hash != min(same)}
    assert {(r["id_hash"], r["representative"]) for r in rows} == expected
    assert all(r["place"] == (5 << 16) + n - 1 - r["id_hash"] for r in rows)
    assert sum(batch["distinct_texts"][0].as_py() for batch in found) == len(best)
    assert sum(batch["repeated_ids"][0].as_py() for batch in found) == 0


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=40), st.integers(1, 4))
def test_candidate_components(pairs, large):
    """Connected pairs have one component; the pairs of a large one are verified in parts."""
    left, right = np.array([min(p) for p in pairs]), np.array([max(p) for p in pairs]) + 10
    columns = {"left": left, "right": right, "left_place": left, "right_place": right}
    batch = table({"kind": np.full(len(left), hot_buckets.FIRST + 1, np.int32), **columns})
    rows = [
        row for each in candidate_components.Labelling(large, 2, 3)(iter([batch])) for row in each.to_pylist()
    ]
    sizes = Counter(r["component"] for r in rows)
    assert all(r["kind"] == hot_buckets.FIRST + (sizes[r["component"]] > 3) for r in rows), (
        "few pairs: one round"
    )
    assert [(r["left"], r["right"]) for r in rows] == list(zip(left.tolist(), right.tolist(), strict=True))
    nodes, labels = components._connected(iter([batch]))
    known = dict(zip(nodes.tolist(), labels.tolist(), strict=True))
    for row in rows:
        assert row["component"] == known[row["left"]] == known[row["right"]]
        size = sum(other["component"] == row["component"] for other in rows)
        assert row["whole"] == (size <= large)
        together = [other for other in rows if other["part"] == row["part"] and not other["whole"]]
        if row["whole"]:
            assert row["part"] == row["component"]
        else:
            assert len([other for other in together if other["left"] == row["left"]]) <= 2


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
    masks = hamming.block_masks(bits, distance, documents)
    different = to_columns(first) ^ to_columns(second)
    assert all(any(not (different[:, row] & mask).any() for mask in masks) for row in range(200))
    assert len(masks) <= hamming.MOST_TABLES


@pytest.mark.parametrize("spanning", [False, True])
@pytest.mark.parametrize("last", [0, 3])
@pytest.mark.parametrize("tasks", [1, 3])
def test_buckets_of_fingerprints_find_every_near_pair(spanning, last, tasks):
    """All near pairs whose last bits agree; or, of equal fingerprints, those that connect what all would connect."""
    rng = np.random.default_rng(3)
    base = rng.integers(0, 2**32, (40, 2), dtype=np.uint32)
    slots = np.concatenate([base, base, base, base])
    slots[40:80, 0] ^= np.uint32(5)
    slots[80:120, 1] ^= np.uint32(1 << 31)
    id_hashes = rng.permutation(len(slots)).astype(np.int64)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(slots.ravel()), 2)
    representation = {"id_hash": id_hashes, "present": np.ones(len(slots), np.bool_), "slots": lists}
    row = table(
        {
            "chunk": np.array([3]),
            "representation": [packed_blocks.pack(representation)],
            "copies": pa.nulls(1, pa.binary()),
        }
    )
    rule = hamming.HammingTables(
        hamming.block_masks(64, 3, 100) | hamming.last_bits(64, last), 3, spanning, tasks
    )
    wire = Wire(tasks)
    if spanning:
        named = list(packed_blocks.packed_rows(hamming._fingerprint_blocks(rule, iter([row]))))
        keys = list(wire.blocks(partial(hamming._first_of_equal, rule), named))
    else:
        keys = list(packed_blocks.packed_rows(hamming._key_blocks(rule, iter([row]))))
    met = list(wire.blocks(partial(hamming._near_pairs, rule), keys))
    found = pa.Table.from_batches(wire(partial(hot_buckets.distinct_pairs, tasks), met))
    mine = set(zip(found["left"].to_pylist(), found["right"].to_pylist(), strict=True))
    truth = Hamming(64, exact=last).pairs(Signatures(slots, representation["present"]), 1 - 3 / 64)
    expected = {
        tuple(sorted((id_hashes[a], id_hashes[b]))) for a, b in zip(truth.left, truth.right, strict=True)
    }
    assert len(expected) >= 120 and len(mine) == len(found) and mine <= expected
    if spanning:
        assert labels(mine) == labels(expected)
    else:
        assert mine == expected


def labels(pairs):
    """The smallest id hash in the component of each."""
    left, right = np.array(sorted(pairs), np.int64).reshape(-1, 2).T
    nodes, found = components._connected(iter([table({"left": left, "right": right})]))
    return dict(zip(nodes.tolist(), found.tolist(), strict=True))


sets = st.lists(st.lists(st.integers(0, 12), max_size=10), min_size=1, max_size=14)


@given(
    sets,
    st.sampled_from(["0.3", "0.44", "0.5", "0.8", "1.0"]),
    st.booleans(),
    st.lists(st.integers(0, 13)),
    st.booleans(),
)
def test_prefixes_meet_whatever_is_similar(lists, threshold, counted, common, some):
    """Every pair that reaches the threshold is a candidate, whichever features are taken for common; or, where equal
    ones are one, as many as connect the same documents."""
    distinct = [sorted(set(each)) for each in lists]
    offsets = np.cumsum([0, *map(len, distinct)])
    hashes = np.array([value for each in distinct for value in each], np.uint64)
    weights = [each.count(value) for each, own in zip(lists, distinct, strict=True) for value in own]
    features = Features(offsets, hashes, np.array(weights, np.float32) if counted else None, distinct=True)
    id_hashes = np.arange(len(lists), dtype=np.int64)[::-1].copy()
    rows = np.arange(len(lists))
    packed = {"row": rows, **pack_features(features)}
    representation = {"row": rows, "id_hash": id_hashes, "present": np.ones(len(lists), np.bool_)}
    columns = {
        "chunk": np.array([2]),
        "representation": [packed_blocks.pack(representation)],
        "copies": pa.nulls(1, pa.binary()),
    }
    row = table({**columns, "features": [packed_blocks.pack(packed)]})
    known, limit, wire = np.unique(np.array(common, np.uint64)), Fraction(threshold), Wire(2)
    equal = pa.nulls(1, pa.binary())
    if some:
        named = list(packed_blocks.packed_rows(prefix._digest_blocks(2, iter([row]))))
        met = list(wire.blocks(partial(prefix._equal_blocks, 2), named))
        equal = pa.concat_arrays([each["rows"] for each in wire(packed_blocks.rows_by_chunk, met)] or [equal])
    row = row.append_column("equal", equal)
    step = prefix.PrefixBlocks(limit, (known, np.arange(len(known)) + 2), 2).blocks
    sent = list(packed_blocks.packed_rows(step(iter([row]))))
    met = list(wire.blocks(partial(prefix._bucket_pairs, limit, 0, 2), sent)) if sent else []
    found = (
        [each for batch in wire(partial(hot_buckets.distinct_pairs, 2), met) for each in batch.to_pylist()]
        if met
        else []
    )
    mine = {(each["left"], each["right"]) for each in found}
    assert len(mine) == len(found)
    truth = exact_pairs(make_distinct(features), float(threshold))
    expected = {
        tuple(sorted((int(id_hashes[a]), int(id_hashes[b]))))
        for a, b in zip(truth.left, truth.right, strict=True)
    }
    assert labels(expected) == labels(mine & expected) if some else expected <= mine


@pytest.mark.parametrize("shared", [True, False])
def test_side_files_return_what_was_stored(tmp_path, shared):
    """Columns of several chunks, from a file or from the row; an index finds single documents of them."""
    store = side_files.SideFiles(str(tmp_path / "side-files") if shared else None, None)
    chunks = [pa.array([f"{number}-{row}" for row in range(4 - number)]) for number in range(3)]
    with store.opened(7) as put:
        values = [put({"text": texts}) for texts in chunks]
    packed = pa.array(values, pa.binary())
    for texts, value in zip(chunks, packed, strict=True):
        assert side_files.read_side_file(value).column("text").to_pylist() == texts.to_pylist()
    if shared:
        index = side_files.SideFileIndex(np.arange(3) + 5, {"text": values})
        places = np.concatenate(
            [packed_blocks.places_of(5, np.array([1, 3])), packed_blocks.places_of(7, np.array([0]))]
        )
        assert index.rows("text", places).column("text").to_pylist() == ["0-1", "0-3", "2-0"]


def test_a_file_that_is_gone(tmp_path):
    store = side_files.SideFiles(str(tmp_path), None)
    with store.opened(0) as put:
        value = pa.scalar(put({"text": pa.array(["a"])}), pa.binary())
    next(tmp_path.iterdir()).unlink()
    with pytest.raises(OutputError, match="remove the work folder to start over"):
        side_files.read_side_file(value)


def test_a_flipped_bit_of_a_side_file_is_noticed(tmp_path):
    store = side_files.SideFiles(str(tmp_path), None)
    with store.opened(0) as put:
        first, second = (json.loads(put({"text": pa.array([text])})) for text in ("a" * 100, "b" * 100))
    data = bytearray(Path(first["file"]).read_bytes())
    data[data.index(b"bbb")] ^= 1
    Path(first["file"]).write_bytes(data)
    side_files._check(first)
    with pytest.raises(OutputError, match=r"it is not what was written.*remove the work folder"):
        side_files._check(second)


@pytest.mark.parametrize(
    "work, expected",
    [
        ("/tmp/a b", "/tmp/a b/side-files"),
        ("file:///tmp/a%20b", "/tmp/a%20b/side-files"),
        ("file:/tmp/a#b?", "/tmp/a#b?/side-files"),
        ("hdfs:///tmp/a", None),
        ("s3a://b/a", None),
    ],
)
def test_where_workers_share_files(work, expected):
    assert side_files.side_folder(stages.hadoop_path(work)) == expected


@pytest.mark.parametrize("tasks", [1, 2, 3, 4, 10, 11, 1000])
def test_every_two_blocks_meet_in_one_place(tasks):
    layout = blocks.BlockPairs.of(tasks)
    own = np.arange(layout.blocks)
    places = [tuple(layout.part(own, other).tolist()) for other in own]
    assert layout.parts >= tasks > (layout.blocks - 1) * layout.blocks // 2
    assert {place for row in places for place in row} == set(range(layout.parts))
    assert all(places[a][b] == places[b][a] for a in own for b in own)


def test_lookups_of_a_chunk_and_the_broadcast_distribution():
    """Quantiles are those of the whole table, however few of its features a chunk has."""
    plan = neardup.make_plan("imatch")
    name = stage_json(plan.counts[0])
    keys, counts = np.arange(1, 101, dtype=np.uint64) << np.uint64(56), np.arange(2, 102)
    whole = Frequencies(keys, counts, 2)
    outline = Frequencies(keys[:0], counts[:0], 2, whole=whole.spread)
    known = Statistics(500, stage_json(plan.text), {name: outline})
    some = {"stage": np.zeros(2, np.int32), "key": keys[[70, 3]], "count": counts[[70, 3]]}
    found = count.chunk_statistics(plan, known, pa.scalar(packed_blocks.pack(some), pa.binary())).table(name)
    assert found.of(keys[[3, 4, 70]]).tolist() == [5, 0, 72]
    assert [found.quantile(share) for share in (0.1, 0.5)] == [whole.quantile(share) for share in (0.1, 0.5)]
    assert count.chunk_statistics(plan, known, pa.scalar(None, pa.binary())) is known
