"""neardup learn, and what is done with its model, as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from neardup.cli import group
from neardup.errors import NeardupError

EXAMPLES = Path(__file__).parents[2] / "examples"
ARTICLES, STORIES = str(EXAMPLES / "articles.jsonl"), str(EXAMPLES / "stories.csv")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(group, list(arguments))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def learn(*arguments: str) -> Result:
    return run("learn", ARTICLES, "--labels", STORIES, "-o", "model.json", *arguments)


def test_a_model_is_learned_and_used() -> None:
    shown = learn().stdout
    assert "labelled documents" in shown and "--method andd --model model.json" in shown
    assert json.loads(Path("model.json").read_text())["neardup_model"] == 1
    run("dedup", ARTICLES, "--method", "andd", "--model", "model.json", "-o", "clean")
    assert json.loads(Path("clean/report.json").read_text())["removed"] > 0
    scores = run("evaluate", ARTICLES, "--labels", STORIES, "--method", "andd:model=model.json", "--bootstrap", "0",
                 "--splits", "0", "--json")  # fmt: skip
    assert json.loads(scores.stdout)["methods"][0]["best"]["f1"] > 0.9


def test_a_comparison_shows_what_made_the_score() -> None:
    learn()
    pair = (str(EXAMPLES / "harbour.txt"), str(EXAMPLES / "harbour-syndicated.txt"))
    shown = run(
        "compare", *pair, "--model", "model.json", "--width", "100"
    ).stdout  # a model names its method
    assert "adds most to the score" in shown and "are near-duplicates." in shown
    found = json.loads(run("compare", *pair, "--method", "andd", "--model", "model.json", "--json").stdout)
    assert 0 < found["probability"] <= 1 and found["contributions"][0]["share"] > 0


def test_fields_and_queries_go_into_the_model() -> None:
    Path("queries.csv").write_text("query,count\nharbour,40\nmayor,7\n")
    learn("--fields", "title", "--queries", "queries.csv", "--initial-weights", "even", "--aim", "signatures")
    model = json.loads(Path("model.json").read_text())
    assert model["fields"] == ["title"] and model["training"]["initial_weights"] == "even"
    assert {"in_title", "query_frequency"} <= set(model["features"])
    run("dedup", ARTICLES, "--method", "andd", "--model", "model.json", "-o", "clean")
    scores = run("evaluate", ARTICLES, "--labels", STORIES, "--method", "andd:model=model.json", "--method", "minhash",
                 "--bootstrap", "0", "--splits", "0", "--json")  # fmt: skip
    assert json.loads(scores.stdout)["methods"][0]["best"]["f1"] > 0.9
    ids = [json.loads(line)["id"] for line in Path(ARTICLES).read_text().splitlines()[:2]]
    shown = run("compare", *map(str, ids), "--in", ARTICLES, "--model", "model.json").stdout
    assert "similarity" in shown


def test_the_summary_can_be_read_by_machines() -> None:
    found = json.loads(learn("--json", "--similarity", "jaccard", "--features", "idf,tf").stdout)
    assert found["documents"] > 10 and {"idf", "tf"} <= set(found["weights"])


@pytest.mark.parametrize("similarity", ["cosine", "jaccard"])
def test_the_containment_of_compared_documents_is_a_share_of_the_smaller_one(similarity: str) -> None:
    learn("--similarity", similarity)
    for pair in (["harbour", "harbour-brief"], ["harbour", "harbour-extended"], ["library", "chess"]):
        found = json.loads(run("compare", *pair, "--in", ARTICLES, "--model", "model.json", "--json").stdout)
        assert found["containment"] == max(found[side]["containment"] for side in ("left", "right")) <= 1
    run("pairs", ARTICLES, "--model", "model.json", "--threshold", "0.1", "-o", "pairs.parquet")
    assert max(pq.read_table("pairs.parquet").column("containment").to_pylist()) <= 1


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--features", "beauty"), "beauty"),
        (("--features", " , "), "at least one name"),
        (("--goal", "fame"), "goal"),
        (("--labels", "absent.csv"), "absent.csv does not exist"),
        (("-o", "no/such/model.json"), "does not exist: create it first"),
    ],
)
def test_what_cannot_be_done_is_said(arguments: tuple[str, ...], problem: str) -> None:
    with pytest.raises(NeardupError, match=problem):
        learn(*arguments)


def test_a_model_is_not_overwritten_unasked() -> None:
    Path("model.json").write_text("mine")
    with pytest.raises(NeardupError, match="--force"):
        learn()
    assert Path("model.json").read_text() == "mine"
    learn("--force")


def test_labels_of_unknown_documents_are_refused() -> None:
    Path("labels.csv").write_text("id,cluster\nkitchen,a\nnobody,a\nchess,b\n")
    with pytest.raises(NeardupError, match="nobody"):
        run("learn", ARTICLES, "--labels", "labels.csv", "-o", "model.json")


def test_a_model_of_another_kind_is_refused() -> None:
    Path("model.json").write_text('{"neardup_model": 2}')
    with pytest.raises(NeardupError, match="version 2"):
        run("dedup", ARTICLES, "--method", "andd", "--model", "model.json", "-o", "clean")
