"""Statistics on disk: what comes back is what was counted, and nothing else is read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup
from neardup.errors import NeardupError, OutputError, StatisticsError
from neardup.statistics import Frequencies, Statistics
from neardup.statistics.file import load_statistics, read_header, save_statistics


def example(size: int = 5000) -> Statistics:
    random = np.random.default_rng(1)
    keys = np.unique(random.integers(0, 2**64, size, dtype=np.uint64))
    table = Frequencies(keys, random.integers(2, 99, len(keys)), least=2, slack=1)
    return Statistics(
        77, "words", {"phrases": table, "words": Frequencies(keys[:9], np.arange(1, 10))}, "clusters"
    )


def test_there_and_back(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    header = save_statistics(example(), path)
    again = load_statistics(path)
    assert again.digest == example().digest == header["digest"]
    assert (again.documents, again.text, again.df_unit) == (77, "words", "clusters")
    assert (again.tables["phrases"].least, again.tables["phrases"].slack) == (2, 1)
    stored = json.loads(pq.read_metadata(path).metadata[b"neardup"])
    assert stored == header == read_header(path)
    assert stored["neardup"] == neardup.__version__
    assert pq.read_table(path).column_names == ["table", "feature", "documents"]


def test_empty_tables(tmp_path: Path) -> None:
    nothing = Statistics(0, "words", {"phrases": Frequencies(np.zeros(0, np.uint64), np.zeros(0, np.int64))})
    save_statistics(nothing, tmp_path / "a.parquet")
    assert load_statistics(tmp_path / "a.parquet").digest == nothing.digest


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StatisticsError, match="does not exist"):
        load_statistics(tmp_path / "none.parquet")
    (tmp_path / "text.parquet").write_text("hello")
    with pytest.raises(StatisticsError, match="not a statistics file"):
        load_statistics(tmp_path / "text.parquet")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    with pytest.raises(StatisticsError, match="neardup stats build"):
        load_statistics(tmp_path / "other.parquet")
    header = {**save_statistics(example(), tmp_path / "a.parquet"), "format": 99}
    table = pq.read_table(tmp_path / "a.parquet")
    pq.write_table(table.replace_schema_metadata({"neardup": json.dumps(header)}), tmp_path / "new.parquet")
    with pytest.raises(StatisticsError, match="format 99 of neardup"):
        load_statistics(tmp_path / "new.parquet")


def test_damage_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    save_statistics(example(), path)
    whole = path.read_bytes()
    for place in range(4, len(whole) - 4, len(whole) // 60):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            assert load_statistics(path).digest == example().digest  # a byte that nobody reads
        except NeardupError as error:
            assert isinstance(error, StatisticsError)


def test_nothing_is_overwritten_unless_asked(tmp_path: Path) -> None:
    save_statistics(example(), tmp_path / "a.parquet")
    with pytest.raises(OutputError):
        save_statistics(example(), tmp_path / "a.parquet")
    save_statistics(example(), tmp_path / "a.parquet", force=True)
