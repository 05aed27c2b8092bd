"""neardup compare, as a user calls it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from neardup.cli import group, main
from neardup.cli.support.side_by_side import align, printable, shorten
from neardup.explain.passages import Passage

BAKERY = """The bakery on Mill Street opens at five, when the first trams leave the depot.
Its oven was built in 1923, and the baker says that it has never been cold since the winter of 1946.

On Fridays there is rye bread with caraway, and the queue reaches the corner of the square."""
MARKET = "The market hall is closed for repairs until the second week of September."


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(BAKERY)
    Path("b.txt").write_text(BAKERY.replace("Fridays", "Saturdays"))
    return tmp_path


def run(*arguments: str, **options: object) -> Result:
    result = CliRunner().invoke(group, ["compare", *arguments], **options)  # type: ignore[arg-type]
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line on standard error of a run that ends with exit code 2."""
    with pytest.raises(SystemExit) as stop:
        main(["compare", *arguments])
    printed = capsys.readouterr()
    assert stop.value.code == 2
    assert not printed.out
    assert printed.err.startswith("neardup: ")
    assert printed.err.count("\n") == 1
    return printed.err


def lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_a_changed_word_side_by_side() -> None:
    printed = lines(run("a.txt", "b.txt", "--width", "80").stdout)
    assert printed[0] == "a.txt and b.txt are near-duplicates: similarity 0.815 reaches the threshold 0.7."
    assert printed[1] == "44 of 54 distinct word 5-grams are in both; containment 0.898."
    assert "words 53 53" in printed
    assert "containment in the other 0.898 0.898" in printed
    assert "≠ Fridays ≠ Saturdays" in printed
    assert any("words …" in line for line in printed)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_output_fits_the_width(width: int) -> None:
    printed = run("a.txt", "b.txt", "--width", str(width)).stdout
    assert max(map(len, printed.splitlines())) <= width


def test_full_abbreviates_nothing() -> None:
    printed = " ".join(run("a.txt", "b.txt", "--full", "--width", "400").stdout.split())
    assert " ".join(BAKERY.split("Fridays")[1].split()) in printed
    assert "words …" not in printed


def test_context_says_how_many_words_are_shown() -> None:
    printed = run("a.txt", "b.txt", "--context", "2", "--width", "120").stdout
    assert "The bakery … 33 words … 1946. On" in printed


def test_moved_passages_are_numbered() -> None:
    first, second = BAKERY.split("\n\n")
    Path("moved.txt").write_text(f"{second}\n\n{first}")
    printed = run("a.txt", "moved.txt", "--width", "100").stdout
    assert printed.count("↕1") == 4  # once on each side, twice in the legend
    assert "≠" not in printed.partition("\n= in both")[0]


def test_not_near_duplicates_but_contained() -> None:
    Path("more.txt").write_text(f"{BAKERY}\n\n{MARKET} " + " ".join(f"notice {i}" for i in range(60)))
    printed = lines(run("a.txt", "more.txt").stdout)
    first = "more.txt contains a.txt: 100 % of a.txt's word 5-grams are in more.txt; similarity 0.2"
    assert " ".join(printed).startswith(first)


def test_a_similarity_just_below_the_threshold_does_not_look_equal_to_it() -> None:
    Path("left.txt").write_text(" ".join(f"w{i}" for i in range(3000)))
    Path("right.txt").write_text(" ".join(f"w{i}" for i in range(2099)))
    printed = " ".join(run("left.txt", "right.txt", "--ngram", "1").stdout.split())
    assert printed.startswith("left.txt contains right.txt: 100 % of right.txt's words are in left.txt;")
    assert "Not near-duplicates: similarity 0.6997 is below the threshold 0.7." in printed


def test_identical_texts_and_texts_that_differ_in_nothing_compared() -> None:
    Path("copy.txt").write_text(BAKERY)
    Path("loud.txt").write_text(BAKERY.upper().replace(",", ";"))
    assert run("a.txt", "copy.txt").stdout.startswith("a.txt and copy.txt are copies: identical texts.\n")
    assert (
        "They differ in case, punctuation, space or repeats only"
        in run("a.txt", "loud.txt", "--width", "120").stdout
    )


def test_an_estimate_shows_its_interval() -> None:
    printed = run("a.txt", "b.txt", "--verify", "estimate", "--num-perm", "128").stdout
    assert "estimated similarity" in printed
    assert "128 slots: 0." in printed
    assert "exact similarity: 0.815" in printed


def test_json_has_everything() -> None:
    found = json.loads(run("a.txt", "b.txt", "--json", "--threshold", "0.9").stdout)
    assert found["near_duplicates"] is False
    assert found["threshold"] == 0.9
    assert found["similarity"] == pytest.approx(44 / 54)
    assert (found["left"]["features"], found["shared"]) == (49, 44)
    assert "".join(p["text"] for p in found["right"]["passages"]) == BAKERY.replace("Fridays", "Saturdays")
    assert found["plan"]["method"] == "minhash"


def test_the_same_file() -> None:
    Path("link.txt").symlink_to("a.txt")
    assert run("a.txt", "a.txt").stdout == "a.txt and a.txt are the same file: nothing to compare.\n"
    assert "the same file" in run("a.txt", "link.txt").stdout
    assert json.loads(run("a.txt", "a.txt", "--json").stdout)["similarity"] == 1


def test_markup_and_control_characters_are_shown_not_obeyed() -> None:
    Path("bad.txt").write_text(
        "[bold red]Not[/] [link=x]markup[/link] \x1b[2J\x07 :smile: \u202eabc\u009b5m " + MARKET
    )
    printed = run("bad.txt", "a.txt", "--full", "--width", "200").stdout
    assert "[bold red]Not[/] [link=x]markup[/link] ␛[2J␇ :smile: �abc�5m" in printed
    assert "\x1b" not in printed


@given(st.text())
def test_printable_leaves_no_control(text: str) -> None:
    shown = printable(text)
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in shown)
    assert "\n" not in shown


def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    Path("empty.txt").touch()
    Path("blank.txt").write_text(" \n\t")
    Path("dots.txt").write_text("... --- ...")
    Path("many.jsonl").write_text('{"id": 1, "text": "one"}\n{"id": 2, "text": "two"}\n')
    assert "gone.txt does not exist" in refused(capsys, "a.txt", "gone.txt")
    assert "empty.txt is empty: nothing to compare" in refused(capsys, "empty.txt", "a.txt")
    assert "blank.txt is empty" in refused(capsys, "a.txt", "blank.txt")
    assert "dots.txt has no words" in refused(capsys, "a.txt", "dots.txt")
    assert "is a folder" in refused(capsys, "a.txt", str(folder))
    assert "many.jsonl has many documents" in refused(capsys, "many.jsonl", "a.txt")
    assert "only one of the two" in refused(capsys, "-", "-")
    assert "The option --threshold of minhash" in refused(capsys, "a.txt", "b.txt", "--threshold", "7")


def test_invalid_utf8_is_replaced_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    Path("latin.txt").write_bytes(BAKERY.encode() + b" caf\xe9")
    main_output = run("a.txt", "latin.txt")
    assert "caf�" in main_output.stdout
    assert "invalid UTF-8" in main_output.stderr


def test_other_encodings_and_suffixes() -> None:
    Path("wide.txt").write_text(BAKERY, encoding="utf-16")
    Path("README").write_text(BAKERY)
    assert "are copies: identical texts." in run("a.txt", "wide.txt").stdout
    assert "are copies: identical texts." in run("a.txt", "README").stdout


def test_html_is_compared_as_it_is_read() -> None:
    pytest.importorskip("resiliparse")
    page = "<!DOCTYPE html><title>Bread</title><style>p {color: red}</style>" + "".join(
        f"<p>{part}</p>" for part in BAKERY.split("\n\n")
    )
    Path("page.html").write_text(page)
    for result in (run("a.txt", "page.html"), run("a.txt", "-", input=page)):
        assert (
            "They differ in case, punctuation, space or repeats only" in result.stdout
            or "identical" in result.stdout
        )


def test_standard_input() -> None:
    printed = run("-", "a.txt", input=BAKERY.replace("Fridays", "Sundays")).stdout
    assert "A standard input" in " ".join(printed.split())
    assert "Sundays" in printed


@pytest.fixture
def corpus() -> str:
    rows = [{"id": 7, "text": BAKERY}, {"id": 8, "text": MARKET}, {"id": 9, "text": BAKERY.upper()}]
    Path("corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "corpus.jsonl"


def test_ids_of_a_corpus(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    printed = run("7", "9", "--in", corpus).stdout
    assert "similarity 1.000" in printed
    assert "A 7" in " ".join(printed.split())
    assert json.loads(run("9", "8", "--in", corpus, "--json").stdout)["left"]["name"] == "9"
    assert "are the same document" in run("8", "8", "--in", corpus).stdout
    missing = refused(capsys, "7", "12", "--in", corpus)
    assert "corpus.jsonl has no document '12'; its ids are like 7, 8, 9" in missing


def test_files_of_a_folder_by_id(folder: Path) -> None:
    found = json.loads(run("a.txt", "b.txt", "--in", str(folder), "--json").stdout)
    assert found["similarity"] == pytest.approx(44 / 54)


def test_columns_of_a_corpus(capsys: pytest.CaptureFixture[str]) -> None:
    Path("rows.csv").write_text(f'key,words\nx,"{BAKERY}"\ny,"{BAKERY} Also cake."\n')
    options = ("--in", "rows.csv", "--id-column", "key")
    found = json.loads(run("x", "y", *options, "--text-column", "words", "--json").stdout)
    assert found["left"]["containment"] == 1
    assert "no text column" in refused(capsys, "x", "y", *options)


def passage(number: int) -> Passage:
    return Passage(0, 1, number > 0, number, 1)


@given(st.lists(st.integers(0, 4)), st.lists(st.integers(0, 4)))
def test_rows_hold_every_passage_once_and_in_order(left: list[int], right: list[int]) -> None:
    rows = align([passage(n) for n in left], [passage(n) for n in right])
    assert [row.left.number for row in rows if row.left] == left
    assert [row.right.number for row in rows if row.right] == right
    assert all(row.left.number == row.right.number for row in rows if row.left and row.right)


def test_as_many_passages_as_possible_stand_side_by_side() -> None:
    rows = align([passage(n) for n in (1, 2, 3, 4)], [passage(n) for n in (4, 1, 0, 2, 3)])
    assert [row.left.number for row in rows if row.left and row.right] == [1, 2, 3]


def test_shorten() -> None:
    text = " ".join(map(str, range(30)))
    assert shorten(text, 2) == "0 1 … 26 words … 28 29"
    assert shorten(text, 13) == text  # four words would be hidden: not worth it
    assert shorten(text, 0) == "… 30 words …"
    assert shorten("港" * 300, 2) == "港" * 24 + " … 252 characters … " + "港" * 24


def shell(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from neardup.cli import main; main()", "compare", *arguments]
    return subprocess.run(
        command, capture_output=True, encoding="utf-8", env={**os.environ, "COLUMNS": "80", **environment}
    )


def test_from_the_shell() -> None:
    done = shell("a.txt", "b.txt")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "≠  Fridays" in done.stdout or "≠ Fridays" in done.stdout
    failed = shell("a.txt", "gone.txt")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr == "neardup: gone.txt does not exist\n"


def test_colours_where_they_are_asked_for() -> None:
    assert "\x1b[" in shell("a.txt", "b.txt", FORCE_COLOR="1").stdout


def test_numbers_keep_documents_apart() -> None:
    Path("b.txt").write_text(BAKERY.replace("1946", "1947"))
    assert "are near-duplicates" in run("a.txt", "b.txt").stdout
    printed = " ".join(run("a.txt", "b.txt", "--numbers", "separate").stdout.split())
    assert printed.startswith("a.txt and b.txt are different: they differ in more numbers than other words")
