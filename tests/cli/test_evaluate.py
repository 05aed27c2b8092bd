"""neardup evaluate, and neardup tune with labels, as a user calls them."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from neardup.cli import group, main
from neardup.errors import MissingExtra
from neardup.evaluate.packages import load

EXAMPLES = Path(__file__).parents[2] / "examples"
ARTICLES = str(EXAMPLES / "articles.jsonl")
STORIES = str(EXAMPLES / "stories.csv")
FAST = ("--bootstrap", "20", "--splits", "2")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, command: str = "evaluate") -> Result:
    result = CliRunner().invoke(group, [command, *arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def evaluated(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(ARTICLES, "--labels", STORIES, *FAST, *arguments, "--json").stdout)
    return found


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, command: str = "evaluate") -> str:
    """The one line on standard error of a run that ends with exit code 2."""
    with pytest.raises(SystemExit) as stop:
        main([command, *arguments])
    printed = capsys.readouterr()
    assert stop.value.code == 2
    assert not printed.out
    assert printed.err.startswith("neardup: ") and printed.err.count("\n") == 1
    return printed.err.removeprefix("neardup: ").strip()


def write(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


# --- evaluate ----------------------------------------------------------------------------------------------------


def test_the_table() -> None:
    printed = run(ARTICLES, "--labels", STORIES, "--method", "minhash:ngram=3/5", *FAST).stdout
    lines = printed.splitlines()
    assert (
        lines[0] == "66 documents in 42 labelled clusters: 2,145 pairs, 34 of them near-duplicates (1.59%)."
    )
    assert lines[4].split()[:6] == ["minhash:ngram=3", "0.7", "29", "1.000", "0.853", "0.921"]
    assert "At the best threshold for f1" in lines
    assert "minhash:ngram=5 compared with minhash:ngram=3: F1 -0.035" in printed
    assert lines[-1] == "Note: 1 of 67 documents excluded: no label, or irrelevant."


def test_json_has_everything() -> None:
    found = evaluated("--method", "minhash", "--goal", "precision=0.9", "--seed", "7")
    [method] = found["methods"]
    assert found["goal"] == "precision=0.9"
    assert (method["true_positives"], method["false_positives"], method["false_negatives"]) == (27, 0, 7)
    assert method["best"]["precision"] >= 0.9 and 0 < method["best"]["threshold"] < 0.7
    assert method["intervals"]["f1"]["low"] <= method["f1"] <= method["intervals"]["f1"]["high"]
    assert method["splits"]["halves"] == 4
    assert method["clustering"]["bcubed_f1"] > 0.9 and method["candidate_recall"]["recall"] == 1
    assert method["cost"]["documents"] == 67 and found["peak_memory"] > 0
    assert method["plan"]["threshold"] == 0.7
    assert evaluated("--bootstrap", "0", "--splits", "0")["methods"][0]["splits"] is None


def test_the_result_does_not_depend_on_the_threads() -> None:
    one, two = (evaluated("--threads", count)["methods"][0] for count in "12")
    for method in (one, two):
        method.pop("cost")
    assert one == two


def test_csv_and_markdown() -> None:
    arguments = (
        ARTICLES,
        "--labels",
        STORIES,
        "--method",
        "minhash:threshold=0.5/0.7",
        *FAST,
        "--output-format",
    )
    rows = list(csv.DictReader(io.StringIO(run(*arguments, "csv").stdout)))
    assert [row["method"] for row in rows] == ["minhash:threshold=0.5", "minhash:threshold=0.7"]
    assert float(rows[1]["recall"]) == pytest.approx(27 / 34)
    lines = run(*arguments, "markdown").stdout.splitlines()
    assert lines[0].startswith("| method | threshold | found |") and len(lines) == 4


def test_judged_pairs_and_people() -> None:
    rows = "left,right,label,rater\nharbour,harbour-brief,1,ann\nharbour,harbour-brief,1,bob\n"
    rows += (
        "river,river-courier,yes,ann\nriver,river-courier,yes,bob\nmarket-tuesday,market-wednesday,0,ann\n"
    )
    rows += "market-tuesday,market-wednesday,1,bob\nharbour,river,0,ann\nharbour,river,0,bob\n"
    printed = run(ARTICLES, "--labels", write("pairs.csv", rows), *FAST).stdout
    assert printed.startswith("67 documents; judged: 3 pairs, 2 of them near-duplicates (66.67%).\n")
    assert "Rater agreement (Cohen's kappa): ann and bob 0.500." in printed
    assert "1 pair excluded: unclear" in printed


def test_a_folder_of_clusters() -> None:
    copy = "one two three four five six"
    for place, text in (("a/1.txt", copy), ("a/2.txt", copy), ("b/3.txt", "other words")):
        path = Path("corpus", place)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = json.loads(run("corpus", "--labels", "corpus", "--json").stdout)
    assert found["labels"]["clusters"] == 2 and found["methods"][0]["f1"] == 1
    assert found["methods"][0]["splits"] is None  # near-duplicates in one cluster only
    assert "only one cluster" in found["notes"][0]


def test_scores_of_another_tool() -> None:
    write("other.csv", "id_a,id_b,score,cosine\nharbour,harbour-brief,0.9,0.1\nharbour,river,0.8,0.2\n")
    found = evaluated("--scores", "other.csv", "--scores", "other.csv:cosine", "--method", "minhash")
    assert [method["name"] for method in found["methods"]] == ["minhash", "other.csv", "other.csv:cosine"]
    assert found["methods"][1]["best"]["precision"] == 1 and found["methods"][2]["best"]["precision"] == 0.5
    assert len(found["comparisons"]) == 2


def test_plots_and_errors() -> None:
    run(ARTICLES, "--labels", STORIES, *FAST, "--plots", "plots", "--errors", "errors.html")
    names = sorted(path.name for path in Path("plots").iterdir())
    assert names == [
        "01_minhash_candidates.png",
        "01_minhash_similarities.png",
        "precision_recall.png",
        "thresholds.png",
    ]
    assert all(path.stat().st_size > 5000 for path in Path("plots").iterdir())
    page = Path("errors.html").read_text()
    assert "harbour-brief" in page and "7 false negatives." in page
    assert "Precision by recall" in page and "F1 by threshold" in page and page.count("<polyline") == 2
    printed = run(ARTICLES, "--labels", STORIES, *FAST, "--worst", "2").stdout
    assert (
        "7 false negatives, the worst 2 shown" in printed
        and "harbour-brief and harbour-syndicated" in printed
    )


def test_undecided_clusters() -> None:
    write("apart.csv", "cluster_a,cluster_b\nharbour,storm\n")
    assert evaluated("--undecided", "apart.csv")["labels"]["pairs"] == 2145 - 15


def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    head = "id,cluster\nharbour,x\nriver,x\nstorm,y\n"
    for rows, said in (
        (head + "nobody,x\n", "labels.csv, record 4: no document has the id 'nobody'"),
        (
            head + "harbour,y\n",
            "labels.csv, record 4: the document 'harbour' is in 'y', but in 'x' in record 1",
        ),
        ("id,cluster\nharbour,x\nriver,x\n", "labels.csv puts all labelled documents into one cluster"),
        ("id,colour\nharbour,x\n", "labels.csv has no column for the cluster"),
        (
            "id_a,id_b,label\nharbour,river,1\nriver,harbour,0\n",
            "labels.csv, record 2: the pair is labelled '0', but",
        ),
        ("id_a,id_b,label\nharbour,river,often\n", "labels.csv, record 1: a label must be"),
    ):
        assert refused(capsys, ARTICLES, "--labels", write("labels.csv", rows)).startswith(said)
    write("scores.csv", "id_a,id_b,score\nharbour,river,much\n")
    assert refused(capsys, ARTICLES, "--labels", STORIES, "--scores", "scores.csv").startswith(
        "scores.csv, record 1: a score must be a number"
    )
    assert "missing.csv does not exist" in refused(capsys, ARTICLES, "--labels", "missing.csv")
    assert "colour" in refused(capsys, ARTICLES, "--labels", STORIES, "--method", "minhash:colour=3")
    assert "'magic'" in refused(capsys, ARTICLES, "--labels", STORIES, "--method", "magic")
    assert "goal" in refused(capsys, ARTICLES, "--labels", STORIES, "--goal", "speed")
    assert ".html" in refused(capsys, ARTICLES, "--labels", STORIES, "--errors", "errors.txt")
    write("errors.html", "mine")
    assert "--force" in refused(capsys, ARTICLES, "--labels", STORIES, "--errors", "errors.html")
    assert Path("errors.html").read_text() == "mine"


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.metrics", None)
    with pytest.raises(
        MissingExtra, match=r"needs scikit-learn: install it with  pip install 'neardup\[evaluate\]'"
    ):
        load("sklearn.metrics")


def test_help_loads_nothing_that_computes() -> None:
    code = "import sys; from neardup.cli import main; main(['evaluate', '--help'])"
    done = subprocess.run([sys.executable, "-X", "importtime", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0
    loaded = {line.rpartition("|")[2].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert not loaded & {"numba", "scipy", "sklearn", "statsmodels", "matplotlib"}


# --- tune --------------------------------------------------------------------------------------------------------


def test_tune_finds_the_best_for_a_goal() -> None:
    printed = run(
        ARTICLES,
        "--labels",
        STORIES,
        *FAST,
        "--goal",
        "recall=0.95",
        "--documents",
        "5000000",
        command="tune",
    ).stdout
    lines = printed.splitlines()
    assert lines[0].startswith("Best for recall=0.95: ")
    assert "estimated cost for 5,000,000 documents like these: " in printed and "of memory" in printed
    assert re.search(rf"neardup dedup {ARTICLES} -o clean --(method|preset) ", printed)
    assert sum(line.startswith("minhash:ngram=") for line in lines) == 3, "and minhash by itself has five"
    assert any(line.startswith("minhash ") for line in lines)
    assert any(line.startswith("spotsigs ") for line in lines)


def test_tune_tries_what_it_is_told() -> None:
    arguments = (ARTICLES, "--labels", STORIES, *FAST, "--json")
    tried = json.loads(run(*arguments, "--try", "minhash:ngram=1/4", command="tune").stdout)
    assert sorted(one["name"] for one in tried["tried"]) == ["minhash:ngram=1", "minhash:ngram=4"]
    assert tried["cost"]["documents"] == 1_000_000 and tried["cost"]["seconds"] > 0
    one = json.loads(run(*arguments, "--ngram", "4", command="tune").stdout)
    assert [choice["name"] for choice in one["tried"]] == ["minhash:ngram=4"]
    assert 0 < one["best"]["options"]["threshold"] <= 1 and one["outcome"] == one["best"]["outcome"]


def test_tune_with_half_of_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--labels" in refused(capsys, ARTICLES, command="tune")
    assert "give their file" in refused(capsys, "--labels", STORIES, command="tune")
    assert "does not exist" in refused(capsys, ARTICLES, "--labels", "no.csv", command="tune")
    assert "--plots" in refused(capsys, ARTICLES, "--labels", STORIES, "--plot", "x.svg", command="tune")
    arguments = (ARTICLES, "--labels", STORIES, "--try", "minhash", "--ngram", "3")
    assert "--method" in refused(capsys, *arguments, command="tune")
