"""Row groups put together are the file that one writer would have written."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.documents import Batch, Problems, open_inputs
from neardup.documents.splice import Splicer, read_struct, read_varint, write_struct, write_varint
from neardup.documents.write_parquet import ParquetWriter, RowGroups, ThreadedRowGroups

TABLES = {
    "texts": pa.table({"id": range(300), "text": [f"text {k} " * (k % 40) for k in range(300)]}),
    "nested": pa.table({"a": [[1, 2], None, []] * 20, "b": [{"x": 1.5, "y": None}] * 60}),
    "coded": pa.table({"c": pa.array(["red", "blue", None] * 50).dictionary_encode()}),
    "flags": pa.table({"t": [True, False, None] * 30, "empty": [None] * 90}),
}


@pytest.mark.parametrize("codec", ["zstd", "zstd-fast", "snappy", "gzip", "uncompressed"])
@pytest.mark.parametrize("name", TABLES)
def test_threads_write_the_same_bytes(tmp_path, name, codec):
    table = TABLES[name]
    for threads, kind in ((1, RowGroups), (2, ThreadedRowGroups), (5, ThreadedRowGroups)):
        groups = kind(tmp_path / f"{threads}.parquet", table.schema, codec, threads)
        for start in range(0, len(table), 7):
            groups.add(table.slice(start, 7))
        groups.close()
    written = [(tmp_path / f"{threads}.parquet").read_bytes() for threads in (1, 2, 5)]
    assert written[0] == written[1] == written[2]
    assert pq.read_table(tmp_path / "2.parquet").equals(table)
    assert pq.ParquetFile(tmp_path / "2.parquet").metadata.num_row_groups == -(-len(table) // 7)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_file_without_rows_has_its_columns(tmp_path, threads):
    writer = ParquetWriter(tmp_path / "a.parquet", TABLES["texts"].schema, None, "zstd", threads)
    writer.close()
    assert pq.read_table(tmp_path / "a.parquet").equals(TABLES["texts"].slice(0, 0))


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_are_chosen_and_kept_in_order(tmp_path, threads):
    (batch,) = open_inputs([TABLES["texts"]])[0].read(None, Problems())
    writer = ParquetWriter(tmp_path / "a.parquet", TABLES["texts"].schema, None, "zstd", threads)
    rows = [k for k in range(300) if k % 9 != 4]
    writer.write(Batch("a", batch.numbers, batch.columns), pa.array(rows).to_numpy())
    writer.close()
    assert pq.read_table(tmp_path / "a.parquet").equals(TABLES["texts"].take(rows))


@given(st.integers(0, 2**64))
def test_integers_of_a_footer_round_trip(value):
    assert read_varint(write_varint(value), 0) == (value, len(write_varint(value)))


@pytest.mark.parametrize("name", TABLES)
def test_a_footer_that_is_read_and_written_is_the_same(name):
    sink = io.BytesIO()
    pq.write_table(TABLES[name], sink, row_group_size=20, write_page_index=True)
    data = sink.getvalue()
    footer = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
    fields, end = read_struct(footer, 0)
    assert end == len(footer) and write_struct(fields) == footer


def test_one_piece_is_itself():
    sink, out = io.BytesIO(), io.BytesIO()
    pq.write_table(TABLES["texts"], sink)
    splicer = Splicer(out)
    splicer.add(sink.getvalue())
    splicer.close()
    assert out.getvalue() == sink.getvalue()
