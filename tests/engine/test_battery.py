"""What holds for every method of the registry, whatever it compares: the contract that a new method joins."""

from __future__ import annotations

import json
import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup
from corpora import corpus, facts, rows, set_constants
from neardup.columns import Texts
from neardup.engines.core import represent
from neardup.registry import methods
from sentences import story

METHODS = list(methods())
SHAPES = [
    pytest.param({"pairs": "clusters", "clusters": "components"}, id="clusters"),
    pytest.param({"pairs": "all", "clusters": "components"}, id="all"),
    pytest.param({"pairs": "all", "clusters": "leaders"}, id="leaders"),
    pytest.param({"pairs": "clusters", "clusters": "average"}, id="average"),
    pytest.param({"pairs": "clusters", "clusters": "complete", "direct_only": True}, id="complete"),
]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return corpus(families=30)


@pytest.fixture(scope="module")
def expected(table):
    """The facts of an ordinary run for a method and a shape, computed once."""
    known = {}

    def run(name, shape, documents=table):
        key = (name, *shape.values(), len(documents))
        if key not in known:
            known[key] = facts(neardup.dedup(documents, method=name, threads=1, **shape))
        return known[key]

    return run


def pair_ids(result):
    return {(row["left"], row["right"]) for row in result.pairs.to_pylist()}


@pytest.mark.parametrize("name", METHODS)
def test_the_corpus_has_something_to_find(name, expected):
    found = expected(name, SHAPES[0].values[0])
    if name == "exact":  # all others of this corpus differ in a word
        assert found["pairs"] and found["removed"]
        return
    assert len(found["pairs"]) > 30 and len(found["removed"]) > 30 and len(found["kept"]) > 30
    assert sum("similar" in pair for pair in found["pairs"]) > 20


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    "text",
    ["word", "🙂", "京", "a b", "one two three four five six seven", " padded\twith white space\n" * 40],
    ids=["word", "emoji", "character", "short", "text", "long"],
)
def test_exact_copies_always_pair(name, text):
    result = neardup.dedup([text, "something else that is not the same", text], method=name, pairs="all")
    assert result.pairs.to_pylist() == [
        {
            "left": 0,
            "right": 2,
            "similarity": 1.0,
            "containment": 1.0,
            "relation": "copy",
            "reason": "copy",
            "bridge": False,
        }
    ]
    assert result.kept == [text, "something else that is not the same"]
    assert result.removed == [text]
    assert result.report["exact_copies"] == 1


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("text", ["", " ", "\n\t\r", "\u00a0\u2003\u2028", "\ufeff", "... , ! ?"])
def test_texts_without_a_token_never_pair(name, text):
    plan = neardup.make_plan(name)
    assert len(plan.text(Texts.from_strings([text])).hashes) == 0, "the example must have no token"
    result = neardup.dedup([text] * 3 + ["", "word", "word"], method=name, pairs="all")
    assert pair_ids(result) == {(4, 5)}
    assert result.kept == [text] * 3 + ["", "word"]
    assert result.report["without_tokens"] == 4


@pytest.mark.parametrize("name", METHODS)
def test_a_collection_without_any_token(name, tmp_path):
    result = neardup.dedup(["", " ", ""], method=name)
    assert (len(result.pairs), len(result.clusters), result.kept) == (0, 0, ["", " ", ""])
    assert result.annotations["cluster"].null_count == 3
    assert result.write(tmp_path / "out", mode="annotate")["kept"] == 3


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("text", ["", "word", "a text of several words that stands alone"])
def test_a_collection_of_one_document(name, text):
    result = neardup.dedup([text], method=name)
    assert (result.kept, result.removed, len(result.pairs), len(result.clusters)) == ([text], [], 0, 0)


@pytest.mark.parametrize("name", METHODS)
def test_no_reported_pair_is_below_the_threshold(name, table):
    result = neardup.dedup(table, method=name, pairs="all")
    assert min(result.pairs["similarity"].to_pylist()) >= result.plan.threshold


@pytest.mark.cut("name", start=3)
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [1, 7])
def test_batches_do_not_matter(name, shape, size, expected, tmp_path, monkeypatch):
    table = corpus(families=15)  # batches are much smaller still
    found = expected(name, shape, table)
    small = {
        "CHUNK": size * 30,
        "CHUNK_ROWS": size,
        "BATCH_ROWS": size,
        "BLOCK_PAIRS": 16 * size,
        "LINK_PAIRS": 4 * size,
        "ROWS": size,
        "LARGE_TILE_BYTES": size * 125,
        "HUB": 1,
    }
    set_constants(monkeypatch, TILE_BYTES=size * 500, GAP=size, **small)
    chunks = [part for _, part in represent.chunks(Texts.from_arrow(table["text"].combine_chunks()))]
    assert max(map(len, chunks)) <= size, "the chunks must be as small as this test believes"
    pq.write_table(table, tmp_path / "corpus.parquet")
    for documents in (table, tmp_path / "corpus.parquet"):
        assert facts(neardup.dedup(documents, method=name, threads=2, **shape)) == found


@pytest.mark.cut("name")
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("shape", SHAPES)
def test_where_batches_end_does_not_matter(name, shape, table, expected):
    """Batches of one document, of none, and of empty documents alone."""
    cuts = sorted(random.Random(2).choices(range(len(table)), k=40))
    bounds = zip([0, *cuts], [*cuts, len(table)], strict=True)
    ragged = pa.concat_tables([table.slice(start, stop - start) for start, stop in bounds])
    assert ragged["text"].num_chunks > 20
    assert facts(neardup.dedup(ragged, method=name, **shape)) == expected(name, shape)


@pytest.mark.cut("name")
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("threads", [2, 4])
def test_threads_do_not_matter(name, shape, threads, table, expected, monkeypatch):
    set_constants(monkeypatch, CHUNK=1000)
    for _ in range(3):
        assert facts(neardup.dedup(table, method=name, threads=threads, **shape)) == expected(name, shape)


@pytest.mark.parametrize("name", METHODS)
def test_runs_at_the_same_time_do_not_disturb_each_other(name, table, expected):
    shape = SHAPES[0].values[0]
    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(neardup.dedup, table, method=name, threads=2, **shape) for _ in range(4)]
        assert all(facts(run.result()) == expected(name, shape) for run in runs)


@pytest.mark.cut("name")
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("keep", ["longest", "shortest", "none"])
def test_the_order_of_the_input_does_not_matter(name, shape, keep, table):
    if keep == "none":  # which has components alone
        shape = {**shape, "clusters": "components"} if "clusters" in shape else shape

    def run(documents):
        return facts(neardup.dedup(documents, method=name, keep=keep, **shape))

    source, first = random.Random(5), run(table)
    for _ in range(2):
        assert run(table.take(source.sample(range(len(table)), len(table)))) == first
    assert run(table.take(list(range(len(table) - 1, -1, -1)))) == first


@pytest.mark.parametrize("name", [name for name in METHODS if name != "exact"])  # whose texts share no key
def test_the_order_of_the_input_does_not_matter_in_a_hot_bucket(name):
    """Which members of a large bucket are compared depends on their ids, not on where they stand."""
    source = random.Random(8)
    base = story(source, 30)
    table = pa.table(
        {"id": [f"d{k}" for k in range(120)], "text": [f"{base} x{k} y{k} z{k}" for k in range(120)]}
    )
    # What all documents have is what they are found by, where a method would leave it out.
    common = {"idf_low": 0.0, "idf_high": 0.5, "weights": "tf", "keep": "shortest"}
    options = {
        key: value for key, value in common.items() if key == "keep" or key in methods()[name].parameters
    }
    first = neardup.dedup(table, method=name, **options)
    again = neardup.dedup(table.take(source.sample(range(120), 120)), method=name, **options)
    if not first.plan.joins:
        assert first.report["buckets"]["above_limit"] > 0
    assert len(first.clusters) == 120
    assert facts(again) == facts(first)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("keep, best", [("first", 0), ("last", 2)])
def test_first_and_last_follow_the_order_of_the_input(name, keep, best):
    result = neardup.dedup(["same text", "another", "same text"], method=name, keep=keep)
    assert result.clusters["leader"].to_pylist() == [best, best]


@pytest.mark.cut("name", start=1)
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_run_can_be_repeated(name, shape, table, expected):
    assert facts(neardup.dedup(table, method=name, **shape)) == expected(name, shape)


@pytest.mark.parametrize("name", [name for name in methods() if "seed" in methods()[name].parameters])
def test_another_seed_finds_by_other_keys(name, table):
    loose = {"threshold": 0.3, "lexicons": 8, "drop": 0.5}  # so that chance has something to do
    options = {key: value for key, value in loose.items() if key in methods()[name].parameters}

    def candidates(seed):
        report = neardup.dedup(table, method=name, seed=seed, pairs="all", **options).report
        return report["pairs"]["candidates"], report["buckets"]["count"]

    first = candidates(0)
    assert candidates(0) == first
    assert any(candidates(seed) != first for seed in range(1, 5))


@pytest.mark.cut("name", start=2)
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_plan_that_has_travelled_as_json_gives_the_same_result(name, shape, table, expected):
    plan = neardup.make_plan(name, **shape)
    travelled = neardup.Plan.from_json(plan.to_json())
    assert travelled == plan and travelled.digest == plan.digest
    assert facts(neardup.dedup(table, plan=travelled)) == expected(name, shape)
    reported = neardup.dedup(table, plan=plan).report["plan"]
    assert neardup.Plan.from_json(json.dumps(reported)) == plan


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
def test_memory_that_may_not_be_written(name, kind, table, expected):
    """Texts are used in place: here they lie in bytes of Python, which must be the same afterwards."""
    lists = table["text"].to_pylist()
    data = "".join(lists).encode()
    before = bytearray(data)
    ends = np.cumsum([0, *(len(text.encode()) for text in lists)])
    offsets = ends.astype(np.int64 if kind == pa.large_string() else np.int32).tobytes()
    texts = pa.Array.from_buffers(kind, len(lists), [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    assert not texts.buffers()[2].is_mutable
    result = neardup.dedup(pa.table({"id": table["id"], "text": texts}), method=name, **SHAPES[0].values[0])
    assert facts(result)["clusters"] == expected(name, SHAPES[0].values[0])["clusters"]
    assert data == before


@pytest.mark.parametrize("name", METHODS)
def test_documents_of_one_cluster_are_joined_whether_all_pairs_are_wanted_or_not(name, table, expected):
    few, every = expected(name, SHAPES[0].values[0]), expected(name, SHAPES[1].values[0])
    assert few["clusters"] == every["clusters"]
    cluster = {row[0]: row[1] for row in every["clusters"]}
    inside = set(few["pairs"]) - set(every["pairs"])  # no candidates: compared because their cluster is small
    assert all(cluster[left] == cluster[right] for left, right, *_ in inside)


@pytest.mark.parametrize("name", METHODS)
def test_pairs_are_those_of_a_run_that_wants_all(name, table, expected):
    assert rows(neardup.pairs(table, method=name)) == expected(name, SHAPES[1].values[0])["pairs"]
