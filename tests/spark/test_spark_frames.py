"""Frames of all kinds: names, ids, inputs that are known again, work folders, and what is refused."""

from __future__ import annotations

import pytest
from comparing import local_result

import neardup
from corpora import corpus, rows
from neardup.errors import InputError, NeardupError, OutputError, ParameterError, PlanError

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'neardup[spark]'")

from neardup import spark as engine
from neardup.engines.core.documents import InputColumns
from neardup.engines.spark.io.frames import run
from neardup.engines.spark.session.session import RUNTIME
from neardup.plan import Plan

SAME = "the quick brown fox jumps over the lazy dog today"
TEXTS = [SAME, SAME, "nothing of the kind at all", "and a fourth one that is not like any of them"]


@pytest.fixture(scope="module")
def table():
    return corpus(families=6)


def plan() -> Plan:
    from neardup import make_plan

    return make_plan()


def test_names_of_any_kind(spark):
    """Dots, backticks, twins that differ in case, and names that neardup gives itself."""
    names = ["my.id", "a `text`", "Title", "title", "keep", "chunk", "key", "c0"]
    rows = [(k, text, "A", "a", "mine", 1, 2, 3) for k, text in enumerate(TEXTS)]
    frame = spark.createDataFrame(rows, [f"x{k}" for k in range(len(names))]).toDF(*names)
    result = engine.dedup(frame, text_column="a `text`", id_column="my.id", keep="highest:my.id")
    assert result.kept.columns == names and result.removed.columns == names
    assert [row[0] for row in result.removed.collect()] == [0]
    annotated = result.annotated
    assert annotated.columns == [
        *names, "neardup_keep", "cluster", "duplicate_of", "similarity", "containment", "relation", "evidence",
    ]  # fmt: skip
    assert sorted((row[0], row["neardup_keep"]) for row in annotated.collect()) == [
        (0, False), (1, True), (2, True), (3, True),
    ]  # fmt: skip


def test_a_name_that_two_columns_have(spark):
    frame = spark.createDataFrame([(1, "a", "b")], "id long, x string, y string").toDF("id", "text", "text")
    with pytest.raises(InputError, match="several columns 'text'"):
        engine.dedup(frame)


@pytest.mark.parametrize(
    "kind",
    [
        "decimal(20,0)",
        pytest.param("smallint", marks=pytest.mark.slow),
        pytest.param("string collate UTF8_LCASE", marks=pytest.mark.slow),
        pytest.param("varchar(30)", marks=pytest.mark.slow),
    ],
)
def test_kinds_of_ids(spark, kind):
    first = 2**63 if kind.startswith("decimal") else 30_000
    rows = [(str(first + k), text) for k, text in enumerate(TEXTS)]
    frame = spark.createDataFrame(rows, "id string, text string")
    frame = frame.selectExpr(f"cast(id as {kind}) as id", "text")
    result = engine.dedup(frame)
    removed = [str(row["id"]) for row in result.removed.collect()]
    assert len(removed) == 1 and removed[0] in (str(first), str(first + 1))
    assert result.kept.count() == result.report["kept"] == 3 and result.annotated.count() == 4
    assert dict(result.kept.dtypes)["id"] == dict(frame.dtypes)["id"]


@pytest.mark.parametrize("kind", ["double", "date", "binary", "array<string>"])
def test_ids_that_are_none(spark, kind):
    value = (
        "array(cast(number as string))"
        if kind.startswith("array")
        else f"cast(cast(number as string) as {kind})"
    )
    frame = spark.createDataFrame([(1, "a"), (2, "b")], "number long, text string").selectExpr(
        f"{value} as id", "text"
    )
    with pytest.raises(InputError, match="ids are integers or strings"):
        engine.dedup(frame)


@pytest.mark.slow
def test_an_input_is_known_again(spark, table, tmp_path):
    """Whatever is done to the rows of a file, or said of its columns, is another input."""
    spark.createDataFrame(table).selectExpr("*", "upper(text) as other").write.parquet(str(tmp_path / "in"))
    frame, work = spark.read.parquet(str(tmp_path / "in")), tmp_path / "work"
    first = engine.dedup(frame, work_dir=work)
    again = engine.dedup(spark.read.parquet(str(tmp_path / "in")), work_dir=work)
    assert not again.report["seconds"] and again.report["removed"] == first.report["removed"]
    for other in (
        frame.where("id <> 'x'"),
        frame.limit(5),
        frame.selectExpr("id", "concat(text, ' and') as text", "other"),
        frame.unionByName(frame.selectExpr("concat(id, '-') as id", "text", "other")),
    ):
        with pytest.raises(PlanError, match="another input"):
            engine.dedup(other, work_dir=work)
    for options in ({"text_column": "other"}, {"html": True}):
        with pytest.raises(PlanError, match="other columns"):
            engine.dedup(frame, work_dir=work, **options)


@pytest.mark.slow
def test_what_follows_a_stage_is_made_again(spark, table, tmp_path):
    work = tmp_path / "work"
    first = engine.dedup(spark.createDataFrame(table), work_dir=work).report
    (work / "documents" / "_SUCCESS").unlink()
    resorted = spark.createDataFrame(table.sort_by([("text", "descending")])).coalesce(1)
    second = engine.dedup(resorted, work_dir=work).report
    assert second["removed"] == first["removed"] and "clusters" in second["seconds"]
    lost = next((work / "candidates").glob("part*.parquet"))
    lost.unlink()
    third = engine.dedup(resorted, work_dir=work).report
    assert third["removed"] == first["removed"]
    assert "candidates" in third["seconds"] and "documents" not in third["seconds"]


@pytest.mark.parametrize(
    "name",
    ["ü 100%20#b?[x]{y}*"]
    + [
        pytest.param(name, marks=pytest.mark.slow)
        for name in ("sp a ü", "100%20", "a#b?c", "[x]{y}*", "plain")
    ],
)
def test_work_folders_of_any_name(spark, tmp_path, name):
    frame = spark.createDataFrame(list(enumerate(TEXTS)), "id long, text string")
    for given in (tmp_path / name, f"file:{tmp_path / name}"):
        result = engine.dedup(frame, work_dir=given)
        assert result.report["removed"] == 1 and result.clusters.count() == 2
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [name]
    assert (tmp_path / name / "manifest.json").exists() and list((tmp_path / name / "side-files").iterdir())


@pytest.mark.parametrize(
    "folder, message",
    [
        ("hdfs:///tmp/x", "cannot be a work folder"),
        ("file:rel", "a path, or file"),
        ("nothing://x/y", "cannot be"),
    ],
)
def test_work_folders_that_are_none(spark, folder, message):
    frame = spark.createDataFrame([(1, "a")], "id long, text string")
    with pytest.raises(NeardupError, match=message):
        engine.dedup(frame, work_dir=folder)


@pytest.mark.parametrize(
    "content",
    [
        '{"a": 1}',
        "[]",
        "{",
        '{"run": [], "stages": {}}',
        '{"run": {}, "stages": {"documents": {}}, "checksum": "0"}',
        '{"run": ' + "[" * 5000,
    ],
    ids=len,
)
def test_a_manifest_that_is_none(spark, tmp_path, content):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(OutputError, match=r"manifest.json is damaged: .* Remove the work folder"):
        engine.dedup(spark.createDataFrame([(1, "a")], "id long, text string"), work_dir=tmp_path)


@pytest.mark.slow
def test_texts_that_are_missing(spark):
    frame = spark.createDataFrame([(1, SAME), (2, None), (3, SAME)], "id long, text string")
    report = engine.dedup(frame).report
    problem = {
        "file": "the DataFrame",
        "record": None,
        "offset": None,
        "kind": "no text",
        "reason": "no text",
    }
    problem["action"] = "taken as empty"
    assert report["problems"] == {"total": 1, "counts": {"no text": 1}, "first": [problem]}
    assert (report["removed"], report["without_tokens"]) == (1, 1)
    with pytest.raises(InputError, match="no text"):
        run(frame, plan(), strict=True)


@pytest.mark.slow
def test_the_article_of_a_page(spark):
    story = " ".join(
        f"<p>Sentence {k} of the story, which is told at some length, and is the same.</p>" for k in range(9)
    )
    links = [" ".join(f"<li><a href=x>link {k}{j}</a></li>" for j in range(200)) for k in "abc"]
    pages = [f"<html><body><ul>{each}</ul><article>{story}</article></body></html>" for each in links]
    frame = spark.createDataFrame(list(enumerate(pages)), "id long, html string")
    assert run(frame, plan(), InputColumns(html_text="article")).report["removed"] == 2
    assert neardup.dedup(pages).report["removed"] == 0, "the whole pages are not alike"


@pytest.mark.slow
def test_rows_that_are_others_each_time(spark):
    frame = spark.createDataFrame([(1, "a"), (2, "b")], "id long, text string").selectExpr(
        "uuid() as id", "text"
    )
    with pytest.raises(InputError, match="nondeterministic"):
        engine.dedup(frame)
    kept = frame.persist()
    try:
        assert engine.dedup(kept).report["documents"] == 2
    finally:
        kept.unpersist()


def test_what_is_no_frame(table):
    for other in (table, [1, 2], None):
        with pytest.raises(ParameterError, match="a DataFrame of Spark"):
            engine.dedup(other)


def test_names_that_neardup_uses(spark):
    frame = spark.createDataFrame([(1, "a", 2)], "id long, text string, _neardup_id long")
    with pytest.raises(InputError, match="rename it"):
        engine.dedup(frame)


@pytest.mark.slow
def test_settings_of_the_session(spark):
    """Those that a run needs are set back, and one that means nothing is refused."""
    frame = spark.createDataFrame([(1, "a"), (2, "b")], "id long, text string")
    before = {name: spark.conf.get(name) for name in RUNTIME}
    engine.dedup(frame)
    assert before == {name: spark.conf.get(name) for name in RUNTIME}
    spark.conf.set("spark.neardup.partitions", "abc")
    try:
        with pytest.raises(ParameterError, match="a whole number of at least 1"):
            engine.dedup(frame)
    finally:
        spark.conf.unset("spark.neardup.partitions")


@pytest.mark.slow
def test_storage_that_is_no_file_system_of_the_workers(spark, table, tmp_path):
    """Input and stages behind another scheme, as on a cluster's storage: texts travel in rows."""
    hadoop = spark._jsc.hadoopConfiguration()
    hadoop.set("fs.viewfs.mounttable.corpora.link./data", f"file://{tmp_path}")
    spark.createDataFrame(table).write.parquet("viewfs://corpora/data/in")
    frame, work = spark.read.parquet("viewfs://corpora/data/in"), "viewfs://corpora/data/work"
    result = engine.dedup(frame, work_dir=work)
    result.kept.write.parquet("viewfs://corpora/data/kept")
    expected = local_result(table)
    assert rows(result.clusters.toArrow()) == expected["clusters"]
    assert spark.read.parquet(str(tmp_path / "kept")).count() == len(expected["kept"])
    assert (tmp_path / "work" / "manifest.json").exists() and not (tmp_path / "work" / "side-files").exists()
    again = engine.dedup(frame, work_dir=work).report
    assert not again["seconds"] and again["removed"] == len(expected["removed"])
