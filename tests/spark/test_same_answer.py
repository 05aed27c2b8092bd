"""Pairs, clusters and decisions of the Spark engine are those of the local engine, whatever the method."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from comparing import local_result, spark_result

import neardup
import neardup.spark
from corpora import corpus
from neardup.registry import methods

SHAPES = [
    pytest.param({"pairs": "clusters", "clusters": "components"}, id="clusters"),
    pytest.param({"pairs": "all", "clusters": "components"}, id="all"),
    pytest.param({"pairs": "all", "clusters": "leaders"}, id="leaders"),
    pytest.param({"pairs": "clusters", "clusters": "leaders"}, id="clusters-leaders"),
    pytest.param({"pairs": "clusters", "clusters": "average"}, id="average"),
    pytest.param({"pairs": "all", "clusters": "complete", "direct_only": True}, id="complete"),
]


@pytest.fixture(scope="module")
def table():
    return corpus(families=45)


@pytest.mark.parametrize("method", ["minhash", "imatch"])
def test_quick(spark, table, method):
    frame = spark.createDataFrame(table).repartition(2)
    assert spark_result(frame, method=method) == local_result(table, method=method)


@pytest.mark.parametrize(
    "signature", ["bits", *(pytest.param(name, marks=pytest.mark.slow) for name in ("minhash", "samples"))]
)
def test_signatures_that_decide(spark, table, signature):
    options = {"method": "andd", "verify": "signatures", "signature": signature, "clusters": "leaders"}
    frame = spark.createDataFrame(table).repartition(2)
    found = spark_result(frame, **options)
    assert len(found["pairs"]) > 50
    assert found == local_result(table, **options)


@pytest.fixture(params=["files", pytest.param("rows", marks=pytest.mark.slow)])
def storage(request, monkeypatch):
    """Texts in files that all workers share, or, as on other storage than file systems, in the rows of chunks."""
    from neardup.engines.spark import run

    if request.param == "rows":
        monkeypatch.setattr(run, "side_folder", lambda work: None)
    return request.param


@pytest.mark.parametrize(
    "method", [pytest.param(name, marks=[] if name == "minhash" else pytest.mark.slow) for name in methods()]
)
def test_texts_in_rows(spark, table, monkeypatch, method):
    from neardup.engines.spark import run

    monkeypatch.setattr(run, "side_folder", lambda work: None)
    frame = spark.createDataFrame(table).repartition(2)
    assert spark_result(frame, method=method) == local_result(table, method=method)


SPECIAL = {
    "one": ["a single document that has nobody to be compared with"],
    "different": ["one text of five words", "another that is not like it", "and a third one of its own"],
    "copies": ["the same text of some words"] * 3 + ["", "", " "],
    "nothing": ["", "", "..."],
}


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param(texts, id=name, marks=[] if name == "copies" else pytest.mark.slow)
        for name, texts in SPECIAL.items()
    ],
)
def test_small_corpora(spark, texts):
    small = pa.table({"id": [f"d{k}" for k in range(len(texts))], "text": texts})
    assert spark_result(spark.createDataFrame(small)) == local_result(small)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["minhash", "rare_phrases", "spotsigs"])
@pytest.mark.parametrize("clusters", ["components", "leaders", "average"])
def test_as_if_there_were_many(spark, table, monkeypatch, storage, method, clusters):
    """The code for very many pairs: joins in Spark, rounds of stars, components that are verified in parts."""
    from neardup.engines.spark import candidate_components, components, decide, run, verify
    from neardup.engines.spark.candidates import prefix

    monkeypatch.setattr(candidate_components, "FEW_PAIRS", 0)
    monkeypatch.setattr(candidate_components, "LARGE", 3)
    monkeypatch.setattr(candidate_components, "PART_PAIRS", 2)
    monkeypatch.setattr(components, "SMALL", 0)
    for module in (decide, run, verify, prefix):
        monkeypatch.setattr(module, "BROADCAST_ROWS", 0)
    frame = spark.createDataFrame(table).repartition(3)
    options = {"method": method, "clusters": clusters}
    assert spark_result(frame, **options) == local_result(table, **options)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["average", "complete"])
def test_linkage_that_asks_for_pairs(spark, table, kind):
    """Pairs that candidates left out are measured in a stage of their own, and leaders cluster large components."""
    plan = neardup.make_plan("spotsigs", clusters=kind)
    plan = plan.with_(clustering=replace(plan.clustering, complete=2, largest=5))
    frame = spark.createDataFrame(table).repartition(3)
    assert spark_result(frame, plan=plan) == local_result(table, plan=plan)
    reports = [neardup.spark.dedup(frame, plan).report, neardup.dedup(table, plan=plan).report]
    names = ("kept", "clusters", "large_components", "removals", "largest_clusters")
    assert [reports[0][name] for name in names] == [reports[1][name] for name in names]
    assert reports[0]["large_components"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("partitions", ["1", "5"])
def test_older_spark(spark, table, monkeypatch, partitions):
    """Spark 4.0 cannot send rows to a task by its number."""
    frame = spark.createDataFrame(table).repartition(3)
    for kind in type(frame).__mro__:
        if "repartitionById" in vars(kind):
            monkeypatch.delattr(kind, "repartitionById")
    spark.conf.set("spark.neardup.partitions", partitions)
    try:
        assert spark_result(frame) == local_result(table)
    finally:
        spark.conf.unset("spark.neardup.partitions")


@pytest.mark.slow
def test_large_candidate_components(spark, table, monkeypatch, storage):
    """The same with few pairs: one task labels them, and large components are decided after another verification."""
    from neardup.engines.spark import candidate_components

    monkeypatch.setattr(candidate_components, "LARGE", 3)
    frame = spark.createDataFrame(table).repartition(3)
    assert spark_result(frame) == local_result(table)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["clusters", "column:site", "host:address"])
@pytest.mark.parametrize("method", ["rare_phrases", "imatch"])
def test_units_of_document_frequency(spark, table, method, unit):
    n = len(table)
    table = table.append_column("site", [[None if k % 7 == 0 else f"s{k % 5}" for k in range(n)]])
    table = table.append_column("address", [[f"https://www.h{k % 4}.example/{k}" for k in range(n)]])
    options = {"method": method, "df_unit": unit}
    assert spark_result(spark.createDataFrame(table).repartition(3), **options) == local_result(
        table, **options
    )


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(options, id=" ".join(options.values()), marks=[] if number == 0 else pytest.mark.slow)
        for number, options in enumerate(
            [{"method": name} for name in methods() if methods()[name].plan().counts]
            + [{"method": name, "df_unit": "clusters"} for name in ("rare_phrases", "imatch")]
        )
    ],
)
def test_more_frequencies_than_workers_hold(spark, table, monkeypatch, storage, options):
    """Chunks look up the frequencies of their own features."""
    from neardup.engines.spark.frequencies import stages

    calls = []
    usual = stages.find_lookups
    monkeypatch.setattr(stages, "BROADCAST_FEATURES", 0)
    monkeypatch.setattr(stages, "find_lookups", lambda *args: (calls.append(1), usual(*args))[1])
    frame = spark.createDataFrame(table).repartition(3)
    assert spark_result(frame, **options) == local_result(table, **options)
    assert calls


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", list(methods()))
def test_every_method(spark, table, method, shape):
    frame = spark.createDataFrame(table).repartition(3)
    found = spark_result(frame, method=method, **shape)
    assert len(found["pairs"]) > 50
    assert found == local_result(table, method=method, **shape)


@pytest.mark.slow
@pytest.mark.parametrize("partitions", [1, 2, 7])
@pytest.mark.parametrize("method", list(methods()))
def test_partitions(spark, table, method, partitions):
    frame = spark.createDataFrame(table).repartition(partitions)
    spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
    spark.conf.set("spark.neardup.partitions", str(partitions))
    try:
        assert spark_result(frame, method=method) == local_result(table, method=method)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
        spark.conf.unset("spark.neardup.partitions")


@pytest.mark.slow
@pytest.mark.parametrize(
    "keep", ["shortest", "highest:size", "lowest:size", "newest:day", "priority:source=b,a", "none"]
)
def test_keep_policies(spark, table, keep):
    n = len(table)
    table = table.append_column("size", [[k * 7919 % 101 for k in range(n)]])
    table = table.append_column("day", [[f"2020-01-{k % 28 + 1:02}" if k % 5 else None for k in range(n)]])
    table = table.append_column("source", [["abc"[k % 3] for k in range(n)]])
    frame = spark.createDataFrame(table)
    assert spark_result(frame, keep=keep) == local_result(table, keep=keep)


@pytest.mark.slow
def test_statistics_from_elsewhere(spark, table, tmp_path):
    """Given frequencies are used as they are, and become part of the plan."""
    import pyarrow.parquet as pq

    from neardup.cli import main
    from neardup.statistics.file import load_statistics

    pq.write_table(table, tmp_path / "corpus.parquet")
    main(
        [
            "stats",
            "build",
            str(tmp_path / "corpus.parquet"),
            "-o",
            str(tmp_path / "s.stats.parquet"),
            "--method",
            "imatch",
        ]
    )
    known = load_statistics(tmp_path / "s.stats.parquet")
    half = table.slice(0, len(table) // 2)
    frame = spark.createDataFrame(half)
    assert spark_result(frame, method="imatch", statistics=known) == local_result(
        half, method="imatch", statistics=known
    )


@pytest.mark.slow
@pytest.mark.parametrize("pairs", ["clusters", "all"])
def test_reserved_bits(spark, table, pairs):
    """Fingerprints some of whose bits must agree, however near they are."""
    sections = table.append_column("section", [[f"s{k % 2}" for k in range(len(table))]])
    options = {"method": "simhash", "fields": "section", "pairs": pairs}
    frame = spark.createDataFrame(sections).repartition(2)
    found = spark_result(frame, reserve="section:8", **options)
    assert found == local_result(sections, reserve="section:8", **options)
    assert 0 < len(found["pairs"]) < len(local_result(sections, **options)["pairs"])


@pytest.mark.slow
def test_integer_ids(spark, table):
    numbered = table.set_column(0, "id", [[(k * 7919) % 100_003 for k in range(len(table))]])
    frame = spark.createDataFrame(numbered)
    assert spark_result(frame) == local_result(numbered)


@pytest.mark.slow
@pytest.mark.parametrize("partitions", ["1", "5"])
@pytest.mark.parametrize("pairs", ["clusters", "all"])
@pytest.mark.parametrize(
    "options",
    [
        {"decide": "containment", "threshold": 0.9},
        {"method": "cosine"},
        {"method": "andd", "signature": "none"},
    ],
    ids=["containment", "cosine", "andd"],
)
def test_joins_in_blocks(spark, table, options, pairs, partitions):
    """All pairs that share a feature are compared, in any number of tasks."""
    frame = spark.createDataFrame(table).repartition(3)
    spark.conf.set("spark.neardup.partitions", partitions)
    try:
        assert spark_result(frame, pairs=pairs, **options) == local_result(table, pairs=pairs, **options)
    finally:
        spark.conf.unset("spark.neardup.partitions")


@pytest.mark.parametrize("clusters", ["leaders", pytest.param("components", marks=pytest.mark.slow)])
def test_numbers_keep_documents_apart(spark, clusters):
    """The words of candidates are compared too; pairs that numbers keep apart have no similarity."""
    frame = "the bank paid {} dlrs in {} for the shares of a smaller bank which it took over with {} branches"
    texts = [frame.format(a, b, c) for a in (1, 2) for b in (1986, 1987) for c in ("six", "ten")]
    table = pa.table({"id": [f"n{i}" for i in range(len(texts))], "text": texts})
    options = {"numbers": "separate", "threshold": 0.3, "clusters": clusters}
    expected = local_result(table, **options)
    assert expected != local_result(table, **{**options, "numbers": "words"})
    assert spark_result(spark.createDataFrame(table.to_pandas()), **options) == expected


def test_plans_travel(spark):
    """What a worker gets is the plan that was made here."""
    plan = neardup.make_plan("rare_phrases")
    digest = spark.sparkContext.parallelize([1], 1).map(lambda _: plan.digest).collect()[0]
    assert digest == plan.digest
