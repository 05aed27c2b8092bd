"""neardup report and dedup --report, over every format, mode and kind of damage."""

from __future__ import annotations

import csv
import gzip
import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from parsed import ParsedPage, check_page

import neardup
from neardup.cli import main
from neardup.review.breakdown import by_date
from neardup.review.evidence import binned
from neardup.review.folder import open_folder
from neardup.review.removals import differ_in_numbers_only

ROOT = Path(__file__).parent.parent.parent
ARTICLES = ROOT / "examples" / "articles.jsonl"
ROWS = [json.loads(line) for line in ARTICLES.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: object) -> None:
    main([str(one) for one in arguments])


def report(*arguments: object, folder: str = "out") -> ParsedPage:
    """The page about a folder."""
    run("report", folder, "--force", *arguments)
    return check_page(Path(folder, "report.html").read_text(encoding="utf-8"))


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as stopped:
        run("report", *arguments)
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("neardup: ") and said.count("\n") == 1
    return said.removeprefix("neardup: ")


def write_corpus(kind: str) -> str:
    """The articles in a format."""
    rows = [
        {"id": row["id"], "text": row["text"], "source": row["source"], "date": row["date"]} for row in ROWS
    ]
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), "corpus.parquet")
    elif kind == "jsonl.gz":
        with gzip.open("corpus.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    elif kind == "csv":
        with Path("corpus.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    elif kind in ("txt", "html"):
        Path("corpus").mkdir()
        for row in rows:
            body = (
                f"<html><body><article><p>{row['text']}</p></article></body></html>"
                if kind == "html"
                else row["text"]
            )
            Path("corpus", f"{row['id']}.{kind}").write_text(body, encoding="utf-8")
        return "corpus"
    elif kind == "html column":
        with Path("corpus.jsonl").open("w", encoding="utf-8") as file:
            for row in rows:
                page = f"<html><body><article><p>{row['text']}</p></article></body></html>"
                file.write(json.dumps({"id": row["id"], "html": page}) + "\n")
        return "corpus.jsonl"
    elif kind == "no ids":
        with Path("corpus.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(json.dumps({"text": row["text"]}) + "\n" for row in rows)
        return "corpus.jsonl"
    return f"corpus.{kind}"


FORMATS = ["parquet", "jsonl.gz", "csv", "txt", "html", "html column", "no ids"]


@pytest.mark.parametrize("mode", ["remove", "annotate", "none"])
@pytest.mark.parametrize("kind", FORMATS)
def test_texts_are_found_in_every_format_and_mode(kind: str, mode: str) -> None:
    run("dedup", write_corpus(kind), "-o", "out", "--mode", mode, "--report")
    source = Path("out/report.html").read_text(encoding="utf-8")
    page = check_page(source)
    assert "could not be" not in page.text
    assert page.marks and any("The vote was eleven to four" in mark for mark in page.marks)
    assert source == _again(), "the page is the same every time"


def _again() -> str:
    run("report", "out", "--force")
    return Path("out/report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("table_format", ["csv", "jsonl"])
def test_tables_of_every_format_give_the_same_page(table_format: str) -> None:
    run("dedup", ARTICLES, "-o", "out")
    run("dedup", ARTICLES, "-o", "other/out", "--table-format", table_format)
    for folder in ("out", "other/out"):  # times and memory differ from run to run, and file names by format
        data = json.loads(Path(folder, "report.json").read_text())
        data |= {
            "seconds": {},
            "cpu_seconds": {},
            "peak_memory_by_stage": {},
            "peak_memory_bytes": 0,
            "run": "",
        }
        Path(folder, "report.json").write_text(json.dumps(data))
    first, second = report(), report(folder="other/out")
    renamed = second.text
    for name in ("pairs", "clusters"):
        renamed = renamed.replace(f"{name}.{table_format}", f"{name}.parquet")
    assert first.text == renamed


def test_the_page_has_what_the_report_has() -> None:
    run("dedup", ARTICLES, "-o", "out")
    page = report()
    for part in (
        "67 documents (57.1 kB) compared by minhash at a threshold of 0.7: 21 removed, 46 kept.",
        "Different in numbers only", "vaccine-corrected", "Nearest to the threshold", "harbour-syndicated",
        "What other thresholds would leave", "Clusters by size", "By source", "By date", "2024-03", "read and sign",
        "with probability 0.9", "kept.jsonl", "neardup compare vaccine-corrected vaccine --method minhash",
    ):  # fmt: skip
        assert part in page.text, part
    assert page.text.index("Removals to check first") < page.text.index("Similarity and threshold")


def test_thresholds_count_what_the_tables_have() -> None:
    run("dedup", ARTICLES, "-o", "out")
    text = report().text
    removals = [v for v in pq.read_table("out/clusters.parquet")["similarity"].to_pylist() if v is not None]
    pairs = pq.read_table("out/pairs.parquet")["similarity"].to_pylist()
    for threshold in (0.75, 0.8, 0.9, 1.0):
        counts = [sum(value >= threshold for value in values) for values in (removals, pairs)]
        assert f"{threshold:.2f}{counts[0]}{counts[1]}" in text


def test_sources_and_dates_are_counted() -> None:
    run("dedup", write_corpus("parquet"), "-o", "out")
    kept = pq.read_table("out/kept.parquet")["source"].to_pylist()
    removed = pq.read_table("out/removed.parquet")["source"].to_pylist()
    text = report().text
    for name in {row["source"] for row in ROWS if row["source"].isascii()}:
        assert f"{name}{removed.count(name)} of {kept.count(name) + removed.count(name)}" in text
    text = report("--by", "date", "--date-column", "date").text
    assert "By date" in text and "By source" not in text


def test_several_inputs_are_counted_by_file() -> None:
    lines = ARTICLES.read_text(encoding="utf-8").splitlines(keepends=True)
    Path("a.jsonl").write_text("".join(lines[:30]), encoding="utf-8")
    Path("b.jsonl").write_text("".join(lines[30:]), encoding="utf-8")
    run("dedup", "a.jsonl", "b.jsonl", "-o", "out")
    found = json.loads(Path("out/report.json").read_text())["sources"]
    assert [one["name"] for one in found] == ["a.jsonl", "b.jsonl"]
    assert sum(one["documents"] for one in found) == 67 and sum(one["removed"] for one in found) == 21
    assert "By input" in report().text


@pytest.mark.parametrize("mode", ["remove", "annotate"])
def test_documents_of_references_are_shown(mode: str) -> None:
    run("dedup", ARTICLES, "-o", "out", "--mode", mode, "--against", ROOT / "examples" / "pages")
    page = report()
    assert "In a reference" in page.text and "Removed against" in page.text


@pytest.mark.parametrize("kind", ["corpus", "index"])
def test_texts_of_references_are_read_where_they_still_are(kind: str) -> None:
    lines = ARTICLES.read_text(encoding="utf-8").splitlines()
    ours = [json.loads(line) for line in lines if '"harbour' in line]
    theirs = [dict(one, id=f"known-{one['id']}", text=one["text"] + " Onlythere.") for one in ours]
    for name, documents in (("ours", ours), ("theirs", theirs)):
        Path(f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents))
    reference = "theirs.jsonl" if kind == "corpus" else "theirs.index"
    if kind == "index":
        run("index", "build", reference, "theirs.jsonl")
    run("dedup", "ours.jsonl", "-o", "out", "--against", reference)
    page = report()
    assert "Onlythere" in page.text and "could not be read" not in page.text
    if kind == "corpus":
        Path(reference).write_text('{"id": "other", "text": "another text"}\n')
        assert "does not have all texts" in report().text
    shutil.rmtree(reference) if kind == "index" else Path(reference).unlink()
    gone = report().text
    assert f"The reference {reference} cannot be read any more" in gone and "Onlythere" not in gone


def test_a_chain_comes_first() -> None:
    words = [f"w{k}" for k in range(80)]
    chain = [" ".join(words[k * 3 : k * 3 + 40]) for k in range(8)]
    Path("chain.jsonl").write_text(
        "".join(json.dumps({"id": f"d{k}", "text": t}) + "\n" for k, t in enumerate(chain))
    )
    run("dedup", "chain.jsonl", "-o", "out", "--clusters", "components", "--ngram", "1", "--threshold", "0.8")
    page = report()
    assert "Without evidence of their own" in page.text and "by a chain of pairs" in page.text
    assert "below its threshold" in page.text
    source = Path("out/report.html").read_text()
    assert source.count('class="graph"') == 1 and "link bridge" in source


def test_nothing_removed_makes_a_page_too() -> None:
    Path("one.jsonl").write_text('{"id": "a", "text": "just one document"}\n')
    run("dedup", "one.jsonl", "-o", "out", "--report")
    text = check_page(Path("out/report.html").read_text()).text
    assert "No document was removed." in text and "No cluster was found." in text


def test_unverified_pairs_have_no_similarity() -> None:
    run("dedup", ARTICLES, "-o", "out", "--verify", "none", "--no-guard")
    text = report().text
    assert "Pairs were not measured" in text and "unverified" in text


@pytest.mark.parametrize("method", ["simhash", "rare_phrases", "spotsigs", "cosine", "imatch", "hybrid"])
def test_every_kind_of_method(method: str) -> None:
    run("dedup", ARTICLES, "-o", "out", "--method", method, "--report", "--no-guard")
    check_page(Path("out/report.html").read_text(encoding="utf-8"))


def test_containment_is_what_the_threshold_is_compared_with() -> None:
    run("dedup", ARTICLES, "-o", "out", "--decide", "containment")
    assert "Containment and threshold" in report().text


def test_the_guard_leaves_a_page() -> None:
    with pytest.raises(SystemExit) as stopped:
        run("dedup", ARTICLES, "-o", "out", "--expect-removed", "0.01", "--report")
    assert stopped.value.code == 3
    page = check_page(Path("out/report.html").read_text(encoding="utf-8"))
    assert "Warning" in page.text and page.marks


def test_problems_are_listed() -> None:
    Path("bad.jsonl").write_text(ARTICLES.read_text(encoding="utf-8") + "{broken <b>\n", encoding="utf-8")
    run("dedup", "bad.jsonl", "-o", "out")
    text = report().text
    assert "Problems of the input" in text and "bad.jsonl, record 68" in text


def test_a_changed_or_lost_input_is_named() -> None:
    shutil.copy(ARTICLES, "mine.jsonl")
    run("dedup", "mine.jsonl", "-o", "out", "--mode", "none")
    assert "changed after" not in report().text
    later = Path("out/report.json").stat().st_mtime + 60
    os.utime("mine.jsonl", (later, later))
    assert "The input changed after the run (mine.jsonl)" in report().text
    lines = Path("mine.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    Path("mine.jsonl").write_text("".join(lines[:5]), encoding="utf-8")
    assert "to be shown could not be found" in report().text
    Path("mine.jsonl").unlink()
    page = report()
    assert "The input cannot be read any more" in page.text and "The text could not be read." in page.text
    assert page.marks == []


def test_pages_are_not_overwritten_but_go_with_their_result(capsys: pytest.CaptureFixture[str]) -> None:
    run("dedup", ARTICLES, "-o", "out", "--report")
    assert "--force" in refused(capsys, "out")
    run("dedup", ARTICLES, "-o", "out", "--force")
    assert not Path("out/report.html").exists(), "a page about an earlier result"
    Path("out/report.html").write_text("mine")
    run("dedup", ARTICLES, "-o", "out", "--force")
    assert Path("out/report.html").read_text() == "mine"
    with pytest.raises(SystemExit):
        run("dedup", ARTICLES, "-o", "out", "--report")
    assert "report.html exists already" in capsys.readouterr().err
    run("report", "out", "-o", "elsewhere.html")
    assert Path("elsewhere.html").exists()


def test_bad_folders_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "absent").startswith("absent does not exist")
    Path("file").write_text("x")
    assert refused(capsys, "file").startswith("file is no folder")
    Path("empty").mkdir()
    assert refused(capsys, "empty").startswith("empty has no report.json: it is no output of neardup dedup")
    Path("half/.neardup").mkdir(parents=True)
    run("dedup", ARTICLES, "-o", "out")
    assert "column 'colour'" in refused(capsys, "out", "--by", "colour")
    assert ".html" in refused(capsys, "out", "-o", "page.txt")
    assert "does not exist" in refused(capsys, "out", "-o", "absent/page.html")
    run("dedup", ARTICLES, "-o", "none", "--mode", "none")
    assert "--mode none" in refused(capsys, "none", "--by", "source")


def damaged(change: str, data: dict) -> str:
    """report.json with something wrong."""
    if change == "cut":
        return json.dumps(data)[:-100]
    if change == "list":
        return "[]"
    if change == "deep":
        return "[" * 100_000
    if change == "binary":
        return "\x00\x01"
    name, _, value = change.partition("=")
    if value:
        data[name] = json.loads(value)
    else:
        del data[name]
    return json.dumps(data)


CHANGES = [
    "cut", "list", "deep", "binary", "documents", "plan", "removals", "documents=null", 'documents="many"', "plan={}",
    "plan=[]", "removals={}", "pairs={}", "files=[1]", 'files=["../x"]', "problems={}", "largest_clusters=[1]",
    'largest_clusters=[{"cluster": 1}]', "seconds=3", "warnings=null", 'plan={"format": 99}',
    "seconds={\"a\": \"b\"}", "warnings=[3]", "inputs=[3]", 'sources=[{"name": 1}]', "sources=3", "compare=3",
    "compare=[3]", 'problems={"total": 1, "counts": {"a": null}, "first": 3}', 'against={"references": [1]}',
    'removals={"copies": 1, "direct": 0, "by_chain": 0, "by_cluster": 0, "empty": 0, "unverified": null}',
    'largest_clusters=[{"cluster": null, "size": "x"}]', 'peak_memory_by_stage={"read": "x"}',
    "html_text=7", 'html_text="none"',
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_damaged_report_is_one_line(change: str, capsys: pytest.CaptureFixture[str]) -> None:
    run("dedup", ARTICLES, "-o", "out")
    capsys.readouterr()
    path = Path("out/report.json")
    path.write_text(damaged(change, json.loads(path.read_text())))
    assert refused(capsys, "out").startswith("out/report.json is damaged")
    assert not Path("out/report.html").exists()


@pytest.mark.parametrize("name", ["pairs", "clusters"])
def test_missing_and_damaged_tables_are_one_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    run("dedup", ARTICLES, "-o", "out")
    capsys.readouterr()
    path = Path(f"out/{name}.parquet")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert str(path) in refused(capsys, "out")
    path.write_bytes(whole[:200] + bytes(200) + whole[400:])
    assert str(path) in refused(capsys, "out")
    pq.write_table(pa.table({"x": [1]}), path)
    assert "no column" in refused(capsys, "out")
    path.unlink()
    assert refused(capsys, "out").startswith(f"out/{name}.parquet is missing, which report.json lists")


def test_an_unfinished_run_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    from neardup.engines.local.checkpoint.workspace import NAME

    Path("out", NAME).mkdir(parents=True)
    Path("out", NAME, "journal.json").write_text("{}")
    assert refused(capsys, "out").startswith(
        "out has an unfinished run: finish it with neardup dedup --resume"
    )


def test_a_result_in_memory_has_the_same_page() -> None:
    result = neardup.dedup(ROWS)
    assert result.write_report("memory.html") is None
    page = check_page(Path("memory.html").read_text(encoding="utf-8"))
    run("dedup", ARTICLES, "-o", "out")
    other = report()
    for part in ("Nearest to the threshold", "By source", "By date", "What other thresholds would leave"):
        assert part in page.text and part in other.text
    assert page.marks == other.marks
    frame = pa.Table.from_pylist([{"text": row["text"]} for row in ROWS])
    neardup.dedup(frame).write_report("frame.html")
    assert check_page(Path("frame.html").read_text(encoding="utf-8")).marks == page.marks


def test_numbers_only() -> None:
    assert differ_in_numbers_only("pay 42 crowns", "pay 24 Crowns")
    assert not differ_in_numbers_only("pay 42 crowns", "pay 42 crowns")
    assert not differ_in_numbers_only("pay 42 crowns", "pay 24 marks")
    assert differ_in_numbers_only("version 2a", "version 2b")


def test_bins_put_a_tie_above() -> None:
    import numpy as np

    counts = binned(np.array([0.7, 0.29, 1.0, 0.999, float("nan"), 0.0]))
    assert [int(place) for place in np.flatnonzero(counts)] == [0, 290, 700, 999, 1000]


class Dated:
    def __init__(self, values: list[object]) -> None:
        self.values = values

    def documents(self, column: str):
        import numpy as np

        yield pa.array(self.values), np.arange(len(self.values)) % 2 == 0


@pytest.mark.parametrize(
    "values, expected",
    [
        (["2024-01-02", "2024-01-03T10:00:00Z", "x", None], {"2024-01-02": (1, 0), "2024-01-03": (0, 1)}),
        ([1987, 1990, 2010], {"1987": (1, 0), "1990": (0, 1), "2010": (1, 0)}),
        ([1700000000, 1700000000000], {"2023-11-14": (1, 1)}),
        (["2024-01-02", "2025-03-01"], {"2024-01": (1, 0), "2025-03": (0, 1)}),
        (["Sun, 24 Jun 2001 20:45:01 -0700", "20010625"], {"2001-06-25": (1, 1)}),
        (["nothing", "at all"], {}),
        ([10**30, -1.5e300], {}),
    ],
)
def test_dates_of_many_forms(values: list[object], expected: dict) -> None:
    if max((abs(v) for v in values if isinstance(v, (int, float))), default=0) > 1e19:
        values = [float(v) for v in values]  # type: ignore[arg-type]
    counts, _ = by_date(Dated(values), "date")  # type: ignore[arg-type]
    assert counts == expected


def test_the_folder_is_read_in_batches() -> None:
    rows = 50_000
    run("dedup", ARTICLES, "-o", "out")
    table = pq.read_table("out/clusters.parquet")
    many = pa.concat_tables([table] * (rows // len(table)))
    pq.write_table(many, "out/clusters.parquet")
    sizes = [len(batch) for batch in open_folder("out").table("clusters", ("id", "similarity"))]
    assert sum(sizes) == len(many) and max(sizes) <= 8192
