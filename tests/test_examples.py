"""What the demo must find, and whether the README and the tutorial show what the commands really print.

`python tests/test_examples.py` writes the output of today into the pages.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import neardup
from neardup.cli import main

ROOT = Path(__file__).parent.parent
ARTICLES = ROOT / "examples" / "articles.jsonl"
PAGES = ("README.md", "docs/tutorial.md", "docs/output.md", "docs/evaluation.md", "docs/review.md")
OUTPUT = re.compile(r" -o ([\w./-]+)|> ([\w./-]+)$", re.MULTILINE)  # what the commands of a page write

CLUSTERS = [
    {"bridge", "bridge-corrected"},
    {"census", "census-gazette"},
    {"cheese", "cheese-post"},
    {"ferry", "ferry-extended"},
    {"harbour", "harbour-corrected", "harbour-extended", "harbour-syndicated"},
    {"haus", "haus-agentur"},
    {"library", "library-courier", "library-weekend"},
    {"lighthouse", "lighthouse-gazette", "lighthouse-post"},
    {"museum", "museum-retyped"},
    {"museum-zh", "museum-zh-agency"},
    {"nadi", "nadi-agency"},
    {"quarry", "quarry-extended"},
    {"river", "river-corrected", "river-courier"},
    {"station-ja", "station-ja-wire"},
    {"storm", "storm-evening", "storm-noon"},
    {"suq", "suq-wakala"},
    {"vaccine", "vaccine-corrected"},
]


@cache
def articles() -> dict[str, dict[str, str]]:
    lines = ARTICLES.read_text(encoding="utf-8").splitlines()
    return {article["id"]: article for article in map(json.loads, lines)}


@cache
def result(**options: Any) -> neardup.Result:
    return neardup.dedup(ARTICLES, **options)


def clusters(found: neardup.Result) -> list[set[str]]:
    groups: dict[str, set[str]] = {}
    for row in found.clusters.to_pylist():
        groups.setdefault(row["cluster"], set()).add(row["id"])
    return sorted(groups.values(), key=min)


def similarity(left: str, right: str, **options: Any) -> float:
    texts = articles()
    return neardup.compare(texts[left]["text"], texts[right]["text"], **options).similarity


def test_the_corpus_is_made_from_its_stories() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        from make_examples import STORIES, label, read_stories
    finally:
        sys.path.pop(0)
    stories = read_stories(STORIES.read_text(encoding="utf-8"))
    assert {story.id: story._asdict() for story in stories} == articles()
    labels = [f"{id},{label(STORIES.read_text(encoding='utf-8'))[id]}" for id in articles()]
    written = (ROOT / "examples" / "stories.csv").read_text(encoding="utf-8")
    assert written.splitlines() == ["id,cluster", *labels]
    for name in ("harbour", "harbour-syndicated"):
        text = (ROOT / "examples" / f"{name}.txt").read_text(encoding="utf-8")
        assert text == articles()[name]["text"] + "\n"


def test_the_clusters_are_those_that_were_planted() -> None:
    assert clusters(result(clusters="components")) == CLUSTERS


def test_one_of_each_cluster_is_kept() -> None:
    kept = set(result(clusters="components").kept["id"].to_pylist())
    assert all(len(cluster & kept) == 1 for cluster in CLUSTERS)
    assert len(kept) == len(articles()) - sum(len(cluster) - 1 for cluster in CLUSTERS)


def test_copies_are_reported_as_copies_and_a_retyped_text_as_similar() -> None:
    reasons = {(row["left"], row["right"]): row["reason"] for row in result(pairs="all").pairs.to_pylist()}
    assert {pair for pair, reason in reasons.items() if reason == "copy"} == {
        ("library", "library-courier"),
        ("library", "library-weekend"),
        ("library-courier", "library-weekend"),
    }
    assert reasons["museum", "museum-retyped"] == "similar"
    assert similarity("museum", "museum-retyped") == 1


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("market-tuesday", "market-wednesday"),  # one frame, other figures
        ("picnic", "picnic-other"),  # the same words, other emoji
        ("beekeepers", "observatory"),  # the same legal notice below
        ("tram", "orchard"),
        ("storm", "storm-evening"),  # joined only by way of storm-noon
    ],
)
def test_what_only_looks_alike_is_no_pair(left: str, right: str) -> None:
    assert similarity(left, right) < 0.7
    pairs = {(row["left"], row["right"]) for row in result(pairs="all").pairs.to_pylist()}
    assert (min(left, right), max(left, right)) not in pairs


def test_a_short_version_is_contained_but_not_similar() -> None:
    texts = articles()
    found = neardup.compare(texts["harbour"]["text"], texts["harbour-brief"]["text"])
    assert found.containment == 1 and found.similarity < 0.7
    assert "harbour-brief" in result().kept["id"].to_pylist()


def test_an_empty_text_is_kept_and_paired_with_nothing() -> None:
    assert articles()["notice"]["text"] == ""
    assert "notice" in result().kept["id"].to_pylist()
    assert result().report["without_tokens"] == 1


def test_leaders_do_not_drift() -> None:
    led = result(clusters="leaders", keep="oldest:date")
    assert {"storm", "storm-noon"} in clusters(led)
    assert min(row["similarity"] for row in led.clusters.to_pylist() if not row["keep"]) >= 0.7


def test_the_policy_decides_which_one_stays() -> None:
    newest = set(result(keep="newest:date").kept["id"].to_pylist())
    assert {"vaccine-corrected", "river-corrected", "library-weekend"} <= newest
    wire = set(result(keep="priority:source=North Shore Wire,Tidewater Post").kept["id"].to_pylist())
    assert {"harbour-syndicated", "cheese", "lighthouse"} <= wire


def test_pages_of_one_template_are_told_apart() -> None:
    found = neardup.dedup(ROOT / "examples" / "pages")
    assert clusters(found) == [{"harbour-print.html", "harbour.html"}]


def test_the_table_of_thresholds_is_measured() -> None:
    words = [f"word{place}" for place in range(200)]
    other = [f"other{place}" for place in range(50)]

    def changed(count: int) -> list[str]:
        places = {10 + 18 * k for k in range(count)}
        return [f"new{place}" if place in places else word for place, word in enumerate(words)]

    versions = {f"{k} words, far apart": changed(k) for k in (3, 5, 7, 10)}
    versions |= {"1 word": changed(1), "50 words added at the end": words + other}
    versions |= {"the last 50 words replaced": words[:150] + other}
    text = (ROOT / "docs" / "thresholds.md").read_text(encoding="utf-8")
    for change, version in versions.items():
        value = neardup.compare(" ".join(words), " ".join(version)).similarity
        assert f"| {change} | {value:.3f} |" in text


def test_the_text_of_the_tutorial_has_the_numbers_of_its_output() -> None:
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    report = result().report
    removed, documents, pairs = report["removed"], report["documents"], report["pairs"]
    said = [f"{removed} of {documents} documents are near-duplicates", f"form {report['clusters']} clusters"]
    said += [f"proposed {pairs['candidates']} pairs, and {pairs['verified']} pairs reach"]
    assert [sentence for sentence in said if sentence not in text] == []


def test_the_tutorial_writes_nothing_that_the_readme_has_written() -> None:
    first, second = (
        {"".join(found) for found in OUTPUT.findall((ROOT / page).read_text(encoding="utf-8"))}
        for page in ("README.md", "docs/tutorial.md")
    )
    assert {"clean", "test-set.jsonl"} <= first
    assert all(path.startswith("tutorial/") for path in second)


def test_campaigns_are_found_and_a_shared_notice_makes_none() -> None:
    found = clusters(neardup.dedup(ROOT / "examples" / "campaigns.mbox"))
    assert [len(cluster) for cluster in found] == [2, 3]
    assert all(len({id.partition("-")[0] for id in cluster}) == 1 for cluster in found)


def test_the_method_of_the_contributing_page_works() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    block = text.partition("```python\n")[2].partition("```")[0]
    show = (
        f"import neardup; found = neardup.dedup({str(ARTICLES)!r}, method='short_texts', text_column='title')"
    )
    code = f"{block}\n{show}\nprint(found.plan.method, found.plan.threshold, found.report['clusters'] > 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["short_texts", "0.6", "True"], done.stderr


def test_every_column_and_every_field_of_the_report_is_described() -> None:
    text = (ROOT / "docs" / "output.md").read_text(encoding="utf-8")
    found = result()
    names = {*found.pairs.column_names, *found.clusters.column_names, *found.annotations.column_names}
    report = found.report
    for name, value in report.items():
        inner = value.keys() if name in ("pairs", "buckets", "problems") else ()
        names |= {name} if not inner else set(inner)
    missing = {name for name in names if f"`{name}`" not in text and f".{name}`" not in text}
    assert not missing


def test_links_between_the_pages_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "examples" / "README.md"]
    for page in pages:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_constants_that_the_pages_quote_are_those_of_the_code() -> None:
    from neardup.documents import BATCH_BYTES, BATCH_ROWS
    from neardup.engines.core.represent import CHUNK
    from neardup.engines.core.rounds import BLOCK_PAIRS, TILE_BYTES

    scaling = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    plan = neardup.make_plan()
    tables, slots = plan.candidates.tables, plan.view.signature.slots
    quoted = [f"{tables} by default", f"({slots})", f"8 b = {8 * tables}", f"4 k = {4 * slots}"]
    quoted += [f"{BATCH_ROWS:,} rows or about {BATCH_BYTES >> 20} MB", f"chunks of about {CHUNK >> 20} MB"]
    quoted += [f"{TILE_BYTES >> 20} MB a tile", f"{BLOCK_PAIRS >> 20} million a block"]
    assert [text for text in quoted if text not in scaling] == []
    output = (ROOT / "docs" / "output.md").read_text(encoding="utf-8")
    assert f"more than {plan.bucket}" in output and f"up to {plan.clustering.complete} different" in output


# The pages: every ```console block is run, line by line, in a folder that has the examples in it.

Run = Callable[[str, Path], str]
NEARDUP = re.compile(
    r"(?:(?P<source>.*) \| )?neardup (?P<words>[^|;>]*?)(?P<both> 2>&1)?(?P<rest> *[|;>].*)?", re.DOTALL
)


def run_in_bash(command: str, folder: Path, given: str | None = None) -> str:
    """The standard output of a command, each program of which is a process of its own."""
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONUTF8": "1"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    line = ["bash", "-c", command]
    done = subprocess.run(
        line, input=given, cwd=folder, env=environment, stdout=subprocess.PIPE, encoding="utf-8"
    )
    return done.stdout


def run_here(command: str, folder: Path) -> str:
    """The same, but what `neardup` prints comes from this process, which has its modules and kernels loaded."""
    parts = NEARDUP.fullmatch(command)
    if parts is None:
        return run_in_bash(command, folder)
    given = run_in_bash(parts["source"], folder) if parts["source"] else None
    runner, code = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}), 0
    with pytest.MonkeyPatch.context() as patch, runner.isolation(given) as (output, _, both):
        patch.chdir(folder)
        try:
            main(shlex.split(parts["words"]))
        except SystemExit as stop:
            code = stop.code
    printed = (both if parts["both"] else output).getvalue().decode()
    return run_in_bash(f"(cat; exit {code}){parts['rest'] or ''}", folder, printed)


def run_block(block: str, folder: Path, run: Run) -> str:
    """The block with the output that its commands have now (standard output; `2>&1` where a page asks)."""
    lines: list[str] = []
    for command in re.findall(r"^\$ (.*(?:\\\n.*)*)", block, re.MULTILINE):
        lines += [f"$ {command}", *(line.rstrip() for line in run(command, folder).splitlines())]
    return "\n".join(lines) + "\n"


def run_page(text: str, folder: Path, run: Run) -> str:
    """The page with today's output."""
    (folder / "examples").symlink_to(ROOT / "examples")
    return re.sub(
        r"(?<=```console\n).*?(?=```)", lambda match: run_block(match[0], folder, run), text, flags=re.DOTALL
    )


def without_times(text: str) -> str:
    return re.sub(r"\d+\.\d s:", "… s:", text)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_its_commands_print(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert without_times(run_page(text, tmp_path, run_here)) == without_times(text)
    monkeypatch.chdir(tmp_path)  # what the commands have written is there for the Python examples
    session = "\n".join(re.findall(r"(?<=```pycon\n).*?(?=```)", text, re.DOTALL))
    example = doctest.DocTestParser().get_doctest(session, {}, page, page, 0)
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example).failed == 0


COLD = [pytest.param(page, marks=[] if page == "docs/output.md" else pytest.mark.slow) for page in PAGES]


@pytest.mark.parametrize("page", COLD)
def test_the_commands_of_a_page_print_the_same_in_processes_of_their_own(page: str, tmp_path: Path) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert without_times(run_page(text, tmp_path, run_in_bash)) == without_times(text)


if __name__ == "__main__":
    import tempfile

    for name in PAGES:
        with tempfile.TemporaryDirectory() as work:
            path = ROOT / name
            path.write_text(
                run_page(path.read_text(encoding="utf-8"), Path(work), run_in_bash), encoding="utf-8"
            )
