"""Data of other libraries, given back in its own type; and progress in Python."""

from __future__ import annotations

import sys
import types

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import neardup
from neardup.engines.core.bars import BarProgress, in_notebook, shown_progress
from neardup.engines.core.progress import Progress
from neardup.errors import InputError

FOX = "the quick brown fox jumps over the lazy dog and runs away"
ROWS = [
    {"id": "a", "text": FOX, "n": 1},
    {"id": "b", "text": "something else entirely, different from all of the others", "n": 2},
    {"id": "c", "text": FOX, "n": 3},
    {"id": "d", "text": FOX + " again", "n": None},
]
KEPT = [ROWS[1], ROWS[3]]


def result(data, **options):
    return neardup.dedup(data, threads=1, **options)


@pytest.fixture(scope="module")
def datasets():
    found = pytest.importorskip("datasets")
    found.disable_progress_bars()
    return found


@pytest.mark.parametrize("form", ["plain", "selected", "formatted"])
def test_a_dataset_comes_back_as_a_dataset(datasets, form):
    data = datasets.Dataset.from_list(ROWS)
    if form == "selected":
        data = datasets.Dataset.from_list([{"id": "z", "text": "left out", "n": 0}, *ROWS]).select(
            range(1, 5)
        )
    if form == "formatted":
        data = data.with_format("numpy")
    found = result(data)
    assert type(found.kept) is datasets.Dataset and found.kept.with_format(None).to_list() == KEPT
    assert len(found.removed) == 2 and found.kept.format == data.format


def test_the_splits_of_a_dictionary_are_compared_together(datasets):
    data = datasets.DatasetDict(
        train=datasets.Dataset.from_list(ROWS[:2]), test=datasets.Dataset.from_list(ROWS[2:])
    )
    found = result(data)
    assert type(found.kept) is datasets.DatasetDict and list(found.kept) == ["train", "test"]
    assert {name: split.to_list() for name, split in found.kept.items()} == {
        "train": KEPT[:1],
        "test": KEPT[1:],
    }
    assert found.report["inputs"] == ["train", "test"]
    with pytest.raises(InputError, match="no splits"):
        result(datasets.DatasetDict())


def test_a_stream_comes_back_as_a_stream(datasets):
    def rows():
        yield from ROWS

    data = datasets.IterableDataset.from_generator(rows)
    found = result(data)
    assert isinstance(found.kept, datasets.IterableDataset) and list(found.kept) == KEPT
    assert [row["id"] for row in found.removed] == ["a", "c"]
    splits = result(datasets.IterableDatasetDict({"train": data}))
    assert list(splits.kept["train"]) == KEPT
    with pytest.raises(InputError, match="is empty"):
        result(datasets.IterableDataset.from_generator(lambda: iter(())))


def test_streams_with_rows_of_several_kinds_are_one_line(datasets):
    data = datasets.IterableDataset.from_generator(
        lambda: iter([{"text": "a"}] * 1000 + [{"words": "b"}] * 2)
    )
    with pytest.raises(InputError, match="not of one kind") as error:
        result(data)
    assert "\n" not in str(error.value)


def test_a_relation_comes_back_as_a_relation(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "a.parquet")
    found = result(duckdb.sql(f"SELECT id, text FROM '{tmp_path}/a.parquet' ORDER BY id")).kept
    assert type(found) is duckdb.DuckDBPyRelation
    assert found.fetchall() == [(row["id"], row["text"]) for row in KEPT]


def test_frames_come_back_as_frames():
    kept = result(pd.DataFrame(ROWS)).kept
    assert isinstance(kept, pd.DataFrame) and kept["id"].tolist() == ["b", "d"] and list(kept.index) == [1, 3]
    eager, lazy = result(pl.DataFrame(ROWS)).kept, result(pl.DataFrame(ROWS).lazy()).kept
    assert isinstance(eager, pl.DataFrame) and isinstance(lazy, pl.LazyFrame)
    assert eager.to_dicts() == lazy.collect().to_dicts() == KEPT


def test_lists_come_back_as_lists():
    assert result(ROWS).kept == KEPT
    assert result([row["text"] for row in ROWS]).kept == [row["text"] for row in KEPT]


def test_anything_with_an_arrow_stream_is_read():
    class Table:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.Table.from_pylist(ROWS).__arrow_c_stream__(requested_schema)

    assert result(Table()).kept.to_pylist() == KEPT
    reader = pa.Table.from_pylist(ROWS).to_reader()
    assert result(reader).kept.to_pylist() == KEPT


# --- progress ------------------------------------------------------------------------------------------------------


def test_bars_are_drawn_if_they_are_wanted(capsys):
    result(ROWS, progress=False), result(ROWS)
    assert capsys.readouterr().err == ""
    with BarProgress() as bars:
        assert bars._bars is not None
        result(ROWS, progress=bars)
    assert set(bars.seconds) >= {"candidates"}
    result(ROWS, progress=True)


def test_a_notebook_has_bars_without_being_asked(monkeypatch):
    shell = type("ZMQInteractiveShell", (), {})()
    assert not in_notebook()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert in_notebook()
    with shown_progress(None) as shown:
        assert isinstance(shown, BarProgress) and shown._bars is not None
    mine = Progress()
    with shown_progress(mine) as shown:
        assert shown is mine
