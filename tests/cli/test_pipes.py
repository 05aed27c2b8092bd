"""`-o -`: documents and pairs on standard output, everything else on standard error."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from commands import ELSE, FOX, OFF, refused, run

from neardup.documents import Problems
from neardup.documents.inputs import open_inputs
from neardup.documents.writers import output_layout
from program import Program

CORPUS = "".join(
    json.dumps({"id": f"d{k}", "text": text}) + "\n" for k, text in enumerate([FOX, ELSE, OFF, FOX])
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder with the corpus."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.jsonl").write_text(CORPUS)
    return tmp_path


def test_kept_documents_go_to_standard_output_unchanged(here):
    before = sorted(here.iterdir())
    outcome = run("dedup", "-", "-o", "-", stdin=CORPUS)
    assert outcome.code == 0
    rows = CORPUS.splitlines(keepends=True)
    assert outcome.out == "".join(rows[:2])
    assert "2 kept, 2 removed" in outcome.err
    assert sorted(here.iterdir()) == before


def test_a_file_can_be_the_input_and_json_is_on_standard_error(here):
    outcome = run("dedup", "corpus.jsonl", "-o", "-", "--json", "--mode", "annotate")
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert [row["keep"] for row in rows] == [True, True, False, False]
    assert json.loads(outcome.err)["removed"] == 2


@pytest.mark.parametrize("format", ["csv", "tsv", "parquet", "jsonl.gz", "jsonl.zst"])
def test_every_format_goes_to_standard_output(here, format):
    outcome = CliRunner().invoke(Program, ["dedup", "corpus.jsonl", "-o", "-", "--output-format", format])
    assert outcome.exit_code == 0
    data = outcome.stdout_bytes
    if format == "parquet":
        assert pq.read_table(io.BytesIO(data)).column("id").to_pylist() == ["d0", "d1"]
        return
    path = here / f"back.{format}"
    path.write_bytes(data)
    ids = [
        one
        for batch in open_inputs([str(path)])[0].read(["id"], Problems())
        for one in batch.columns[0].to_pylist()
    ]
    assert ids == ["d0", "d1"]


def test_pairs_go_to_standard_output_as_json_lines(here):
    outcome = run("pairs", "-", "-o", "-", "--threshold", "0.5", stdin=CORPUS)
    assert outcome.code == 0
    pairs = [json.loads(line) for line in outcome.out.splitlines()]
    assert {(pair["left"], pair["right"]) for pair in pairs} == {("d0", "d2"), ("d0", "d3"), ("d2", "d3")}
    assert "3 pairs among 4 documents" in outcome.err
    (here / "other.jsonl").write_text(CORPUS)
    across = run("pairs", "-", "--against", "other.jsonl", "-o", "-", stdin=CORPUS)
    assert across.code == 0 and json.loads(across.out.splitlines()[0])["left"] == "d0"


@pytest.mark.parametrize("words", [["--report"], ["--resume"], ["--mode", "none"], ["--engine", "spark"]])
def test_options_that_need_a_folder_are_refused(here, words):
    assert "left out with -o -" in refused("dedup", "corpus.jsonl", "-o", "-", *words)


def test_the_guard_keeps_documents_back(here):
    outcome = run("dedup", "corpus.jsonl", "-o", "-", "--expect-removed", "0.01")
    assert (outcome.code, outcome.out) == (3, "") and "stopped by the guard" in outcome.err


def test_bytes_that_are_not_text_are_refused_on_a_terminal(here, monkeypatch):
    from neardup.cli.support import standard_output

    monkeypatch.setattr(standard_output.sys.stdout, "isatty", lambda: True, raising=False)
    with pytest.raises(Exception, match="standard output is a terminal"):
        standard_output.refuse_binary("parquet", "zstd")
    standard_output.refuse_binary("jsonl", None)


def test_a_reader_that_stops_early_ends_the_run_quietly(here):
    text = "".join(json.dumps({"id": str(k), "text": f"{k} {FOX} {k * 7919}"}) + "\n" for k in range(9000))
    (here / "many.jsonl").write_text(text)
    process = subprocess.Popen(
        [sys.executable, "-m", "neardup", "dedup", "many.jsonl", "-o", "-", "--mode", "annotate"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert json.loads(process.stdout.readline())["id"] == "0"
    process.stdout.close()
    said = process.stderr.read().decode()
    assert process.wait() == 0
    assert [line for line in said.splitlines() if not line.startswith("neardup: compiling")] == []


def test_a_writer_leaves_the_stream_open(here):
    sources = open_inputs(["corpus.jsonl"])
    for format in ("jsonl", "jsonl.gz", "csv", "parquet"):
        stream = io.BytesIO()
        layout = output_layout(sources, format)
        writer = layout.open(stream)
        for batch in sources[0].read(layout.columns, Problems(), raw=True):
            writer.write(batch)
        writer.close()
        assert not stream.closed and stream.getvalue()
        if format == "jsonl.gz":
            assert gzip.decompress(stream.getvalue()).count(b"\n") == 4
