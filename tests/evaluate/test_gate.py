"""How floors are kept: raised without asking, lowered only on request, never compared with other data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from quality_gate import (
    DataSet,
    Floors,
    LoweredFloor,
    Score,
    fingerprint,
    measure,
    open_bench,
    raised,
    read_floors,
    shortfalls,
    write_floors,
)

from neardup.errors import InputError, ParameterError

TEXTS = {
    "a1": "the mayor opened the new bridge over the river on monday morning",
    "a2": "the mayor opened the new bridge over the river on monday evening",
    "b1": "a cat was found on the roof of the school and taken home",
    "b2": "a cat was found on the roof of the church and taken home",
    "c": "nothing else was reported from the town during the whole week",
}


@pytest.fixture
def floors(tmp_path: Path) -> Path:
    """A file of floors with a small data set beside it."""
    rows = [json.dumps({"id": id, "text": text}) for id, text in TEXTS.items()]
    (tmp_path / "documents.jsonl").write_text("\n".join(rows) + "\n")
    (tmp_path / "clusters.csv").write_text("id,cluster\n" + "".join(f"{id},{id[0]}\n" for id in TEXTS))
    sha256 = fingerprint((tmp_path / "documents.jsonl", tmp_path / "clusters.csv"))
    path = tmp_path / "floors.json"
    write_floors(Floors({"small": DataSet("documents.jsonl", "clusters.csv", "text", True, sha256)}), path)
    return path


@pytest.fixture
def set_floors(floors: Path) -> Callable[..., int]:
    """tools/set_floors.py on that file."""
    from set_floors import main

    return lambda *given: main([*given, "--floors", str(floors)])


def edit(path: Path, **change: Any) -> None:
    """Other values in the floor of minhash:ngram=2."""
    raw = json.loads(path.read_text())
    raw["floors"]["small"]["minhash:ngram=2"] |= change
    path.write_text(json.dumps(raw))


def test_a_method_is_measured(floors: Path) -> None:
    bench = open_bench("small", read_floors(floors).data["small"], floors)
    assert measure(bench, "minhash:ngram=2,threshold=0.5") == Score(1.0, 1.0)
    assert measure(bench, "minhash:ngram=10,threshold=1") == Score(f1=pytest.approx(2 / 3), recall=None)
    assert measure(bench, "minhash:ngram=11").f1 == pytest.approx(2 / 3)
    assert measure(bench, "minhash:ngram=12").f1 == 0  # finding every pair is no merit
    with pytest.raises(ParameterError, match="without alternatives"):
        measure(bench, "minhash:ngram=2/3")


def test_floors_are_added_raised_and_not_lowered(
    floors: Path, set_floors: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert set_floors("--add", "small", "minhash:ngram=2") == 0
    floor = read_floors(floors).scores["small"]["minhash:ngram=2"]
    assert floor.f1 == 0.995
    edit(floors, f1=0.5)
    assert set_floors() == 0
    assert read_floors(floors).scores["small"]["minhash:ngram=2"] == floor
    edit(floors, f1=1.1)
    before = floors.read_bytes()
    assert set_floors() == 2
    assert floors.read_bytes() == before
    said = capsys.readouterr().err
    assert "Nothing was written" in said and "below the floor 1.1000" in said and "--lower" in said
    assert set_floors("--lower") == 0
    assert read_floors(floors).scores["small"]["minhash:ngram=2"] == floor


def test_changed_data_is_an_error_until_it_is_measured_again(
    floors: Path, set_floors: Callable[..., int]
) -> None:
    set_floors("--add", "small", "minhash:ngram=2")
    with (floors.parent / "clusters.csv").open("a") as file:
        file.write("\n")
    with pytest.raises(InputError, match=r"'small' has changed.*tools/set_floors\.py"):
        open_bench("small", read_floors(floors).data["small"], floors)
    assert set_floors() == 0
    open_bench("small", read_floors(floors).data["small"], floors)


def test_absent_data_is_skipped_and_keeps_its_floors(
    floors: Path,
    set_floors: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NEARDUP_DATA", "/nowhere")
    other = DataSet("x/documents.jsonl", "x/clusters.csv", "text", False, "0")
    write_floors(Floors({"x": other}, {"x": {"minhash": Score(0.5, None)}}), floors)
    before = floors.read_bytes()
    assert set_floors() == 0
    assert floors.read_bytes() == before
    assert (
        "x: skipped, /nowhere/x/documents.jsonl does not exist; set NEARDUP_DATA" in capsys.readouterr().out
    )


def test_data_of_the_project_must_be_there(floors: Path) -> None:
    (floors.parent / "clusters.csv").unlink()
    with pytest.raises(InputError, match="part of the repository"):
        read_floors(floors).data["small"].absent(floors)


def test_an_unknown_data_set_or_method_is_named(
    set_floors: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert set_floors("--add", "large", "minhash") == 2
    assert set_floors("--add", "small", "minnhash") == 2
    said = capsys.readouterr().err
    assert "no data set 'large'" in said and "'minnhash'" in said


@pytest.mark.parametrize("text", ["", "[]", '{"data": {}}', '{"data": {"x": {}}, "floors": {}}'])
def test_a_broken_file_is_one_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "floors.json").write_text(text)
    with pytest.raises(InputError, match="cannot read the quality floors"):
        read_floors(tmp_path / "floors.json")


def test_shortfalls_name_what_is_missing() -> None:
    assert shortfalls(Score(0.8, 0.9), Score(0.8, 0.9)) == []
    assert shortfalls(Score(0.8, None), Score(0.9, 0.1)) == []
    assert len(shortfalls(Score(0.8, 0.9), Score(0.7, None))) == 2


def test_a_floor_within_the_margin_stays() -> None:
    assert raised(Score(0.8, 0.9), Score(0.803, 0.9)) == Score(0.8, 0.9)
    assert raised(Score(0.8, None), Score(0.9, 0.95)) == Score(0.895, 0.945)
    with pytest.raises(LoweredFloor, match="--lower"):
        raised(Score(0.8, 0.9), Score(0.9, 0.89))
    assert raised(Score(0.8, 0.9), Score(0.001, None), lower=True) == Score(0.0, None)
