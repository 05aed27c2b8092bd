"""`neardup pairs`: one file of pairs, and the pairs to look at on the terminal."""

from __future__ import annotations

import csv
import json

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import neardup
import neardup.cli


class Program:
    """The whole command line as click's runner wants to see it."""

    name = "neardup"

    @staticmethod
    def main(args, prog_name, **extra):
        neardup.cli.main(list(args))


def run(*arguments, stdin=None):
    result = CliRunner().invoke(Program, [str(argument) for argument in arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def refused(*arguments):
    result = run(*arguments)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.startswith("neardup: ")
    return result.stderr


TEXTS = [
    "one two three four five six",
    "one two three four five seven",
    "one two three four five six",
    "eight nine",
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"d{k}", "text": text} for k, text in enumerate(TEXTS)]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def rows(path):
    return [(row["left"], row["right"], row["reason"]) for row in pq.read_table(path).to_pylist()]


def test_every_pair_that_there_is(here):
    result = run("pairs", "corpus.jsonl", "-o", "pairs.parquet", "--ngram", "2", "--threshold", "0.6")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "3 pairs among 4 documents, written to pairs.parquet"
    assert sorted(rows(here / "pairs.parquet")) == [
        ("d0", "d1", "similar"), ("d0", "d2", "copy"), ("d1", "d2", "similar"),
    ]  # fmt: skip
    assert sorted(path.name for path in here.iterdir()) == ["corpus.jsonl", "pairs.parquet"]


def test_the_file_is_what_the_library_gives(here):
    run("pairs", "corpus.jsonl", "-o", "pairs.parquet", "--ngram", "2", "--threshold", "0.6")
    stored = pq.read_table("pairs.parquet")
    expected = neardup.pairs("corpus.jsonl", ngram=2, threshold=0.6)
    assert stored.equals(expected) and stored.schema.equals(expected.schema, check_metadata=True)
    assert stored.column_names == [
        "left",
        "right",
        "similarity",
        "containment",
        "relation",
        "reason",
        "bridge",
    ]


def test_what_clusters_need(here):
    options = ["--ngram", "2", "--threshold", "0.6", "--pairs", "clusters", "--json"]
    report = json.loads(run("pairs", "corpus.jsonl", "-o", "pairs.parquet", *options).stdout)
    assert report["rows"] == 2 == len(rows(here / "pairs.parquet"))
    assert report["plan"]["pairs"] == "clusters" and report["files"] == ["pairs.parquet"]


def test_a_summary_for_machines_is_json_and_nothing_else(here):
    result = run("pairs", "corpus.jsonl", "-o", "pairs.parquet", "--json")
    report = json.loads(result.stdout)
    assert report["documents"] == 4 and report["rows"] == 1


def test_a_folder_that_is_not_there_yet_is_made(here):
    assert run("pairs", "corpus.jsonl", "-o", "new/deep/pairs.parquet").exit_code == 0
    assert (here / "new/deep/pairs.parquet").exists()


def test_standard_input(here):
    data = (here / "corpus.jsonl").read_bytes()
    assert run("pairs", "-", "-o", "pairs.parquet", stdin=data).exit_code == 0
    assert rows(here / "pairs.parquet") == [("d0", "d2", "copy")]


def test_no_pair_is_a_file_without_rows(here):
    (here / "alone.jsonl").write_text('{"id": "a", "text": "one"}\n')
    assert run("pairs", "alone.jsonl", "-o", "pairs.parquet").exit_code == 0
    assert rows(here / "pairs.parquet") == []


def test_an_existing_file_is_not_overwritten_and_the_run_does_not_even_begin(here, monkeypatch):
    (here / "pairs.parquet").write_text("precious")
    with monkeypatch.context() as patch:
        patch.setattr("neardup.cli.support.run.run", lambda *arguments: pytest.fail("the run began"))
        assert "pairs.parquet exists already" in refused("pairs", "corpus.jsonl", "-o", "pairs.parquet")
    assert (here / "pairs.parquet").read_text() == "precious"
    assert run("pairs", "corpus.jsonl", "-o", "pairs.parquet", "--force").exit_code == 0
    assert rows(here / "pairs.parquet") == [("d0", "d2", "copy")]


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["missing.jsonl", "-o", "pairs.parquet"], "missing.jsonl does not exist"),
        (["corpus.jsonl"], "Missing option '-o'"),
        (["corpus.jsonl", "-o", "corpus.jsonl/pairs.parquet"], "cannot be created as a folder"),
        (["corpus.jsonl", "-o", "."], "must end in .parquet"),
        (
            ["corpus.jsonl", "-o", "pairs.txt"],
            "must end in .parquet, .csv or .jsonl, the formats that can be",
        ),
        (["corpus.jsonl", "-o", "pairs.parquet", "--keep", "first"], "No such option"),
        (["corpus.jsonl", "-o", "pairs.parquet", "--text-column", "body"], "no column 'body'"),
        (
            ["corpus.jsonl", "-o", "new/pairs.parquet", "--threshold", "2"],
            "The option --threshold of minhash",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_wrong_is_one_line(here, arguments, sentence):
    assert sentence in refused("pairs", *arguments)
    assert [path.name for path in here.iterdir()] == ["corpus.jsonl"]


def test_an_output_that_is_a_folder(here):
    (here / "folder.parquet").mkdir()
    assert "folder.parquet is a folder" in refused("pairs", "corpus.jsonl", "-o", "folder.parquet")


def test_a_failure_leaves_nothing_behind(here, monkeypatch):
    def fail(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("neardup.engines.local.write_tables.write_pairs", fail)
    result = run("pairs", "corpus.jsonl", "-o", "new/pairs.parquet")
    assert result.exit_code == 130 and result.stderr.strip() == "neardup: stopped; nothing was written"
    assert [path.name for path in here.iterdir()] == ["corpus.jsonl"]


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_other_formats_have_the_same_rows(here, format):
    options = ("--ngram", "2", "--threshold", "0.6")
    run("pairs", "corpus.jsonl", "-o", "pairs.parquet", *options)
    result = run("pairs", "corpus.jsonl", "-o", f"pairs.{format}", *options)
    assert result.exit_code == 0, result.stderr
    expected = pq.read_table("pairs.parquet").to_pylist()
    if format == "jsonl":
        assert [json.loads(line) for line in (here / "pairs.jsonl").open()] == expected
        return
    with (here / "pairs.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    assert [*found[0]] == [*expected[0]] and len(found) == len(expected)
    for row, other in zip(found, expected, strict=True):
        assert (row["left"], row["right"], row["reason"]) == (other["left"], other["right"], other["reason"])
        assert float(row["similarity"]) == other["similarity"]
        assert row["bridge"] == str(other["bridge"]).lower()


def test_pairs_are_shown(here):
    result = run("pairs", "corpus.jsonl", "-o", "pairs.parquet", "--ngram", "2", "--threshold", "0.6")
    lines = result.stdout.splitlines()
    assert lines[1] == "pairs of different texts, the closest first:" and len(lines) == 4
    assert lines[2] == "  0.667  d1  one two three four five seven"
    assert lines[3] == "         d2  one two three four five six"  # which stands for its copy d0
    shown = run("pairs", "corpus.jsonl", "-o", "pairs.parquet", "--threshold", "0.9", "--force")
    assert len(shown.stdout.splitlines()) == 1, "copies need no look"


def test_the_closest_pairs_and_those_nearest_to_the_threshold(here):
    """Against a sort of all pairs; ties are broken by id."""
    texts = [" ".join([f"w{n}" for n in range(20 - k)] + ["\x1b[31m"]) for k in range(9)]
    lines = [json.dumps({"id": f"t{k}", "text": text}) for k, text in enumerate(texts)]
    (here / "many.jsonl").write_text("\n".join(lines))
    result = run("pairs", "many.jsonl", "-o", "many.parquet", "--ngram", "1", "--threshold", "0.7")
    assert "\x1b" not in result.stdout
    out = result.stdout.splitlines()
    place = out.index("pairs nearest to the threshold of 0.7:")
    assert out[1] == "closest pairs of different texts:" and (place, len(out)) == (12, 23)
    shown = [
        (first.split()[1], second.split()[0], first.split()[0])
        for first, second in zip(out[2:12:2] + out[13::2], out[3:12:2] + out[14::2], strict=True)
    ]
    rows = pq.read_table("many.parquet").to_pylist()
    closest = sorted(rows, key=lambda row: (-row["similarity"], row["left"], row["right"]))[:5]
    rest = [row for row in rows if row not in closest]
    lowest = sorted(rest, key=lambda row: (row["similarity"], row["left"], row["right"]))[:5]
    expected = [*closest, *reversed(lowest)]
    assert shown == [(row["left"], row["right"], f"{row['similarity']:.3f}") for row in expected]
