"""The datasketch-shaped names: what datasketch documents, and that both find the same."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest

from neardup.integrations import datasketch as ours


def sketch(elements, module=ours, **options):
    found = module.MinHash(**options)
    for element in elements:
        found.update(str(element).encode())
    return found


def test_equal_sets_have_equal_sketches_in_any_order():
    left, right = sketch(range(5000)), sketch(reversed(range(5000)))
    assert left == right and left.jaccard(right) == 1.0
    left.update(b"3")
    assert left == right
    batch = ours.MinHash()
    batch.update_batch([str(k).encode() for k in range(5000)])
    assert batch == left


@pytest.mark.parametrize("shared", [0, 100, 500, 900])
def test_similarity_and_size_are_estimated(shared):
    left, right = sketch(range(1000), num_perm=512), sketch(range(1000 - shared, 2000 - shared), num_perm=512)
    truth = shared / (2000 - shared)
    assert abs(left.jaccard(right) - truth) < 4 * (truth * (1 - truth) / 512) ** 0.5 + 0.01
    assert abs(left.count() - 1000) < 250


def test_sketches_of_different_shapes_are_refused():
    with pytest.raises(ValueError, match="num_perm"):
        sketch([1], num_perm=64).jaccard(sketch([1]))
    with pytest.raises(ValueError, match="seeds"):
        sketch([1], seed=2).jaccard(sketch([1]))
    with pytest.raises(ValueError, match="seeds"):
        sketch([1], seed=2).merge(sketch([1]))
    with pytest.raises(ValueError):
        ours.MinHash(num_perm=0)


def test_unions_copies_and_empty_sketches():
    left, right, both = sketch(range(100)), sketch(range(50, 200)), sketch(range(200))
    assert ours.MinHash.union(left, right) == both
    copy = left.copy()
    copy.merge(right)
    assert copy == both and left == sketch(range(100)) and len(left) == 128
    empty = ours.MinHash()
    assert empty.is_empty() and not left.is_empty()
    copy.clear()
    assert copy == empty
    with pytest.raises(ValueError):
        ours.MinHash.union(left)
    assert ours.MinHash.bulk([[b"a"], [b"b"]], num_perm=16)[0] == sketch(["a"], num_perm=16)
    assert ours.MinHash(hashvalues=left.hashvalues) == left and pickle.loads(pickle.dumps(left)) == left


def test_a_hash_function_may_be_given():
    constant = ours.MinHash(hashfunc=lambda data: 7)
    constant.update(b"a")
    once = constant.digest()
    constant.update(b"b")
    assert np.array_equal(constant.digest(), once)


def test_insertion_query_and_removal():
    lsh = ours.MinHashLSH(threshold=0.5)
    assert lsh.is_empty()
    sketches = {key: sketch(range(start, start + 100)) for key, start in (("a", 0), ("b", 5), ("c", 1000))}
    for key, one in sketches.items():
        lsh.insert(key, one)
    assert "a" in lsh and "z" not in lsh and len(lsh) == 3 and not lsh.is_empty()
    assert set(lsh.query(sketches["a"])) == {"a", "b"} and lsh.query(sketches["c"]) == ["c"]
    with pytest.raises(ValueError, match="already exists"):
        lsh.insert("a", sketches["a"])
    lsh.insert("a", sketches["c"], check_duplication=False)
    assert set(lsh.query(sketches["c"])) == {"a", "c"}
    lsh.remove("a")
    assert "a" not in lsh and lsh.query(sketches["a"]) == ["b"]
    with pytest.raises(ValueError, match="does not exist"):
        lsh.remove("a")
    with pytest.raises(ValueError, match="num_perm"):
        lsh.query(sketch([1], num_perm=64))
    for key in ("b", "c"):
        lsh.remove(key)
    assert lsh.is_empty() and not any(lsh.hashtables)


def test_sessions_merging_and_counts():
    left, right = ours.MinHashLSH(params=(4, 2), num_perm=8), ours.MinHashLSH(params=(4, 2), num_perm=8)
    with left.insertion_session(buffer_size=10) as session:
        session.insert("a", sketch([1, 2], num_perm=8))
        session.insert("b", sketch([1, 2], num_perm=8))
    right.insert("c", sketch([1, 2], num_perm=8))
    left.merge(right)
    assert set(left.query(sketch([1, 2], num_perm=8))) == {"a", "b", "c"}
    assert [sum(counts.values()) for counts in left.get_counts()] == [3] * 4
    assert [sum(counts.values()) for counts in left.get_subset_counts("a", "c", "z")] == [2] * 4
    with pytest.raises(ValueError, match="overlapping"):
        left.merge(right, check_overlap=True)
    with pytest.raises(ValueError, match="different parameters"):
        left.merge(ours.MinHashLSH(params=(2, 4), num_perm=8))
    with left.deletion_session() as session:
        session.remove("a")
    assert "a" not in pickle.loads(pickle.dumps(left))


@pytest.mark.parametrize(
    "options",
    [
        {"threshold": 1.5}, {"num_perm": 1}, {"weights": (0.9, 0.9)}, {"params": (100, 100)},
        {"storage_config": {"type": "redis"}}, {"params": (1, 5)},
    ],
)  # fmt: skip
def test_impossible_indexes_are_refused(options):
    with pytest.raises(ValueError):
        ours.MinHashLSH(**options)


def test_a_forest_gives_the_nearest_after_it_was_indexed():
    forest = ours.MinHashLSHForest(num_perm=128)
    sketches = [sketch(range(10 * step, 10 * step + 100)) for step in range(30)]
    for place, one in enumerate(sketches):
        forest.add(place, one)
    assert forest.is_empty() and forest.query(sketches[3], 2) == []
    forest.index()
    assert not forest.is_empty() and 3 in forest
    for place, one in enumerate(sketches):
        found = forest.query(one, 3)
        assert place in found and len(found) == 3
    assert np.array_equal(forest.get_minhash_hashvalues(4), sketches[4].hashvalues)
    with pytest.raises(ValueError, match="already"):
        forest.add(3, sketches[3])
    with pytest.raises(ValueError):
        forest.query(sketches[0], 0)
    with pytest.raises(KeyError):
        forest.get_minhash_hashvalues("none")


def test_both_libraries_find_the_same_pairs():
    theirs = pytest.importorskip("datasketch")
    draw = random.Random(8)
    sets = [set(draw.sample(range(10_000), 200)) for _ in range(40)]
    sets += [{*sorted(one)[draw.randrange(10, 40) :], -k} for k, one in enumerate(sets)]
    found = []
    for module in (ours, theirs):
        lsh = module.MinHashLSH(threshold=0.6, num_perm=256)
        sketches = [sketch(one, module, num_perm=256) for one in sets]
        for key, one in enumerate(sketches):
            lsh.insert(key, one)
        pairs = {(a, b) for a, one in enumerate(sketches) for b in lsh.query(one) if a < b}
        assert (lsh.b, lsh.r)[0] * lsh.r <= 256
        found.append(pairs)
    truth = {
        (a, b)
        for a in range(80)
        for b in range(a + 1, 80)
        if len(sets[a] & sets[b]) / len(sets[a] | sets[b]) > 0.75
    }
    assert truth <= found[0] and truth <= found[1] and len(truth) == 40
    assert len(found[0] ^ found[1]) <= 4


def test_the_public_methods_are_those_of_datasketch():
    theirs = pytest.importorskip("datasketch")
    for name, missing in {
        "MinHash": set(),
        "MinHashLSH": {"add_to_query_buffer", "collect_query_buffer"},
        "MinHashLSHForest": set(),
    }.items():
        public = {one for one in dir(getattr(theirs, name)) if not one.startswith("_")} - {"buffer_size"}
        assert public - set(dir(getattr(ours, name))) <= missing, name


def test_buffered_queries_give_what_all_of_them_find():
    lsh = ours.MinHashLSH(threshold=0.5, num_perm=64)
    low, high = sketch(range(100), num_perm=64), sketch(range(500, 600), num_perm=64)
    lsh.insert("low", low)
    lsh.insert("high", high)
    assert lsh.collect_query_buffer() == []
    lsh.add_to_query_buffer(low)
    lsh.add_to_query_buffer(low)
    assert lsh.collect_query_buffer() == ["low"] and lsh.collect_query_buffer() == []
    lsh.add_to_query_buffer(low)
    lsh.add_to_query_buffer(high)
    assert lsh.collect_query_buffer() == []
    with pytest.raises(ValueError):
        lsh.add_to_query_buffer(sketch([1], num_perm=32))
