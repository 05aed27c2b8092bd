"""The studies run, name what they lack, and print ours beside the paper's."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from neardup.cli import group
from neardup.cli.study import as_markdown
from neardup.errors import InputError, ParameterError
from neardup.evaluate.labels import pack_pairs
from neardup.evaluate.studies.data import FORMS, DataFolder, default_folder
from neardup.evaluate.studies.registry import StudyTable, find_studies, get_study, studies
from neardup.evaluate.study_plots import plot_table

PRESENT = not DataFolder().missing("spotsigs_gold")


def test_every_study_says_what_it_shows_and_what_it_needs() -> None:
    assert len(studies()) >= 7
    for study in studies().values():
        assert study.summary.endswith(".") and study.source
        assert set(study.needs) <= set(FORMS)


def test_a_study_without_its_data_says_what_to_provide(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"needs the collection 'spotsigs_gold' in .*documents.jsonl.gz.*--data"
    ):
        get_study("spotsigs_table_1").run(DataFolder(tmp_path))
    with pytest.raises(ParameterError, match="slides_bands"):
        get_study("nonesuch")


def test_the_data_is_looked_for_where_the_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARDUP_DATA", os.fspath(Path("elsewhere")))
    assert default_folder() == Path("elsewhere")


def test_the_command_lists_and_runs() -> None:
    listed = CliRunner().invoke(group, ["study", "list"]).output
    assert all(name in listed for name in studies())
    found = CliRunner().invoke(group, ["study", "run", "slides_bands", "--json"])
    table = json.loads(found.stdout)[0]
    by_similarity = {row[0]: row[1:] for row in table["rows"]}
    for printed, formula, simulated, *_ in by_similarity.values():
        assert formula == pytest.approx(printed, abs=0.0006)
        assert simulated == pytest.approx(formula, abs=0.015)


def test_studies_are_found_by_pattern() -> None:
    names = [study.name for study in find_studies(["andd_figure_*", "slides_bands", "andd_*"])]
    assert names[:5] == ["andd_figure_1", "andd_figure_2", "andd_figure_4", "andd_figure_5", "slides_bands"]
    assert {"andd_protocol", "andd_table_2", "andd_table_5", "andd_senders"} < set(names)
    assert len(find_studies(["all", "slides_bands", "own_data"])) == len(studies())
    with pytest.raises(ParameterError, match="slides_bands"):
        find_studies(["nothing_*"])


def test_a_figure_is_drawn_from_its_table(tmp_path: Path) -> None:
    rows = [[64, 0.9, 0.8], [4096, 0.95, None], ["vectors", 0.97, 0.9]]
    drawn = plot_table(
        tmp_path / "figure.svg", StudyTable("Figure 1", ["bits", "ours", "theirs"], rows, plot=True)
    )
    text = drawn.read_text()
    assert "<svg" in text and text.count("<path") > 10
    assert (
        text
        == plot_table(
            tmp_path / "again.svg", StudyTable("Figure 1", ["bits", "ours", "theirs"], rows)
        ).read_text()
    )


def test_a_table_in_markdown() -> None:
    table = StudyTable(
        "A title", ["a|b", "n", "x"], [["p", 12345, 0.25], ["q", None, float("nan")]], ["a note"]
    )
    lines = as_markdown(table).splitlines()
    assert lines[0] == "### A title" and lines[2] == "| a\\|b | n | x |"
    assert lines[4:6] == ["| p | 12,345 | 0.250 |", "| q | – | – |"]
    assert lines[-1] == "- a note"


def test_the_methods_on_a_folder_of_ones_own(tmp_path: Path) -> None:
    rng = random.Random(1)
    stories = [[f"the word{rng.randrange(300)}" for _ in range(40)] for _ in range(6)]
    rows, clusters = [], ["id,cluster"]
    for number in range(18):
        words = [word if rng.random() > 0.1 else "a change" for word in stories[number % 6]]
        rows.append(json.dumps({"id": str(number), "text": " ".join(words)}))
        clusters.append(f"{number},c{number % 6}")
    (tmp_path / "documents.jsonl").write_text("\n".join(rows))
    refused = CliRunner().invoke(group, ["study", "run", "own_data", "--data", str(tmp_path)])
    assert "needs documents" in str(refused.exception) and "clusters.csv" in str(refused.exception)
    (tmp_path / "clusters.csv").write_text("\n".join(clusters))
    given = [
        "study",
        "run",
        "own_data",
        "--data",
        str(tmp_path),
        "--plots",
        str(tmp_path / "plots"),
        "--json",
    ]
    found = CliRunner().invoke(group, given, catch_exceptions=False)
    table, curve = json.loads(found.stdout)
    assert all(row[4] == 1.0 for row in table["rows"] if row[0].endswith("-shingles"))
    assert [row[0] for row in table["rows"]] == curve["columns"][1:]
    assert (tmp_path / "plots" / "own_data.png").stat().st_size > 1000


def test_a_study_without_curves_says_that_it_has_no_figure(tmp_path: Path) -> None:
    found = CliRunner().invoke(group, ["study", "run", "slides_bands", "--plots", str(tmp_path)])
    assert "slides_bands: no figure to draw" in found.stderr


@pytest.mark.slow
@pytest.mark.skipif(not PRESENT, reason="the SpotSigs gold set is not here ($NEARDUP_DATA)")
def test_spot_signatures_beat_shingles_on_whole_pages() -> None:
    """The paper's claim, on our half of its data: table 1."""
    table = get_study("spotsigs_table_1").run(DataFolder())[0]
    f1 = {str(row[0]): float(row[7] or 0) for row in table.rows}
    assert f1["SpotSigs [0.2,0.85]"] > 0.93
    assert f1["SpotSigs, all"] > f1["3-shingles, all"] and f1["SpotSigs, all"] > f1["1-shingles, all"]
    assert f1["I-Match-S [0.4,0.75]"] > f1["I-Match [0.4,0.75]"]


def test_scores_of_a_sample_of_pairs_are_in_its_order() -> None:
    from neardup.evaluate.scores import ScoredPairs
    from neardup.evaluate.studies.rare_phrases_correlation import _scores

    left, right = np.array([3, 0, 1]), np.array([4, 2, 2])
    pairs = ScoredPairs(left, right, np.array([0.9, 0.5, 0.1]), np.ones(3, np.bool_), 3, 10)
    sample = np.sort(pack_pairs(np.array([0, 3, 0]), np.array([1, 4, 2])))
    assert _scores(pairs, sample).tolist() == [0, 0.5, 0.9]


@pytest.mark.slow
def test_made_versions_are_labelled_and_the_same_every_time() -> None:
    from neardup.evaluate.studies.made_versions import edit_code, edit_notice, python_functions

    documents, truth = python_functions()
    texts, labels = documents.texts.to_pylist(), truth.clusters
    assert labels is not None and (truth.sizes > 1).sum() == 300 and len(texts) == len(labels)
    assert texts == python_functions()[0].texts.to_pylist()
    changed = [
        a != b for a, b, same in zip(texts, texts[1:], labels[1:] == labels[:-1], strict=False) if same
    ]
    assert sum(changed) > 0.95 * len(changed)
    text = "the harbour of the town is closed for the winter and the ferry waits"
    assert edit_notice(text, random.Random(1)) != text
    edited = edit_code("def add(first, second):\n    # the sum\n    return first + second", random.Random(1))
    assert edited.startswith("def ") and "return" in edited
