"""A parquet file whose row groups are encoded in threads is the file that one thread writes, byte for byte."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.documents import row_groups
from neardup.documents.parquet_writer import ParquetWriter
from neardup.documents.row_groups import RowGroupWriter
from neardup.documents.source import Batch

TABLES = {
    "texts": pa.table({"id": range(700), "text": [f"Überall {n} " * (n % 90) for n in range(700)]}),
    "kinds": pa.table(
        {
            "words": pa.array(["a", "b", None, "a"] * 100).dictionary_encode(),
            "lists": [[1, None], [], None, [3]] * 100,
            "truth": [True, None, False, True] * 100,
            "nested": [{"x": 1.5, "y": "é"}, None] * 200,
        }
    ).replace_schema_metadata({"made": "by hand"}),
    "nothing": pa.table({"id": pa.array([], pa.int64()), "text": pa.array([], pa.string())}),
}


def numbered(rows: pa.RecordBatch) -> Batch:
    return Batch("x", np.arange(rows.num_rows), rows)


def written(path: Path, table: pa.Table, rows: int, threads: int, codec: str) -> bytes:
    writer = ParquetWriter(path, table.schema, None, codec, threads)
    for batch in table.to_batches(rows):
        writer.write(numbered(batch))
    writer.close()
    return path.read_bytes()


@pytest.mark.parametrize("threads", [2, 3, 20])
@pytest.mark.parametrize("codec", ["zstd", "zstd-fast", "uncompressed"])
@pytest.mark.parametrize("name", TABLES)
def test_bytes_are_those_of_one_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, codec: str, threads: int
) -> None:
    monkeypatch.setattr("neardup.documents.parquet_writer.GROUP_BYTES", 1)
    table, rows = TABLES[name], 20
    alone = written(tmp_path / "alone.parquet", table, rows, 1, codec)
    together = written(tmp_path / "together.parquet", table, rows, threads, codec)
    assert together == alone
    assert pq.ParquetFile(tmp_path / "together.parquet").num_row_groups == -(-len(table) // rows)
    assert pq.read_table(tmp_path / "together.parquet").equals(table)


def test_a_group_that_is_larger_than_its_buffer_is_encoded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = TABLES["texts"]
    monkeypatch.setattr(row_groups, "LEAST_ROOM", 100 - table.nbytes * 5 // 4)
    found = [written(tmp_path / str(threads), table, 700, threads, "zstd") for threads in (1, 2)]
    assert found[0] == found[1]


@pytest.mark.parametrize("groups", [1, 10])
def test_an_error_of_the_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, groups: int) -> None:
    def failing(handle: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(row_groups, "SYNC_BYTES", 1)
    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OSError, match="Input/output"):
        written(tmp_path / "file", TABLES["texts"], -(-700 // groups), 2, "zstd")


@pytest.mark.parametrize("groups", [1, 10])
def test_a_full_disk_is_told_and_ends_all_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, groups: int
) -> None:
    def full(self: Any, view: memoryview) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(RowGroupWriter, "_put", full)
    table = TABLES["texts"]
    writer = ParquetWriter(tmp_path / "file", table.schema, None, "zstd", 2)
    with pytest.raises(OSError, match="No space"):
        try:
            for _ in range(groups):
                writer.write(numbered(table.to_batches()[0]))
                writer._flush()
        finally:
            writer.close()
    assert writer._file is not None and writer._file._pool._shutdown  # type: ignore[union-attr]
