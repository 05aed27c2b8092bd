"""The workers' functions without Spark: whatever batches rows come in, the rules are those of the local engine."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import partial

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
from neardup.engines.spark import (
    components,
    copies,
    crowds,
    edges,
    exact,
    families,
    grid,
    near,
    parcels,
    shelf,
    stages,
    statistics,
)
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


NO_PARCEL = pa.schema({"part": pa.int32(), "packed": pa.binary()})


class Wire:
    """Parcels between two functions, for tasks that are all this one process."""

    def __init__(self, tasks):
        self.tasks = tasks

    def __call__(self, function, batches):
        """What a function gives for each task's parcels, as rows."""
        rows = [batch for batch in batches if batch.num_rows]
        whole = pa.Table.from_batches(rows, None if rows else NO_PARCEL)
        for task in range(self.tasks):
            mine = whole.filter(pa.array(whole["part"].to_numpy() % self.tasks == task))
            yield from function(iter(mine.to_batches(max_chunksize=2)))

    def parcels(self, step, batches):
        """The parcels that a step makes, as rows."""
        return self(lambda some: parcels.packed_rows(step(some)), batches)


def chunk_row(number, present, ranks, keys):
    """A chunk with keys (tables × documents), as the edges read it."""
    seen = {"rank": ranks, "present": present, **{f"key{t}": each for t, each in enumerate(keys)}}
    return table(
        {"chunk": np.array([number]), "seen": [parcels.pack(seen)], "wanted": pa.nulls(1, pa.binary())}
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
    """Star pairs, pivots, limits and counts as in the local engine, for any buckets, tasks and crowds."""
    n = len(documents)
    ranks = np.array(source.sample(range(1, 2**32), n), np.int64)
    keys = np.array(documents, np.uint64).reshape(n, 2).T
    rule = edges.Rule(every, limit, pivots, 2, tasks, tasks)
    cut = source.randrange(n + 1)
    wire, present = Wire(tasks), np.ones(n, np.bool_)
    rows = [
        chunk_row(number, present[part], ranks[part], keys[:, part])
        for number, part in enumerate((slice(0, cut), slice(cut, n)))
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crowds, "HOT", 2 * rule.heads)  # so that few make a crowd
        patch.setattr(crowds, "SPREAD", spread)
        sent = [batch for row in rows for batch in parcels.packed_rows(edges._keys(rule, iter([row])))]
        found = list(wire.parcels(partial(edges._pairing, rule), sent)) if sent else []
        if sent and not rule.at_home:
            found = list(wire.parcels(partial(edges._waiting, rule), found))
        found = list(wire(partial(crowds.finished, tasks), found)) if sent else []
    got = [row for batch in found for row in batch.to_pylist()]
    mine = {(r["kind"], r["left"], r["right"]) for r in got if r["kind"] != edges.COUNTED}
    assert len(mine) == sum(r["kind"] != edges.COUNTED for r in got), "each pair once"
    expected, counts = local_pairs(keys, ranks, rule)
    assert mine == expected
    places = {
        rank: (int(k >= cut) << 16) + (k - cut if k >= cut else k) for k, rank in enumerate(ranks.tolist())
    }
    for row in got:
        if row["kind"] != edges.COUNTED:
            assert (row["left_place"], row["right_place"]) == (places[row["left"]], places[row["right"]])
    told = [[r[name] for name in crowds.NAMES[1:]] for r in got if r["kind"] == edges.COUNTED]
    total = sum((BucketCounts(*each) for each in told), BucketCounts())
    assert total == counts


def local_pairs(keys, ranks, rule):
    """Pairs (kind, left, right) of ranks, and counts, by the local engine's functions."""
    pairs, counts, owners = {}, BucketCounts(), np.arange(len(ranks))
    for each in keys:
        buckets = find_buckets(each, owners)
        if rule.every:
            counts += BucketCounts(len(buckets.sizes), int(buckets.sizes.max(initial=0)))
            found = [(edges.REST, *some) for some in all_pairs(buckets, 7)]
        else:
            first = bucket_pairs(find_buckets(each, owners), ranks.astype(np.uint64), 1, 1)
            rest = bucket_pairs(buckets, ranks.astype(np.uint64), rule.limit, rule.pivots)
            counts += rest[2]
            found = [(edges.REST, *rest[:2]), (edges.FIRST, *first[:2])]
        for kind, left, right in found:
            for a, b in zip(ranks[left].tolist(), ranks[right].tolist(), strict=True):
                pairs[min(a, b), max(a, b)] = min(kind, pairs.get((min(a, b), max(a, b)), kind))
    stars = [pair for pair, kind in pairs.items() if kind == edges.FIRST]
    order = {rank: rank for pair in stars for rank in pair}
    for pair, number in zip(stars, naive.star_rounds(stars, order, ROUNDS - 1), strict=True):
        pairs[pair] += number
    return {(kind, *pair) for pair, kind in pairs.items()}, counts


def test_copies_are_left_out():
    row = chunk_row(3, np.array([True, False, True, True]), np.arange(4), np.zeros((1, 4), np.uint64))
    copies = parcels.pack({"place": parcels.places_of(3, np.array([2]))})
    row = row.set_column(2, "wanted", pa.array([copies], pa.binary()))
    seen, places = next(edges.represented_texts(row))
    assert seen["rank"].to_pylist() == [0, 3] and (places & 0xFFFF).tolist() == [0, 3]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.booleans()), max_size=30), st.integers(1, 3)
)
def test_copies(documents, tasks):
    """Copies belong to the smallest rank of their text, wherever they lie; all texts are counted."""
    n = len(documents)
    ranks = np.arange(n, dtype=np.int64)[::-1].copy()
    names = {
        "rank": ranks, "second": ranks,
        "digest_a": np.array([d[0] for d in documents], np.int64),
        "digest_b": np.array([d[1] for d in documents], np.int64),
        "tokens": np.array([d[2] for d in documents], np.int64),
    }  # fmt: skip
    row = table({"chunk": np.array([5]), "names": [parcels.pack(names)]})
    wire = Wire(tasks)
    sent = list(parcels.packed_rows(copies._names(tasks, iter([row]))))
    found = list(wire(copies._by_chunk, wire.parcels(partial(copies._meeting, tasks), sent))) if n else []
    rows = [
        each
        for batch in found
        for packed in batch["wanted"]
        if packed.is_valid
        for each in parcels.unpack(packed).to_pylist()
    ]
    best = {}
    for k in range(n):
        best.setdefault(documents[k][:2], []).append(int(ranks[k]))
    expected = {(rank, min(same)) for same in best.values() for rank in same if rank != min(same)}
    assert {(r["rank"], r["content"]) for r in rows} == expected
    assert all(r["place"] == (5 << 16) + n - 1 - r["rank"] for r in rows)
    assert sum(batch["contents"][0].as_py() for batch in found) == len(best)
    assert sum(batch["twice"][0].as_py() for batch in found) == 0


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=40), st.integers(1, 4))
def test_families(pairs, large):
    """Pairs that are connected have one family; those of a large one are measured with few others."""
    left, right = np.array([min(p) for p in pairs]), np.array([max(p) for p in pairs]) + 10
    columns = {"left": left, "right": right, "left_place": left, "right_place": right}
    batch = table({"kind": np.full(len(left), crowds.FIRST + 1, np.int32), **columns})
    rows = [row for each in families.Labelling(large, 2, 3)(iter([batch])) for row in each.to_pylist()]
    sizes = Counter(r["family"] for r in rows)
    assert all(r["kind"] == crowds.FIRST + (sizes[r["family"]] > 3) for r in rows), "few pairs: one round"
    assert [(r["left"], r["right"]) for r in rows] == list(zip(left.tolist(), right.tolist(), strict=True))
    nodes, labels = components._connected(iter([batch]))
    known = dict(zip(nodes.tolist(), labels.tolist(), strict=True))
    for row in rows:
        assert row["family"] == known[row["left"]] == known[row["right"]]
        size = sum(other["family"] == row["family"] for other in rows)
        assert row["whole"] == (size <= large)
        together = [
            other for other in rows if other["part_of_it"] == row["part_of_it"] and not other["whole"]
        ]
        if row["whole"]:
            assert row["part_of_it"] == row["family"]
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
    masks = near.block_masks(bits, distance, documents)
    different = to_columns(first) ^ to_columns(second)
    assert all(any(not (different[:, row] & mask).any() for mask in masks) for row in range(200))
    assert len(masks) <= near.MOST_TABLES


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
    ranks = rng.permutation(len(slots)).astype(np.int64)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(slots.ravel()), 2)
    seen = {"rank": ranks, "present": np.ones(len(slots), np.bool_), "slots": lists}
    row = table({"chunk": np.array([3]), "seen": [parcels.pack(seen)], "wanted": pa.nulls(1, pa.binary())})
    rule = near.Near(near.block_masks(64, 3, 100) | near.last_bits(64, last), 3, spanning, tasks)
    wire = Wire(tasks)
    if spanning:
        named = list(parcels.packed_rows(near._named(rule, iter([row]))))
        keys = list(wire.parcels(partial(near._first_of_equal, rule), named))
    else:
        keys = list(parcels.packed_rows(near._keys(rule, iter([row]))))
    met = list(wire.parcels(partial(near._meeting, rule), keys))
    found = pa.Table.from_batches(wire(partial(crowds.finished, tasks), met))
    mine = set(zip(found["left"].to_pylist(), found["right"].to_pylist(), strict=True))
    truth = Hamming(64, exact=last).pairs(Signatures(slots, seen["present"]), 1 - 3 / 64)
    wanted = {tuple(sorted((ranks[a], ranks[b]))) for a, b in zip(truth.left, truth.right, strict=True)}
    assert len(wanted) >= 120 and len(mine) == len(found) and mine <= wanted
    if spanning:
        assert labels(mine) == labels(wanted)
    else:
        assert mine == wanted


def labels(pairs):
    """The smallest rank that each rank is connected with."""
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
    ranks = np.arange(len(lists), dtype=np.int64)[::-1].copy()
    rows = np.arange(len(lists))
    packed = {"row": rows, **pack_features(features)}
    seen = {"row": rows, "rank": ranks, "present": np.ones(len(lists), np.bool_)}
    columns = {"chunk": np.array([2]), "seen": [parcels.pack(seen)], "wanted": pa.nulls(1, pa.binary())}
    row = table({**columns, "features": [parcels.pack(packed)]})
    known, limit, wire = np.unique(np.array(common, np.uint64)), Fraction(threshold), Wire(2)
    equal = pa.nulls(1, pa.binary())
    if some:
        named = list(parcels.packed_rows(exact._named(2, iter([row]))))
        met = list(wire.parcels(partial(exact._equal, 2), named))
        equal = pa.concat_arrays([each["wanted"] for each in wire(parcels.gathered, met)] or [equal])
    row = row.append_column("equal", equal)
    step = exact.Prefixes(limit, (known, np.arange(len(known)) + 2), 2).parcels
    sent = list(parcels.packed_rows(step(iter([row]))))
    met = list(wire.parcels(partial(exact._meeting, limit, 0, 2), sent)) if sent else []
    found = (
        [each for batch in wire(partial(crowds.finished, 2), met) for each in batch.to_pylist()]
        if met
        else []
    )
    mine = {(each["left"], each["right"]) for each in found}
    assert len(mine) == len(found)
    truth = exact_pairs(make_distinct(features), float(threshold))
    wanted = {
        tuple(sorted((int(ranks[a]), int(ranks[b])))) for a, b in zip(truth.left, truth.right, strict=True)
    }
    assert labels(wanted) == labels(mine & wanted) if some else wanted <= mine


@pytest.mark.parametrize("shared", [True, False])
def test_a_shelf_gives_back_what_it_got(tmp_path, shared):
    """Columns of several chunks, from a file or from the row; an index finds single documents of them."""
    store = shelf.SideFiles(str(tmp_path / "shelf") if shared else None, None)
    chunks = [pa.array([f"{number}-{row}" for row in range(4 - number)]) for number in range(3)]
    with store.opened(7) as put:
        values = [put({"text": texts}) for texts in chunks]
    packed = pa.array(values, pa.binary())
    for texts, value in zip(chunks, packed, strict=True):
        assert shelf.read_side_file(value).column("text").to_pylist() == texts.to_pylist()
    if shared:
        index = shelf.SideFileIndex(np.arange(3) + 5, {"text": values})
        places = np.concatenate([parcels.places_of(5, np.array([1, 3])), parcels.places_of(7, np.array([0]))])
        assert index.rows("text", places).column("text").to_pylist() == ["0-1", "0-3", "2-0"]


def test_a_file_that_is_gone(tmp_path):
    store = shelf.SideFiles(str(tmp_path), None)
    with store.opened(0) as put:
        value = pa.scalar(put({"text": pa.array(["a"])}), pa.binary())
    next(tmp_path.iterdir()).unlink()
    with pytest.raises(OutputError, match="remove the work folder to begin anew"):
        shelf.read_side_file(value)


@pytest.mark.parametrize(
    "work, expected",
    [
        ("/tmp/a b", "/tmp/a b/shelf"),
        ("file:///tmp/a%20b", "/tmp/a%20b/shelf"),
        ("file:/tmp/a#b?", "/tmp/a#b?/shelf"),
        ("hdfs:///tmp/a", None),
        ("s3a://b/a", None),
    ],
)
def test_where_workers_share_files(work, expected):
    assert shelf.side_folder(stages.place_of(work)) == expected


@pytest.mark.parametrize("tasks", [1, 2, 3, 4, 10, 11, 1000])
def test_every_two_blocks_meet_in_one_place(tasks):
    layout = grid.BlockPairs.of(tasks)
    own = np.arange(layout.blocks)
    places = [tuple(layout.part(own, other).tolist()) for other in own]
    assert layout.parts >= tasks > (layout.blocks - 1) * layout.blocks // 2
    assert {place for row in places for place in row} == set(range(layout.parts))
    assert all(places[a][b] == places[b][a] for a in own for b in own)


def test_what_a_chunk_is_told_and_what_all_workers_know():
    """Quantiles are those of the whole table, however few of its features a chunk has."""
    plan = neardup.make_plan("imatch")
    name = stage_json(plan.counts[0])
    keys, counts = np.arange(1, 101, dtype=np.uint64) << np.uint64(56), np.arange(2, 102)
    whole = Frequencies(keys, counts, 2)
    outline = Frequencies(keys[:0], counts[:0], 2, whole=whole.spread)
    known = Statistics(500, stage_json(plan.text), {name: outline})
    some = {"stage": np.zeros(2, np.int32), "key": keys[[70, 3]], "count": counts[[70, 3]]}
    told = statistics.told(plan, known, pa.scalar(parcels.pack(some), pa.binary())).table(name)
    assert told.of(keys[[3, 4, 70]]).tolist() == [5, 0, 72]
    assert [told.quantile(share) for share in (0.1, 0.5)] == [whole.quantile(share) for share in (0.1, 0.5)]
    assert statistics.told(plan, known, pa.scalar(None, pa.binary())) is known
