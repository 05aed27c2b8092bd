"""Label files that others made: used, or refused in one sentence that names the file; never a traceback."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import neardup
from neardup.cli import group
from neardup.documents.values import known_times
from neardup.errors import NeardupError
from neardup.evaluate import label_files
from neardup.evaluate.label_files import read_label_table, read_labels

IDS = pa.array(["a", "b", "c", "d"])
PAIRS = [{"id_a": "a", "id_b": "b", "label": "1"}, {"id_a": "a", "id_b": "c", "label": "0"}]
CLUSTERS = [{"id": "a", "cluster": "x"}, {"id": "b", "cluster": "x"}, {"id": "c", "cluster": "y"}]
VALUES = [
    None, True, -1, 10**30, 1e308, "", " ", "x" * 100_000, [], [["a"]], {}, {"id": "a"}, "a\nb", "\x1b[2J", "nan",
    "inf", "-Infinity", "\0", "=1+1", "a,b", '"', "\u202e",
]  # fmt: skip


def refused_or_read(path: Path) -> str:
    """The sentence of the refusal; "" if the labels were read."""
    try:
        read_labels(path, IDS)
    except NeardupError as error:
        assert "\n" not in str(error) and "\x1b" not in str(error)
        return str(error)
    return ""


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("rows", [PAIRS, CLUSTERS], ids=["pairs", "clusters"])
def test_any_hostile_cell_is_used_or_refused(tmp_path, rows):
    assert refused_or_read(write(tmp_path / "labels.jsonl", rows)) == ""
    for place in range(len(rows)):
        for name in rows[place]:
            for value in VALUES:
                hostile = [dict(row) for row in rows]
                hostile[place][name] = value
                refused_or_read(write(tmp_path / "labels.jsonl", hostile))
            refused_or_read(write(tmp_path / "labels.jsonl", [{}, *hostile]))


@pytest.mark.parametrize("cell", ["inf", "-inf", "Infinity", "nan", "1e999"])
def test_a_grade_is_a_finite_number(tmp_path, cell):
    said = refused_or_read(
        write(tmp_path / "labels.jsonl", [*PAIRS, {"id_a": "b", "id_b": "c", "label": cell}])
    )
    assert "record 3" in said and "a label must be" in said


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_lists_and_objects_are_no_labels(tmp_path, suffix):
    path = tmp_path / f"labels.{suffix}"
    rows = [{"id": "a", "cluster": ["x", "y"]}, {"id": "b", "cluster": ["x"]}]
    pq.write_table(pa.Table.from_pylist(rows), path) if suffix == "parquet" else write(path, rows)
    assert "'cluster' holds lists or objects" in refused_or_read(path)


def test_a_file_that_is_nested_or_long_beyond_measure_is_refused(tmp_path, monkeypatch):
    deep = write(tmp_path / "deep.jsonl", CLUSTERS)
    with deep.open("a") as file:
        file.write('{"id": "d", "cluster": ' + "[" * 100_000 + "]" * 100_000 + "}\n")
    assert "record 4: invalid JSON: nested deeper than 512 levels" in refused_or_read(deep)
    long = write(tmp_path / "long.jsonl", [*CLUSTERS, {"id": "d", "cluster": "x" * (17 << 20)}])
    assert "record too long" in refused_or_read(long)
    monkeypatch.setattr(label_files, "LIMITS", label_files.Limits(record=16 << 20, decompressed=1 << 20))
    bomb = tmp_path / "bomb.csv.gz"
    bomb.write_bytes(gzip.compress(b"id,cluster\n" + b"a,x\n" * (8 << 20)))
    assert "too much data" in refused_or_read(bomb)


@pytest.mark.parametrize("name", ["labels.csv", "labels.tsv", "labels.jsonl", "labels.parquet"])
def test_flipped_bytes_end_in_a_sentence(tmp_path, name):
    path = tmp_path / name
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(CLUSTERS), path)
    elif path.suffix == ".jsonl":
        write(path, CLUSTERS)
    else:
        mark = "," if path.suffix == ".csv" else "\t"
        path.write_text(
            "".join(f"{mark.join(map(str, row))}\n" for row in [("id", "cluster"), ("a", "x"), ("b", "x")])
        )
    good, draw = path.read_bytes(), random.Random(name)
    for _ in range(150):
        data = bytearray(good)
        for _ in range(draw.randrange(1, 4)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        path.write_bytes(bytes(data[: draw.randrange(len(data) + 1)] if draw.random() < 0.3 else data))
        refused_or_read(path)


def test_the_commands_say_it_in_one_line(tmp_path):
    documents = write(tmp_path / "in.jsonl", [{"id": one, "text": f"text {one}"} for one in "abcd"])
    labels = write(tmp_path / "labels.jsonl", [{"id": "a", "cluster": {"x": 1}}])
    for command in ("evaluate", "tune", "learn"):
        words = [command, str(documents), "--labels", str(labels)]
        words += ["-o", str(tmp_path / "model.json")] if command == "learn" else []
        done = CliRunner().invoke(group, words)
        assert isinstance(done.exception, NeardupError), (command, done.exception)
        assert "\n" not in str(done.exception)


TIMES = {
    "beyond 9999": pa.array([1, 2**62, None], pa.timestamp("us")),
    "days": pa.array([1, 2**30, 3], pa.date32()),
    "duration": pa.array([1, 2**62, 3], pa.duration("s")),
    "nanoseconds": pa.array([1001, 2**62, 3], pa.timestamp("ns")),
    "zone": pa.array([1, 2, 3], pa.timestamp("us", "Nowhere/At_All")),
    "time": pa.array([1, 2, 3], pa.time64("ns")),
}


@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES)
def test_times_that_python_has_no_value_for_are_none(tmp_path, times):
    found = known_times(times)
    assert len(found) == 3 and len(found.to_pylist()) == 3
    assert known_times(pa.chunked_array([times])).to_pylist() == found.to_pylist()
    path = tmp_path / "in.parquet"
    pq.write_table(
        pa.table({"id": ["a", "b", "c"], "text": ["one two"] * 3, "d": times, "cluster": times}), path
    )
    assert neardup.dedup(path, keep="newest:d").kept.num_rows == 1
    done = CliRunner().invoke(group, ["collapse", str(path), "--time-column", "d"])
    assert done.exit_code == 0 or isinstance(done.exception, NeardupError), done.exception
    assert len(read_label_table(str(path)).columns["cluster"]) == 3
