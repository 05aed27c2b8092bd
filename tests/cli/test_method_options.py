"""Options of the methods on the command line: lists of words from files, what is refused, what is counted."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import neardup
from neardup.cli import main
from sentences import overlapping

STORIES = overlapping(random.Random(2), 6)
TABLE = "Oslo 3 2 5 1 Bergen 4 4 1 2 Tromso 0 0 2 9"  # words, and not one antecedent


def run(*arguments: str) -> int:
    try:
        main(list(arguments))
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    texts = [*STORIES, STORIES[0].upper(), TABLE, TABLE + " Bodo 1", TABLE, "word", ""]
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"id": f"d{k}", "text": text}) + "\n" for k, text in enumerate(texts)))
    return path


def refused(capsys: pytest.CaptureFixture[str], corpus: Path, *arguments: str) -> str:
    assert run("dedup", str(corpus), "-o", str(corpus.parent / "out"), *arguments) == 2
    printed = capsys.readouterr()
    assert not printed.out and printed.err.count("\n") == 1 and "Traceback" not in printed.err
    assert not (corpus.parent / "out").exists()
    return printed.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("spotsigs --antecedents nonesuch", "option --antecedents of spotsigs must be one of 'paper'"),
        (
            "imatch_spots --antecedents nonesuch",
            "option --antecedents of imatch_spots must be one of 'paper'",
        ),
        (
            "spotsigs --antecedents is(0,2),that",
            "'distance' parameter of spotsigs must be a whole number from 1",
        ),
        ("spotsigs --antecedents @absent.txt", "'absent.txt' cannot be read"),
        ("spotsigs --stopwords klingon", "option --stopwords of spotsigs must be a language code"),
        ("imatch --stopwords klingon", "option --stopwords of imatch must be a language code"),
        ("spotsigs --threshold 0", "option --threshold of spotsigs must be a number above 0 and up to 1"),
        (
            "spotsigs --threshold 1.01",
            "option --threshold of spotsigs must be a number above 0 and up to 1",
        ),
        (
            "spotsigs --threshold nan",
            "option --threshold of spotsigs must be a number above 0 and up to 1",
        ),
        (
            "imatch --threshold 0.5",
            "The method imatch has no option --threshold: minhash, andd, cosine, hybrid, ",
        ),
        ("imatch --idf-low 0.8", "option --idf-low of imatch must be at most idf_high, 0.75"),
        ("imatch --idf-low -0.1", "option --idf-low of imatch must be a number from 0 up to 1"),
        ("imatch --drop 0.5", "option --drop of imatch must be left out with a single lexicon"),
        ("imatch --agree 2", "option --agree of imatch must be at most the number of lexicons, 1"),
        ("imatch --lexicons 40 --agree 20", "137,846,528,820 ways"),
        ("super_shingles --agree 7", "option --agree of super_shingles must be at most"),
        ("super_shingles --num-perm 5", "option --num-perm of super_shingles must be at least"),
        (
            "super_shingles --verify agreement --threshold 0.5",
            "option --threshold of super_shingles must be left",
        ),
        ("hybrid --groups 0", "option --groups of hybrid must be a whole number from 1"),
        ("minhash --one-in 0", "option --one-in of minhash must be a whole number from 1"),
    ],
)
def test_wrong_options_are_one_sentence(
    capsys: pytest.CaptureFixture[str], corpus: Path, arguments: str, sentence: str
) -> None:
    assert sentence in refused(capsys, corpus, "--method", *arguments.split())


def report_of(corpus: Path, *arguments: str) -> dict[str, Any]:
    out = corpus.parent / "out"
    assert run("dedup", str(corpus), "-o", str(out), "--pairs", "all", *arguments) == 0
    return dict(json.loads((out / "report.json").read_text()))


def test_documents_without_signatures_are_counted_and_only_their_copies_pair(
    capsys: pytest.CaptureFixture[str], corpus: Path
) -> None:
    report = report_of(corpus, "--method", "spotsigs")
    assert (report["without_tokens"], report["without_features"]) == (1, 4)
    pairs = neardup.pairs(corpus, method="spotsigs").to_pylist()
    assert {(row["left"], row["right"], row["reason"]) for row in pairs} == {
        ("d0", "d6", "similar"),
        ("d7", "d9", "copy"),
    }
    printed = capsys.readouterr().out
    assert "1 document has no tokens: kept, never matched\n" in printed
    assert "4 documents have no features of spotsigs: matched with exact copies only\n" in printed
    assert "every pair that reaches the threshold of 0.15 is found\n" in printed


def test_an_empty_lexicon_is_reported(capsys: pytest.CaptureFixture[str], corpus: Path) -> None:
    report = report_of(corpus, "--method", "imatch", "--idf-low", "0.999", "--idf-high", "0.9995")
    assert report["without_features"] == 11
    assert "11 documents have no features of imatch" in capsys.readouterr().out


def test_nothing_is_said_where_all_was_compared(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in STORIES))
    assert report_of(path)["without_features"] == 0
    printed = capsys.readouterr().out
    assert "no tokens" not in printed and "no features" not in printed


@pytest.mark.parametrize(
    "method", ["imatch", "imatch_spots", "spotsigs", "spotsigs_lsh", "hybrid", "super_shingles"]
)
def test_a_document_of_one_word(capsys: pytest.CaptureFixture[str], tmp_path: Path, method: str) -> None:
    path = tmp_path / "corpus.csv"
    path.write_text("text\nword\n")
    report = report_of(path, "--method", method)
    assert (report["documents"], report["kept"], report["pairs"]["verified"]) == (1, 1, 0)


def test_the_probability_of_being_found_is_shown_if_it_is_known(
    capsys: pytest.CaptureFixture[str], corpus: Path
) -> None:
    paper = ("--threshold", "0.44", "--bands", "32", "--rows", "6")
    assert report_of(corpus, "--method", "spotsigs_lsh", *paper)["recall_at_threshold"] == pytest.approx(
        1 - (1 - 0.44**6) ** 32, abs=1e-6
    )
    printed = capsys.readouterr().out
    assert "found with probability 0.208, a more similar pair with a higher one" in printed
    report = report_of(corpus, "--method", "hybrid", "--force")
    assert report["recall_at_threshold"] is None
    assert "with probability" not in capsys.readouterr().out


# Words from a file


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "words.txt"
    path.write_text("the, a  # articles\nis(3,1)\nthat (5, 2)\n")
    return path


def test_the_words_of_a_file_go_into_the_plan(words: Path, corpus: Path) -> None:
    (words.parent / "stops.txt").write_text("the of\nand\n")
    report = report_of(
        corpus, "--method", "spotsigs", "--antecedents", "@words.txt", "--stopwords", "@stops.txt"
    )
    entries, stops = ["the", "a", "is(3,1)", "that (5, 2)"], ["the", "of", "and"]
    plan = neardup.make_plan("spotsigs", antecedents=entries, stopwords=stops, pairs="all")
    assert neardup.Plan.from_json(json.dumps(report["plan"])) == plan
    assert report["plan"]["view"]["features"]["antecedents"] == entries
    words.unlink()  # the plan does not need it any more
    assert neardup.dedup(corpus, plan=plan).report["pairs"] == report["pairs"]


def test_a_file_means_what_its_words_mean(words: Path) -> None:
    for method in ("spotsigs", "spotsigs_lsh", "imatch_spots"):
        from_file = neardup.make_plan(method, antecedents="@words.txt")
        given = neardup.make_plan(method, antecedents=("the", "a", "is(3,1)", "that (5, 2)"))
        assert from_file == given
    words.write_text("the\n")
    assert neardup.make_plan("imatch", stopwords="@words.txt") == neardup.make_plan(
        "imatch", stopwords=["the"]
    )


def test_an_empty_file_and_one_that_is_no_list_are_refused(
    capsys: pytest.CaptureFixture[str], corpus: Path, words: Path
) -> None:
    words.write_text("# nothing\n")
    assert "has no words" in refused(capsys, corpus, "--method", "imatch", "--stopwords", "@words.txt")
    words.write_text("is(3\n")
    message = refused(capsys, corpus, "--method", "spotsigs", "--antecedents", "@words.txt")
    assert "option --antecedents of spotsigs must be words or specifications" in message


# neardup compare


def write(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_compare_measures_what_the_method_measures(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The multi-set: 'the' five times and three times before the same words, 3/5 where sets would be equal."""
    left = write(tmp_path, "a.txt", "the amber basalt copper. " * 5)
    right = write(tmp_path, "b.txt", "the amber basalt copper. " * 3)
    assert run("compare", left, right, "--method", "spotsigs", "--distance", "1", "--json") == 0
    measured = json.loads(capsys.readouterr().out)
    assert measured["similarity"] == pytest.approx(3 / 5)
    assert measured["near_duplicates"]


def test_compare_has_the_hybrid_decide_by_the_bits_of_words(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    template = " ".join(f"w{k}" for k in range(300))
    left = write(tmp_path, "a.txt", template + " left" * 40)
    right = write(tmp_path, "b.txt", template + " right" * 40)
    assert run("compare", left, right, "--method", "hybrid") == 0
    printed = capsys.readouterr().out
    assert "are not near-duplicates: share of equal bits 0.5" in " ".join(printed.split())
    assert "slots:" not in printed


def test_compare_says_why_it_cannot(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    left, right = write(tmp_path, "a.txt", STORIES[0]), write(tmp_path, "b.txt", TABLE)
    assert run("compare", left, right, "--method", "imatch") == 2
    assert "needs document frequencies" in capsys.readouterr().err
    assert run("compare", left, right, "--method", "spotsigs") == 2
    assert "has no features of the method spotsigs" in capsys.readouterr().err
