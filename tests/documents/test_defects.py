"""Every format and every defect through the whole path: what is good is used, what is bad is said, nothing stops."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import defects
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from defects import SECRET, TEXTS, Defect
from reading import put

import neardup
from neardup.documents import Limits, Problems, open_inputs, size_in_bytes, watched
from neardup.errors import InputError, ParameterError, RecordError

TABLE = [
    *(("in.jsonl", defects.jsonl(), name, defect) for name, defect in defects.JSONL.items()),
    *(("in.csv", defects.csv(), name, defect) for name, defect in defects.CSV.items()),
    *(("in.tsv", defects.csv("\t"), name, defect) for name, defect in defects.LINES.items()),
    *(("in.lines", defects.lines(), name, defect) for name, defect in defects.PLAIN.items()),
    *(("in.parquet", defects.parquet(), name, defect) for name, defect in defects.PARQUET.items()),
    *(("in.mbox", defects.mbox(), name, defect) for name, defect in defects.MAIL.items()),
]


def plain(text: str) -> str:
    """A text without the blanks at its end, which mail and records bring along."""
    return (text or "").strip()


LONG = [("in.mbox", "nested too deeply")]  # seconds in the parser of Python


@pytest.mark.parametrize(
    ("name", "good", "label", "defect"),
    [
        pytest.param(
            *row, id=f"{row[0][3:]}-{row[2]}", marks=[pytest.mark.slow] if (row[0], row[2]) in LONG else []
        )
        for row in TABLE
    ],
)
def test_what_is_good_is_used_and_what_is_bad_is_said(tmp_path, name, good, label, defect: Defect):
    path = put(tmp_path / name, defect.make(good))
    options = {"format": "lines"} if name == "in.lines" else {}
    expected = sorted([TEXTS[k] for k in defect.left] + list(map(plain, defect.more)))
    if not expected:
        with pytest.raises(InputError, match="no documents"):
            neardup.dedup(path, **options)
        # beside a file that can be read it is a problem, and the run goes on
        put(tmp_path / f"more.{name[3:]}", good.replace(b"d3", b"e3"))
        path, expected = [path, tmp_path / f"more.{name[3:]}"], sorted(TEXTS)
    result = neardup.dedup(path, pairs="all", threshold=0.99, duplicate_ids="rename", **options)
    for mode, file in (("annotate", "annotated.parquet"), ("remove", "kept.parquet")):
        report = result.write(tmp_path / mode, mode=mode, format="parquet")
        texts = pq.read_table(tmp_path / mode / file)["text"].to_pylist()
        assert sorted(map(plain, texts)) == expected
        assert set(report["problems"]["counts"]) == defect.kinds
    result.write(tmp_path / "same")  # in the format of the input
    listed = tmp_path / "same/problems.jsonl"
    assert listed.exists() == bool(defect.kinds)
    for line in listed.open() if defect.kinds else ():
        problem = json.loads(line)
        assert problem["file"] and problem["reason"] and problem["action"]
        assert SECRET not in line
    if defect.kinds:
        with pytest.raises(RecordError, match="without --strict") as caught:
            neardup.dedup(path, strict=True, duplicate_ids="rename", **options)
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize("share", defects.COMPRESSED.values(), ids=defects.COMPRESSED)
@pytest.mark.parametrize("codec", ["gz", "zst"])
@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_damaged_compression(tmp_path, kind, codec, share):
    """Whatever was decoded before the damage is used: at least the first of several blocks."""
    draw = random.Random(1)
    rows = [(f"d{k}", " ".join(str(draw.random()) for _ in range(10))) for k in range(5000)]
    good = "id,text\n" + "".join(f"{i},{t}\n" for i, t in rows)
    data = (good if kind == "csv" else defects.jsonl(*zip(*rows, strict=True)).decode()).encode()
    packed = gzip.compress(data) if codec == "gz" else defects.zstd(data)
    at = int(len(packed) * share)
    broken = packed[:at] if share == 0.7 else defects.flipped(packed, at, len(packed) // 5)
    put(tmp_path / f"in.{kind}.{codec}", broken)
    put(
        tmp_path / f"other.{kind}",
        defects.csv() if kind == "csv" else defects.jsonl(map("x{}".format, range(10))),
    )
    result = neardup.dedup(
        [tmp_path / f"in.{kind}.{codec}", tmp_path / f"other.{kind}"], duplicate_ids="rename"
    )
    assert 5000 * (share - 0.25) < result.report["documents"] - 10 < 5000
    kinds = result.report["problems"]["counts"]
    assert kinds[f"damaged {'gzip' if codec == 'gz' else 'zstd'} data"] == 1
    result.write(tmp_path / "out")


def test_damage_in_a_column_that_is_only_copied_costs_that_column(tmp_path):
    table = pa.table({"id": defects.IDS, "text": TEXTS, "more": [f"more {k}" for k in range(10)]})
    options = {"row_group_size": 5, "compression": "none", "use_dictionary": False}
    pq.write_table(table, tmp_path / "in.parquet", **options)
    place = pq.ParquetFile(tmp_path / "in.parquet").metadata.row_group(0).column(2).data_page_offset
    put(tmp_path / "in.parquet", defects.flipped((tmp_path / "in.parquet").read_bytes(), place, 12))
    result = neardup.dedup(tmp_path / "in.parquet")
    assert result.report["documents"] == 10 and result.problems.total == 0
    for folder in ("one", "two"):
        report = result.write(tmp_path / folder)
        assert report["problems"]["counts"] == {"damaged column": 1}, "once, however often it is written"
        kept = pq.read_table(tmp_path / folder / "kept.parquet")
        assert kept["text"].to_pylist() == TEXTS
        assert kept["more"].to_pylist() == [None] * 5 + [f"more {k}" for k in range(5, 10)]


# --- files as files -------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    put(tmp_path / "in/good.jsonl", defects.jsonl())
    return tmp_path / "in"


def kinds(folder, **options):
    """What was reported, with every good document there."""
    result = neardup.dedup(folder, **options)
    assert result.report["documents"] == 10
    return {(problem.source, problem.kind) for problem in result.problems.first}


@pytest.mark.parametrize(
    "name", ["bad.jsonl", "bad.csv", "bad.parquet", "bad.txt", "bad.mbox", "bad.jsonl.gz"]
)
def test_links_that_lead_nowhere_or_to_themselves_are_problems(folder, name):
    (folder / name).symlink_to("nowhere")
    (folder / f"self-{name}").symlink_to(f"self-{name}")
    reported = kinds(folder)
    assert {file for file, _ in reported} == {name, f"self-{name}"}
    assert {kind for _, kind in reported} <= {"unreadable file", "damaged parquet"}


def test_folders_that_are_links_to_each_other(folder):
    (folder / "a").mkdir()
    (folder / "a/b").symlink_to(folder, target_is_directory=True)
    (folder / "self").symlink_to("self")
    assert kinds(folder) == set()


@pytest.mark.parametrize("name", ["bad.txt", "bad.mbox"])
def test_a_file_whose_bytes_cannot_be_read(folder, name):
    """/proc/self/mem can be opened, and its first byte cannot be read by anybody."""
    if not Path("/proc/self/mem").exists():
        pytest.skip("this system has no /proc")
    (folder / name).symlink_to("/proc/self/mem")
    assert kinds(folder) == {(name, "unreadable file")}


@pytest.mark.parametrize("name", ["bad.jsonl", "bad.csv", "bad.lines"])
def test_a_disk_that_fails_in_the_middle_of_a_file(tmp_path, name, monkeypatch):
    data = {"bad.jsonl": defects.jsonl(), "bad.csv": defects.csv(), "bad.lines": defects.lines()}[name]
    put(tmp_path / name, data)

    class Failing(io.BytesIO):
        def read_buffer(self, size):
            if self.tell() == len(data):
                raise OSError(5, "Input/output error")
            return pa.py_buffer(super().read(size))

    monkeypatch.setattr("neardup.documents.blocks.Bytes.open_both", lambda self: 2 * [Failing(data)])
    result = neardup.dedup(tmp_path / name, format="lines" if name == "bad.lines" else None)
    assert result.report["documents"] == 10
    problem = result.problems.first[0]
    assert (problem.kind, problem.offset, problem.action) == (
        "read error",
        len(data),
        "rest of the file skipped",
    )


def test_a_folder_that_cannot_be_entered(folder, monkeypatch):
    put(folder / "shut/more.jsonl", "")
    listing = os.scandir

    def scandir(path):
        if str(path).endswith("shut"):
            raise PermissionError(13, "Permission denied", str(path))
        return listing(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert kinds(folder) == {("shut", "unreadable folder")}
    report = neardup.dedup(folder).write(folder.parent / "out")
    assert "kept.jsonl" in report["files"], "what cannot be read does not change the format"


@pytest.mark.parametrize("name", ["bad.jsonl", "bad.csv", "bad.parquet", "bad.txt", "bad.mbox"])
@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_file_that_vanishes(folder, name, when):
    make = {"csv": defects.csv, "parquet": defects.parquet, "jsonl": defects.jsonl, "txt": defects.lines}
    data = make.get(name[4:], defects.mbox)().replace(b"d3", b"e3")
    put(folder / name, data)
    sources = open_inputs([folder])
    other = next(source for source in sources if source.name != "good.jsonl")
    problems = Problems()
    if when == "before":
        (folder / name).unlink()
        assert list(watched(other, other.names(), problems)) == []
        assert set(problems.counts) <= {"unreadable file", "damaged parquet"} and problems.total == 1
        return
    reading = watched(other, other.names(), problems)
    assert len(next(reading)) > 0
    (folder / name).unlink()
    list(reading)
    assert problems.counts == {"removed while it was read": 1}


def test_a_file_that_grows_while_it_is_read(folder):
    problems = Problems()
    reading = watched(open_inputs([folder])[0], ["id", "text"], problems)
    next(reading)
    with (folder / "good.jsonl").open("a") as file:
        file.write('{"id": "late", "text": "too late"}\n')
    list(reading)
    assert problems.counts == {"changed while it was read": 1}


# --- caps ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["in.jsonl", "in.lines", "in.csv", "in.txt", "in.eml", "in.mbox"])
def test_a_record_beyond_the_limit_is_skipped_and_the_next_one_read(tmp_path, name):
    limits = Limits(record=4 << 20)
    long = "x" * (9 << 20)
    data = {
        "in.jsonl": defects.jsonl(["l", *defects.IDS], [long, *TEXTS]),
        "in.lines": long.encode() + b"\n" + defects.lines(),
        "in.csv": b'id,text\nl,"'
        + long.encode()
        + b"\n"
        + defects.csv().partition(b"\n")[2].replace(b'"', b""),
        "in.txt": long.encode(),
        "in.eml": b"Subject: x\n\n" + long.encode(),
        "in.mbox": b"From x\nSubject: x\n\n" + long.encode() + b"\n\n" + defects.mbox(),
    }[name].replace(b", and", b" and")
    put(tmp_path / name, data)
    found = 0
    problems = Problems()
    for source in open_inputs(
        [tmp_path / name], limits=limits, format="lines" if name == "in.lines" else None
    ):
        found += sum(len(batch) for batch in source.read(["text"], problems))
    assert found == (0 if name in ("in.txt", "in.eml") else 10)
    assert list(problems.counts) == ["malformed csv" if name == "in.csv" else "record too long"]
    assert problems.total == 1 and problems.first[0].record in (None, 1)


def test_a_bomb_ends_where_its_ratio_does(tmp_path, monkeypatch):
    monkeypatch.setattr("neardup.documents.limits.ALLOWED", 16 << 20)
    line = defects.jsonl(["b"], ["boom " * 200])
    for name, pack in (("a.jsonl.gz", gzip.compress), ("b.jsonl.zst", defects.zstd)):
        put(tmp_path / name, pack(line * 100_000))
    put(tmp_path / "c.jsonl", defects.jsonl())
    problems = Problems()
    rows = sum(
        len(b)
        for s in open_inputs([tmp_path], limits=Limits(expansion=100))
        for b in s.read(["text"], problems)
    )
    assert problems.counts == {"decompression bomb": 2} and "--max-expansion" in problems.first[0].reason
    assert 2 * 15_000 < rows < 2 * 30_000
    for limits in (Limits(expansion=1e6), Limits(expansion=1e6, decompressed=8 << 20)):
        problems = Problems()
        rows = sum(len(b) for s in open_inputs([tmp_path], limits=limits) for b in s.read(["text"], problems))
        capped = limits.decompressed == 8 << 20
        assert problems.counts == ({"too much data": 2} if capped else {})
        assert (rows < 2 * 15_000) if capped else rows == 200_010


@pytest.mark.slow
def test_a_line_without_end_in_a_bomb_takes_no_more_memory_than_its_limit(tmp_path):
    """1.5 GB without a line end, in 6 MB of zstd frames."""
    frame = defects.zstd(b"\0" * (64 << 20))
    put(tmp_path / "in.jsonl.zst", frame * 24 + defects.zstd(b"\n" + defects.jsonl()))
    script = (
        "import resource, sys, neardup\n"
        "from neardup.documents import Limits\n"
        "neardup.dedup([sys.argv[2]])\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "result = neardup.dedup(sys.argv[1], limits=Limits(record=32 << 20, expansion=1e9))\n"
        "used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before\n"
        "print(result.report['documents'], *result.problems.counts, used // 1024, sep='|')\n"
    )
    put(tmp_path / "good.jsonl", defects.jsonl())
    arguments = [sys.executable, "-c", script, tmp_path / "in.jsonl.zst", tmp_path / "good.jsonl"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    documents, kind, megabytes = done.stdout.split("|")
    assert (documents, kind) == ("10", "record too long")
    assert int(megabytes) < 200, "32 MB of line, a few copies of it, and the codec's window"


def test_a_parquet_file_of_rows_without_end(tmp_path, monkeypatch):
    """Ten million rows of nothing take a few kB on disk."""
    monkeypatch.setattr("neardup.documents.limits.ALLOWED", 1 << 20)
    table = pa.table({"text": pa.nulls(10_000_000, pa.string())})
    pq.write_table(table, tmp_path / "in.parquet")
    problems = Problems()
    batches = open_inputs([tmp_path / "in.parquet"])[0].read(["text"], problems)
    assert sum(map(len, batches)) < 10_000_000
    assert problems.counts == {"decompression bomb": 1}


@pytest.mark.parametrize(
    ("text", "size"), [("1", 1), ("64k", 1 << 16), ("1.5M", 3 << 19), ("2G", 2 << 30), ("1t", 1 << 40)]
)
def test_sizes(text, size):
    assert size_in_bytes(text) == size


@pytest.mark.parametrize("text", ["", "G", "2X", "-", "1e400", "nan"])
def test_what_is_no_size(text):
    with pytest.raises(ParameterError, match="a size such as 500M or 2G"):
        size_in_bytes(text)


def test_limits_that_make_no_sense():
    for options in ({"record": 1 << 20}, {"record": 1 << 31}, {"expansion": 0.5}, {"decompressed": 0}):
        with pytest.raises(ParameterError, match="max_"):
            Limits(**options)
