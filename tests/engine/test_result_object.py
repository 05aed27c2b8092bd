"""What `dedup` gives back: documents in the kind that was given, tables, and a report."""

from __future__ import annotations

import json

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import neardup
from corpora import corpus

TEXTS = [
    "the quick brown fox jumps over the lazy dog and runs away",
    "something else entirely, different from all of the others here",
    "the quick brown fox jumps over the lazy dog and runs off",
    "",
    "the quick brown fox jumps over the lazy dog and runs away",
]
KEPT, REMOVED = [0, 1, 3], [2, 4]
TABLE = pa.table(
    {
        "id": ["a", "b", "c", "d", "e"],
        "text": TEXTS,
        "score": [1.5, None, 2.5, 3.5, 4.5],
        "tags": [["x"], [], None, ["y", "z"], ["x"]],
    }
)


@pytest.mark.parametrize("make", [list, tuple, iter])
def test_strings_come_back_as_a_list(make):
    texts = TEXTS[:4]
    result = neardup.dedup(make(texts))
    assert result.kept == [texts[x] for x in (0, 1, 3)]
    assert result.removed == [texts[2]]


@pytest.mark.parametrize("make", [pd.Series, pl.Series])
def test_a_series_comes_back_as_one(make):
    result = neardup.dedup(make(TEXTS))
    assert type(result.kept) is make and list(result.kept) == [TEXTS[x] for x in KEPT]
    assert type(result.removed) is make and list(result.removed) == [TEXTS[x] for x in REMOVED]


def test_a_missing_text_among_strings_comes_back_as_it_was():
    result = neardup.dedup(["one", None, "one"])
    assert (result.kept, result.removed) == (["one", None], ["one"])
    assert result.problems.counts == {"no text": 1}


def test_a_pandas_frame_comes_back_as_one_with_its_index_and_types():
    frame = TABLE.to_pandas()
    frame.index = pd.Index([10, 10, 20, 30, 40], name="mine")
    before = frame.copy(deep=True)
    result = neardup.dedup(frame)
    pd.testing.assert_frame_equal(result.kept, frame.iloc[KEPT])
    pd.testing.assert_frame_equal(result.removed, frame.iloc[REMOVED])
    pd.testing.assert_frame_equal(frame, before)


def test_a_polars_frame_comes_back_as_one():
    frame = pl.from_arrow(TABLE)
    result = neardup.dedup(frame)
    assert result.kept.equals(frame[KEPT])
    assert result.removed.equals(frame[REMOVED])


def test_an_arrow_table_comes_back_as_one():
    result = neardup.dedup(TABLE)
    assert result.kept.equals(TABLE.take(KEPT))
    assert result.removed.equals(TABLE.take(REMOVED))
    assert neardup.dedup(TABLE.to_batches()[0]).kept.equals(TABLE.take(KEPT))


def written(folder, suffix):
    """The table in a file of the format, without what the format cannot hold."""
    path, flat = folder / f"corpus{suffix}", TABLE.drop_columns(["tags"])
    if suffix == ".parquet":
        pq.write_table(TABLE, path)
    elif suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in TABLE.to_pylist()))
    elif suffix == ".csv":
        pa.csv.write_csv(flat, path)
    else:
        path.mkdir()
        for name, text in zip(TABLE["id"].to_pylist(), TEXTS, strict=True):
            (path / f"{name}.txt").write_text(text)
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv", "-folder"])
@pytest.mark.parametrize("kind", [str, lambda path: path, lambda path: [path]], ids=["text", "path", "list"])
def test_a_path_comes_back_as_an_arrow_table_of_all_columns(suffix, kind, tmp_path):
    result = neardup.dedup(kind(written(tmp_path, suffix)))
    assert result.kept["text"].to_pylist() == [TEXTS[x] for x in KEPT]
    assert result.removed["text"].to_pylist() == [TEXTS[x] for x in REMOVED]
    if suffix in (".parquet", ".jsonl"):
        assert result.kept.column_names == TABLE.column_names
        assert result.kept.to_pylist() == TABLE.take(KEPT).to_pylist()
    assert result.kept.schema == result.removed.schema


def test_all_kept_or_all_removed_are_empty_in_the_same_kind():
    for documents in (TABLE.slice(0, 2), TABLE.slice(0, 2).to_pandas(), pl.from_arrow(TABLE.slice(0, 2))):
        result = neardup.dedup(documents)
        assert len(result.kept) == 2 and len(result.removed) == 0
        assert type(result.removed) is type(result.kept) is type(documents)
    assert neardup.dedup(["same", "same"], keep="none").kept == []
    removed = neardup.dedup(TABLE.slice(0, 2)).removed
    assert removed.schema == TABLE.schema


def test_several_files_of_different_columns_are_put_together(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": "x", "text": "one two three", "n": 1}\n')
    (tmp_path / "b.jsonl").write_text('{"id": "y", "text": "one two three", "m": "z"}\n')
    result = neardup.dedup([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    assert result.kept.to_pylist() == [{"id": "x", "text": "one two three", "n": 1, "m": None}]
    assert result.removed.to_pylist() == [{"id": "y", "text": "one two three", "n": None, "m": "z"}]


def test_several_files_whose_columns_differ_in_type_are_put_together(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": 1, "text": "one two three"}\n')
    (tmp_path / "b.jsonl").write_text('{"id": "y", "text": "one two three"}\n')
    result = neardup.dedup([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    assert result.kept["id"].to_pylist() == ["1"] and result.removed["id"].to_pylist() == ["y"]


def test_the_folder_of_a_single_text_is_what_it_says_and_ids_are_its_names(tmp_path):
    result = neardup.dedup(written(tmp_path, "-folder"))
    assert result.clusters["id"].to_pylist() == ["a.txt", "e.txt", "c.txt"], "the kept first, then by length"


# --- tables --------------------------------------------------------------------------------------------------


def test_the_columns_of_pairs_and_clusters():
    result = neardup.dedup(TABLE)
    assert result.pairs.schema.names == [
        "left",
        "right",
        "similarity",
        "containment",
        "relation",
        "reason",
        "bridge",
    ]
    assert result.clusters.schema.names == [
        "id", "cluster", "leader", "keep", "duplicate_of", "similarity", "containment", "relation", "evidence",
        "size", "weakest_link",
    ]  # fmt: skip
    assert result.pairs.schema.field("left").type == pa.string()
    numbered = neardup.dedup(TABLE.drop_columns(["id"]))
    assert numbered.pairs.schema.field("left").type == pa.int64()
    assert numbered.clusters["id"].to_pylist() == [0, 4, 2], "a table without ids is numbered from 0"


def test_tables_without_a_row_have_their_columns():
    result = neardup.dedup(["one", "two"])
    assert result.pairs.num_rows == 0 and result.pairs.schema == neardup.dedup(
        ["one", "one"]
    ).pairs.schema.with_metadata(result.pairs.schema.metadata)
    assert result.clusters.num_rows == 0 and "weakest_link" in result.clusters.column_names


def test_annotations_have_a_row_for_every_document_in_order():
    table = corpus(seed=3, families=20)
    result = neardup.dedup(table)
    clusters = {row["id"]: row for row in result.clusters.to_pylist()}
    names = ["keep", "cluster", "duplicate_of", "similarity", "containment", "relation", "evidence"]
    assert result.annotations.column_names == names
    alone = {
        "keep": True,
        "cluster": None,
        "duplicate_of": None,
        "similarity": None,
        "containment": None,
        "relation": None,
        "evidence": None,
    }
    for name, row in zip(table["id"].to_pylist(), result.annotations.to_pylist(), strict=True):
        assert row == ({column: clusters[name][column] for column in names} if name in clusters else alone)


def test_the_leader_comes_first_in_its_cluster_and_clusters_stand_together():
    rows = neardup.dedup(corpus(seed=3)).clusters.to_pylist()
    names = [row["cluster"] for row in rows]
    assert names == sorted(names)
    firsts = [row for k, row in enumerate(rows) if k == 0 or names[k - 1] != row["cluster"]]
    assert all(row["id"] == row["leader"] and row["keep"] for row in firsts)


# --- the report ----------------------------------------------------------------------------------------------


def test_the_report_counts_what_the_tables_hold():
    table = corpus(seed=7)
    result = neardup.dedup(table, pairs="all")
    report, clusters = result.report, result.clusters.to_pylist()
    texts = table["text"].to_pylist()
    assert report["documents"] == len(table) == report["kept"] + report["removed"]
    assert report["removed"] == sum(not row["keep"] for row in clusters) == len(result.removed)
    assert report["clusters"] == len({row["cluster"] for row in clusters})
    worded = [text for text in texts if text.strip()]
    assert report["exact_copies"] == len(worded) - len(set(worded))
    assert (report["without_tokens"], report["without_features"]) == (len(texts) - len(worded), 0)
    assert report["without_tokens"] == sum(not text.strip(" \n\t\u2028") for text in texts)
    assert report["text_bytes"] == sum(len(text.encode()) for text in texts)
    assert report["digest"] == result.plan.digest and report["plan"] == result.plan.to_dict()
    assert 0.99 <= report["recall_at_threshold"] <= 1
    sizes = [cluster["size"] for cluster in report["largest_clusters"]]
    assert sizes == sorted((row["size"] for row in clusters if row["id"] == row["leader"]), reverse=True)[:10]
    first = report["largest_clusters"][0]
    assert first["weakest_link"] == pytest.approx(
        next(row["weakest_link"] for row in clusters if row["cluster"] == first["cluster"]), abs=1e-4
    )
    assert {"read and sign", "clusters"} <= report["seconds"].keys() == report["cpu_seconds"].keys()
    json.dumps(report, allow_nan=False)


def test_the_recall_of_bands_given_by_hand_is_reported():
    report = neardup.dedup(["one", "two"], threshold=0.75, bands=14, rows=8).report
    assert report["recall_at_threshold"] == pytest.approx(1 - (1 - 0.75**8) ** 14, abs=1e-6)


def test_a_result_says_in_a_line_what_it_is():
    assert repr(neardup.dedup(TABLE)) == "<neardup result: 5 documents, 3 kept, 1 cluster, 1 verified pair>"
