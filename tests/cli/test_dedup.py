"""`neardup dedup`: files in, a result folder out, and one line for everything that is wrong."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import neardup
import neardup.cli

FOX = "the quick brown fox jumps over the lazy dog and runs away"
OFF = "the quick brown fox jumps over the lazy dog and runs off"
ELSE = "something else entirely, different from all of the others here"


class Program:
    """The whole command line as click's runner wants to see it."""

    name = "neardup"

    @staticmethod
    def main(args, prog_name, **extra):
        neardup.cli.main(list(args))


@dataclass
class Outcome:
    code: int
    out: str
    err: str


def run(*arguments, stdin: str | bytes | None = None) -> Outcome:
    """What the command prints and how it ends; an exception that is not caught fails the test."""
    result = CliRunner().invoke(Program, [str(argument) for argument in arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    err = re.sub(r"^neardup: compiling kernels .*\n", "", result.stderr, flags=re.MULTILINE)  # the first run
    return Outcome(result.exit_code, result.stdout, err)


def refused(*arguments, stdin: str | bytes | None = None) -> str:
    """The one line with which the command refuses: exit code 2, nothing on standard output."""
    outcome = run(*arguments, stdin=stdin)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("neardup: ") and outcome.err.count("\n") == 1
    return outcome.err


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """A folder of its own with a small corpus, which is the working folder."""
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"d{k}", "text": text, "n": k} for k, text in enumerate([FOX, ELSE, OFF, FOX])]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def shown(value) -> str:
    """The name of a test: the words that are given on the command line."""
    return " ".join(value) if isinstance(value, list) else ""


# --- what it does ----------------------------------------------------------------------------------------------


def test_a_clean_corpus_and_a_record_of_every_decision(here):
    outcome = run("dedup", "corpus.jsonl", "-o", "clean")
    assert (outcome.code, outcome.err) == (0, "")
    assert [row["id"] for row in lines(here / "clean/kept.jsonl")] == ["d0", "d1"]
    assert [row["id"] for row in lines(here / "clean/removed.jsonl")] == ["d2", "d3"]
    pairs = pq.read_table(here / "clean/pairs.parquet").to_pylist()
    assert {(row["left"], row["right"], row["reason"]) for row in pairs} >= {("d0", "d3", "copy")}
    clusters = pq.read_table(here / "clean/clusters.parquet").to_pylist()
    assert [(row["id"], row["keep"], row["duplicate_of"]) for row in clusters] == [
        ("d0", True, None), ("d3", False, "d0"), ("d2", False, "d0"),
    ]  # fmt: skip
    report = json.loads((here / "clean/report.json").read_text())
    assert (report["documents"], report["kept"], report["inputs"]) == (4, 2, ["corpus.jsonl"])


def test_the_closing_summary_has_counts_and_the_largest_clusters(here):
    out = run("dedup", "corpus.jsonl", "-o", "clean").out
    assert "4 documents" in out and "2 kept, 2 removed (50.0%)" in out
    assert "1 cluster; 1 exact copy; 1 verified pair" in out
    assert "3 documents led by d0" in out and "weakest link 0.778" in out
    assert "a pair at the threshold of 0.7 is found with probability 0.99" in out
    assert "written to clean: kept.jsonl, removed.jsonl, pairs.parquet, clusters.parquet, report.json" in out


def test_a_summary_for_machines_is_json_and_nothing_else(here):
    outcome = run("dedup", "corpus.jsonl", "-o", "clean", "--json")
    assert outcome.err == "" and outcome.out.count("\n") == 1
    assert json.loads(outcome.out) == json.loads((here / "clean/report.json").read_text())


def test_annotate(here):
    assert run("dedup", "corpus.jsonl", "-o", "marked", "--mode", "annotate").code == 0
    assert names(here / "marked") == ["annotated.jsonl", "clusters.parquet", "pairs.parquet", "report.json"]
    rows = lines(here / "marked/annotated.jsonl")
    assert [(row["id"], row["n"], row["keep"], row["duplicate_of"]) for row in rows] == [
        ("d0", 0, True, None), ("d1", 1, True, None), ("d2", 2, False, "d0"), ("d3", 3, False, "d0"),
    ]  # fmt: skip


def test_only_the_findings(here):
    assert run("dedup", "corpus.jsonl", "-o", "found", "--mode", "none").code == 0
    assert names(here / "found") == ["clusters.parquet", "pairs.parquet", "report.json"]


@pytest.mark.parametrize("format", ["parquet", "jsonl", "jsonl.gz", "jsonl.zst", "csv", "tsv"])
def test_another_output_format(here, format):
    assert run("dedup", "corpus.jsonl", "-o", "clean", "--output-format", format).code == 0
    assert {f"kept.{format}", f"removed.{format}"} <= set(names(here / "clean"))


def test_several_inputs_a_folder_and_a_glob(here):
    (here / "more").mkdir()
    (here / "more/x.txt").write_text(FOX)
    (here / "more/y.html").write_text(f"<p>{FOX}</p><script>no text</script>")
    for inputs in (["corpus.jsonl", "more"], ["corpus.jsonl", "more/*"]):
        outcome = run("dedup", *inputs, "-o", "clean", "--force", "--json")
        assert outcome.code == 0
        assert json.loads(outcome.out)["documents"] == 6 and json.loads(outcome.out)["kept"] == 2


def test_standard_input(here):
    corpus = (here / "corpus.jsonl").read_bytes()
    outcome = run("dedup", "-", "-o", "clean", "--json", stdin=corpus)
    assert outcome.code == 0 and json.loads(outcome.out)["inputs"] == ["stdin"]
    assert [row["id"] for row in lines(here / "clean/kept.jsonl")] == ["d0", "d1"]
    assert run("dedup", "-", "-o", "texts", "--format", "lines", stdin=f"{FOX}\n{FOX}\n{ELSE}\n").code == 0
    assert len(lines(here / "texts/kept.jsonl")) == 2


@pytest.mark.parametrize(
    "options, field, value",
    [
        (["--threshold", "0.5"], "threshold", 0.5),
        (["--jaccard-threshold", "0.5"], "threshold", 0.5),
        (["--similarity-threshold", "0.5"], "threshold", 0.5),
        (["--ngram", "3"], "view.features.width", 3),
        (["--ngram-size", "3"], "view.features.width", 3),
        (["--n-grams", "3"], "view.features.width", 3),
        (["--tokens", "whitespace"], "text.tokens", "whitespace"),
        (["--num-bands", "9", "--rows", "4"], "candidates.groups", 9),
        (["--num-buckets", "9", "--hashes-per-bucket", "4"], "candidates.width", 4),
        (["--seed", "42"], "candidates.seed", 42),
        (["--keep", "newest:n"], "keep.column", "n"),
        (["--keep-count", "2"], "keep.count", 2),
        ([], "clustering.kind", "leaders"),
        (["--clusters", "components"], "clustering.kind", "components"),
        (["--clusters", "average"], "clustering.kind", "average"),
        (["--direct-only"], "keep.direct_only", True),
        (["--pairs", "all"], "pairs", "all"),
        (["--preset", "fineweb"], "candidates.groups", 14),
        (["--preset", "fineweb", "--bands", "10"], "candidates.groups", 10),
    ],
    ids=shown,
)
def test_options_reach_the_plan(here, options, field, value):
    outcome = run("dedup", "corpus.jsonl", "-o", "clean", "--mode", "none", "--json", *options)
    assert outcome.code == 0
    plan = json.loads(outcome.out)["plan"]
    for name in field.split("."):
        plan = plan[name]
    assert plan == value


@pytest.mark.parametrize("alias", ["--num-perm", "--num-permutations", "--permutations", "--num-hashes"])
def test_the_number_of_permutations_under_all_its_names(here, alias):
    outcome = run("dedup", "corpus.jsonl", "-o", "clean", "--mode", "none", "--json", alias, "128")
    plan = neardup.Plan.from_json(json.dumps(json.loads(outcome.out)["plan"]))
    assert plan == neardup.make_plan(num_perm=128)


@pytest.mark.parametrize("preset", ["fineweb", "slimpajama", "datasketch", "text-dedup"])
def test_presets(here, preset):
    outcome = run("dedup", "corpus.jsonl", "-o", "clean", "--mode", "none", "--json", "--preset", preset)
    plan = neardup.Plan.from_json(json.dumps(json.loads(outcome.out)["plan"]))
    assert plan == neardup.make_plan(preset=preset)


def test_a_preset_with_the_method_that_it_belongs_to(here):
    assert run("dedup", "corpus.jsonl", "-o", "clean", "--preset", "fineweb", "--method", "minhash").code == 0


def test_threads_do_not_change_the_result(here):
    for threads in (1, 2, 4):
        run("dedup", "corpus.jsonl", "-o", f"clean{threads}", "--threads", threads)
    assert len({(here / f"clean{k}/kept.jsonl").read_bytes() for k in (1, 2, 4)}) == 1
    assert len({(here / f"clean{k}/clusters.parquet").read_bytes() for k in (1, 2, 4)}) == 1


def test_skipped_pairs_are_mentioned(here):
    texts = [f"{FOX} {FOX[::-1]} and then number {k}" for k in range(100)]
    (here / "hot.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    out = run("dedup", "hot.jsonl", "-o", "clean", "--ngram", "1").out
    assert " pairs skipped" in out and "--pairs all" in out


def test_an_output_folder_inside_the_input_folder(here):
    """The same command twice gives the same result twice: what it wrote is not what it reads."""
    for _ in range(2):
        outcome = run("dedup", ".", "-o", "clean", "--force", "--json")
        assert outcome.code == 0 and json.loads(outcome.out)["documents"] == 4


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


@pytest.mark.parametrize(
    ("mode", "outcome"),
    [
        ("remove", "1 kept, 3 removed (75.0%)"),
        ("annotate", "1 kept, 3 marked as near-duplicates (75.0%)"),
        ("none", "1 to keep, 3 that would be removed (75.0%)"),
    ],
)
def test_the_summary_says_what_the_mode_does(here, capsys, mode, outcome):
    copies = "".join(json.dumps({"id": f"d{k}", "text": "a text of some words"}) + "\n" for k in range(4))
    (here / "copies.jsonl").write_text(copies)
    neardup.cli.main(["dedup", "copies.jsonl", "-o", "clean", "--mode", mode])
    assert outcome in capsys.readouterr().out


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


# --- the same columns in every format ----------------------------------------------------------------------------


def test_columns_and_detection_by_name(here):
    table = pa.table({"Url": ["u1", "u2", "u3"], "Body": [FOX, FOX, ELSE], "lang": ["en"] * 3})
    pq.write_table(table, here / "pages.parquet")
    assert run("dedup", "pages.parquet", "-o", "clean").code == 0
    assert pq.read_table(here / "clean/kept.parquet").to_pylist() == table.take([0, 2]).to_pylist()
    assert pq.read_table(here / "clean/clusters.parquet")["id"].to_pylist() == ["u1", "u2"]


@pytest.mark.parametrize("given", ["--text-column=lang", "--id-column=lang"])
def test_columns_named_by_hand(here, given):
    table = pa.table({"id": ["a", "b", "c"], "text": [FOX, FOX, ELSE], "lang": ["en", "de", "fr"]})
    pq.write_table(table, here / "pages.parquet")
    assert run("dedup", "pages.parquet", "-o", "clean", given).code == 0
    clusters = pq.read_table(here / "clean/clusters.parquet")["id"].to_pylist()
    assert clusters == ([] if given.startswith("--text") else ["de", "en"])


def test_empty_documents_that_are_marked_are_not_called_removed(here, capsys):
    rows = [{"id": "a", "text": "some words"}, {"id": "b", "text": ""}, {"id": "c", "text": "!"}]
    (here / "empty.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    neardup.cli.main(["dedup", "empty.jsonl", "-o", "marked", "--mode", "annotate", "--empty", "remove"])
    printed = capsys.readouterr().out
    assert "1 kept, 2 marked as near-duplicates or empty (66.7%)" in printed
    assert "2 documents have no tokens: marked (--empty remove)" in printed
    neardup.cli.main(["dedup", "empty.jsonl", "-o", "clean", "--empty", "one"])
    assert "2 documents have no tokens: 1 kept, 1 removed (--empty one)" in capsys.readouterr().out


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


def test_removals_without_a_measurement_are_called_unverified(here, capsys):
    (here / "two.jsonl").write_text(
        "".join(json.dumps({"id": k, "text": f"{'the same words ' * 20}{k}"}) + "\n" for k in range(3))
    )
    neardup.cli.main(["dedup", "two.jsonl", "-o", "clean", "--verify", "none"])
    assert "2 removals are unverified" in capsys.readouterr().out
    report = json.loads((here / "clean" / "report.json").read_text())
    assert report["removals"]["unverified"] == 2 and report["removals"]["direct"] == 0
    rows = [json.loads(line) for line in (here / "clean" / "removed.jsonl").read_text().splitlines()]
    assert {row["evidence"] for row in rows} == {"unverified"}
