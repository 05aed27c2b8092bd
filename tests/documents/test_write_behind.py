"""A file that is written behind has all bytes in order, and an error of the disk is not lost."""

from __future__ import annotations

import errno
import os
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.documents import write_behind
from neardup.documents.write_behind import written_behind


@pytest.mark.parametrize("threads", [1, 3])
def test_bytes_arrive_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr(write_behind, "PIECE", 1000)
    source, path = random.Random(1), tmp_path / "file"
    parts = [source.randbytes(source.choice([0, 1, 700, 5000])) for _ in range(200)]
    with written_behind(path, threads) as target:
        if isinstance(target, Path):
            target.write_bytes(b"".join(parts))
        else:
            assert [target.write(part) for part in parts] == list(map(len, parts))
            assert target.tell() == sum(map(len, parts))
    assert path.read_bytes() == b"".join(parts)


def test_a_parquet_file_is_the_same(tmp_path: Path) -> None:
    table = pa.table({"text": [f"text {n} " * 50 for n in range(5000)]})
    pq.write_table(table, tmp_path / "plain.parquet", row_group_size=1000)
    with written_behind(tmp_path / "behind.parquet", 2) as target:
        pq.write_table(table, target, row_group_size=1000)
    assert (tmp_path / "plain.parquet").read_bytes() == (tmp_path / "behind.parquet").read_bytes()


@pytest.mark.parametrize("last", [False, True])
def test_an_error_surfaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: bool) -> None:
    monkeypatch.setattr(write_behind, "PIECE", 10)

    def full(self: Any, parts: list[Any]) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(write_behind._Behind, "_write", full)
    with pytest.raises(OSError, match="No space"), written_behind(tmp_path / "file", 2) as target:
        assert not isinstance(target, Path)
        for _ in range(1 if last else 10):
            target.write(b"more than ten bytes")
