"""`neardup dedup` with bad records, impossible options and outputs: one line for everything that is wrong."""

from __future__ import annotations

import json

import pytest
from commands import lines, names, refused, run, shown

# --- bad records among good ones --------------------------------------------------------------------------------

BAD = {
    "no JSON": b"{oops",
    "no object": b"[1, 2]",
    "invalid UTF-8": b'{"id": "bad", "text": "caf\xe9"}',
    "no text": b'{"id": "bad"}',
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_records_among_good_ones_are_counted_and_the_rest_goes_on(here, kind):
    with (here / "corpus.jsonl").open("ab") as file:
        file.write(BAD[kind] + b"\n")
    outcome = run("dedup", "corpus.jsonl", "-o", "clean", "--json")
    assert outcome.code == 0
    problems = json.loads(outcome.out)["problems"]
    assert problems["total"] == 1 and problems["first"][0]["record"] == 5
    assert problems["first"][0]["file"] == "corpus.jsonl"
    assert [row["id"] for row in lines(here / "clean/removed.jsonl")] == ["d2", "d3"]
    out = run("dedup", "corpus.jsonl", "-o", "again").out
    assert "1 problem in the input" in out and "corpus.jsonl, record 5" in out


@pytest.mark.parametrize("kind", BAD)
def test_a_strict_run_stops_at_the_first_of_them(here, kind):
    with (here / "corpus.jsonl").open("ab") as file:
        file.write(BAD[kind] + b"\n")
    sentence = refused("dedup", "corpus.jsonl", "-o", "clean", "--strict")
    assert "corpus.jsonl, record 5" in sentence and "--strict" in sentence
    assert names(here) == ["corpus.jsonl"]


# --- what makes a run impossible ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["missing.jsonl"], "missing.jsonl does not exist"),
        (["missing/*.jsonl"], "no file matches missing/*.jsonl"),
        (["corpus.jsonl", "missing.jsonl"], "missing.jsonl does not exist"),
        (["corpus.jsonl", "corpus.jsonl"], "corpus.jsonl is given twice"),
        (
            ["corpus.jsonl", "--text-column", "body"],
            "no column 'body' (--text-column); its columns are id, text, n",
        ),
        (
            ["corpus.jsonl", "--id-column", "key"],
            "no column 'key' (--id-column); its columns are id, text, n",
        ),
        (["corpus.jsonl", "--keep", "newest:date"], "no column 'date', which --keep asks for"),
        (["corpus.jsonl", "--keep", "best"], "The option --keep must be one of longest"),
        (
            ["corpus.jsonl", "--keep-count", "0"],
            "Invalid value for '--keep-count': 0 is not in the range x>=1",
        ),
        (["corpus.jsonl", "--keep-count", "two"], "Invalid value for '--keep-count'"),
        (
            ["corpus.jsonl", "--threshold", "7"],
            "The option --threshold of minhash must be a number above 0",
        ),
        (["corpus.jsonl", "--threshold", "0,7"], "Got '0,7' instead"),
        (["corpus.jsonl", "--threshold", "nan"], "Got nan instead"),
        (["corpus.jsonl", "--ngram", "five"], "The option --ngram of minhash must be a whole number"),
        (
            ["corpus.jsonl", "--ngram", "0"],
            "The option --ngram of minhash must be a whole number",
        ),
        (["corpus.jsonl", "--tokens", "letters"], "must be one of 'words', 'whitespace', 'characters'"),
        (["corpus.jsonl", "--verify", "maybe"], "must be one of 'exact', 'estimate', 'none'"),
        (["corpus.jsonl", "--recall", "1"], "The option --recall of minhash must be"),
        (["corpus.jsonl", "--num-perm", "10", "--bands", "5", "--rows", "3"], "bands × rows = 15"),
        (["corpus.jsonl", "--method", "magic"], "The option --method must be one of 'minhash'"),
        (["corpus.jsonl", "--preset", "magic"], "The option --preset must be one of 'fineweb'"),
        (["corpus.jsonl", "--mode", "delete"], "'delete' is not one of 'remove', 'annotate', 'none'"),
        (
            ["corpus.jsonl", "--clusters", "piles"],
            "'piles' is not one of 'leaders', 'components', 'average', 'complete'",
        ),
        (["corpus.jsonl", "--pairs", "some"], "'some' is not one of 'clusters', 'all'"),
        (["corpus.jsonl", "--duplicate-ids", "drop"], "'drop' is not one of 'error', 'rename'"),
        (
            ["corpus.jsonl", "--format", "docx"],
            "must be one of parquet, jsonl, json, csv, tsv, text, lines, mail",
        ),
        (
            ["corpus.jsonl", "--output-format", "docx"],
            "'docx' is not an output format: choose parquet, jsonl",
        ),
        (["corpus.jsonl", "--threads", "0"], "The option --threads must be a whole number"),
        (["corpus.jsonl", "--threads", "all"], "Invalid value for '--threads'"),
        (["corpus.jsonl", "--seed", "-1"], "The option --seed of minhash must be a whole number"),
        (["corpus.jsonl", "--treshold", "0.7"], "No such option"),
        (
            ["corpus.jsonl", "--num-permutations", "0"],
            "--num-permutations of minhash must be a whole number from 1 up to 65536. Got 0",
        ),
        (["corpus.jsonl", "--stats=x"], "The option --stats of minhash must be left out"),
        (["corpus.jsonl", "--keep", "none", "--keep-count", "2"], "--keep-count must be left out"),
        (
            ["corpus.jsonl", "--method", "simhash", "--preset", "fineweb"],
            "The option --preset of simhash must be a preset for this method (fineweb sets bands and rows, options",
        ),
        ([""], "An INPUT has no name"),
        ([], "Missing argument 'INPUT...'"),
    ],
    ids=shown,
)
def test_what_is_wrong_is_one_line(here, arguments, sentence):
    assert sentence in refused("dedup", *arguments, "-o", "clean")
    assert names(here) == ["corpus.jsonl"], "nothing is written, not even a folder"


def test_a_file_in_the_place_of_the_output_folder(here):
    message = refused("dedup", "corpus.jsonl", "-o", "corpus.jsonl")
    assert "corpus.jsonl cannot be created as a folder: a file has this name" in message


def test_a_mistyped_command_is_answered_with_the_nearest(here):
    assert "No such command 'dedupe'. Did you mean 'dedup'?" in refused("dedupe", "corpus.jsonl")
    assert "Did you mean" not in refused("xyz")


def test_an_output_is_required(here):
    assert "Missing option '-o'" in refused("dedup", "corpus.jsonl")


@pytest.mark.parametrize(
    "content, sentence",
    [
        (b"", "is empty: give a file with documents"),
        (b"\n\n \n", "bad.jsonl: no documents found"),
        (b"{oops\n[1]\nnope\n", "bad.jsonl, record 1: invalid JSON"),
        (b'{"id": 1}\n{"id": 2}\n', "bad.jsonl has no text column (text, content, contents, body, html)"),
    ],
    ids=["empty", "blank", "malformed", "other columns"],
)
def test_a_file_without_a_document(here, content, sentence):
    (here / "bad.jsonl").write_bytes(content)
    assert sentence in refused("dedup", "bad.jsonl", "-o", "clean")


def test_files_that_are_not_what_they_are_called(here):
    (here / "a.parquet").write_bytes(b"this is no parquet file")
    assert "a.parquet: no documents found (a.parquet: damaged parquet: " in refused(
        "dedup", "a.parquet", "-o", "clean"
    )
    (here / "b.docx").write_bytes(b"PK")
    assert "give its format with --format" in refused("dedup", "b.docx", "-o", "clean")
    (here / "c.jsonl.gz").write_bytes(b"this is not compressed")
    assert "c.jsonl.gz" in refused("dedup", "c.jsonl.gz", "-o", "clean")
    (here / "folder").mkdir()
    assert "the folder folder has no file" in refused("dedup", "folder", "-o", "clean")
    (here / "link.jsonl").symlink_to("nowhere")
    assert "link.jsonl is a link to a file that does not exist" in refused(
        "dedup", "link.jsonl", "-o", "clean"
    )


def test_standard_input_that_is_empty(here):
    assert "standard input is empty" in refused("dedup", "-", "-o", "clean", stdin="")


def test_ids_that_occur_twice(here):
    (here / "twice.jsonl").write_text('{"id": "a", "text": "one"}\n{"id": "a", "text": "two"}\n')
    sentence = refused("dedup", "twice.jsonl", "-o", "clean")
    assert "'a'" in sentence and "--duplicate-ids rename" in sentence
    rename = ["dedup", "twice.jsonl", "-o", "clean", "--duplicate-ids", "rename"]
    assert "duplicate id" in refused(*rename, "--strict")
    assert "1 × duplicate id" in run(*rename).out
    assert lines(here / "clean/problems.jsonl") == [
        {
            "file": "twice.jsonl",
            "record": 2,
            "offset": None,
            "kind": "duplicate id",
            "reason": "duplicate id",
            "action": "called a#2",
        }
    ]


def test_a_keep_column_with_values_that_cannot_be_read(here):
    outcome = run("dedup", "corpus.jsonl", "-o", "clean", "--keep", "newest:text", "--json")
    assert outcome.code == 0
    assert "3 values are not a date" in json.loads(outcome.out)["problems"]["first"][0]["reason"]


# --- outputs that cannot be ----------------------------------------------------------------------------------------


def test_an_existing_result_is_not_overwritten_and_the_run_does_not_even_begin(here, monkeypatch):
    assert run("dedup", "corpus.jsonl", "-o", "clean").code == 0
    before = {path.name: path.read_bytes() for path in (here / "clean").iterdir()}
    with monkeypatch.context() as patch:
        patch.setattr("neardup.cli.support.run.run", lambda *arguments: pytest.fail("the run began"))
        assert "exists already" in refused("dedup", "corpus.jsonl", "-o", "clean", "--threshold", "0.9")
    assert {path.name: path.read_bytes() for path in (here / "clean").iterdir()} == before
    assert run("dedup", "corpus.jsonl", "-o", "clean", "--threshold", "0.9", "--force").code == 0
    assert json.loads((here / "clean/report.json").read_text())["plan"]["threshold"] == 0.9


@pytest.mark.parametrize("options", [["--output-format", "docx"], ["--mode", "annotate"]], ids=" ".join)
def test_what_cannot_be_written_is_refused_before_hours_of_work(here, options, monkeypatch):
    (here / "clean").mkdir()
    (here / "clean/annotated.jsonl").write_text("precious")
    monkeypatch.setattr("neardup.cli.support.run.run", lambda *arguments: pytest.fail("the run began"))
    refused("dedup", "corpus.jsonl", "-o", "clean", *options)


@pytest.mark.parametrize("output", ["file", "file/below"])
def test_an_output_folder_that_is_a_file_or_below_one(here, output):
    (here / "file").write_text("precious")
    assert "cannot be created as a folder" in refused("dedup", "corpus.jsonl", "-o", output)
    assert (here / "file").read_text() == "precious"


@pytest.mark.parametrize("output", ["x" * 300, "y/" * 3000], ids=["name", "path"])
def test_an_output_name_that_is_too_long(here, output):
    refused("dedup", "corpus.jsonl", "-o", output)


def test_an_input_name_that_is_too_long(here):
    refused("dedup", "x" * 300, "-o", "clean")


@pytest.mark.parametrize("folder", ["file", "file/below"])
def test_a_work_folder_that_cannot_be_used(here, folder):
    (here / "file").write_text("")
    refused("dedup", "corpus.jsonl", "-o", "clean", "--work-dir", folder)


@pytest.mark.parametrize(
    "options", [["--ngram", "9" * 15], ["--bands", "9" * 15, "--rows", "1"]], ids=" ".join
)
def test_a_number_that_no_machine_can_hold(here, options):
    refused("dedup", "corpus.jsonl", "-o", "clean", *options)


def test_more_threads_than_an_integer_counts(here):
    refused("dedup", "corpus.jsonl", "-o", "clean", "--threads", "9" * 20)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--keep", "none", "--keep-count", "2"), "--keep-count must be left out with --keep none."),
        (("--keep", "none", "--clusters", "leaders"), "'components' or omitted with --keep none"),
        (("--verify", "none", "--clusters", "average"), "with --verify none, which measures no similarity"),
    ],
)
def test_messages_name_options_as_they_are_typed(here, options, sentence):
    message = refused("dedup", "corpus.jsonl", "-o", "clean", *options)
    assert sentence in message and "=none" not in message


def test_a_size_without_a_unit_is_bytes(here):
    message = refused("stats", "build", "corpus.jsonl", "-o", "s.parquet", "--memory", "256")
    assert "--memory must be at least 1M" in message and names(here) == ["corpus.jsonl"]
