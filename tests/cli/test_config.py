"""--config and --save-config: options from a file, and a file from options."""

from __future__ import annotations

import json
import tomllib

import pytest
from commands import ELSE, FOX, OFF, refused, run


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder with a corpus."""
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"d{k}", "body": text, "day": k} for k, text in enumerate([FOX, ELSE, OFF, FOX])]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def report(folder) -> dict:
    return json.loads((folder / "report.json").read_text())


def test_a_file_gives_all_options(here):
    (here / "run.toml").write_text(
        """
        inputs = ["corpus.jsonl"]
        output = "clean"
        method = "minhash"
        threshold = 0.5
        ngram = 3
        text-column = "body"
        keep = "newest:day"
        output_format = "csv"
        guard = false
        strict = true
        """
    )
    assert run("dedup", "--config", "run.toml").code == 0
    found = report(here / "clean")
    assert found["plan"]["threshold"] == 0.5 and found["config"] == "run.toml"
    assert found["kept"] == 2 and (here / "clean" / "kept.csv").exists()


def test_the_command_line_wins(here):
    (here / "run.toml").write_text(
        'inputs = "none.jsonl"\noutput = "clean"\nthreshold = 0.5\nreport = true\n'
    )
    words = ("dedup", "corpus.jsonl", "--config=run.toml", "--threshold", "0.99", "-o", "other")
    assert run(*words).code == 0
    assert report(here / "other")["plan"]["threshold"] == 0.99
    assert not (here / "clean").exists() and (here / "other" / "report.html").exists()


def test_the_method_may_come_from_either_side(here):
    (here / "run.toml").write_text('method = "simhash"\ndistance = 2\n')
    assert run("dedup", "corpus.jsonl", "-o", "a", "--config", "run.toml").code == 0
    assert report(here / "a")["plan"]["method"] == "simhash"
    said = refused("dedup", "corpus.jsonl", "-o", "b", "--config", "run.toml", "--method", "minhash")
    assert "distance" in said


def test_lists_are_repeated_options(here):
    (here / "more.jsonl").write_text((here / "corpus.jsonl").read_text().splitlines()[1])
    (here / "run.toml").write_text('inputs = ["corpus.jsonl"]\noutput = "a"\nagainst = ["more.jsonl"]\n')
    assert run("dedup", "--config", "run.toml").code == 0
    assert report(here / "a")["removed"] >= 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("treshold = 0.5", "unknown key 'treshold'. Did you mean 'threshold'?"),
        ("zzzzzz = 1", "unknown key 'zzzzzz'. No option"),
        ("threshold = ", "is not TOML"),
        ("a = " + "[" * 2000, "is nested too deeply"),
        ("a = " + "9" * 5000, "is not TOML"),
        ("# " + "x" * (1 << 20), "has more than 1 MB"),
        ("threshold = true", "threshold takes a value, not true"),
        ("strict = 1", "strict must be true or false"),
        ("[dedup]\nthreshold = 0.5", "dedup must be a text"),
        ("threshold = 7", "must be a number above 0 and up to 1"),
        ('keep = "oddest"', "keep"),
        ("distance = 3", "minhash has no"),
        ('config = "other.toml"', "unknown key 'config'"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line(here, text, said):
    (here / "run.toml").write_text(text)
    assert said in refused("dedup", "corpus.jsonl", "-o", "a", "--config", "run.toml")


def test_a_file_that_is_missing_is_one_line(here):
    assert "none.toml cannot be read" in refused("dedup", "corpus.jsonl", "-o", "a", "--config", "none.toml")


def test_a_saved_file_gives_the_same_run(here):
    options = [
        "--threshold", "0.6", "--ngram", "4", "--keep", "oldest:day", "--no-guard", "--mode", "annotate",
        "--text-column", "body", "--table-format", "csv", "--threads", "1", "--memory", "1G",
        "--checkpoint", "2.5", "--expect-removed", "0.3-0.9", "--tokens", "characters", "--no-escape-formulas",
    ]  # fmt: skip
    assert run("dedup", "corpus.jsonl", "-o", "a", *options, "--save-config", "run.toml").code == 0
    saved = tomllib.loads((here / "run.toml").read_text())
    assert saved["threshold"] == 0.6 and saved["inputs"] == ["corpus.jsonl"] and saved["guard"] is False
    assert "# clusters" in (here / "run.toml").read_text() and "num-perm" in (here / "run.toml").read_text()
    assert run("dedup", "--config", "run.toml", "-o", "b").code == 0
    first, second = report(here / "a"), report(here / "b")
    assert first["plan"] == second["plan"] and first["kept"] == second["kept"]
    assert (here / "a" / "annotated.jsonl").read_bytes() == (here / "b" / "annotated.jsonl").read_bytes()
    assert "exists already" in refused(
        "dedup", "--config", "run.toml", "-o", "c", "--save-config", "run.toml"
    )


def test_other_commands_take_files_too(here):
    (here / "run.toml").write_text('inputs = ["corpus.jsonl"]\noutput = "pairs.csv"\nthreshold = 0.5\n')
    assert run("pairs", "--config", "run.toml").code == 0
    assert (here / "pairs.csv").exists()
