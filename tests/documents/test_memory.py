"""Tables, frames and strings in memory."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from reading import batches, rows

from neardup.documents import BATCH_ROWS, document_ids, document_texts, joined_ids, open_inputs
from neardup.errors import InputError

COLUMNS = {"id": [1, 2, 3], "text": ["a", "b", None]}


@pytest.mark.parametrize(
    "data",
    [
        pa.table(COLUMNS),
        pa.record_batch(COLUMNS),
        pa.table({"id": [1, 2, 3], "text": pa.array(["a", "b", None], pa.string_view())}),
        pd.DataFrame(COLUMNS).astype({"text": object}),
        pd.DataFrame(COLUMNS),
        pl.DataFrame(COLUMNS),
        pl.DataFrame(COLUMNS).lazy(),
    ],
    ids=["table", "batch", "views", "pandas objects", "pandas", "polars", "lazy"],
)
def test_tables_and_frames(data):
    (batch,), problems = batches(data, ["id", "text"])
    assert batch.columns["id"].to_pylist() == [1, 2, 3]
    assert document_texts(batch, "text", problems).to_pylist() == ["a", "b", ""]
    assert batch.numbers.tolist() == [1, 2, 3]
    assert open_inputs([data])[0].rows == 3


def test_strings():
    found, _ = rows(iter(["a", "b\ud800", None]))
    assert found == [{"text": "a"}, {"text": "b\ufffd"}, {"text": None}]
    (batch,), _ = batches(["a", "b"])
    assert document_ids(batch, None).to_pylist() == ["input:1", "input:2"]


@pytest.mark.parametrize("data", [pd.Series(["a", "b"], name="text"), pl.Series("text", ["a", "b"])])
def test_series(data):
    assert rows(data)[0] == [{"text": "a"}, {"text": "b"}]


@pytest.mark.parametrize("data", [5, {"text": "a"}, [1, 2], b"text"])
def test_other_things_are_refused(data):
    with pytest.raises(InputError):
        open_inputs([data])


def test_many_rows_are_cut():
    data = pa.table({"text": ["x"] * (BATCH_ROWS + 1)})
    assert [len(batch) for batch in batches(data)[0]] == [BATCH_ROWS, 1]
    assert [batch.numbers[0] for batch in batches(data)[0]] == [1, BATCH_ROWS + 1]


def test_ids_of_several_sources():
    numbered = document_ids(batches(pa.table({"id": [1, 2]}))[0][0], "id")
    named = document_ids(batches(pa.table({"id": ["x", None]}))[0][0], "id")
    assert joined_ids([numbered, numbered]).type == pa.int64()
    assert joined_ids([numbered, named]).to_pylist() == ["1", "2", "x", "input:2"]
