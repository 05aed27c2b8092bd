"""Model files: what is written is what is read, and whatever is wrong with one is one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import neardup
from neardup.errors import InputError, ParameterError, StatisticsError
from neardup.explain.contributions import contributions
from neardup.learn.model.file import Model, Probability, most_frequent, read_model
from neardup.registry import get_method
from neardup.statistics import Frequencies, Statistics


def statistics() -> Statistics:
    from neardup.features.shingles import Shingles
    from neardup.plan import stage_json
    from neardup.text.words import Words

    keys = np.array([1, 5, 2**63, 2**64 - 1], np.uint64)
    table = Frequencies(keys, np.array([3, 1, 9, 2]))
    return Statistics(10, stage_json(Words()), {stage_json(Shingles(1)): table})


def model() -> Model:
    weights = {"bias": 0.25, "idf": 0.75, "capitalised": -0.5}
    return Model(weights, threshold=0.4, probability=Probability(20.0, 0.4), statistics=statistics())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "model.json"
    model().write(target)
    return target


def broken(path: Path, **changes: Any) -> Path:
    raw = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**raw, **changes}), encoding="utf-8")
    return path


def test_a_model_survives_its_file(path: Path) -> None:
    again = read_model(path)
    assert again.to_json() == model().to_json()
    assert read_model(f"@{path}").to_json() == again.to_json()
    assert again.statistics is not None and again.statistics.digest == statistics().digest
    assert "How far" not in path.read_text() and '"description": "Rarity' in path.read_text()


def test_the_most_frequent_features_stay() -> None:
    few = most_frequent(statistics(), 2)
    (table,) = few.tables.values()
    assert table.keys.tolist() == [1, 2**63] and table.counts.tolist() == [3, 9]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"neardup_model": 99}, "version 99; this neardup reads version 1"),
        ({"neardup_model": None}, "version None"),
        ({"features": {"no_such": {"weight": 1}}}, "no_such"),
        ({"features": {"idf": {}}}, "damaged"),
        ({"features": {"idf": {"weight": float("nan")}}}, "finite number"),
        ({"threshold": 7}, "damaged"),
        ({"similarity": "hamming"}, "damaged"),
        ({"tokens": "characters"}, "counted over other tokens"),
        ({"training": 3}, "damaged"),
        ({"statistics": {"documents": 3}}, "damaged"),
    ],
)
def test_a_model_that_cannot_be_used_says_why(path: Path, changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_model(broken(path, **changes))


def test_statistics_of_another_model_are_refused(path: Path) -> None:
    raw = json.loads(path.read_text(encoding="utf-8"))
    with pytest.raises(InputError, match="belong to another model"):
        read_model(broken(path, statistics={**raw["statistics"], "documents": 11}))


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", "null", '"text"'])
def test_what_is_no_model_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "m.json").write_text(content)
    with pytest.raises(InputError, match="is not a model"):
        read_model(tmp_path / "m.json")


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.json cannot be read"):
        read_model(tmp_path / "absent.json")


def test_the_method_takes_what_the_model_knows(path: Path) -> None:
    plan = get_method("andd").plan(model=str(path))
    assert plan.threshold == 0.4 and plan.view.weights[0].weights == (0.25, 0.75, -0.5)  # type: ignore[attr-defined]
    assert get_method("andd").plan(model=str(path), threshold=0.8).threshold == 0.8
    with pytest.raises(ParameterError, match="which the model was learned with"):
        get_method("andd").plan(model=str(path), ngram=3)


def test_weights_below_zero_have_no_place_in_samples(path: Path) -> None:
    kept = broken(path, negative="keep")
    assert get_method("andd").plan(model=str(kept)).check_view is None
    plan = get_method("andd").plan(model=str(kept), signature="samples")
    assert plan.view.weights[0].negative == "clip"  # type: ignore[attr-defined]
    assert plan.check_view is not None and plan.check_view.weights[0].negative == "keep"  # type: ignore[attr-defined]
    texts = ["Some names and a few plain words here", "Some Names and a few plain words there"]
    assert len(neardup.dedup(texts, plan=plan.with_(pairs="all", threshold=0.01)).pairs) == 1


def test_two_texts_need_the_statistics_of_a_model(path: Path) -> None:
    from neardup.explain.passages import shared_passages

    plan = get_method("andd").plan(model=str(path))
    with pytest.raises(StatisticsError):
        shared_passages(plan, "one two", "one two three")
    found = shared_passages(plan, "one two", "one two three", statistics())
    assert found.shared == 2 and 0 < found.similarity < 1


def test_contributions_add_up_to_the_score(path: Path) -> None:
    plan = get_method("andd").plan(model=str(path))
    parts = contributions(plan, "The quick, brown fox!", "a quick fox (brown) the", statistics(), most=99)
    assert sum(part.share for part in parts) == pytest.approx(1)
    assert {part.text for part in parts} == {"The", "quick", "brown", "fox"}
    assert [part.share for part in parts] == sorted((part.share for part in parts), reverse=True)
