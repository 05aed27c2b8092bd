"""`neardup sources`: who copies from whom, on the terminal, as csv and as a heat map."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from program import run

TEXT = "the council of the old harbour town has decided to build a new bridge over the river"
ROWS: list[dict[str, Any]] = [
    {"id": 1, "site": "first.example", "text": TEXT + " before the winter comes"},
    {"id": 2, "site": "second.example", "text": TEXT},
    {"id": 3, "site": "<b>third</b>", "text": TEXT},
    {"id": 4, "site": "first.example", "text": "something else altogether, and nobody has it"},
    {"id": 5, "site": None, "text": TEXT},
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, ROWS)) + "\n")
    return tmp_path


@pytest.mark.parametrize("mode", ["remove", "annotate", "none"])
def test_removed_documents_count_for_both_sources(here: Path, mode: str) -> None:
    run("dedup", "in.jsonl", "-o", "out", "--mode", mode, "--threshold", 0.6)
    found = json.loads(run("sources", "out", "--json").stdout)
    assert found["column"] == "site"
    assert found["sources"] == {"first.example": 2, "second.example": 1, "<b>third</b>": 1, "(none)": 1}
    copied = {(row["copies"], row["copied"]): row["documents"] for row in found["copied"]}
    assert copied == {(name, "first.example"): 1 for name in ("second.example", "<b>third</b>", "(none)")}
    assert all(row["share"] == 1 for row in found["copied"])
    assert "1 by second.example of first.example  (100.0% of its documents" in run("sources", "out").stdout


def test_clusters_are_listed_with_the_number_of_their_senders(here: Path) -> None:
    mail = [
        {"id": 1, "from": "News <letter@news.example>", "text": TEXT},
        {"id": 2, "from": "letter@NEWS.example", "text": TEXT + " today"},
        *({"id": 3 + n, "from": f"s{n}@spam.example", "text": "buy cheap pills now " * 5} for n in range(3)),
    ]
    Path("mail.jsonl").write_text("\n".join(map(json.dumps, mail)) + "\n")
    run("dedup", "mail.jsonl", "-o", "out", "--threshold", 0.6)
    found = json.loads(run("sources", "out", "--by", "from", "--json").stdout)["clusters"]
    assert [(row["documents"], row["sources"]) for row in found] == [(3, 3), (2, 1)]
    assert found[1]["largest"] == "letter@news.example"
    shown = run("sources", "out", "--by", "from").stdout
    assert "2 clusters: 1 of one source; the largest:" in shown
    assert "3: 3 documents of 3 sources\n" in shown and "1: 2 documents of letter@news.example\n" in shown


def test_a_table_and_a_page_are_written(here: Path) -> None:
    run("dedup", "in.jsonl", "-o", "out", "--threshold", 0.6)
    run("sources", "out", "-o", "copying.csv")
    with Path("copying.csv").open(newline="") as file:
        assert {row["copied"] for row in csv.DictReader(file)} == {"first.example"}
    run("sources", "out", "-o", "copies.html")
    page = Path("copies.html").read_text()
    assert page.count("<rect") == 3
    assert "<b>third" not in page
    assert "1 of second.example, 100.0% of its documents, repeat first.example" in page


def test_what_cannot_be_done_is_one_line(here: Path) -> None:
    run("dedup", "in.jsonl", "-o", "out")
    Path("copying.csv").write_text("mine")
    for words, said in {
        ("out", "--by", "host"): "has no column 'host' (--by)",
        ("nowhere",): "nowhere does not exist",
        ("s3://bucket/out",): "s3://bucket/out is an address: copy the result to a folder",
        ("out", "-o", "copying.csv"): "exists already",
        ("out", "-o", "copying.txt"): "must end in .csv",
    }.items():
        result = run("sources", *words)
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
        assert said in result.stderr


def test_the_leaning_names_of_columns_are_inside_the_picture():
    from neardup.pages.heat_map import HeatMap, heat_map_page

    names = [f"{k}-reporter@example.org" for k in range(3)]
    page = heat_map_page(HeatMap("t", "s", names, {}, {}, []))
    width = float(re.search(r'viewBox="0 0 (\d+)', page)[1])
    last = max(float(x) for x in re.findall(r"translate\((\d+)", page))
    assert last + 22 * 7 * 0.5 <= width  # 22 letters of 7 pixels at 60 degrees
