"""Paragraphs, lines and sentences as what is compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive import units as twin
from neardup.columns import Texts
from neardup.engines.local.units.split import UnitRule, split_units, unit_texts
from neardup.errors import ParameterError
from program import run

texts = st.text(alphabet="aB1 \n\t.!?)\"'”»。！।؟é中", max_size=30)
TWINS = {"line": twin.lines, "paragraph": twin.paragraphs, "sentence": twin.sentences}


@given(st.lists(texts, max_size=4), st.sampled_from([*TWINS]))
def test_units_are_those_of_the_twin(documents: list[str], kind: Any) -> None:
    packed = Texts.from_strings(documents)
    units = split_units(packed, UnitRule(kind, 1, 0))
    found = unit_texts(packed, units)
    got: list[list[str]] = [[] for _ in documents]
    for k, document in enumerate(units.document.tolist()):
        got[document].append(found.document(k).decode())
    assert got == [TWINS[kind](document) for document in documents]


def test_runs_of_sentences_overlap_and_a_short_text_is_one_unit() -> None:
    packed = Texts.from_strings(["A a. B b. C c. D d.", "A a. B b."])
    units = split_units(packed, UnitRule("sentence", 3, 0))
    found = unit_texts(packed, units)
    assert [found.document(k).decode() for k in range(3)] == ["A a. B b. C c.", "B b. C c. D d.", "A a. B b."]
    assert units.number.tolist() == [0, 1, 0]


@pytest.mark.parametrize("text", ["word", "line:2", "sentence:0", "sentence:101", "paragraph:1", ""])
def test_an_unknown_unit_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="unit"):
        UnitRule.of(text)


SHARED = "This paragraph stands in three of the documents, word for word."
ROWS: list[dict[str, Any]] = [
    {"id": "a", "text": f"The first opening.\n\n{SHARED}\n\nThe first ending.", "day": "2024-01-01"},
    {"id": "b", "text": f"Another opening.\n\n{SHARED.upper()}\n\nAnother ending.\n", "day": "2024-01-03"},
    {"id": "c", "text": SHARED, "day": "2024-01-02"},
    {"id": "d", "text": "", "day": "2024-01-02"},
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.jsonl").write_text("\n".join([*map(json.dumps, ROWS), "{broken"]) + "\n")
    return tmp_path


def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_the_first_paragraph_stays_and_others_are_recorded(here: Path) -> None:
    done = run("dedup", "in.jsonl", "-o", "out", "--unit", "paragraph", "--table-format", "jsonl")
    assert "4 documents in" in done.stdout
    assert "1 document changed, 1 removed as too short" in done.stdout
    assert "1 problem in the input: 1 × invalid JSON" in done.stdout
    kept = lines("out/kept.jsonl")
    assert kept[0] == ROWS[0]
    assert kept[1] == {**ROWS[1], "text": "Another opening.\n\nAnother ending.\n"}
    assert kept[2] == ROWS[3]
    (gone,) = lines("out/removed.jsonl")
    assert gone == {**ROWS[2], "reason": "too short without its repeated paragraphs", "removed_units": 1}
    for row, source in zip(lines("out/removed_units.jsonl"), ROWS[1:3], strict=True):
        text = source["text"].encode()
        assert text[row["begin"] : row["end"]].decode().lower() == SHARED.lower()
        first = ROWS[0]["text"].encode()
        assert first[row["duplicate_begin"] : row["duplicate_end"]].decode() == SHARED
        assert (row["document"], row["duplicate_of"], row["similarity"]) == (source["id"], "a#2", 1)
    report = json.loads(Path("out/report.json").read_text())
    counts = {
        name: report[name] for name in ("documents", "kept", "removed", "documents_changed", "units_removed")
    }
    assert counts == {"documents": 4, "kept": 3, "removed": 1, "documents_changed": 1, "units_removed": 2}


def test_the_policy_of_documents_chooses_the_unit_that_stays(here: Path) -> None:
    run(
        "dedup",
        "in.jsonl",
        "-o",
        "out",
        "--unit",
        "paragraph",
        "--table-format",
        "jsonl",
        "--keep",
        "newest:day",
    )
    assert [row["text"] for row in lines("out/kept.jsonl")][:2] == [
        "The first opening.\n\nThe first ending.",
        ROWS[1]["text"],
    ]


def test_runs_of_sentences_that_overlap_their_first_occurrence_leave_it_whole(here: Path) -> None:
    again = "Again and again the same. "
    Path("circle.jsonl").write_text(json.dumps({"id": 1, "text": again * 9 + "The end is here."}) + "\n")
    run("dedup", "circle.jsonl", "-o", "out", "--preset", "c4")
    assert lines("out/kept.jsonl")[0]["text"] == again * 3 + "The end is here."


@pytest.mark.parametrize("preset", ["ccnet", "dolma", "c4"])
def test_presets_of_units_run(here: Path, preset: str) -> None:
    assert run("dedup", "in.jsonl", "-o", "out", "--preset", preset).exit_code == 0
    assert json.loads(Path("out/report.json").read_text())["plan"]["method"] == "exact"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--unit", "word"), "must be document, paragraph, line"),
        (("--unit", "sentence:3"), "compared by --method exact"),
        (("--unit", "line", "--engine", "spark"), "--unit line is for --engine local"),
        (("--unit", "line", "--against", "in.jsonl"), "'document' with --against"),
        (("--unit", "line", "--mode", "annotate"), "'document' with --mode annotate"),
        (("--unit", "line", "--report"), "'document' with --report"),
    ],
)
def test_what_cannot_be_done_with_units_is_one_line(here: Path, words: tuple[str, ...], said: str) -> None:
    result = run("dedup", "in.jsonl", "-o", "out", *words)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert said in result.stderr


def test_a_page_about_units_is_refused(here: Path) -> None:
    run("dedup", "in.jsonl", "-o", "out", "--unit", "line")
    assert "is about lines; the report and the studio show documents" in run("report", "out").stderr


def test_html_columns_are_refused(here: Path) -> None:
    Path("pages.jsonl").write_text('{"id": 1, "html": "<p>one two"}\n')
    result = run("dedup", "pages.jsonl", "-o", "out", "--unit", "line")
    assert "is HTML, whose parts cannot be cut out" in result.stderr


def test_documents_without_ids_and_csv(here: Path) -> None:
    rows = [f'"one line of its own here\n{SHARED}",1', f'"{SHARED}\nother line of its own",2']
    Path("rows.csv").write_text("\n".join(["text,n", *rows, ""]))
    run("dedup", "rows.csv", "-o", "out", "--unit", "line")
    kept = Path("out/kept.csv").read_text()
    assert kept.count(SHARED) == 1
    assert "other line of its own" in kept
